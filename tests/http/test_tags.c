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
	{ NULL, "Purge-Tag: a", false },
	{ "Cache-Tag: a", NULL, false },
	{ "Cache-Tag: a", "Purge-Tag: ", false },
	{ "Cache-Tag: a", "Purge-Tag: \"\"", false },
	{ "Cache-Tag: ", "Purge-Tag: a", false },
	{ "Cache-Tag: a", "Purge-Tag: a", true },
	{ "cache-tag: b,a", "purge-tag: a", true },
	{ "Cache-Tag: b\nCache-Tag: a", "Purge-Tag: a", true },
	{ "Cache-Tag: b", "Purge-Tag: a, b", true },
	{ "Cache-Tag: b", "Purge-Tag: a\nPurge-Tag: b", true },
	{ "Cache-Tag: a", "Purge-Tag: A", false },
	{ "Cache-Tag: ab", "Purge-Tag: a", false },
	{ "Cache-Tag: a", "Purge-Tag: ab", false },
	{ "Cache-Tag: a b", "Purge-Tag: a", false },
	{ "Surrogate-Key: a b  c", "Purge-Tag: c", true },
	{ "Surrogate-Key: a b", "Purge-Tag: b", true },
	{ "Surrogate-Key: ab", "Purge-Tag: b", false },
	{ "Cache-Groups: \"a\", \"b\"", "Purge-Tag: b", true },
	{ "Cache-Groups: \"a\";x=1", "Purge-Tag: \"a\"", true },
	{ "Cache-Groups: \"a b\"", "Purge-Tag: a b", true },
	{ "Cache-Control: a", "Purge-Tag: a", false },
	{ "Cache-Tag: d", "Purge-Tag: e, bb, d, a, ccc, c", true },
	{ "Cache-Tag: bc", "Purge-Tag: e, bb, d, a, ccc, c", false },
	{ "Surrogate-Key: x y\nCache-Groups: \"c\"", "Purge-Tag: c, y", true },
};

static bool purges(const struct fields *purge, struct field_part of)
{
	struct field_cursor cursor = { 0 };
	struct field_part tag;

	while (tags_next_purged(purge, &cursor, &tag)) {
		if (tag.len == of.len && !memcmp(tag.at, of.at, of.len))
			return true;
	}
	return false;
}

static bool match(const struct fields *response, const struct fields *purge)
{
	struct tags_cursor cursor = { 0 };
	struct field_part tag;

	while (tags_next(response, &cursor, &tag)) {
		if (purges(purge, tag))
			return true;
	}
	return false;
}

static void matching(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct fields response, purge;

		message_must(&response, rows[i].response);
		message_must(&purge, rows[i].purge);
		if (match(&response, &purge) != rows[i].match)
			fail_msg("row %zu", i);
		fields_free(&response);
		fields_free(&purge);
	}
}

/* Whatever a peer is called, it is one tag. */
static void sources(void **state)
{
	static const struct {
		const char *name, *tag;
	} names[] = {
		{ "n2", ":n2" },
		{ "[::1]:8081", ":[::1]:8081" },
		{ "a b,c;d\"e", ":a_b_c_d_e" },
		{ "\303\244", ":__" },
		{ "", ":" },
		{ "0123456789012345678901234567890123456789"
		  "0123456789012345678901234567890123456789",
		  ":0123456789012345678901234567890123456789"
		  "0123456789012345678901" },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(names); i++) {
		struct tags_cursor cursor = { 0 };
		struct field_part found;
		char tag[TAGS_SOURCE_BYTES];
		struct fields f;

		tags_source(names[i].name, tag);
		assert_string_equal(tag, names[i].tag);
		fields_init(&f);
		assert_int_equal(fields_add(&f, i % 2 ? tags_source_field
						      : tags_from_field,
					    tag), 0);
		assert_true(tags_next(&f, &cursor, &found));
		assert_int_equal(found.len, strlen(tag));
		assert_memory_equal(found.at, tag, found.len);
		assert_false(tags_next(&f, &cursor, &found));
		fields_free(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matching),
		cmocka_unit_test(sources),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
