/*
 * What an operator lets clients and peers do, and has done to requests and
 * responses of a site: see two_nodes.h.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "digestd/fetch/fetch.h"
#include "digestd/node/site.h"
#include "tests/loopback.h"
#include "tests/proxy/one_site.h"
#include "tests/proxy/two_nodes.h"
#include "tests/unit.h"

#define OBJECT "Proxy-Authorization: Bearer " TOKEN "\r\n"
#define RESOURCE "Authorization: Bearer " TOKEN "\r\n"

static struct sites *made;
static atomic_bool ready;

static int begin(void **state)
{
	static const uint64_t secret[2] = { 1, 2 };

	atomic_store(&ready, true);
	at.ready = &ready;
	at.rates = client_rates_new(secret);
	assert_non_null(at.rates);
	return two_nodes_begin(state);
}

static int end(void **state)
{
	two_nodes_end(state);
	client_rates_free(&at.rates);
	at.ready = NULL;
	sites_unref(made);
	made = NULL;
	return 0;
}

/* Node a has a site "h" with this policy, and another one for its paths /p*. */
static void set_policies(const struct policy *all, const struct policy *paths)
{
	struct worker_settings changed = at.a.settings;

	sites_unref(made);
	made = one_site(all, paths);
	changed.sites = made;
	reconfigure(&at.a, &changed);
}

#define SETS(name) .set = 1 << POLICY_##name, .name

/* A request, and what the reply must have; `seen`: at the origin by then. */
struct row {
	const char *target, *fields;
	unsigned status;
	const char *has;
	int seen;
};

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		expect(ask(port_a(), "GET", rows[i].target, rows[i].fields),
		       rows[i].status, rows[i].has);
		if (atomic_load(&at.seen) != rows[i].seen)
			fail_msg("row %zu: %d", i, atomic_load(&at.seen));
	}
}

/* What a browser's reload does at a site. */
static void no_cache_of_clients(void **state)
{
	static const struct policy modes[] = {
		{ SETS(client_no_cache) = NO_CACHE_OBEY },
		{ SETS(client_no_cache) = NO_CACHE_VALIDATE },
		{ SETS(client_no_cache) = NO_CACHE_IGNORE },
	};
	static const struct {
		const char *field;
		int more[3]; /* requests at the origin in each mode */
	} rows[] = {
		{ "", { 0, 0, 0 } },
		{ "Cache-Control: no-cache\r\n", { 1, 1, 0 } },
		{ "Cache-Control: max-age=0\r\n", { 1, 1, 0 } },
		{ "Cache-Control: min-fresh=1000\r\n", { 1, 1, 0 } },
	};

	(void)state;
	for (size_t m = 0; m < NROWS(modes); m++) {
		set_policies(&modes[m], NULL);
		free(ask(port_a(), "DELETE", "/hit", ""));
		free(ask(port_a(), "GET", "/hit", ""));
		for (size_t i = 0; i < NROWS(rows); i++) {
			int before = atomic_load(&at.seen);

			expect(ask(port_a(), "GET", "/hit", rows[i].field),
			       200, "/hit");
			if (atomic_load(&at.seen) - before != rows[i].more[m])
				fail_msg("mode %zu, row %zu: %d", m, i,
					 atomic_load(&at.seen) - before);
		}
	}
}

/* Encodings that mean the same, and cookies that nobody looks at, make no other
 * variants. */
static void requests_are_normalised(void **state)
{
	static const struct policy policy = {
		.set = 1 << POLICY_encodings | 1 << POLICY_cookies,
		.encodings = true, .cookies = "session",
	};

	(void)state;
	set_policies(&policy, NULL);
	expect(ask(port_a(), "GET", "/hit", "Accept-Encoding: br;q=0, gzip\r\n"
		   "Cookie: a=b; session=1; c=d\r\n"), 200, "/hit");
	assert_non_null(strstr(at.last, "session=1"));
	assert_null(strstr(at.last, "a=b"));
	assert_null(strstr(at.last, "c=d"));
	assert_null(strstr(at.last, "br"));
}

