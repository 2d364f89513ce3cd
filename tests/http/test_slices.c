/*
 * Slices of large objects: arithmetic against a walk over bytes, the record,
 * and each kind of answer.
 */
#include <string.h>

#include "tests/unit.h"

#include "digestd/http/slices.h"
#include "tests/http/message.h"

#define DATE   "\nDate: Sun, 06 Nov 1994 08:49:37 GMT"
#define OLD    "Last-Modified: Sun, 06 Nov 1994 08:48:37 GMT"
#define RECENT "Last-Modified: Sun, 06 Nov 1994 08:48:38 GMT"

static const int64_t now_s = 784111777;

/* Each part of each small object, in slices of each size, has the slices that
 * its bytes are in. */
static void test_parts(void **state)
{
	struct slices s = {.generation = 1};

	(void)state;
	for (s.len = 1; s.len <= 9; s.len++) {
		for (s.size = 1; s.size <= 10; s.size++) {
			for (size_t first = 0; first < s.len; first++) {
				for (size_t end = first + 1; end <= s.len;
				     end++) {
					struct range part = {first,
							     end - first};
					struct slices_run run =
						slices_of(&s, &part);
					struct range all = slices_part(&s, run);

					assert_int_equal(run.first,
							 first / s.size);
					assert_int_equal(run.end,
							 (end - 1) / s.size +
								 1);
					assert_int_equal(all.first % s.size, 0);
					assert_true(all.first <= first);
					assert_true(all.first + all.len >= end);
					assert_true(all.first + all.len <=
						    s.len);
				}
			}
		}
	}
}

static void test_record(void **state)
{
	const struct slices s = {UINT64_C(100000000000), 1 << 20, UINT64_MAX};
	struct fields response, stored;
	struct slices back;
	char name[SLICES_NAME];

	(void)state;
	message_must(&response, "Content-Range: bytes 0-9/100\nETag: \"a\"\n"
				"Content-Length: 10\nAccept-Ranges: bytes");
	assert_int_equal(slices_write(&s, &response, &stored), 0);
	assert_true(slices_are(&stored));
	assert_true(slices_read(&stored, &back));
	assert_int_equal(back.len, s.len);
	assert_int_equal(back.size, s.size);
	assert_true(back.generation == s.generation);
	assert_string_equal(fields_get(&stored, "ETag"), "\"a\"");
	assert_int_equal(fields_lines(&stored, "Accept-Ranges"), 1);
	assert_null(fields_get(&stored, "Content-Range"));
	assert_null(fields_get(&stored, "Content-Length"));
	assert_false(slices_are(&response));
	assert_false(slices_read(&response, &back));
	slices_name(&s, UINT64_MAX, name);
	assert_string_equal(name, "#ffffffffffffffff-18446744073709551615");
	fields_free(&response);
	fields_free(&stored);
}

static void test_bad_records(void **state)
{
	static const char *const bad[] = {
		"",
		"1",
		"1/1",
		"1/1/",
		"/1/1",
		"1//1",
		"0/1/1",
		"1/0/1",
		"1/1/1/1",
		"a/1/1",
		"-1/1/1",
		"1/1/x",
		"18446744073709551616/1/1",
	};
	struct fields f;
	struct slices s;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fields_init(&f);
		assert_int_equal(fields_add(&f, slices_field, bad[i]), 0);
		assert_true(slices_are(&f));
		if (slices_read(&f, &s) || s.size)
			fail_msg("%s is taken for a record", bad[i]);
		fields_free(&f);
	}
}

static const struct {
	const char *request, *asked; /* null: as it is */
} aligned[] = {
	{"Range: bytes=0-0", "bytes=0-99"},
	{"Range: bytes=0-99", "bytes=0-99"},
	{"Range: bytes=0-100", "bytes=0-199"},
	{"Range: bytes=99-100", "bytes=0-199"},
	{"Range: bytes=100-100", "bytes=100-199"},
	{"Range: bytes=250-299", "bytes=200-299"},
	/* at most four slices */
	{"Range: bytes=150-649", "bytes=100-499"},
	{"Range: bytes=150-", "bytes=100-499"},
	{"Range: bytes=1-18446744073709551615", "bytes=0-399"},
	{"Range: bytes=1152921504606846976-", "bytes=1152921504606846900-"
					      "1152921504606847299"},
	/* no part, several, or of unknown place */
	{NULL, NULL},
	{"Range: bytes=-100", NULL},
	{"Range: bytes=5-4", NULL},
	{"Range: bytes=0-1,5-6", NULL},
	{"Range: bytes=0-1\nRange: bytes=5-6", NULL},
	{"Range: lines=0-1", NULL},
	{"Range: bytes=18446744073709551615-", NULL},
};

