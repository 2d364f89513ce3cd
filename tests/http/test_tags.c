/*
 * Tags of responses.
 */
#include "tests/unit.h"

#include "digestd/http/tags.h"
#include "tests/http/message.h"

static const struct {
	const char *response, *purge;
	bool match;
} rows[] = {
	{ NULL, "T: a", false },
	{ "Cache-Tag: a", NULL, false },
	{ "Cache-Tag: a", "T: ", false },
	{ "Cache-Tag: a", "T: \"\"", false },
	{ "Cache-Tag: ", "T: a", false },
	{ "Cache-Tag: a", "T: a", true },
	{ "cache-tag: b,a", "t: a", true },
	{ "Cache-Tag: b\nCache-Tag: a", "T: a", true },
	{ "Cache-Tag: b", "T: a, b", true },
	{ "Cache-Tag: b", "T: a\nT: b", true },
	{ "Cache-Tag: a", "T: A", false },
	{ "Cache-Tag: ab", "T: a", false },
	{ "Cache-Tag: a", "T: ab", false },
	{ "Cache-Tag: a b", "T: a", false },
	{ "Surrogate-Key: a b  c", "T: c", true },
	{ "Surrogate-Key: a b", "T: b", true },
	{ "Surrogate-Key: ab", "T: b", false },
	{ "Cache-Groups: \"a\", \"b\"", "T: b", true },
	{ "Cache-Groups: \"a\";x=1", "T: \"a\"", true },
	{ "Cache-Groups: \"a b\"", "T: a b", true },
	{ "Cache-Control: a", "T: a", false },
	{ "Cache-Tag: d", "T: e, bb, d, a, ccc, c", true },
	{ "Cache-Tag: bc", "T: e, bb, d, a, ccc, c", false },
	{ "Surrogate-Key: x y\nCache-Groups: \"ccc\"", "T: ccc, y", true },
};

static void matching(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct fields response, purge;
		struct tags wanted;

		message_must(&response, rows[i].response);
		message_must(&purge, rows[i].purge);
		assert_int_equal(tags_init(&wanted, &purge, "T"), 0);
		if (tags_match(&wanted, &response) != rows[i].match)
			fail_msg("row %zu", i);
		tags_free(&wanted);
		fields_free(&response);
		fields_free(&purge);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matching),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
