/*
 * The feed over HTTP, of a sidecar that is the test's: lines that count, or
 * none of them; who may post; and each allocation failing.
 */
#include <string.h>

#include "digestd/admin/feed_api.h"
#include "digestd/admin/posted.h"
#include "digestd/sidecar/sidecar.h"
#include "tests/codec/alloc.h"
#include "tests/server/exchange_fake.h"
#include "tests/unit.h"

/* In place of digestd/sidecar/sidecar.c. */
struct sidecar {
	struct holdings *holdings;
	bool takes_lines;
};

struct holdings *sidecar_holdings(const struct sidecar *s)
{
	return s->holdings;
}

bool sidecar_takes_lines(const struct sidecar *s)
{
	return s->takes_lines;
}

static struct sidecar sidecar;

static int set_up(void **state)
{
	const struct holdings_settings settings = {
		.max_keys = 2, .nbits = 1 << 10, .nhash = 3
	};

	(void)state;
	sidecar.takes_lines = true;
	return holdings_new(&settings, &sidecar.holdings);
}

static int tear_down(void **state)
{
	(void)state;
	holdings_free(&sidecar.holdings);
	return 0;
}

/* A whole exchange; the body comes in pieces of so many bytes. */
static void serve_pieces(struct exchange *x, const struct sidecar *s,
			 const char *body, size_t len, size_t piece)
{
	x->request.has_body = len;
	x->request.body_len = (int64_t)len;
	feed_api_serve(s, x);
	for (size_t at = 0; at < len; at += piece)
		posted_add(x, body + at, len - at < piece ? len - at : piece);
	if (len)
		feed_api_body_end(s, x);
	assert_int_equal(x->answers, 1);
	posted_leave(x);
}

static uint64_t held(void)
{
	struct holdings_stats now;

	holdings_stats(sidecar.holdings, &now);
	return now.keys;
}

/* One after the other: what is held stays. */
static const struct {
	const char *method, *body;
	unsigned status;
	const char *answer;
	uint64_t held;
} rows[] = {
	{ "POST", "", 200, "ack post held 0 refused 0\n", 0 },
	{ "POST", "insert http://a/1\n", 200, "ack post held 1 refused 0\n",
	  1 },
	{ "POST", "insert http://a/1\ninsert http://a/2", 200,
	  "ack post held 2 refused 0\n", 2 },
	{ "POST", "insert http://a/3\n\ninsert http://a/4\r\n", 200,
	  "ack post held 2 refused 2\n", 2 },
	/* none of them counts where one is wrong */
	{ "POST", "evict http://a/1\nnonsense\n", 400, "error 2: ", 2 },
	{ "POST", "evict http://a/1\ninsert a\n", 400, "error 2: ", 2 },
	{ "POST", "evict http://a/1\n", 200, "ack post held 1 refused 0\n",
	  1 },
	{ "POST", "ack text\n", 200, "ack post held 1 refused 0\n", 1 },
	{ "POST", "reset\ninsert http://a/5\ninsert http://a/6\n", 200,
	  "ack post held 2 refused 0\n", 2 },
	{ "GET", "", 405, "", 2 },
	{ "PUT", "reset\n", 405, "", 2 },
};

static void test_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct exchange x;

		exchange_fake_make(&x, NULL, rows[i].method, "/v1/held");
		assert_true(feed_api_is_meant(&x));
		serve_pieces(&x, &sidecar, rows[i].body, strlen(rows[i].body),
			     7);
		if (x.status != rows[i].status ||
		    strncmp(x.body, rows[i].answer, strlen(rows[i].answer)) ||
		    held() != rows[i].held)
			fail_msg("row %zu: %u \"%s\"", i, x.status, x.body);
		if (x.status == 405)
			assert_string_equal(fields_get(&x.reply, "Allow"),
					    "POST");
		exchange_fake_free(&x);
	}
}

static void test_targets_that_are_not_meant(void **state)
{
	static const char *const targets[] = { "/v1/hel", "/v1/held?", "/v1",
					       "/v1/HELD", "/v1/helt" };

	(void)state;
	for (size_t i = 0; i < NROWS(targets); i++) {
		struct exchange x;

		exchange_fake_make(&x, NULL, "POST", targets[i]);
		assert_false(feed_api_is_meant(&x));
		exchange_fake_free(&x);
	}
}

/* A node without a cache beside it, and one that reads nginx's folder. */
static void test_who_takes_no_lines(void **state)
{
	static const char body[] = "insert http://a/\n";
	struct sidecar folder = sidecar;
	struct exchange x;

	(void)state;
	exchange_fake_make(&x, NULL, "POST", "/v1/held");
	serve_pieces(&x, NULL, body, strlen(body), 100);
	assert_int_equal(x.status, 409);
	assert_string_equal(x.body, "this node is no sidecar\n");
	exchange_fake_free(&x);
	folder.takes_lines = false;
	exchange_fake_make(&x, NULL, "POST", "/v1/held");
	serve_pieces(&x, &folder, body, strlen(body), 100);
	assert_int_equal(x.status, 409);
	assert_string_equal(x.body, "nginx_cache says what is held\n");
	exchange_fake_free(&x);
	assert_int_equal(held(), 0);
}

/* As much as fits is read; one byte more, and nothing of it counts. */
static void test_long_bodies(void **state)
{
	static char body[POSTED_BYTES + 1];

	(void)state;
	memset(body, '\n', sizeof(body));
	memcpy(body, "insert http://a/", 16);
	for (unsigned more = 0; more <= 1; more++) {
		struct exchange x;

		exchange_fake_make(&x, NULL, "POST", "/v1/held");
		serve_pieces(&x, &sidecar, body, POSTED_BYTES + more, 1 << 16);
		assert_int_equal(x.status, more ? 413 : 200);
		assert_int_equal(held(), more ? 0 : 1);
		exchange_fake_free(&x);
		holdings_reset(sidecar.holdings);
	}
}

/* 503, or the end of the connection, or a line that is refused. */
static void test_every_allocation(void **state)
{
	static const char body[] = "insert http://a/1\n";
	bool failed = true;

	(void)state;
	for (unsigned n = 1; failed; n++) {
		struct exchange x;

		exchange_fake_make(&x, NULL, "POST", "/v1/held");
		alloc_fail_at(n);
		serve_pieces(&x, &sidecar, body, strlen(body), 100);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_true(x.aborted || x.status == 503 || x.status == 200);
		if (x.status == 200 && !held())
			assert_string_equal(x.body,
					    "ack post held 0 refused 1\n");
		exchange_fake_free(&x);
		if (failed)
			holdings_reset(sidecar.holdings);
	}
	assert_int_equal(held(), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_lines),
		TEST(test_targets_that_are_not_meant),
		TEST(test_who_takes_no_lines),
		TEST(test_long_bodies),
		TEST(test_every_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
