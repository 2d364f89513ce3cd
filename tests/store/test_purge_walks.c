/*
 * Walks: which of them a response is held against, until when, and what is
 * taken for granted once they are forgotten.
 */
#include "digestd/store/purge_walks.h"

#include <errno.h>

#include "digestd/http/fields.h"
#include "digestd/http/purge_scope.h"
#include "tests/unit.h"

static struct purge_scope *scope_of(const char *name, const char *value)
{
	struct purge_scope *scope;
	struct fields f;

	fields_init(&f);
	assert_int_equal(fields_add(&f, name, value), 0);
	assert_int_equal(purge_scope_new(&f, &scope), 0);
	fields_free(&f);
	return scope;
}

static struct purge_walk *begin(struct purge_walks *walks, const char *prefix,
				int64_t now_s)
{
	struct purge_walk *w = purge_walks_begin(
		walks, scope_of("Purge-Prefix", prefix), now_s);

	assert_non_null(w);
	return w;
}

static void what_a_scope_has(void **state)
{
	/* clang-format off */
	static const struct {
		const char *name, *value, *uri, *field, *tags;
		bool has;
	} rows[] = {
		{ "Purge-Prefix", "http://h/a", "http://h/a", NULL, NULL, true },
		{ "Purge-Prefix", "http://h/a", "https://h/ab?c", NULL, NULL, true },
		{ "Purge-Prefix", "https://H:443/a", "http://h/a/", NULL, NULL, true },
		{ "Purge-Prefix", "http://h/a", "http://h/b", NULL, NULL, false },
		{ "Purge-Prefix", "http://h/a", "http://i/a", NULL, NULL, false },
		{ "Purge-Tag", "x, y", "http://h/", "Cache-Tag", "a, y", true },
		{ "Purge-Tag", "x, y", "http://h/", "Surrogate-Key", "x z", true },
		{ "Purge-Tag", "x, y", "http://h/", "Cache-Tag", "xy", false },
		{ "Purge-Tag", "x", "http://h/x", "X-Tag", "x", false },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct purge_scope *s = scope_of(rows[i].name, rows[i].value);
		struct fields f;

		print_message("# row %zu\n", i);
		fields_init(&f);
		if (rows[i].field)
			assert_int_equal(fields_add(&f, rows[i].field,
						    rows[i].tags), 0);
		assert_int_equal(purge_scope_has(s, rows[i].uri, &f),
				 rows[i].has);
		assert_int_equal(!purge_scope_prefix(s), rows[i].field != NULL);
		fields_free(&f);
		purge_scope_free(&s);
		assert_null(s);
	}
}

static void what_is_no_prefix(void **state)
{
	struct purge_scope *scope;
	struct fields f;

	(void)state;
	fields_init(&f);
	assert_int_equal(fields_add(&f, "Purge-Prefix", "/path"), 0);
	assert_int_equal(purge_scope_new(&f, &scope), -EINVAL);
	assert_null(scope);
	fields_free(&f);
}

static bool meets(const struct purge_walks *walks, uint64_t stamp,
		  const char *uri)
{
	return purge_walks_meet(walks, stamp, uri, &fields_none);
}

static void until_it_has_ended(void **state)
{
	static const char a[] = "http://h/a", b[] = "http://h/b";
	struct purge_walks walks = { 0 };
	struct purge_walk *of_a, *of_b;

	(void)state;
	assert_false(meets(&walks, 0, a));
	assert_false(purge_walks_since(&walks, 0));
	of_a = begin(&walks, a, 0);
	of_b = begin(&walks, b, 0);
	assert_true(meets(&walks, 7, a));
	assert_true(meets(&walks, 7, b));
	assert_false(meets(&walks, 7, "http://h/c"));
	purge_walks_end(&walks, of_a, 9, 0);
	assert_true(meets(&walks, 8, a)); /* found before that */
	assert_false(meets(&walks, 9, a));
	assert_true(meets(&walks, 9, b));
	assert_true(purge_walks_since(&walks, 9));
	purge_walks_end(&walks, of_b, 10, 0);
	assert_true(purge_walks_since(&walks, 9));
	assert_false(purge_walks_since(&walks, 10));
	assert_false(meets(&walks, 10, b));
	purge_walks_free(&walks);
}

static bool meets_copy(const struct purge_walks *walks, const char *uri,
		       int64_t born_s, int64_t now_s)
{
	const struct purge_walks_copy copy = { uri, &fields_none, born_s };

	return purge_walks_meet_copy(walks, &copy, now_s);
}

/* In the order in which they end, after their time or when there are too many;
 * those under way never. */
static void what_is_forgotten(void **state)
{
	static const char uri[] = "http://h/a", other[] = "http://h/b";
	struct purge_walks walks = { 0 };
	struct purge_walk *goes_on = begin(&walks, uri, 0);
	uint64_t stamp = 1;

	(void)state;
	for (unsigned i = 0; i <= PURGE_WALKS_KEPT; i++) {
		assert_false(meets(&walks, 1, other));
		assert_false(meets_copy(&walks, other, 0, 0));
		purge_walks_end(&walks, begin(&walks, "http://i/", 100),
				++stamp, 100);
	}
	/* one had to go: nobody knows what of */
	assert_int_equal(walks.nended, PURGE_WALKS_KEPT);
	assert_true(meets(&walks, 1, other));
	assert_true(purge_walks_since(&walks, 1));
	assert_false(meets(&walks, 2, other));
	assert_true(meets_copy(&walks, other, 101, 100));
	assert_false(meets_copy(&walks, other, 102, 102));
	assert_false(meets_copy(&walks, other, 0, 200));
	purge_walks_end(&walks, begin(&walks, "http://i/", 200), ++stamp, 200);
	assert_int_equal(walks.nended, 1); /* the others had their time */
	assert_false(meets_copy(&walks, other, 0, 200));
	assert_true(meets_copy(&walks, uri, 0, 200));
	purge_walks_end(&walks, goes_on, ++stamp, 200);
	assert_false(meets_copy(&walks, uri, 0, 300));
	purge_walks_free(&walks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_scope_has),
		cmocka_unit_test(what_is_no_prefix),
		cmocka_unit_test(until_it_has_ended),
		cmocka_unit_test(what_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
