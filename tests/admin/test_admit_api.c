/*
 * /v1/admit: each question's answer, by target and by lines of a body, however
 * the body comes in pieces; what is refused, and that it has changed nothing;
 * each allocation failing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/admin/admit_api.h"
#include "digestd/admin/posted.h"
#include "digestd/admission/admit_request.h"
#include "digestd/cache/admitter.h"
#include "digestd/os/loop.h"
#include "tests/codec/alloc.h"
#include "tests/server/exchange_fake.h"
#include "tests/unit.h"

#define A "http://www.example.com/a"
#define B "http://www.example.com/b"

static struct loop *loop;
static struct admit_api api;

/* The policy "aged": the first use is refused, the second one admitted. */
static int set_up(void **state)
{
	const struct admitter_settings settings = {
		.policy = "aged",
		.eviction = "sieve",
		.capacity = 1 << 20,
		.memory = 1 << 20,
		.mean_size = 1024,
		.window = 1000,
	};

	(void)state;
	if (loop_new(&loop))
		return -1;
	return admitter_new(&settings, 0, &api.admitter);
}

static int tear_down(void **state)
{
	(void)state;
	admitter_free(&api.admitter);
	loop_free(&loop);
	return 0;
}

/* Serves a request with a body, which comes in pieces of `piece` bytes. */
static void serve(struct exchange *x, const char *body, size_t len,
		  size_t piece)
{
	x->request.has_body = len;
	if (!x->request.body_len)
		x->request.body_len = (int64_t)len;
	admit_serve(&api, x);
	for (size_t at = 0; at < len && !x->answers; at += piece) {
		size_t n = len - at < piece ? len - at : piece;

		assert_int_equal(posted_add(x, body + at, n), n);
	}
	if (x->request.has_body)
		admit_body_end(&api, x);
	posted_leave(x);
	assert_null(x->data);
	assert_int_equal(x->answers, 1);
}

static void check(const char *method, const char *target, const char *body,
		  size_t piece, unsigned status, const char *answer)
{
	struct exchange x;

	exchange_fake_make(&x, loop, method, target);
	serve(&x, body, strlen(body), piece);
	if (x.status != status || !x.body || strcmp(x.body, answer) != 0)
		fail_msg("%s %s \"%.60s\": %u \"%s\", not %u \"%s\"", method,
			 target, body, x.status, x.body ? x.body : "(error)",
			 status, answer);
	assert_string_equal(fields_get(&x.reply, "Content-Type"),
			    "text/plain");
	assert_string_equal(fields_get(&x.reply, "Cache-Control"), "no-store");
	if (status == 405)
		assert_string_equal(fields_get(&x.reply, "Allow"),
				    "GET, POST");
	exchange_fake_free(&x);
}

static void check_get(const char *query, unsigned status, const char *answer)
{
	char target[9000];

	snprintf(target, sizeof(target), "/v1/admit%s", query);
	check("GET", target, "", 1, status, answer);
}

static const struct {
	const char *target;
	bool meant;
} targets[] = {
	{ "/v1/admit", true },     { "/v1/admit?", true },
	{ "/v1/admit?uri=x", true }, { "/v1/admit/", false },
	{ "/v1/admits", false },   { "/v1/admi", false },
	{ "/", false },            { "", false },
	{ "/metrics", false },     { "*", false },
};

static void test_what_is_meant(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(targets); i++) {
		struct exchange x;

		exchange_fake_make(&x, loop, "GET", targets[i].target);
		if (admit_is_meant(&x) != targets[i].meant)
			fail_msg("\"%s\"", targets[i].target);
		exchange_fake_free(&x);
	}
}

static void test_questions(void **state)
{
	static const char wrong[] =
		"expected ?uri=URI[&size=BYTES][&note=no]\n";
	char huge[8500] = "?uri=http://a/";

	(void)state;
	check_get("?uri=" A, 200, "no\n");
	check_get("?uri=" A "&size=10", 200, "disk\n");
	check_get("?uri=" B "&note=no", 200, "no\n"); /* not a use */
	check_get("?uri=" B "&note=no", 200, "no\n");
	check_get("?uri=" B, 200, "no\n");
	check_get("?uri=" B "&note=no", 200, "disk\n");
	check_get("", 400, wrong);
	check_get("?", 400, wrong);
	check_get("?uri=x", 400, wrong);
	check_get("?uri=" A "&size=x", 400, wrong);
	memset(huge + strlen(huge), 'a', sizeof(huge) - 1 - strlen(huge));
	huge[sizeof(huge) - 1] = '\0';
	check_get(huge, 414, "uri: too long\n");
	check("PUT", "/v1/admit", "", 1, 405, "");
	check("HEAD", "/v1/admit", "", 1, 405, "");
}