static void test_align(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(aligned) / sizeof(aligned[0]); i++) {
		char got[SLICES_RANGE];
		struct fields f;
		bool is;

		message_must(&f, aligned[i].request);
		is = slices_align(&f, 100, 4, got);
		fields_free(&f);
		if (is != !!aligned[i].asked ||
		    (is && strcmp(got, aligned[i].asked)))
			fail_msg("%s: asked %s", aligned[i].request,
				 is ? got : "as it is");
	}
}

static const struct {
	const char *response, *validator; /* null: none */
} validators[] = {
	{"ETag: \"a\"", "\"a\""},
	{"ETag: \"a\"\n" RECENT DATE, "\"a\""},
	{"ETag: W/\"a\"", NULL},
	{"ETag: W/\"a\"\n" OLD DATE, NULL},
	{"ETag: a", NULL},
	{OLD DATE, "Sun, 06 Nov 1994 08:48:37 GMT"},
	{RECENT DATE, NULL},
	{OLD, NULL},
	{"Last-Modified: yesterday" DATE, NULL},
	{NULL, NULL},
};

static void test_range_of_a_part(void **state)
{
	const struct range part = { 200, 100 };
	char text[SLICES_RANGE];

	(void)state;
	slices_range(&part, text);
	assert_string_equal(text, "bytes=200-299");
}

static void test_validators(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(validators) / sizeof(validators[0]);
	     i++) {
		const char *is;
		struct fields f;

		message_must(&f, validators[i].response);
		is = slices_validator(&f, now_s);
		if (!is != !validators[i].validator ||
		    (is && strcmp(is, validators[i].validator)))
			fail_msg("%s: %s", validators[i].response,
				 is ? is : "none");
		fields_free(&f);
	}
}

#define TAG    "ETag: \"a\"\n"
#define RANGES TAG "Accept-Ranges: bytes"

/* The first answer, to what is nothing known of; slices have 100 bytes. */
static const struct {
	unsigned status;
	const char *fields;
	int64_t body_len;
	uint64_t len; /* 0: it is not sliced */
	size_t first, bytes;
} begun[] = {
	{200, RANGES, 1000, 1000, 0, 1000},
	{200, RANGES, 101, 101, 0, 101},
	{200, RANGES, 100, 0, 0, 0},
	{200, RANGES, 0, 0, 0, 0},
	{200, RANGES, -1, 0, 0, 0},
	{200, TAG "Accept-Ranges: none", 1000, 0, 0, 0},
	{200, TAG, 1000, 0, 0, 0},
	{200, "Accept-Ranges: bytes", 1000, 0, 0, 0},
	{206, TAG "Content-Range: bytes 0-99/1000", 100, 1000, 0, 100},
	{206, TAG "Content-Range: bytes 200-399/1000", 200, 1000, 200, 200},
	{206, TAG "Content-Range: bytes 900-999/1000", -1, 1000, 900, 100},
	{206, TAG "Content-Range: bytes 0-9/10", 10, 10, 0, 10},
	{206, TAG "Content-Range: bytes 250-399/1000", 150, 0, 0, 0},
	{206, TAG "Content-Range: bytes 0-99/1000", 99, 0, 0, 0},
	{206, TAG "Content-Range: bytes 0-98/1000", 99, 0, 0, 0},
	{206, TAG "Content-Range: bytes 0-8/10", 9, 0, 0, 0},
	{206, TAG "Content-Range: bytes 0-99/*", 100, 0, 0, 0},
	{206, TAG "Content-Range: bytes 0-99/99", 100, 0, 0, 0},
	{206, TAG "Content-Range: bytes 5-4/99", -1, 0, 0, 0},
	{206, TAG "Content-Range: bytes */99", -1, 0, 0, 0},
	{206, TAG "Content-Range: lines 0-99/1000", 100, 0, 0, 0},
	{206,
	 TAG "Content-Range: bytes 0-99/1000\n"
	     "Content-Range: bytes 0-99/1000",
	 100, 0, 0, 0},
	{206, TAG, 100, 0, 0, 0},
	{206, "Content-Range: bytes 0-99/1000", 100, 0, 0, 0},
	{416, TAG "Content-Range: bytes */1000", 0, 0, 0, 0},
	{404, RANGES, 1000, 0, 0, 0},
};

static void test_begin(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(begun) / sizeof(begun[0]); i++) {
		struct slices_answer a = {begun[i].status, NULL,
					  begun[i].body_len, now_s};
		struct range part = {0, 0};
		uint64_t len = 0;
		struct fields f;
		bool is;

		message_must(&f, begun[i].fields);
		a.fields = &f;
		is = slices_begin(&a, 100, &len, &part);
		assert_false(slices_begin(&a, 0, &len, &part));
		fields_free(&f);
		if (is != !!begun[i].len ||
		    (is &&
		     (len != begun[i].len || part.first != begun[i].first ||
		      part.len != begun[i].bytes)))
			fail_msg("row %zu: %d, %zu of %zu", i, is, part.len,
				 (size_t)len);
	}
}

