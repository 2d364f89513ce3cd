/*
 * Where requests go, and which the node answers itself: sites, methods that
 * are not for the origin, forward proxies, clients of HTTP/1.0, and peers that
 * ask for what they must not. See two_nodes.h.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "digestd/fetch/fetch.h"
#include "tests/loopback.h"
#include "tests/proxy/two_nodes.h"
#include "tests/unit.h"

#define BEARER "Bearer " TOKEN "\r\n"

static char *ask_raw(unsigned port, const char *request)
{
	int fd = loopback_dial(port);

	say(fd, request);
	return hear(fd);
}

/* A request line and what the answer must have. */
struct row {
	const char *request;
	unsigned status;
	const char *has;
	int seen; /* at the origin, by then */
};

static void check_rows(unsigned port, const struct row *rows, size_t n)
{
	char text[512];

	for (size_t i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "%sConnection: close\r\n\r\n",
			 rows[i].request);
		expect(ask_raw(port, text), rows[i].status, rows[i].has);
		if (atomic_load(&at.seen) != rows[i].seen)
			print_message("# %s", rows[i].request);
		assert_int_equal(atomic_load(&at.seen), rows[i].seen);
	}
}

static void sites(void **state)
{
	const struct worker_origin origins[] = {
		{ "www.example.com", at.url, SET_COOKIE_REFUSE, NULL },
		{ "strip:8080", at.url, SET_COOKIE_STRIP, NULL },
		{ "secure", "https://127.0.0.1:1", SET_COOKIE_REFUSE, NULL },
	};
	/* clang-format off */
	static const struct row rows[] = {
		{ "GET /hit HTTP/1.1\r\nHost: www.example.com\r\n", 200, "/hit", 1 },
		{ "GET /hit HTTP/1.1\r\nHost: WWW.example.COM:80\r\n", 200, "; hit", 1 },
		{ "GET /hit HTTP/1.1\r\nHost: www.example.con\r\n", 421, "detail=\"host\"", 1 },
		{ "GET /hit HTTP/1.1\r\nHost: strip\r\n", 421, NULL, 1 },
		{ "GET /cookie HTTP/1.1\r\nHost: strip:8080\r\n", 200, "baked", 2 },
		{ "GET /cookie HTTP/1.1\r\nHost: strip:8080\r\n", 200, "; hit", 2 },
		{ "GET /cookie HTTP/1.1\r\nHost: www.example.com\r\n", 200, "Set-Cookie: a=b", 3 },
		{ "GET /cookie HTTP/1.1\r\nHost: www.example.com\r\n", 200, "Set-Cookie: a=b", 4 },
		{ "GET /hit HTTP/1.1\r\nHost: secure\r\n", 502, NULL, 4 },
		{ "OPTIONS * HTTP/1.1\r\nHost: other\r\n", 200, "Allow: GET", 4 },
		{ "OPTIONS * HTTP/1.0\r\n", 200, "Allow: GET", 4 },
		{ "OPTIONS * HTTP/1.1\r\nHost: www.example.com\r\n", 200, NULL, 5 },
		{ "OPTIONS /x HTTP/1.1\r\nHost: www.example.com\r\nMax-Forwards: 0\r\n", 200, "Allow: GET", 5 },
		{ "OPTIONS /x HTTP/1.1\r\nHost: www.example.com\r\nMax-Forwards: 3\r\n", 200, NULL, 6 },
		{ "GET /hit2 HTTP/1.1\r\nHost: www.example.com\r\nX-HTTP-Method-Override: DELETE\r\n", 200, "fwd=bypass", 7 },
		{ "GET /hit2 HTTP/1.1\r\nHost: www.example.com\r\n", 200, "fwd=uri-miss", 8 },
		{ "GET /hit HTTP/1.0\r\n", 400, NULL, 8 },
	};
	/* clang-format on */
	struct worker_settings changed = at.a.settings;

	(void)state;
	changed.origins = origins;
	changed.norigins = NROWS(origins);
	changed.default_origin = NULL;
	reconfigure(&at.a, &changed);
	check_rows(port_a(), rows, NROWS(rows));
	check_rows(port_a(), &(struct row){
		"OPTIONS /x HTTP/1.1\r\nHost: www.example.com\r\n"
		"Max-Forwards: 3\r\n", 200, NULL, 9 }, 1);
	assert_non_null(strstr(at.last, "Max-Forwards: 2\n"));
}

/* HTTP/1.0 needs no Host, and then goes where all goes. */
static void the_default_origin(void **state)
{
	static const struct row rows[] = {
		{ "GET /hit HTTP/1.0\r\n", 200, "/hit", 1 },
		{ "GET /cookie HTTP/1.1\r\nHost: h\r\n", 200, "baked", 2 },
		{ "GET /cookie HTTP/1.1\r\nHost: h\r\n", 200, "a=b", 2 },
		{ "GET https://h/hit HTTP/1.1\r\nHost: h\r\n", 200, NULL, 3 },
	};
	struct worker_settings changed = at.a.settings;

	(void)state;
	changed.set_cookie = SET_COOKIE_ALLOW;
	reconfigure(&at.a, &changed);
	check_rows(port_a(), rows, NROWS(rows));
}

/* An origin without TLS, where it should have it. */
static void an_origin_that_is_not_trusted(void **state)
{
	struct worker_settings changed = at.a.settings;
	struct worker_counters sum = { 0 };
	char url[sizeof(at.url) + 1] = "https";

	(void)state;
	strcat(url, at.url + strlen("http"));
	changed.default_origin = url;
	reconfigure(&at.a, &changed);
	expect(ask(port_a(), "GET", "/hit", ""), 502, NULL);
	expect(ask(port_a(), "GET", "/hit", ""), 502, NULL);
	worker_count(at.a.worker, &sum);
	assert_int_equal(sum.origin_errors, 2);
}

/* Who asks as a peer gets objects with a token, and resources; no purges. */
static void the_peer_listener(void **state)
{
	/* clang-format off */
	static const struct row rows[] = {
		{ "PURGE http://h/hit HTTP/1.1\r\nHost: h\r\nProxy-Authorization: " BEARER, 403, NULL, 0 },
		{ "PURGE http://h/hit HTTP/1.1\r\nHost: h\r\n", 407, "Proxy-Authenticate: Bearer", 0 },
		{ "POST /scd/v1/x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nAuthorization: " BEARER, 200, "resource", 0 },
		{ "GET /scd/v1/x HTTP/1.1\r\nHost: h\r\n", 401, "WWW-Authenticate: Bearer", 0 },
		{ "POST http://h/hit HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nProxy-Authorization: " BEARER, 504, NULL, 0 },
	};
	/* clang-format on */
	const unsigned port = worker_peer_port(at.a.worker);

	(void)state;
	check_rows(port, rows, NROWS(rows));
	expect(ask_raw(port, "POST /scd/v1/x HTTP/1.1\r\nHost: h\r\n"
			     "Connection: close\r\nContent-Length: 4\r\n"
			     "Authorization: " BEARER "\r\nabcd"),
	       200, "resource");
	expect(ask_raw(port, "POST /scd/v1/x HTTP/1.1\r\nHost: h\r\n"
			     "Connection: close\r\nContent-Length: 4\r\n\r\n"
			     "abcd"),
	       401, NULL);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, two_nodes_begin, two_nodes_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sites),
		TEST(the_default_origin),
		TEST(an_origin_that_is_not_trusted),
		TEST(the_peer_listener),
	};

	signal(SIGPIPE, SIG_IGN);
	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
