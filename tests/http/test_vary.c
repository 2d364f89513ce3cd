/*
 * Which requests a stored response with Vary is for.
 */
#include "tests/unit.h"

#include <errno.h>

#include "digestd/http/vary.h"
#include "tests/codec/alloc.h"
#include "tests/http/message.h"

static const struct {
	const char *vary, *stored, *asked;
	bool match;
} rows[] = {
	{ "", "A: 1", "A: 2", true },
	{ "Vary: A", "A: 1", "A: 1", true },
	{ "Vary: A", "A: 1", "a: 1\nB: 2", true },
	{ "Vary: A", "A: 1", "A: 2", false },
	{ "Vary: A", "A: 1", "A: 11", false },
	{ "Vary: A", "A: 11", "A: 1", false },
	{ "Vary: A", "A: 1", NULL, false },
	{ "Vary: A", NULL, "A: 1", false },
	{ "Vary: A", NULL, NULL, true },
	{ "Vary: A", "A: x", "A: X", false },
	{ "vary: a", "A: 1", "A: 1", true },
	{ "Vary: A, B", "A: 1\nB: 2", "B: 2\nA: 1", true },
	{ "Vary: A, B", "A: 1\nB: 2", "A: 1", false },
	{ "Vary: A\nVary: B", "A: 1\nB: 2", "A: 1\nB: 3", false },
	{ "Vary: ,A,, B,", "A: 1", "A: 1", true },
	{ "Vary: A, A", "A: 1", "A: 1", true },
	/* white space and lines of a list do not matter, its order does */
	{ "Vary: A", "A: x, y", "A: x,y", true },
	{ "Vary: A", "A: x,y", "A:  x ,\ty", true },
	{ "Vary: A", "A: x, y", "A: x\nA: y", true },
	{ "Vary: A", "A: x\nA: y", "A: x, , y", true },
	{ "Vary: A", "A: x, y", "A: y, x", false },
	{ "Vary: A", "A: x, y", "A: xy", false },
	{ "Vary: A", "A: x, y", "A: x", false },
	{ "Vary: A", "A: x", "A: x, y", false },
	{ "Vary: A", "A: x y", "A: x  y", false },
	/* languages, codings and character sets have no case, but an order */
	{ "Vary: Accept-Language", "Accept-Language: en, de",
	  "accept-language: eN,De", true },
	{ "Vary: accept-encoding", "Accept-Encoding: gzip;q=0.5",
	  "Accept-Encoding: GZip;Q=0.5", true },
	{ "Vary: Accept-Charset", "Accept-Charset: utf-8",
	  "Accept-Charset: UTF-8", true },
	{ "Vary: Accept-Language", "Accept-Language: en, de",
	  "Accept-Language: de, en", false },
	{ "Vary: Accept-Language", "Accept-Language: en",
	  "Accept-Language: ENG", false },
	{ "Vary: Accept-Charset", "Accept-Charset: a[Z",
	  "Accept-Charset: A[z", true },
	{ "Vary: Accept-Charset", "Accept-Charset: a[",
	  "Accept-Charset: a{", false },
	/* quotes, also unbalanced ones */
	{ "Vary: A", "A: \"x, y\"", "A: \"x, y\"", true },
	{ "Vary: A", "A: \"x, y\"", "A: \"x,y\"", false },
	{ "Vary: A", "A: \"x\nA: y", "A: \"x\nA: y", true },
	{ "Vary: A", "A: ", NULL, true },
};

static void matching(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct fields response, stored, asked, selecting;

		message_must(&response, rows[i].vary);
		message_must(&stored, rows[i].stored);
		message_must(&asked, rows[i].asked);
		assert_int_equal(vary_select(&stored, &response, &selecting),
				 0);
		if (vary_match(&selecting, &asked) != rows[i].match)
			fail_msg("row %zu", i);
		assert_true(vary_match(&selecting, &stored));
		assert_false(vary_any(&response));
		fields_free(&response);
		fields_free(&stored);
		fields_free(&asked);
		fields_free(&selecting);
	}
}

static void any(void **state)
{
	static const char *const texts[] = { "Vary: *", "Vary: A, *",
					     "Vary: A\nVary: *", "vary: *,A" };
	struct fields response;

	(void)state;
	for (size_t i = 0; i < NROWS(texts); i++) {
		message_must(&response, texts[i]);
		assert_true(vary_any(&response));
		fields_free(&response);
	}
	message_must(&response, "Vary: A*, **");
	assert_false(vary_any(&response));
	fields_free(&response);
}

/* More names than a response may vary by are as good as all. */
static void too_many(void **state)
{
	struct fields response, request, selecting;

	(void)state;
	message_must(&response, "Vary: A");
	message_must(&request, "A: 1");
	for (int i = 1; i < VARY_MAX_NAMES; i++)
		assert_int_equal(fields_add(&response, "Vary", "a"), 0);
	assert_false(vary_any(&response));
	assert_int_equal(vary_select(&request, &response, &selecting), 0);
	assert_int_equal(fields_count(&selecting), 1);
	fields_free(&selecting);
	assert_int_equal(fields_add(&response, "Vary", "a"), 0);
	assert_true(vary_any(&response));
	assert_int_equal(vary_select(&request, &response, &selecting), -EINVAL);
	fields_free(&response);
	fields_free(&request);
}

static void without_memory(void **state)
{
	struct fields response, request, selecting;
	unsigned n = 0;
	int err;

	(void)state;
	message_must(&response, "Vary: A, B, C");
	message_must(&request, "A: 1, 2\nB: 3\nA: 4");
	do {
		alloc_fail_at(++n);
		err = vary_select(&request, &response, &selecting);
		assert_int_equal(err != 0, alloc_failed());
		if (err)
			assert_int_equal(fields_memory(&selecting), 0);
		else
			fields_free(&selecting);
	} while (alloc_failed());
	assert_true(n > 3);
	fields_free(&response);
	fields_free(&request);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matching),
		cmocka_unit_test(any),
		cmocka_unit_test(too_many),
		cmocka_unit_test(without_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