/* Of one kind only; what a site does not say, it leaves. */
static void requests_are_normalised_in_part(void **state)
{
	static const struct policy policies[] = {
		{ SETS(encodings) = true }, { SETS(encodings) = false },
		{ SETS(cookies) = "session" },
	};
	static const char *const has[][2] = { /* and has not */
		{ "a=b", "br" }, { "br", NULL }, { "br", "a=b" },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(policies); i++) {
		set_policies(&policies[i], NULL);
		free(ask(port_a(), "GET", "/nostore",
			 "Accept-Encoding: br;q=0, gzip\r\n"
			 "Cookie: a=b; session=1\r\n"));
		assert_non_null(strstr(at.last, has[i][0]));
		if (has[i][1])
			assert_null(strstr(at.last, has[i][1]));
	}
}

/* The last of the rules that match counts; fields that the site drops and sets
 * are so for all clients, also of what is stored. */
static void responses_are_edited(void **state)
{
	static const struct policy all = {
		.set = 1 << POLICY_field_drop | 1 << POLICY_field_set,
		.field_drop = "ETag\nX-None",
		.field_set = "X-Site: all\nX-B: b",
	};
	static const struct policy paths = { SETS(field_set) = "X-Site: p" };
	char *reply;

	(void)state;
	set_policies(&all, &paths);
	for (int i = 0; i < 2; i++) {
		reply = ask(port_a(), "GET", "/aged", "");
		assert_null(strstr(reply, "ETag"));
		assert_non_null(strstr(reply, "X-B: b\r\n"));
		expect(reply, 200, "X-Site: all\r\n");
		reply = ask(port_a(), "GET", "/plain", "");
		assert_null(strstr(reply, "X-B"));
		expect(reply, 200, "X-Site: p\r\n");
	}
}

static void what_is_stored(void **state)
{
	static const struct policy pass = { SETS(pass) = true };
	static const struct policy small = { SETS(max_object_bytes) = 3 };
	static const struct policy strip = {
		SETS(set_cookie) = SET_COOKIE_STRIP
	};
	static const struct row passed[] = {
		{ "/hit", "", 200, "/hit", 1 },
		{ "/hit", "", 200, "/hit", 2 },
	}, too_large[] = {
		{ "/hit", "", 200, "/hit", 3 },
		{ "/hit", "", 200, "/hit", 4 },
		{ "/vary", "", 200, NULL, 5 },
		{ "/vary", "", 200, "; hit", 5 },
	}, stripped[] = {
		{ "/cookie", "", 200, "baked", 6 },
		{ "/cookie", "", 200, "; hit", 6 },
	};

	(void)state;
	set_policies(&pass, NULL);
	check_rows(passed, NROWS(passed));
	set_policies(&small, NULL);
	check_rows(too_large, NROWS(too_large));
	set_policies(&strip, NULL);
	check_rows(stripped, NROWS(stripped));
}

static void clients_that_are_not_listed(void **state)
{
	struct worker_settings changed = at.a.settings;

	(void)state;
	assert_true(address_prefixes_read("10.0.0.0/8", &changed.clients));
	reconfigure(&at.a, &changed);
	expect(ask(port_a(), "GET", "/hit", ""), 403, NULL);
	assert_int_equal(atomic_load(&at.seen), 0);
	/* peers have a list of their own */
	expect(ask(worker_peer_port(at.a.worker), "GET", "http://h/hit",
		   OBJECT), 504, NULL);
	assert_true(address_prefixes_read("127.0.0.1", &changed.clients));
	reconfigure(&at.a, &changed);
	expect(ask(port_a(), "GET", "/hit", ""), 200, "/hit");
}

/* So many at once, and then one when there is a token again; peers have no
 * limit. */
static void clients_that_ask_too_often(void **state)
{
	struct worker_settings changed = at.a.settings;
	int refused = 0;

	(void)state;
	changed.client_rate = (struct client_rate){ .per_s = 1, .burst = 3 };
	reconfigure(&at.a, &changed);
	for (int i = 0; i < 6; i++) {
		char *reply = ask(port_a(), "GET", "/hit", "");

		if (!strncmp(reply, "HTTP/1.1 429", 12)) {
			assert_non_null(strstr(reply, "Retry-After: "));
			refused++;
		}
		free(reply);
	}
	assert_in_range(refused, 1, 3);
	for (int i = 0; i < 6; i++)
		expect(ask(worker_peer_port(at.a.worker), "GET",
			   "http://h/hit", OBJECT), 200, "; hit");
}

