/*
 * What a shared cache may store (RFC 9111, 3).
 */
#include "tests/unit.h"

#include "digestd/http/response_facts.h"
#include "digestd/http/storable.h"
#include "tests/http/message.h"

#define FRESH "Cache-Control: max-age=60"
#define CHANGED "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"
#define AUTH "Authorization: Basic eDp5"

static const struct {
	const char *method, *request;
	unsigned status;
	const char *response;
	enum storable verdict;
} rows[] = {
	{ "GET", NULL, 200, FRESH, STORABLE_YES },
	{ "GET", NULL, 200, "Expires: 0", STORABLE_YES },
	{ "GET", NULL, 200, "Cache-Control: s-maxage=60", STORABLE_YES },
	{ "GET", NULL, 200, CHANGED, STORABLE_YES },
	{ "GET", NULL, 200, "ETag: \"x\"", STORABLE_YES },
	{ "GET", NULL, 200, FRESH "\nPragma: no-cache", STORABLE_YES },
	{ "GET", NULL, 200, FRESH ", no-cache", STORABLE_YES },
	{ "GET", NULL, 200, NULL, STORABLE_NOT_CACHEABLE },
	{ "GET", NULL, 200, "Cache-Control: public", STORABLE_NOT_CACHEABLE },
	{ "GET", NULL, 200, "Cache-Control: foo", STORABLE_NOT_CACHEABLE },
	/* methods: names are compared with their case */
	{ "HEAD", NULL, 200, FRESH, STORABLE_METHOD },
	{ "POST", NULL, 200, FRESH, STORABLE_METHOD },
	{ "get", NULL, 200, FRESH, STORABLE_METHOD },
	{ "FOO", NULL, 200, FRESH, STORABLE_METHOD },
	/* status */
	{ "GET", NULL, 100, FRESH, STORABLE_STATUS },
	{ "GET", NULL, 206, FRESH, STORABLE_STATUS },
	{ "GET", NULL, 304, FRESH, STORABLE_STATUS },
	{ "GET", NULL, 600, FRESH, STORABLE_STATUS },
	{ "GET", NULL, 302, FRESH, STORABLE_YES },
	{ "GET", NULL, 404, FRESH, STORABLE_YES },
	{ "GET", NULL, 503, FRESH, STORABLE_YES },
	{ "GET", NULL, 599, FRESH, STORABLE_YES },
	{ "GET", NULL, 203, CHANGED, STORABLE_YES },
	{ "GET", NULL, 204, CHANGED, STORABLE_YES },
	{ "GET", NULL, 300, CHANGED, STORABLE_YES },
	{ "GET", NULL, 301, CHANGED, STORABLE_YES },
	{ "GET", NULL, 308, CHANGED, STORABLE_YES },
	{ "GET", NULL, 404, CHANGED, STORABLE_YES },
	{ "GET", NULL, 405, CHANGED, STORABLE_YES },
	{ "GET", NULL, 410, CHANGED, STORABLE_YES },
	{ "GET", NULL, 414, CHANGED, STORABLE_YES },
	{ "GET", NULL, 501, CHANGED, STORABLE_YES },
	{ "GET", NULL, 201, CHANGED, STORABLE_NOT_CACHEABLE },
	{ "GET", NULL, 302, CHANGED, STORABLE_NOT_CACHEABLE },
	{ "GET", NULL, 500, CHANGED, STORABLE_NOT_CACHEABLE },
	{ "GET", NULL, 302, CHANGED "\nCache-Control: public", STORABLE_YES },
	/* no-store and its exception */
	{ "GET", NULL, 200, FRESH ", no-store", STORABLE_NO_STORE },
	{ "GET", "Cache-Control: no-store", 200, FRESH, STORABLE_NO_STORE },
	{ "GET", NULL, 200, FRESH ", no-store, must-understand",
	  STORABLE_YES },
	{ "GET", NULL, 599, FRESH ", no-store, must-understand",
	  STORABLE_STATUS },
	{ "GET", NULL, 599, FRESH ", must-understand", STORABLE_STATUS },
	{ "GET", NULL, 200, FRESH ", private", STORABLE_PRIVATE },
	{ "GET", NULL, 200, FRESH ", private=\"vary\"", STORABLE_PRIVATE },
	{ "GET", NULL, 200, FRESH ", private=\"x\"", STORABLE_YES },
	{ "GET", NULL, 200, "Cache-Control: s-maxage=60, private",
	  STORABLE_PRIVATE },
	/* one user's, unless it says that it is everybody's */
	{ "GET", AUTH, 200, FRESH, STORABLE_AUTHORIZATION },
	{ "GET", AUTH, 200, FRESH ", proxy-revalidate",
	  STORABLE_AUTHORIZATION },
	{ "GET", AUTH, 200, FRESH ", public", STORABLE_YES },
	{ "GET", AUTH, 200, FRESH ", must-revalidate", STORABLE_YES },
	{ "GET", AUTH, 200, "Cache-Control: s-maxage=60", STORABLE_YES },
	{ "GET", "Authorization: ", 200, FRESH, STORABLE_AUTHORIZATION },
	/* somebody's cookie */
	{ "GET", NULL, 200, FRESH "\nSet-Cookie: a=b", STORABLE_SET_COOKIE },
	{ "GET", NULL, 200, CHANGED "\nset-cookie:", STORABLE_SET_COOKIE },
	{ "GET", NULL, 200, FRESH ", public\nSet-Cookie: a=b",
	  STORABLE_SET_COOKIE },
	{ "GET", NULL, 200, FRESH ", private=\"a, set-cookie\"\nSet-Cookie: a",
	  STORABLE_YES },
	{ "GET", NULL, 200, FRESH ", no-cache=\"Set-Cookie\"\nSet-Cookie: a",
	  STORABLE_YES },
	{ "GET", NULL, 200, FRESH ", no-cache=\"cookie\"\nSet-Cookie: a",
	  STORABLE_SET_COOKIE },
	{ "GET", NULL, 200, FRESH ", no-cache=\"set-cookie, etag\"\n"
	  "Set-Cookie: a", STORABLE_SET_COOKIE },
	{ "GET", NULL, 200, "Cache-Control: private=\"set-cookie\"\n"
	  "CDN-Cache-Control: max-age=1\nSet-Cookie: a",
	  STORABLE_SET_COOKIE },
	/* what is targeted at this cache counts in place of Cache-Control */
	{ "GET", NULL, 200,
	  "Cache-Control: no-store\nCDN-Cache-Control: max-age=1",
	  STORABLE_YES },
	{ "GET", NULL, 200,
	  "Cache-Control: private\nSurrogate-Control: max-age=1",
	  STORABLE_YES },
	{ "GET", NULL, 200, FRESH "\nCDN-Cache-Control: no-store",
	  STORABLE_NO_STORE },
	{ "GET", NULL, 200, FRESH "\nSurrogate-Control: no-store",
	  STORABLE_NO_STORE },
	{ "GET", NULL, 200, FRESH "\nCDN-Cache-Control: must-revalidate",
	  STORABLE_NOT_CACHEABLE },
	{ "GET", NULL, 200,
	  "Expires: Sun, 06 Nov 1994 08:49:47 GMT\nCDN-Cache-Control: foo",
	  STORABLE_NOT_CACHEABLE },
	/* Vary */
	{ "GET", NULL, 200, FRESH "\nVary: Accept", STORABLE_YES },
	{ "GET", NULL, 200, FRESH "\nVary: *", STORABLE_VARY },
	{ "GET", NULL, 200, FRESH "\nVary: Accept, *", STORABLE_VARY },
	{ "GET", NULL, 200, FRESH "\nVary: Accept\nVary: , *", STORABLE_VARY },
};

