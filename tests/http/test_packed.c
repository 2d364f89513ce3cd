/*
 * Packed header fields: what comes out is what went in.
 */
#include "tests/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/packed.h"
#include "tests/codec/alloc.h"
#include "tests/http/message.h"

static void there_and_back(void **state)
{
	/* clang-format off */
	static const struct {
		const char *lines;
		size_t size;
	} rows[] = {
		{ "", 0 },
		{ "Date: x\n", 3 },
		{ "date: x\n", 3 },
		{ "DATE: x\n", 8 },
		{ "Accept-Ranges: \nX-Xss-Protection: 1\n", 2 + 20 },
		{ "accept-ranges: \nx-xss-protection: 1\n", 2 + 3 },
		{ "A: 1\nVary: a, b\nA: 2\nvia: c\nVary: \n", 5 + 6 + 5 + 3 + 2 },
		{ "Date: Sun, 06 Nov 1994 08:49:37 GMT\n", 5 },
		{ "last-modified: Thu, 01 Jan 1970 00:00:00 GMT\n", 5 },
		{ "Expires: Sun, 07 Feb 2106 06:28:15 GMT\n", 5 },
		/* not so: too late, of the wrong day, in lower case, short */
		{ "Expires: Sun, 07 Feb 2106 06:28:16 GMT\n", 31 },
		{ "Date: Mon, 06 Nov 1994 08:49:37 GMT\n", 31 },
		{ "Date: Sun, 06 nov 1994 08:49:37 GMT\n", 31 },
		{ "Date: Sun Nov  6 08:49:37 1994\n", 26 },
		{ "X-Date: Sun, 06 Nov 1994 08:49:37 GMT\n", 38 },
		{ "CDN-Cache-Control: a\nETag: b\nPragma: c\nSet-Cookie: d\n", 12 },
	};
	/* clang-format on */
	struct fields f, back;
	char text[MESSAGE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *bytes = malloc(rows[i].size + 1);

		message_must(&f, rows[i].lines);
		memset(bytes, 'x', rows[i].size + 1);
		for (size_t cap = 0; cap <= rows[i].size; cap++) {
			assert_int_equal(packed_write(&f, bytes, cap),
					 rows[i].size);
			assert_int_equal(bytes[cap], 'x');
		}
		fields_free(&f);
		assert_int_equal(packed_open(bytes, rows[i].size, &back), 0);
		assert_string_equal(message_text(&back, text), rows[i].lines);
		fields_free(&back);
		free(bytes);
	}
}

static void an_open_list_can_be_changed(void **state)
{
	char bytes[100], text[MESSAGE_MAX];
	struct fields f;
	size_t len;

	(void)state;
	message_must(&f, "Age: 1\nDate: Sun, 06 Nov 1994 08:49:37 GMT\n"
			 "B: 2\nVia: c\n");
	len = packed_write(&f, bytes, sizeof(bytes));
	fields_free(&f);
	assert_int_equal(packed_open(bytes, len, &f), 0);
	assert_int_equal(fields_set(&f, "Age", "3"), 0);
	assert_int_equal(fields_add(&f, "Via", fields_get(&f, "b")), 0);
	assert_string_equal(message_text(&f, text),
			    "Date: Sun, 06 Nov 1994 08:49:37 GMT\n"
			    "B: 2\nVia: c\nAge: 3\nVia: 2\n");
	fields_free(&f);
}

static void without_memory(void **state)
{
	char bytes[1000];
	struct fields f;
	unsigned n = 0;
	size_t len;

	(void)state;
	fields_init(&f);
	assert_int_equal(fields_add(&f, "Date",
				    "Sun, 06 Nov 1994 08:49:37 GMT"), 0);
	for (int i = 1; i < 40; i++)
		assert_int_equal(fields_add(&f, "Link", "x"), 0);
	len = packed_write(&f, bytes, sizeof(bytes));
	fields_free(&f);
	do {
		alloc_fail_at(++n);
		if (packed_open(bytes, len, &f)) {
			assert_true(alloc_failed());
			assert_int_equal(fields_memory(&f), 0);
		}
	} while (alloc_failed());
	assert_true(n > 2);
	assert_int_equal(fields_count(&f), 40);
	fields_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(an_open_list_can_be_changed),
		cmocka_unit_test(without_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
