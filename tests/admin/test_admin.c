/*
 * The admin listener: which requests get what. The purger and the status are
 * the test's; each allocation fails once.
 */
#include <string.h>

#include "digestd/admin/admin.h"
#include "digestd/os/loop.h"
#include "tests/codec/alloc.h"
#include "tests/server/exchange_fake.h"
#include "tests/unit.h"

static struct purger purger;
static unsigned purges, purges_left;

/* In place of digestd/peers/purge.c. */
void purge_serve(struct purger *p, struct exchange *x)
{
	assert_ptr_equal(p, &purger);
	purges++;
	exchange_reply_copy(x, 200, NULL, "purged", 6);
}

void purge_leave(struct exchange *x)
{
	(void)x;
	purges_left++;
}

/* ... and of peer_follower.c: there are no peers. */
size_t peer_follower_count(const struct peer_follower *f)
{
	(void)f;
	return 0;
}

void peer_follower_status(const struct peer_follower *f, size_t i,
			  struct peer_follower_status *out)
{
	(void)f;
	(void)i;
	(void)out;
	fail();
}

static bool ready;

static void gather(void *arg, struct node_status *out)
{
	assert_null(arg);
	*out = (struct node_status){ .node = "a", .ready = ready };
}

static struct loop *loop;
static struct admit_api admit;
static struct admin admin = {
	.gather = gather,
	.purger = &purger,
	.admit = &admit,
};

static int set_up(void **state)
{
	const struct admitter_settings settings = {
		.policy = "none",
		.eviction = "sieve",
		.capacity = 1 << 20,
		.memory = 1 << 20,
		.mean_size = 1024,
	};

	(void)state;
	if (loop_new(&loop))
		return -1;
	return admitter_new(&settings, 0, &admit.admitter);
}

static int tear_down(void **state)
{
	(void)state;
	admitter_free(&admit.admitter);
	loop_free(&loop);
	return 0;
}

/* A whole exchange, with a body of `body`. */
static void serve(struct exchange *x, const char *body)
{
	size_t len = strlen(body);

	x->request.has_body = len;
	x->request.body_len = (int64_t)len;
	admin_handler.on_request(&admin, x);
	if (len) {
		assert_int_equal(admin_handler.on_body(&admin, x, body, len),
				 len);
		admin_handler.on_body_end(&admin, x);
	}
	assert_int_equal(x->answers, 1);
	admin_handler.on_done(&admin, x, EXCHANGE_DONE);
	assert_null(x->data);
}

#define TEXT "text/plain"
#define METRICS "text/plain; version=0.0.4; charset=utf-8"
#define JSON "application/json"
#define HTML "text/html; charset=utf-8"

static const struct {
	const char *method, *target, *body;
	bool ready;
	unsigned status;
	const char *type, *begins; /* null: an error page */
} rows[] = {
	{ "GET", "/healthz", "", false, 200, TEXT, "ok\n" },
	{ "HEAD", "/healthz", "", false, 200, TEXT, "ok\n" },
	{ "GET", "/readyz", "", true, 200, TEXT, "ready\n" },
	{ "GET", "/readyz", "", false, 503, TEXT, "not ready\n" },
	{ "GET", "/metrics", "", true, 200, METRICS,
	  "# HELP digestd_build_info " },
	{ "HEAD", "/metrics", "", true, 200, METRICS, "# HELP " },
	{ "GET", "/status.json", "", true, 200, JSON,
	  "{\n  \"node\": \"a\"," },
	{ "GET", "/v1/admit?uri=http://a/", "", true, 200, TEXT, "disk\n" },
	{ "POST", "/v1/admit", "http://a/\nhttp://b/\n", true, 200, TEXT,
	  "disk\ndisk\n" },
	{ "POST", "/v1/held", "reset\n", true, 409, TEXT,
	  "this node is no sidecar\n" },
	{ "GET", "/v1/held", "", true, 405, TEXT, "" },
	{ "PURGE", "/v1/admit", "", true, 200, NULL, "purged" },
	{ "PURGE", "/v1/held", "a body", true, 200, NULL, "purged" },
	{ "PURGE", "http://a/", "a body", true, 200, NULL, "purged" },
	{ "PURGE", "/metrics", "", true, 200, NULL, "purged" },
	{ "GET", "/", "", true, 200, HTML, "<!DOCTYPE html>\n" },
	{ "HEAD", "/status", "", true, 200, HTML, "<!DOCTYPE html>\n" },
	{ "POST", "/", "", true, 405, NULL, NULL },
	{ "GET", "/status/", "", true, 404, NULL, NULL },
	{ "GET", "/metrics?", "", true, 404, NULL, NULL },
	{ "GET", "/Metrics", "", true, 404, NULL, NULL },
	{ "GET", "/metric", "", true, 404, NULL, NULL },
	{ "GET", "http://a/metrics", "", true, 404, NULL, NULL },
	{ "GET", "/nothing", "a body", true, 404, NULL, NULL },
	{ "POST", "/metrics", "", true, 405, NULL, NULL },
	{ "POST", "/nothing", "", true, 405, NULL, NULL },
	{ "OPTIONS", "*", "", true, 405, NULL, NULL },
	{ "get", "/healthz", "", true, 405, NULL, NULL },
	{ "purge", "/", "", true, 405, NULL, NULL },
};

static void test_requests(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		const char *begins = rows[i].begins;
		struct exchange x;

		exchange_fake_make(&x, loop, rows[i].method, rows[i].target);
		ready = rows[i].ready;
		serve(&x, rows[i].body);
		if (x.status != rows[i].status || !x.body != !begins ||
		    (begins && strncmp(x.body, begins, strlen(begins)) != 0))
			fail_msg("%s %s: %u \"%.60s\"", rows[i].method,
				 rows[i].target, x.status,
				 x.body ? x.body : "");
		if (rows[i].type) {
			assert_string_equal(fields_get(&x.reply,
						       "Content-Type"),
					    rows[i].type);
			assert_string_equal(fields_get(&x.reply,
						       "Cache-Control"),
					    "no-store");
		}
		exchange_fake_free(&x);
	}
	assert_int_equal(purges, 4);
	assert_true(purges_left >= purges);
}

/* Without memory: 500, 503 or the end of the connection; never half a text. */
static void check_every_allocation(const char *method, const char *target,
				   const char *body)
{
	bool failed = true;

	for (unsigned n = 1; failed; n++) {
		struct exchange x;

		exchange_fake_make(&x, loop, method, target);
		alloc_fail_at(n);
		serve(&x, body);
		failed = alloc_failed();
		alloc_fail_at(0);
		if (failed ? !x.aborted && x.status < 500 : x.status != 200)
			fail_msg("%s, allocation %u: %u", target, n, x.status);
		exchange_fake_free(&x);
	}
}

static void test_every_allocation(void **state)
{
	(void)state;
	ready = true;
	check_every_allocation("GET", "/healthz", "");
	check_every_allocation("GET", "/readyz", "");
	check_every_allocation("GET", "/metrics", "");
	check_every_allocation("GET", "/status.json", "");
	check_every_allocation("GET", "/", "");
	check_every_allocation("GET", "/v1/admit?uri=http://a/", "");
	check_every_allocation("POST", "/v1/admit", "http://a/\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_every_allocation),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
