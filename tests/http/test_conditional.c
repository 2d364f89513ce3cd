/*
 * Conditional requests: answering them, making them, and taking in a 304.
 */
#include "tests/unit.h"

#include "digestd/http/conditional.h"
#include "tests/codec/alloc.h"
#include "tests/http/message.h"

enum { NOW_S = 784111777 }; /* Sun, 06 Nov 1994 08:49:37 GMT */

#define BEFORE "Sun, 06 Nov 1994 08:00:00 GMT"
#define THEN "Sun, 06 Nov 1994 08:30:00 GMT"
#define AFTER "Sun, 06 Nov 1994 08:40:00 GMT"

static const struct {
	const char *request, *stored;
	bool not_modified;
} answers[] = {
	{ NULL, "ETag: \"a\"", false },
	{ "If-None-Match: \"a\"", "ETag: \"a\"", true },
	{ "If-None-Match: \"b\"", "ETag: \"a\"", false },
	{ "If-None-Match: \"A\"", "ETag: \"a\"", false },
	{ "If-None-Match: a", "ETag: \"a\"", false },
	{ "If-None-Match: \"a\"", NULL, false },
	{ "If-None-Match: *", NULL, true },
	{ "If-None-Match: *", "ETag: \"a\"", true },
	{ "If-None-Match: \"*\"", "ETag: \"a\"", false },
	{ "If-None-Match: W/\"a\"", "ETag: \"a\"", true },
	{ "If-None-Match: \"a\"", "ETag: W/\"a\"", true },
	{ "If-None-Match: W/\"a\"", "ETag: W/\"a\"", true },
	{ "If-None-Match: w/\"a\"", "ETag: \"a\"", false },
	{ "If-None-Match: \"b\", \"a\"", "ETag: \"a\"", true },
	{ "If-None-Match: \"b\",W/\"a\" , \"c\"", "ETag: \"a\"", true },
	{ "If-None-Match: \"b\"\nIf-None-Match: \"a\"", "ETag: \"a\"", true },
	{ "If-None-Match: \"a,b\"", "ETag: \"a,b\"", true },
	{ "If-None-Match: \"x, \"a\"\"", "ETag: \"a\"", false },
	{ "If-None-Match: \"\"", "ETag: \"\"", true },
	{ "If-None-Match: ", "ETag: \"a\"", false },
	/* dates, when there is no If-None-Match */
	{ "If-Modified-Since: " THEN, "Last-Modified: " THEN, true },
	{ "If-Modified-Since: " AFTER, "Last-Modified: " THEN, true },
	{ "If-Modified-Since: " BEFORE, "Last-Modified: " THEN, false },
	{ "If-Modified-Since: Sunday, 06-Nov-94 08:30:00 GMT",
	  "Last-Modified: " THEN, true },
	{ "If-Modified-Since: soon", "Last-Modified: " THEN, false },
	{ "If-Modified-Since: " THEN, "Date: " THEN, true },
	{ "If-Modified-Since: " BEFORE, "Date: " THEN, false },
	{ "If-Modified-Since: " AFTER, NULL, false },
	{ "If-None-Match: \"b\"\nIf-Modified-Since: " AFTER,
	  "ETag: \"a\"\nLast-Modified: " THEN, false },
	{ "If-None-Match: \"a\"\nIf-Modified-Since: " BEFORE,
	  "ETag: \"a\"\nLast-Modified: " THEN, true },
};

static void answering(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(answers); i++) {
		struct fields request, stored;

		message_must(&request, answers[i].request);
		message_must(&stored, answers[i].stored);
		if (conditional_not_modified(&request, &stored, NOW_S) !=
		    answers[i].not_modified)
			fail_msg("row %zu", i);
		assert_int_equal(conditional_present(&request),
				 answers[i].request != NULL);
		fields_free(&request);
		fields_free(&stored);
	}
}

static const struct {
	const char *stored, *request, *sent;
} asks[] = {
	{ "ETag: W/\"a\"", "X: 1", "X: 1\nIf-None-Match: W/\"a\"\n" },
	{ "Last-Modified: " THEN, "X: 1",
	  "X: 1\nIf-Modified-Since: " THEN "\n" },
	{ "ETag: \"a\"\nLast-Modified: " THEN,
	  "If-None-Match: \"b\"\nIf-Modified-Since: " BEFORE
	  "\nIf-Match: *\nIf-Unmodified-Since: " BEFORE
	  "\nIf-Range: \"b\"\nX: 1",
	  "X: 1\nIf-None-Match: \"a\"\nIf-Modified-Since: " THEN "\n" },
	{ NULL, "If-Match: \"b\"\nX: 1", "X: 1\n" },
};