static void rule(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct fields request, response;
		struct response_facts facts;
		enum storable verdict;

		message_must(&request, rows[i].request);
		message_must(&response, rows[i].response);
		response_facts_read(&facts, rows[i].status, &response,
				    "cache1");
		verdict = storable(rows[i].method, &request, &facts);
		if (verdict != rows[i].verdict)
			fail_msg("row %zu: verdict %d, not %d", i, (int)verdict,
				 (int)rows[i].verdict);
		fields_free(&request);
		fields_free(&response);
	}
}

/* With a lifetime of the operator's a response needs none of its own; what is
 * for one client stays so. */
static void lifetime_of_an_operator(void **state)
{
	static const struct {
		const char *response;
		struct freshness_rules rules;
		enum storable verdict;
	} ruled[] = {
		{ "", { -1, -1, -1, -1, -1 }, STORABLE_NOT_CACHEABLE },
		{ "", { 0, 0, 60, 60, 60 }, STORABLE_NOT_CACHEABLE },
		{ "", { 1, -1, -1, -1, -1 }, STORABLE_YES },
		{ "", { -1, 1, -1, -1, -1 }, STORABLE_YES },
		{ "Cache-Control: no-store", { 1, 1, -1, -1, -1 },
		  STORABLE_NO_STORE },
		{ "Cache-Control: private", { 1, 1, -1, -1, -1 },
		  STORABLE_PRIVATE },
		{ "Set-Cookie: a=b", { 1, 1, -1, -1, -1 },
		  STORABLE_SET_COOKIE },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(ruled); i++) {
		struct fields request, response;
		struct response_facts facts;

		message_must(&request, NULL);
		message_must(&response, ruled[i].response);
		response_facts_read(&facts, 200, &response, NULL);
		facts.rules = ruled[i].rules;
		assert_int_equal(storable("GET", &request, &facts),
				 ruled[i].verdict);
		fields_free(&request);
		fields_free(&response);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rule),
		cmocka_unit_test(lifetime_of_an_operator),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