/* Answers to "bytes=200-399" of an object of 1000 bytes with the tag "a". */
static const struct {
	unsigned status;
	const char *fields;
	int64_t body_len;
	enum slices_verdict verdict;
	size_t first, bytes;
} judged[] = {
	{206, TAG "Content-Range: bytes 200-399/1000", 200, SLICES_USABLE, 200,
	 200},
	/* fewer, as is a server's right */
	{206, TAG "Content-Range: bytes 200-299/1000", 100, SLICES_USABLE, 200,
	 100},
	/* but no slice */
	{206, TAG "Content-Range: bytes 200-298/1000", 99, SLICES_CHANGED, 0,
	 0},
	{206, TAG "Content-Range: bytes 200-399/1000", -1, SLICES_USABLE, 200,
	 200},
	{206, TAG "Content-Range: bytes 100-399/1000", 300, SLICES_CHANGED, 0,
	 0},
	{206, TAG "Content-Range: bytes 300-399/1000", 100, SLICES_CHANGED, 0,
	 0},
	{206, TAG "Content-Range: bytes 200-399/1000", 10, SLICES_CHANGED, 0,
	 0},
	{206, TAG "Content-Range: bytes 200-399/*", 200, SLICES_CHANGED, 0, 0},
	{206, TAG, 200, SLICES_CHANGED, 0, 0},
	{206, TAG "Content-Type: multipart/byteranges", 200, SLICES_CHANGED, 0,
	 0},
	{206, TAG "Content-Range: bytes 200-399/1001", 200, SLICES_CHANGED, 0,
	 0},
	{206, "ETag: \"b\"\nContent-Range: bytes 200-399/1000", 200,
	 SLICES_CHANGED, 0, 0},
	{206, "ETag: W/\"a\"\nContent-Range: bytes 200-399/1000", 200,
	 SLICES_CHANGED, 0, 0},
	{206, "Content-Range: bytes 200-399/1000", 200, SLICES_CHANGED, 0, 0},
	{200, TAG, 1000, SLICES_USABLE, 0, 1000},
	{200, TAG, 999, SLICES_CHANGED, 0, 0},
	{200, TAG, -1, SLICES_USABLE, 0, 1000},
	{200, "ETag: \"b\"", 1000, SLICES_CHANGED, 0, 0},
	{200, NULL, 1000, SLICES_CHANGED, 0, 0},
	{416, "Content-Range: bytes */100", 0, SLICES_CHANGED, 0, 0},
	{404, NULL, 0, SLICES_CHANGED, 0, 0},
	{410, NULL, 0, SLICES_CHANGED, 0, 0},
	/* nothing of it is for this client any more, or not in parts */
	{204, TAG, 0, SLICES_CHANGED, 0, 0},
	{304, TAG, 0, SLICES_CHANGED, 0, 0},
	{302, "Location: /", 0, SLICES_CHANGED, 0, 0},
	{401, NULL, 0, SLICES_CHANGED, 0, 0},
	{403, NULL, 0, SLICES_CHANGED, 0, 0},
	{451, NULL, 0, SLICES_CHANGED, 0, 0},
	/* it may be tried again */
	{408, NULL, 0, SLICES_FAILED, 0, 0},
	{421, NULL, 0, SLICES_FAILED, 0, 0},
	{425, NULL, 0, SLICES_FAILED, 0, 0},
	{429, NULL, 0, SLICES_FAILED, 0, 0},
	{500, NULL, 0, SLICES_FAILED, 0, 0},
	{503, NULL, 0, SLICES_FAILED, 0, 0},
};

static void test_judge(void **state)
{
	const struct slices s = {1000, 100, 1};
	const struct range asked = {200, 200};

	(void)state;
	for (size_t i = 0; i < sizeof(judged) / sizeof(judged[0]); i++) {
		struct slices_answer a = {judged[i].status, NULL,
					  judged[i].body_len, now_s};
		struct range part = {0, 0};
		enum slices_verdict is;
		struct fields f;

		message_must(&f, judged[i].fields);
		a.fields = &f;
		is = slices_judge(&a, &s, "\"a\"", &asked, &part);
		fields_free(&f);
		if (is != judged[i].verdict ||
		    (is == SLICES_USABLE && (part.first != judged[i].first ||
					     part.len != judged[i].bytes)))
			fail_msg("row %zu: %d", i, (int)is);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_bad_records),
		cmocka_unit_test(test_align),
		cmocka_unit_test(test_range_of_a_part),
		cmocka_unit_test(test_validators),
		cmocka_unit_test(test_begin),
		cmocka_unit_test(test_judge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
