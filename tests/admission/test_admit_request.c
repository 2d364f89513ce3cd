/*
 * What other caches ask of /v1/admit.
 */
#include "tests/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/admission/admit_request.h"

#define A "http://a/"

struct row {
	const char *text;
	int result;
	const char *uri;
	uint64_t size;
	bool quiet; /* not noted */
};

/* clang-format off */
static const struct row queries[] = {
	{ "uri=http://A:80/x",                     0, A "x", 4096, false },
	{ "uri=http%3A%2f%2FA%3A80%2Fx",           0, A "x", 4096, false },
	{ "uri=http://a/%253F",                    0, A "%3F", 4096, false },
	{ "uri=http://a/?b=c%26d",                 0, A "?b=c&d", 4096, false },
	{ "uri=http://a/b+c",                      0, A "b+c", 4096, false },
	{ "uri=http://a&size=0",                   0, A, 0, false },
	{ "size=12&uri=http://a",                  0, A, 12, false },
	{ "uri=http://a&size=999999999999999",     0, A, 999999999999999, false },
	{ "uri=http://a&note=no",                  0, A, 4096, true },
	{ "uri=http://a&note=yes",                 0, A, 4096, false },
	{ "uri=http://a&",                         0, A, 4096, false },
	{ "",                                -EINVAL, NULL, 0, false },
	{ "uri",                             -EINVAL, NULL, 0, false },
	{ "uri=",                            -EINVAL, NULL, 0, false },
	{ "uri=a",                           -EINVAL, NULL, 0, false },
	{ "uri=ftp://a/",                    -EINVAL, NULL, 0, false },
	{ "uri=http://a/%",                  -EINVAL, NULL, 0, false },
	{ "uri=http://a/%4",                 -EINVAL, NULL, 0, false },
	{ "uri=http://a/%4g",                -EINVAL, NULL, 0, false },
	{ "uri=http://a/%00",                -EINVAL, NULL, 0, false },
	{ "uri=http://a/%20",                -EINVAL, NULL, 0, false },
	{ "uri=http://a&uri=http://b",       -EINVAL, NULL, 0, false },
	{ "uri=http://a&size=",              -EINVAL, NULL, 0, false },
	{ "uri=http://a&size=-1",            -EINVAL, NULL, 0, false },
	{ "uri=http://a&size=1000000000000000", -EINVAL, NULL, 0, false },
	{ "uri=http://a&note=",              -EINVAL, NULL, 0, false },
	{ "uri=http://a&other=1",            -EINVAL, NULL, 0, false },
	{ "size=1",                          -EINVAL, NULL, 0, false },
};

static const struct row lines[] = {
	{ "http://a",                              0, A, 4096, false },
	{ "HTTP://A:80/b%20c",                     0, A "b%20c", 4096, false },
	{ "http://a 12",                           0, A, 12, false },
	{ "http://a\t12",                          0, A, 12, false },
	{ "",                                -EINVAL, NULL, 0, false },
	{ " ",                               -EINVAL, NULL, 0, false },
	{ "http://a ",                       -EINVAL, NULL, 0, false },
	{ "http://a  1",                     -EINVAL, NULL, 0, false },
	{ "http://a 1 ",                     -EINVAL, NULL, 0, false },
	{ "http://a 1\r",                    -EINVAL, NULL, 0, false },
	{ "http%3A//a",                      -EINVAL, NULL, 0, false },
};
/* clang-format on */

typedef int reader(const char *text, size_t len, struct admit_question *q);

static void check(reader *read, const struct row *row)
{
	/* in memory of its own, so that reading beyond it is found */
	size_t len = strlen(row->text);
	char *text = malloc(len ? len : 1);
	struct admit_question q;
	int err;

	assert_non_null(text);
	memcpy(text, row->text, len);
	err = read(text, len, &q);
	free(text);
	if (err != row->result)
		fail_msg("\"%s\": %d", row->text, err);
	if (err)
		return;
	assert_string_equal(q.uri, row->uri);
	assert_int_equal(q.uri_len, strlen(row->uri));
	assert_int_equal(q.size, row->size);
	assert_int_equal(q.note, !row->quiet);
}

static void of_queries(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(queries); i++)
		check(admit_read_query, &queries[i]);
}

static void of_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(lines); i++)
		check(admit_read_line, &lines[i]);
}

/* "uri=" and a URI of so many bytes. */
static int long_uri(size_t len, struct admit_question *q)
{
	char *text = malloc(4 + len);
	int as_query, as_line;

	assert_non_null(text);
	memset(text, 'x', 4 + len);
	memcpy(text, "uri=" A, 13);
	as_query = admit_read_query(text, 4 + len, q);
	as_line = admit_read_line(text + 4, len, q);
	free(text);
	assert_int_equal(as_query, as_line);
	return as_line;
}

static void too_long(void **state)
{
	static struct admit_question q;

	(void)state;
	assert_int_equal(long_uri(ADMIT_URI_BYTES - 1, &q), 0);
	assert_int_equal(q.uri_len, ADMIT_URI_BYTES - 1);
	assert_int_equal(long_uri(ADMIT_URI_BYTES, &q), -E2BIG);
	assert_int_equal(long_uri(ADMIT_URI_BYTES + 1, &q), -E2BIG);
	assert_int_equal(long_uri(3 * ADMIT_URI_BYTES, &q), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_queries),
		cmocka_unit_test(of_lines),
		cmocka_unit_test(too_long),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
