/*
 * Ranges of a stored body of ten bytes.
 */
#include "tests/unit.h"

#include "digestd/http/range.h"
#include "tests/http/message.h"

#define THEN "Sun, 06 Nov 1994 08:49:37 GMT"
#define AFTER "Sun, 06 Nov 1994 08:49:38 GMT"

enum { LEN = 10 };

static const struct {
	const char *request, *stored;
	const char *text; /* Content-Range; null: the whole */
} rows[] = {
	{ NULL, NULL, NULL },
	{ "Range: bytes=0-1", NULL, "bytes 0-1/10" },
	{ "Range: bytes=0-0", NULL, "bytes 0-0/10" },
	{ "Range: bytes=9-9", NULL, "bytes 9-9/10" },
	{ "Range: bytes=0-9", NULL, "bytes 0-9/10" },
	{ "Range: bytes=1-", NULL, "bytes 1-9/10" },
	{ "Range: bytes=8-100", NULL, "bytes 8-9/10" },
	{ "Range: bytes=8-99999999999999999999999", NULL, "bytes 8-9/10" },
	{ "Range: bytes=8-18446744073709551615", NULL, "bytes 8-9/10" },
	{ "Range: bytes=-1", NULL, "bytes 9-9/10" },
	{ "Range: bytes=-10", NULL, "bytes 0-9/10" },
	{ "Range: bytes=-11", NULL, "bytes 0-9/10" },
	{ "Range: bytes=-99999999999999999999999", NULL, "bytes 0-9/10" },
	{ "Range: BYTES = 2-3", NULL, "bytes 2-3/10" },
	/* nothing of it is there */
	{ "Range: bytes=10-", NULL, "bytes */10" },
	{ "Range: bytes=10-20", NULL, "bytes */10" },
	{ "Range: bytes=-0", NULL, "bytes */10" },
	{ "Range: bytes=99999999999999999999999-", NULL, "bytes */10" },
	/* what is no range, or several, or no bytes */
	{ "Range: bytes=3-2", NULL, NULL },
	{ "Range: bytes=", NULL, NULL },
	{ "Range: bytes=-", NULL, NULL },
	{ "Range: bytes=1", NULL, NULL },
	{ "Range: bytes=a-b", NULL, NULL },
	{ "Range: bytes=1-2x", NULL, NULL },
	{ "Range: bytes=-2x", NULL, NULL },
	{ "Range: bytes=--2", NULL, NULL },
	{ "Range: bytes=+1-2", NULL, NULL },
	{ "Range: bytes=0-1,3-4", NULL, NULL },
	{ "Range: bytes=0-1, 3-4", NULL, NULL },
	{ "Range: bytes=0-1\nRange: bytes=3-4", NULL, NULL },
	{ "Range: lines=0-1", NULL, NULL },
	{ "Range: 0-1", NULL, NULL },
	{ "Range: ", NULL, NULL },
	/* only if it is still the same */
	{ "Range: bytes=0-1\nIf-Range: \"a\"", "ETag: \"a\"", "bytes 0-1/10" },
	{ "Range: bytes=0-1\nIf-Range: \"b\"", "ETag: \"a\"", NULL },
	{ "Range: bytes=0-1\nIf-Range: W/\"a\"", "ETag: W/\"a\"", NULL },
	{ "Range: bytes=0-1\nIf-Range: \"a\"", "ETag: W/\"a\"", NULL },
	{ "Range: bytes=0-1\nIf-Range: \"a\"", NULL, NULL },
	{ "Range: bytes=0-1\nIf-Range: ", "ETag: \"a\"", NULL },
	{ "Range: bytes=0-1\nIf-Range: " THEN, "Last-Modified: " THEN,
	  "bytes 0-1/10" },
	{ "Range: bytes=0-1\nIf-Range: " AFTER, "Last-Modified: " THEN, NULL },
	{ "Range: bytes=0-1\nIf-Range: " THEN, "ETag: \"a\"", NULL },
};

static const char *answer(const char *ask, const char *store, size_t len)
{
	static char text[RANGE_TEXT];
	struct fields request, stored;
	struct range part = { 0, 0 };
	enum range_answer got;

	message_must(&request, ask);
	message_must(&stored, store);
	got = range_select(&request, &stored, len, &part);
	fields_free(&request);
	fields_free(&stored);
	switch (got) {
	case RANGE_WHOLE:
		return NULL;
	case RANGE_PART:
		assert_true(part.len > 0 && part.len <= len &&
			    part.first <= len - part.len);
		break;
	case RANGE_UNSATISFIABLE:
		break;
	}
	range_text(got == RANGE_PART ? &part : NULL, len, text);
	return text;
}

static void selecting(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		const char *text = answer(rows[i].request, rows[i].stored, LEN);

		if (!text != !rows[i].text ||
		    (text && strcmp(text, rows[i].text)))
			fail_msg("row %zu: %s", i, text ? text : "whole");
	}
}

static void empty_body(void **state)
{
	(void)state;
	assert_string_equal(answer("Range: bytes=0-", NULL, 0), "bytes */0");
	assert_string_equal(answer("Range: bytes=-1", NULL, 0), "bytes */0");
	assert_null(answer(NULL, NULL, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(selecting),
		cmocka_unit_test(empty_body),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