static const struct {
	const char *label, *body;
	unsigned status;
	const char *answer;
} batches[] = {
	{ "nothing", "", 200, "" },
	{ "one line", A "\n", 200, "no\n" },
	{ "without its end", A, 200, "disk\n" },
	{ "with a size", A " 100\n", 200, "disk\n" },
	{ "as Windows ends lines", A "\r\n" B "\r\n", 200, "disk\nno\n" },
	{ "twice the same", "http://c/\nhttp://c/\n", 200, "no\ndisk\n" },
	{ "a blank line", A "\n\n" A "\n", 400, "line 2: not URI [SIZE]\n" },
	{ "no URI", "http://d/\nhello\n", 400, "line 2: not URI [SIZE]\n" },
	{ "no size", "http://d/ x\n", 400, "line 1: not URI [SIZE]\n" },
	{ "refused ones were no use", "http://d/\n", 200, "no\n" },
};

static void test_batches(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(batches); i++)
		check("POST", "/v1/admit", batches[i].body, i % 7 + 1,
		      batches[i].status, batches[i].answer);
	check("POST", "/v1/admit?uri=" A, A, 5, 400, "a query, with POST\n");
}

/* `len` bytes in lines of A. */
static char *lines(size_t n, size_t *len)
{
	static const char line[] = "http://a/\n";
	char *text = malloc(n * (sizeof(line) - 1) + 1);

	assert_non_null(text);
	for (size_t i = 0; i < n; i++)
		memcpy(text + i * (sizeof(line) - 1), line, sizeof(line));
	*len = n * (sizeof(line) - 1);
	return text;
}

static void check_large(size_t nlines, int64_t body_len, unsigned status,
			const char *why)
{
	struct exchange x;
	size_t len;
	char *text = lines(nlines, &len);

	exchange_fake_make(&x, loop, "POST", "/v1/admit");
	x.request.body_len = body_len;
	serve(&x, text, len, 65536);
	assert_int_equal(x.status, status);
	if (why)
		assert_string_equal(x.body, why);
	else
		assert_int_equal(x.body_len, 3 + 5 * (nlines - 1));
	exchange_fake_free(&x);
	free(text);
}

static void test_limits(void **state)
{
	char uri[9000] = A "\nhttp://a/";

	(void)state;
	check_large(ADMIT_LINES, 0, 200, NULL);
	check_large(ADMIT_LINES + 1, 0, 413, "line 10001: too many\n");
	/* longer than is allowed: by its length, or as it comes */
	check_large(10, POSTED_BYTES + 1, 413, "more than 1 MiB\n");
	check_large(POSTED_BYTES / 10 + 1, -1, 413, "more than 1 MiB\n");
	memset(uri + strlen(uri), 'a', sizeof(uri) - 1 - strlen(uri));
	uri[sizeof(uri) - 1] = '\0';
	check("POST", "/v1/admit", uri, 1000, 413, "line 2: URI too long\n");
}

/* A client that leaves halfway. */
static void test_leaving(void **state)
{
	struct exchange x;

	(void)state;
	exchange_fake_make(&x, loop, "POST", "/v1/admit");
	x.request.has_body = true;
	x.request.body_len = -1;
	admit_serve(&api, &x);
	assert_int_equal(posted_add(&x, A, strlen(A)), strlen(A));
	posted_leave(&x);
	assert_null(x.data);
	assert_int_equal(x.answers, 0);
	exchange_fake_free(&x);
}

/* Without memory: 503, or the connection ends; never half an answer. */
static void test_every_allocation(void **state)
{
	bool failed = true;

	(void)state;
	for (unsigned n = 1; failed; n++) {
		struct exchange x;

		exchange_fake_make(&x, loop, "POST", "/v1/admit");
		alloc_fail_at(n);
		serve(&x, A "\n", strlen(A) + 1, 100);
		failed = alloc_failed();
		alloc_fail_at(0);
		if (failed && x.status != 503 && !x.aborted)
			fail_msg("allocation %u: %u", n, x.status);
		if (!failed)
			assert_int_equal(x.status, 200);
		exchange_fake_free(&x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_meant),
		cmocka_unit_test_setup_teardown(test_questions, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_batches, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_limits, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_leaving, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_every_allocation, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
