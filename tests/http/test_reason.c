/*
 * Reason phrases: of each family the first, the last and what has none.
 */
#include "tests/unit.h"

#include "digestd/http/reason.h"

static void phrases(void **state)
{
	static const struct {
		unsigned status;
		const char *phrase;
	} rows[] = {
		{ 0, "Unknown" }, { 99, "Unknown" }, { 100, "Continue" },
		{ 103, "Early Hints" }, { 104, "Unknown" }, { 200, "OK" },
		{ 203, "Non-Authoritative Information" },
		{ 206, "Partial Content" }, { 226, "IM Used" },
		{ 227, "Unknown" }, { 304, "Not Modified" },
		{ 308, "Permanent Redirect" }, { 400, "Bad Request" },
		{ 404, "Not Found" }, { 417, "Expectation Failed" },
		{ 418, "Unknown" }, { 421, "Misdirected Request" },
		{ 426, "Upgrade Required" }, { 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 451, "Unavailable For Legal Reasons" }, { 499, "Unknown" },
		{ 500, "Internal Server Error" }, { 504, "Gateway Timeout" },
		{ 511, "Network Authentication Required" },
		{ 599, "Unknown" }, { 600, "Unknown" }, { 999, "Unknown" },
		{ 4294967295u, "Unknown" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(reason_phrase(rows[i].status),
				    rows[i].phrase);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(phrases) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