static void asking(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(asks); i++) {
		struct fields stored, request;
		char text[MESSAGE_MAX];

		message_must(&stored, asks[i].stored);
		message_must(&request, asks[i].request);
		assert_int_equal(conditional_has_validator(&stored),
				 asks[i].stored != NULL);
		assert_int_equal(conditional_validate(&stored, &request), 0);
		assert_string_equal(message_text(&request, text),
				    asks[i].sent);
		fields_free(&stored);
		fields_free(&request);
	}
}

static const struct {
	const char *not_modified, *stored;
	bool confirms;
} confirmations[] = {
	{ NULL, "ETag: \"a\"", true },
	{ "ETag: \"a\"", "ETag: \"a\"", true },
	/* the origin was asked about "a" alone, and so speaks of it */
	{ "ETag: \"b\"", "ETag: \"a\"", true },
	{ "ETag: \"b\"", "ETag: \"a\"\nLast-Modified: " THEN, true },
	{ "ETag: \"b\"\nLast-Modified: " THEN,
	  "ETag: \"a\"\nLast-Modified: " THEN, true },
	{ "ETag: \"b\"\nLast-Modified: " AFTER,
	  "ETag: \"a\"\nLast-Modified: " THEN, false },
	{ "ETag: W/\"a\"", "ETag: \"a\"", true },
	{ "ETag: \"a\"", "ETag: W/\"a\"", true },
	{ "ETag: \"a\"", "Last-Modified: " THEN, false },
	{ "Last-Modified: " THEN, "Last-Modified: " THEN, true },
	{ "Last-Modified: " AFTER, "Last-Modified: " THEN, false },
	{ "Last-Modified: " THEN, "ETag: \"a\"", true },
	{ "ETag: \"a\"\nLast-Modified: " AFTER,
	  "ETag: \"a\"\nLast-Modified: " THEN, true },
};

static void confirming(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(confirmations); i++) {
		struct fields news, stored;

		message_must(&news, confirmations[i].not_modified);
		message_must(&stored, confirmations[i].stored);
		if (conditional_confirms(&news, &stored) !=
		    confirmations[i].confirms)
			fail_msg("row %zu", i);
		fields_free(&news);
		fields_free(&stored);
	}
}

static void describing(void **state)
{
	static const struct {
		const char *header, *stored;
		bool describes;
	} rows[] = {
		{ "ETag: \"a\"", "ETag: \"a\"\nContent-Length: 5", true },
		{ "ETag: \"a\"\nContent-Length: 5",
		  "ETag: \"a\"\nContent-Length: 5", true },
		{ "ETag: \"a\"\nContent-Length: 6",
		  "ETag: \"a\"\nContent-Length: 5", false },
		{ "ETag: \"b\"", "ETag: \"a\"", false },
		{ "ETag: W/\"a\"", "ETag: W/\"a\"", false },
		{ NULL, "ETag: \"a\"", false },
		{ "ETag: \"a\"", NULL, false },
		{ "Last-Modified: " THEN, "Last-Modified: " THEN, false },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct fields header, stored;

		message_must(&header, rows[i].header);
		message_must(&stored, rows[i].stored);
		if (conditional_describes(&header, &stored) !=
		    rows[i].describes)
			fail_msg("row %zu", i);
		fields_free(&header);
		fields_free(&stored);
	}
}

static const struct {
	const char *stored, *news, *updated;
} updates[] = {
	{ "A: 1\nB: 2", NULL, "A: 1\nB: 2\n" },
	{ "A: 1\nB: 2", "A: 3", "B: 2\nA: 3\n" },
	{ "A: 1\nA: 2\nB: 2", "a: 3\na: 4\nC: 5", "B: 2\na: 3\na: 4\nC: 5\n" },
	{ "Cache-Control: max-age=1\nDate: " BEFORE "\nExpires: " THEN,
	  "Cache-Control: max-age=60\nDate: " AFTER,
	  "Expires: " THEN "\nCache-Control: max-age=60\nDate: " AFTER "\n" },
	{ "Content-Type: text/plain", "Content-Type: text/html",
	  "Content-Type: text/html\n" },
	/* what the stored bytes are does not change */
	{ "ETag: \"a\"", "etag: \"b\"", "ETag: \"a\"\n" },
	{ "A: 1", "ETag: \"b\"", "A: 1\nETag: \"b\"\n" },
	{ "Content-MD5: x", "Content-MD5: y", "Content-MD5: x\n" },
	{ "Content-Length: 5\nContent-Encoding: gzip\nContent-Range: x",
	  "Content-Length: 0\nContent-Encoding: br\nContent-Range: y\n"
	  "Content-Foo: z",
	  "Content-Length: 5\nContent-Encoding: gzip\nContent-Range: x\n"
	  "Content-Foo: z\n" },
	{ "A: 1", "Content-Length: 0", "A: 1\n" },
	{ "A: 1", "Connection: close\nKeep-Alive: 5\nTransfer-Encoding: x",
	  "A: 1\n" },
	/* the age is counted anew */
	{ "Age: 100\nA: 1", "B: 2", "A: 1\nB: 2\n" },
	{ "Age: 100", "Age: 3", "Age: 3\n" },
};