static char *ask_with_body(unsigned port, const char *target,
			   const char *fields)
{
	char request[512];
	int fd = loopback_dial(port);

	snprintf(request, sizeof(request), "POST %s HTTP/1.1\r\nHost: h\r\n"
		 "Connection: close\r\nContent-Length: 4\r\n%s\r\nbody",
		 target, fields);
	say(fd, request);
	return hear(fd);
}

/* A load balancer's question is no client's request. */
static void health(void **state)
{
	struct worker_settings changed = at.a.settings;
	struct worker_counters sum = { 0 };

	(void)state;
	changed.health = "/up";
	reconfigure(&at.a, &changed);
	expect(ask(port_a(), "GET", "/up", ""), 200, "\r\n\r\nready\n");
	expect(ask(port_a(), "HEAD", "/up", ""), 200, "no-store");
	atomic_store(&ready, false);
	expect(ask(port_a(), "GET", "/up", ""), 503, "not ready\n");
	worker_count(at.a.worker, &sum);
	assert_int_equal(sum.requests, 0);
	assert_int_equal(atomic_load(&at.seen), 0);
	/* these are */
	expect(ask(port_a(), "POST", "/up", "Content-Length: 0\r\n"), 200,
	       NULL);
	expect(ask_with_body(port_a(), "/up", ""), 200, "got 4");
	expect(ask(port_a(), "GET", "/up2", ""), 200, NULL);
	expect(ask(port_a(), "GET", "/uq", ""), 200, NULL);
	assert_int_equal(atomic_load(&at.seen), 4);
}

/* A Squid that is listed has no token, and gets objects, no resources; it
 * changes nothing. */
static void squids(void **state)
{
	static const char digest[] = "/squid-internal-periodic/store_digest";
	struct worker_settings changed = at.a.settings;
	const unsigned port = worker_peer_port(at.a.worker);

	(void)state;
	expect(ask(port_a(), "GET", "/hit", ""), 200, NULL);
	expect(ask(port, "GET", "http://h/hit", ""), 407, NULL);
	expect(ask(port, "GET", digest, ""), 401, NULL);
	assert_true(address_prefixes_read("10.0.0.0/8", &changed.squids));
	reconfigure(&at.a, &changed);
	expect(ask(port, "GET", "http://h/hit", ""), 407, NULL);
	assert_true(address_prefixes_read("127.0.0.1", &changed.squids));
	reconfigure(&at.a, &changed);
	expect(ask(port, "GET", "http://h/hit", ""), 200, "; hit");
	expect(ask(port, "HEAD", "http://h/hit", ""), 200, "; hit");
	expect(ask(port, "GET", "http://h/none", "Scd-Lease: wait\r\n"), 504,
	       NULL);
	expect(ask(port, "GET", digest, ""), 200, "resource");
	expect(ask(port, "POST", "http://h/hit", "Content-Length: 0\r\n"),
	       407, NULL);
	expect(ask(port, "GET", "/scd/v1/digest", ""), 401, NULL);
	expect(ask(port, "PURGE", "http://h/hit", ""), 407, NULL);
}

/* What peers may change: nothing without the token, and purges only where they
 * are let. */
static void purges_of_peers(void **state)
{
	struct worker_settings changed = at.a.settings;
	const unsigned port = worker_peer_port(at.a.worker);

	(void)state;
	free(ask(port_a(), "GET", "/hit", ""));
	expect(ask(port, "PURGE", "http://h/hit", OBJECT), 403, NULL);
	expect(ask_with_body(port, "/scd/v1/invalidations", RESOURCE), 403,
	       NULL);
	expect(ask(port_a(), "GET", "/hit", ""), 200, "; hit");
	changed.purge_peers = true;
	reconfigure(&at.a, &changed);
	expect(ask(port, "PURGE", "http://h/hit", ""), 407, NULL);
	expect(ask(port, "PURGE", "http://h/hit", OBJECT), 200, "purged");
	expect(ask_with_body(port, "/scd/v1/invalidations", RESOURCE), 400,
	       NULL);
	expect(ask_with_body(port, "/scd/v1/invalidations", ""), 401, NULL);
	expect(ask(port_a(), "GET", "/hit", ""), 200, "uri-miss");
	/* a body that no resource takes is read, and nothing else */
	expect(ask_with_body(port, "/scd/v1/digest", RESOURCE), 200,
	       "resource");
	expect(ask_with_body(port, "http://h/hit", OBJECT), 504, NULL);
}

/* What a cache beside this node asks through it is the origin's affair, and
 * not stored here; what a peer asks for is that cache's, if it has it. */
static void beside_a_cache(void **state)
{
	const unsigned port = worker_peer_port(at.a.worker);
	struct worker_settings changed = at.a.settings;

	(void)state;
	changed.sidecar = at.url;
	reconfigure(&at.a, &changed);
	expect(ask(port_a(), "GET", "/aged", "If-None-Match: \"v1\"\r\n"), 304,
	       NULL);
	expect(ask(port_a(), "GET", "/aged", ""), 200, "uri-miss");
	expect(ask(port_a(), "GET", "/aged", ""), 200, "uri-miss");
	expect(ask(port, "GET", "http://h/hit", OBJECT), 200, "/hit");
	assert_non_null(strstr(at.last, "only-if-cached"));
	expect(ask(port, "GET", "http://h/sliced",
		   OBJECT "Range: bytes=0-3\r\n"), 206, "\r\n\r\nabcd");
	expect(ask(port, "GET", "http://h/etag",
		   OBJECT "If-None-Match: \"v1\"\r\n"), 304, NULL);
	expect(ask(port, "GET", "http://h/error", OBJECT), 504, NULL);
	expect(ask(port, "GET", "http://h/abort", OBJECT), 504, NULL);
	expect(ask(port, "POST", "http://h/hit",
		   OBJECT "Content-Length: 0\r\n"), 504, NULL);
}

/* A peer that names purges gets what is stored only where all were applied (the
 * node's own are those of 1); what it does not say well, nobody has applied. */
static void what_peers_need(void **state)
{
	/* clang-format off */
	static const struct {
		const char *need;
		bool met;
	} rows[] = {
		{ "0000000000000001-0", true },
		{ "0000000000000001-0, 0000000000000001-0", true },
		{ "0000000000000001-1", false },
		{ "0123456789abcdef-1", false },
		{ "0000000000000001-0, 0123456789abcdef-1", false },
		{ "0000000000000001", false },
		{ "0000000000000001-", false },
		{ "0000000000000001x0", false },
		{ "000000000000000g-0", false },
		{ "0000000000000001-x", false },
		{ "0000000000000001-000000000000000000000", false },
		{ "?", false },
	};
	/* clang-format on */

	(void)state;
	free(ask(port_a(), "GET", "/hit", ""));
	for (size_t i = 0; i < NROWS(rows); i++) {
		char fields[256], *reply;

		snprintf(fields, sizeof(fields), OBJECT "SCD-Need: %s\r\n",
			 rows[i].need);
		reply = ask(worker_peer_port(at.a.worker), "GET",
			    "http://h/hit", fields);
		if (!strstr(reply, "SCD-Need: met\r\n") == rows[i].met)
			fail_msg("%s: %.300s", rows[i].need, reply);
		expect(reply, rows[i].met ? 200 : 504, NULL);
	}
	free(ask(port_a(), "GET", "/aged", ""));
	expect(ask(worker_peer_port(at.a.worker), "GET", "http://h/aged",
		   OBJECT "SCD-Need: 0000000000000001-0\r\n"
		   "If-None-Match: \"v1\"\r\n"), 304, "SCD-Need: met\r\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_cache_of_clients),
		TEST(requests_are_normalised),
		TEST(requests_are_normalised_in_part),
		TEST(responses_are_edited),
		TEST(what_is_stored),
		TEST(clients_that_are_not_listed),
		TEST(clients_that_ask_too_often),
		TEST(health),
		TEST(squids),
		TEST(purges_of_peers),
		TEST(what_peers_need),
		TEST(beside_a_cache),
	};

	signal(SIGPIPE, SIG_IGN);
	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