static void updating(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(updates); i++) {
		struct fields stored, news;
		char text[MESSAGE_MAX];

		message_must(&stored, updates[i].stored);
		message_must(&news, updates[i].news);
		assert_int_equal(conditional_update(&news, &stored), 0);
		assert_string_equal(message_text(&stored, text),
				    updates[i].updated);
		fields_free(&stored);
		fields_free(&news);
	}
}

static void fields_of_304(void **state)
{
	struct fields stored, out;
	char text[MESSAGE_MAX];

	(void)state;
	message_must(&stored, "Content-Type: x\nETag: \"a\"\nSet-Cookie: a=b\n"
			      "date: " THEN "\nVary: A\nVary: B\nExpires: 0\n"
			      "Cache-Control: max-age=1\nContent-Length: 9\n"
			      "Content-Location: /x\nLast-Modified: " BEFORE
			      "\nAge: 4\nVia: 1.1 a\nCache-Status: a; hit\n"
			      "Server: s\nContent-Encoding: gzip");
	assert_int_equal(conditional_304_fields(&stored, &out), 0);
	assert_string_equal(message_text(&out, text),
			    "ETag: \"a\"\ndate: " THEN "\nVary: A\nVary: B\n"
			    "Expires: 0\nCache-Control: max-age=1\n"
			    "Content-Location: /x\nLast-Modified: " BEFORE
			    "\nAge: 4\nVia: 1.1 a\nCache-Status: a; hit\n");
	fields_free(&stored);
	fields_free(&out);
}

/* A peer's word is taken for how long a response is fresh, and for no more. */
static void freshness_of_304(void **state)
{
	struct fields f;
	char text[MESSAGE_MAX];

	(void)state;
	message_must(&f, "Via: 1.1 n2\nETag: \"a\"\ndate: " THEN "\nVary: A\n"
			 "Content-Type: text/evil\nAge: 3\nX-A: 1\nX-A: 2\n"
			 "Cache-Control: max-age=9\nSet-Cookie: a=b\n"
			 "Repr-Digest: x\nCDN-Cache-Control: max-age=8\n"
			 "Expires: 0\nLast-Modified: " BEFORE
			 "\nCache-Status: n2; hit");
	conditional_keep_freshness(&f);
	assert_string_equal(message_text(&f, text),
			    "ETag: \"a\"\ndate: " THEN "\nAge: 3\n"
			    "Cache-Control: max-age=9\n"
			    "CDN-Cache-Control: max-age=8\nExpires: 0\n"
			    "Last-Modified: " BEFORE "\n");
	conditional_keep_freshness(&f);
	assert_int_equal(fields_count(&f), 7);
	fields_free(&f);
}

/* An update that fails leaves what is stored as it was. */
static void without_memory(void **state)
{
	struct fields stored, news, out;
	char text[MESSAGE_MAX];
	unsigned n = 0;
	int err;

	(void)state;
	message_must(&news, "ETag: \"a\"\nC: 3");
	do {
		message_must(&stored, "ETag: \"a\"\nB: 2");
		alloc_fail_at(++n);
		err = conditional_update(&news, &stored);
		assert_int_equal(err != 0, alloc_failed());
		assert_string_equal(message_text(&stored, text),
				    err ? "ETag: \"a\"\nB: 2\n" :
					  "ETag: \"a\"\nB: 2\nC: 3\n");
		fields_free(&stored);
	} while (alloc_failed());
	assert_true(n > 1);
	alloc_fail_at(1);
	assert_int_not_equal(conditional_304_fields(&news, &out), 0);
	assert_int_equal(fields_memory(&out), 0);
	alloc_fail_at(1);
	fields_init(&out);
	assert_int_not_equal(conditional_validate(&news, &out), 0);
	alloc_fail_at(0);
	fields_free(&out);
	fields_free(&news);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answering),
		cmocka_unit_test(asking),
		cmocka_unit_test(confirming),
		cmocka_unit_test(describing),
		cmocka_unit_test(updating),
		cmocka_unit_test(fields_of_304),
		cmocka_unit_test(freshness_of_304),
		cmocka_unit_test(without_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
