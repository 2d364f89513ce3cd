/*
 * Requests that go to a peer, see two_nodes.h: good ones, and peers that are
 * dead, that lie, or do not know HTTP.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "digestd/cache/cache.h"
#include "digestd/fetch/fetch.h"
#include "digestd/mesh/invalidation_log.h"
#include "digestd/os/loop.h"
#include "tests/loopback.h"
#include "tests/proxy/two_nodes.h"
#include "tests/unit.h"

static void peers_are_asked_before_the_origin(void **state)
{
	(void)state;
	free(ask(port_a(), "GET", "/hit", ""));
	free(ask(port_a(), "GET", "/big", ""));
	introduce(NULL);
	expect(ask(port_b(), "GET", "/hit", ""), 200, "peer=");
	expect(ask(port_b(), "GET", "/hit", ""), 200, "b; hit");
	expect(ask(port_b(), "GET", "/big", ""), 200, "peer=");
	assert_int_equal(atomic_load(&at.seen), 2);
	assert_int_equal(atomic_load(&at.b.outcomes[OUTCOME_HIT]), 2);
	expect(ask(port_b(), "GET", "/hit-b", ""), 200, "uri-miss");
	assert_int_equal(atomic_load(&at.seen), 3);
}

static void false_hits_go_to_the_origin(void **state)
{
	(void)state;
	free(ask(port_a(), "GET", "/hit", ""));
	introduce(NULL);
	free(ask(port_a(), "DELETE", "/hit", ""));
	expect(ask(port_b(), "GET", "/hit", ""), 200, "/hit");
	assert_int_equal(atomic_load(&at.b.outcomes[OUTCOME_FALSE_HIT]), 1);
	assert_int_equal(atomic_load(&at.seen), 3);
}

/* What a peer holds stale is no false hit: it says which of them its 504 is. */
static void stale_peers_are_no_liars(void **state)
{
	unsigned port = worker_peer_port(at.a.worker);

	(void)state;
	free(ask(port_a(), "GET", "/etag", ""));
	introduce(NULL);
	expect(ask(port_b(), "GET", "/etag", ""), 200, "tagged");
	assert_int_equal(atomic_load(&at.b.outcomes[OUTCOME_STALE]), 1);
	assert_int_equal(atomic_load(&at.b.outcomes[OUTCOME_FALSE_HIT]), 0);
	expect(ask(port, "GET", "http://h/etag",
		   "Proxy-Authorization: Bearer " TOKEN "\r\n"), 504,
	       "a; fwd=stale; detail=\"stale\"");
	expect(ask(port, "GET", "http://h/hit",
		   "Proxy-Authorization: Bearer " TOKEN "\r\n"), 504,
	       "a; fwd=uri-miss; detail=\"miss\"");
}

/* Renewed by what the peer has: fresh for as long as that is, which is 50 s
 * less those that have passed since the peer got it. */
static void expect_renewed(char *reply)
{
	const char *renewed = strstr(reply, "fwd-status=304; ttl=");
	int ttl = 0, end = 0;

	if (renewed)
		sscanf(renewed, "fwd-status=304; ttl=%d; stored; %n", &ttl,
		       &end);
	if (!end)
		print_message("# wanted one renewed, got:\n%.700s\n", reply);
	assert_true(end > 0);
	assert_in_range(ttl, 41, 50);
	expect(reply, 200, NULL);
}

/*
 * Node b has what has gone stale, node a the same, as it came later: whoever of
 * them owns its key, b asks a before it asks the origin.
 */
static void what_is_stale_is_asked_about_at_peers(void **state)
{
	/* clang-format off */
	static const struct {
		const char *target, *fields, *has; /* null: is renewed */
		unsigned status;
		int seen; /* of them two before */
	} rows[] = {
		{ "/aged?60,0", "", NULL, 200, 2 },
		{ "/aged?60,10", "", "detail=\"peer=a\"", 200, 2 },
		{ "/aged?60,0", "If-None-Match: \"v1\"\r\n", "peer=a", 304, 2 },
		{ "/aged?60,0", "Range: bytes=1-2\r\n", "\r\n\r\nge", 206, 2 },
		{ "/aged-new?60,0", "", "changed", 200, 2 },
		{ "/aged-new?60,0", "Range: bytes=1-2\r\n", "\r\n\r\nha", 206, 3 },
		/* stale there, too; or not for this request */
		{ "/aged?60,60", "", "fwd-status=304", 200, 3 },
		/* fresh, and older than what was served here */
		{ "/aged-long?60,70", "", "fwd-status=304", 200, 3 },
		{ "/aged?60,10", "Cache-Control: max-age=5\r\n", "fwd-status=304", 200, 3 },
		{ "/aged?60,0", "Cache-Control: no-cache\r\n", "fwd-status=304", 200, 3 },
		{ "/aged?60,0", "Authorization: x\r\n", "fwd-status=304", 200, 3 },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *reply;

		if (i) {
			two_nodes_end(state);
			two_nodes_begin(state);
		}
		free(ask(port_b(), "GET", rows[i].target, ""));
		free(ask(port_a(), "GET", rows[i].target, ""));
		introduce(NULL);
		reply = ask(port_b(), "GET", rows[i].target, rows[i].fields);
		if (rows[i].has)
			expect(reply, rows[i].status, rows[i].has);
		else
			expect_renewed(reply);
		if (atomic_load(&at.seen) != rows[i].seen)
			fail_msg("row %zu: %d", i, atomic_load(&at.seen));
	}
}

/* A peer waits for what node a renews, of which it may not have what a client
 * has got meanwhile. */
static void peers_wait_for_renewals(void **state)
{
	(void)state;
	free(ask(port_a(), "GET", "/aged-late?60", ""));
	expect(ask(port_a(), "GET", "/aged-late?60", ""), 200, "aged");
	expect(ask(worker_peer_port(at.a.worker), "GET",
		   "http://h/aged-late?60",
		   "Proxy-Authorization: Bearer " TOKEN "\r\n"
		   "Scd-Lease: wait\r\n"), 200, "late");
	assert_int_equal(atomic_load(&at.seen), 2);
}

/* Neither by an unsafe request here, nor does its digest count as a lie. */
static void what_was_invalidated_is_not_got_from_a_peer(void **state)
{
	(void)state;
	free(ask(port_a(), "GET", "/hit", ""));
	introduce(NULL);
	expect(ask(port_b(), "GET", "/hit", ""), 200, "peer=");
	free(ask(port_b(), "DELETE", "/hit", ""));
	expect(ask(port_b(), "GET", "/hit", ""), 200, "uri-miss; fwd-status");
	assert_int_equal(atomic_load(&at.seen), 3);
	assert_int_equal(atomic_load(&at.b.outcomes[OUTCOME_STALE]), 1);
	expect(ask(port_b(), "GET", "/hit", ""), 200, "b; hit");
}

/* Nor what was purged by its prefix, while the peer may not have done that. */
static void what_was_purged_is_not_got_from_a_peer(void **state)
{
	struct invalidation_entry entry = { .seq = 0 };
	struct cache_purge purge = { .entries = &entry, .n = 1 };
	struct purge_walk walk;
	static const uint8_t no_secret[16]; /* as that of the nodes */
	struct loop *loop; /* the others' threads run theirs */

	(void)state;
	free(ask(port_a(), "GET", "/hit/1", ""));
	free(ask(port_a(), "GET", "/hit", ""));
	introduce(NULL);
	entry.of = invalidation_of_prefix(no_secret,
					  "http://h/hit/");
	assert_int_equal(loop_new(&loop), 0);
	purge.now_s = loop_steady_s(loop);
	cache_purge_begin(at.b.cache, &purge, &walk);
	assert_true(walk.walks);
	loop_free(&loop);
	expect(ask(port_b(), "GET", "/hit/1", ""), 200, "uri-miss; fwd-status");
	expect(ask(port_b(), "GET", "/hit", ""), 200, "peer=");
	assert_int_equal(atomic_load(&at.b.outcomes[OUTCOME_STALE]), 1);
}

/* Parts are had from peers, if not of a version that the client names. */
static void a_peer_answers_with_parts(void **state)
{
	/* clang-format off */
	static const struct {
		const char *fields, *has;
		unsigned status;
		int seen; /* of them one before */
		enum peer_outcome outcome;
	} rows[] = {
		{ "Range: bytes=-2\r\n", "detail=\"peer=a\"", 206, 1, OUTCOME_HIT },
		{ "Range: bytes=-2\r\n", "\r\n\r\nit", 206, 1, OUTCOME_HIT },
		{ "Range: bytes=1-2\r\n", "Content-Range: bytes 1-2/4\r\n", 206, 1, OUTCOME_HIT },
		{ "Range: bytes=0-0,2-2\r\n", "/hit", 200, 1, OUTCOME_HIT },
		{ "Range: bytes=7-\r\n", "fwd-status=200", 416, 2, OUTCOME_VARIANT },
		{ "Range: bytes=-2\r\nCache-Control: no-cache\r\n", "fwd-status=200", 206, 2, OUTCOME_FAILED },
		{ "Range: bytes=-2\r\nIf-Range: \"x\"\r\n", "/hit", 200, 2, OUTCOME_FAILED },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (i) {
			two_nodes_end(state);
			two_nodes_begin(state);
		}
		free(ask(port_a(), "GET", "/hit", ""));
		introduce(NULL);
		expect(ask(port_b(), "GET", "/hit", rows[i].fields),
		       rows[i].status, rows[i].has);
		assert_int_equal(atomic_load(&at.seen), rows[i].seen);
		/* FAILED: it was not asked */
		assert_int_equal(
			atomic_load(&at.b.outcomes[rows[i].outcome]),
			rows[i].outcome != OUTCOME_FAILED);
	}
}

/* Content-Length is that of the body that HEAD does not get. */
static void a_peer_answers_head_with_its_length(void **state)
{
	(void)state;
	free(ask(port_a(), "GET", "/hit", ""));
	introduce(NULL);
	expect(ask(port_b(), "HEAD", "/hit", ""), 200, "Content-Length: 4\r\n");
	assert_int_equal(atomic_load(&at.b.outcomes[OUTCOME_HIT]), 1);
}

static void dead_peers_cost_nothing_but_time(void **state)
{
	(void)state;
	free(ask(port_a(), "GET", "/hit", ""));
	introduce("http://127.0.0.1:1");
	expect(ask(port_b(), "GET", "/hit", ""), 200, "/hit");
	assert_int_equal(atomic_load(&at.b.outcomes[OUTCOME_FAILED]), 1);
}

/* What each connection to a bad peer is told before it hangs or is closed. */
struct bad_peer {
	int listen_fd;
	const char *text;
	bool hang;
	bool once;	  /* nobody can connect later */
	bool hedged;	  /* it says so when the origin is asked, too, */
	unsigned late_ms; /* and so much later */
	atomic_int fd; /* the connection; -1: none yet */
};

static void *run_bad_peer(void *arg)
{
	struct bad_peer *bad = arg;
	char request[4096];
	int fd = accept(bad->listen_fd, NULL, NULL);

	if (fd < 0)
		return NULL;
	atomic_store(&bad->fd, fd);
	if (bad->once)
		shutdown(bad->listen_fd, SHUT_RDWR);
	if (recv(fd, request, sizeof(request), 0) > 0) {
		for (int i = 0; bad->hedged && i < 20000 &&
				atomic_load(&at.seen) < 2; i++)
			usleep(1000);
		usleep(1000 * bad->late_ms);
		send(fd, bad->text, strlen(bad->text), MSG_NOSIGNAL);
	}
	if (bad->hang) /* until the other side gives up, or the test ends it */
		recv(fd, request, sizeof(request), 0);
	shutdown(fd, SHUT_RDWR);
	return NULL;
}

#define GONE "HTTP/1.1 504 No\r\n"
#define OK "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n"

/* What comes of a probe comes when it likes. */
static void await_outcome(enum peer_outcome kind, int count)
{
	for (int i = 0; i < 20000 && atomic_load(&at.b.outcomes[kind]) < count;
	     i++)
		usleep(1000);
	assert_int_equal(atomic_load(&at.b.outcomes[kind]), count);
}

/* Node b waits for a peer for some milliseconds; else for as long as it takes,
 * on a machine that stands still for a while. */
static void be_impatient(bool yes)
{
	struct worker_settings *b = &at.b.settings;

	b->peer_connect_ms = b->peer_first_byte_ms = yes ? 200 : 10000;
	b->peer_budget_ms = yes ? 300 : 10000;
	reconfigure(&at.b, b);
}

static void bad_peers_harm_nobody(void **state)
{
	/* clang-format off */
	static const struct {
		const char *text;
		bool hang;
		enum peer_outcome outcome;
	} rows[] = {
		{ "", true, OUTCOME_FAILED },
		{ "", false, OUTCOME_FAILED },
		{ "garbage", false, OUTCOME_FAILED },
		{ OK "Content-Length: 9\r\n\r\nbad", true, OUTCOME_FAILED },
		{ OK "Content-Length: 9\r\n\r\nbad", false, OUTCOME_FAILED },
		{ OK "Content-Length: 3\r\nContent-Length: 4\r\n\r\nbad",
		  true, OUTCOME_FAILED },
		{ OK "Age: 61\r\nContent-Length: 3\r\n\r\nbad", true,
		  OUTCOME_STALE },
		{ OK "Vary: *\r\nContent-Length: 3\r\n\r\nbad", true,
		  OUTCOME_FAILED },
		{ "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\n"
		  "Content-Length: 3\r\n\r\nbad", true, OUTCOME_FAILED },
		{ "HTTP/1.1 500 No\r\nContent-Length: 3\r\n\r\nbad", true,
		  OUTCOME_FAILED },
		{ GONE "Content-Length: 3\r\n\r\nbad", true,
		  OUTCOME_FALSE_HIT },
		{ GONE "Cache-Status: a; fwd=uri-miss\r\n\r\n", false,
		  OUTCOME_FALSE_HIT },
		{ GONE "Cache-Status: a; fwd=stale\r\n\r\n", false,
		  OUTCOME_STALE },
		{ GONE "Cache-Status: a; fwd=request\r\n\r\n", false,
		  OUTCOME_STALE },
		{ GONE "Cache-Status: a; fwd=vary-miss\r\n\r\n", false,
		  OUTCOME_VARIANT },
		{ GONE "Cache-Status: x; fwd=stale, a\r\n\r\n", false,
		  OUTCOME_FALSE_HIT },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		size_t row = i / 2;
		struct bad_peer bad = { .text = rows[row].text,
					.hang = rows[row].hang, .once = true,
					.fd = -1 };
		pthread_t thread;
		char url[64], target[16];
		unsigned port;
		int before;

		be_impatient(rows[row].outcome == OUTCOME_FAILED);
		bad.listen_fd = loopback_listen(&port);
		snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
		snprintf(target, sizeof(target), "/hit%zu", i);
		pthread_create(&thread, NULL, run_bad_peer, &bad);
		free(ask(port_a(), "GET", target, ""));
		at.half_open = i % 2; /* judged alike, whoever asks */
		introduce(url);
		before = atomic_load(&at.b.outcomes[rows[row].outcome]);
		expect(ask(port_b(), "GET", target, "Cookie: a=b\r\n"), 200,
		       target);
		await_outcome(rows[row].outcome, before + 1);
		shutdown(bad.fd, SHUT_RDWR);
		pthread_join(thread, NULL);
		close(bad.fd);
		close(bad.listen_fd);
	}
}

/* A peer of which nothing is known is slow after DISTANCE_HEDGE_UNKNOWN_MS, and
 * the origin is asked, too: the first usable answer counts. */
static void slow_peers_are_hedged(void **state)
{
	enum { LATE_MS = 100 };
	/* clang-format off */
	static const struct {
		const char *target, *text;
		bool hang;
		const char *has;
		enum peer_outcome outcome; /* of the peer, in any case */
	} rows[] = {
		{ "/hit", "", true, "detail=\"hedge\"", OUTCOME_FAILED },
		{ "/once-never", OK "Content-Length: 4\r\n\r\npeer", true, "detail=\"peer=a\"", OUTCOME_HIT },
		{ "/once-error", OK "Content-Length: 4\r\n\r\npeer", true, "detail=\"peer=a\"", OUTCOME_HIT },
		{ "/hit", OK "Content-Length: 4\r\n\r\npeer", true, "detail=\"hedge\"", OUTCOME_HIT },
		/* it ends while the origin has not answered: that goes on */
		{ "/once-late", GONE "Cache-Status: a; fwd=uri-miss\r\n\r\n", false, "\r\n\r\nlate", OUTCOME_FALSE_HIT },
		{ "/once-late", "garbage", false, "\r\n\r\nlate", OUTCOME_FAILED },
		{ "/once-error", "garbage", false, NULL, OUTCOME_FAILED },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const bool first = !strcmp(rows[i].target, "/once-late");
		struct bad_peer bad = { .text = rows[i].text,
					.hang = rows[i].hang,
					.hedged = true,
					.late_ms = first ? 0 : LATE_MS,
					.fd = -1 };
		pthread_t thread;
		unsigned port;
		char url[64];

		if (i) {
			two_nodes_end(state);
			two_nodes_begin(state);
		}
		at.b.settings.peer_hedges = 5;
		reconfigure(&at.b, &at.b.settings);
		bad.listen_fd = loopback_listen(&port);
		snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
		pthread_create(&thread, NULL, run_bad_peer, &bad);
		free(ask(port_a(), "GET", rows[i].target, ""));
		introduce(url);
		expect(ask(port_b(), "GET", rows[i].target, ""),
		       rows[i].has ? 200 : 500, rows[i].has);
		/* a hedge that failed is asked again when the peer has, too */
		assert_int_equal(atomic_load(&at.seen), rows[i].has ? 2 : 3);
		if (!*rows[i].text)
			shutdown(bad.fd, SHUT_RDWR);
		await_outcome(rows[i].outcome, 1);
		shutdown(bad.fd, SHUT_RDWR);
		pthread_join(thread, NULL);
		close(bad.fd);
		close(bad.listen_fd);
	}
}

/* Nobody is left of a question that two are asked, when its client is gone. */
static void clients_leave_hedges(void **state)
{
	struct bad_peer bad = { .text = "", .hang = true, .fd = -1 };
	pthread_t thread;
	unsigned port;
	char url[64];
	int client;

	(void)state;
	at.b.settings.peer_hedges = 5;
	reconfigure(&at.b, &at.b.settings);
	bad.listen_fd = loopback_listen(&port);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
	pthread_create(&thread, NULL, run_bad_peer, &bad);
	free(ask(port_a(), "GET", "/once-never", ""));
	introduce(url);
	client = loopback_dial(port_b());
	say(client, "GET /once-never HTTP/1.1\r\nHost: h\r\n\r\n");
	for (int i = 0; i < 20000 && atomic_load(&at.seen) < 2; i++)
		usleep(1000);
	close(client);
	/* the origin's, by the worker */
	for (int i = 0; i < 20000 && atomic_load(&at.gone) < 1; i++)
		usleep(1000);
	assert_int_equal(atomic_load(&at.gone), 1);
	pthread_join(thread, NULL); /* the peer's, too */
	close(bad.fd);
	close(bad.listen_fd);
}

/* A peer that has failed gets its chance, and no client waits for it. */
static void clients_do_not_wait_for_a_probe(void **state)
{
	struct bad_peer bad = { .text = "", .hang = true, .fd = -1 };
	pthread_t thread;
	unsigned port;
	char url[64];

	(void)state;
	at.b.settings.peer_first_byte_ms = 30000;
	at.b.settings.peer_budget_ms = 30000;
	reconfigure(&at.b, &at.b.settings);
	bad.listen_fd = loopback_listen(&port);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
	pthread_create(&thread, NULL, run_bad_peer, &bad);
	free(ask(port_a(), "GET", "/hit", ""));
	at.half_open = true;
	introduce(url);
	expect(ask(port_b(), "GET", "/hit", ""), 200, "/hit");
	while (atomic_load(&bad.fd) < 0)
		usleep(1000);
	assert_int_equal(atomic_load(&at.b.outcomes[OUTCOME_FAILED]), 0);
	shutdown(bad.fd, SHUT_RDWR);
	await_outcome(OUTCOME_FAILED, 1);
	pthread_join(thread, NULL);
	close(bad.fd);
	/* the worker may end before the probe */
	free(ask(port_a(), "GET", "/hit2", ""));
	introduce(url);
	expect(ask(port_b(), "GET", "/hit2", ""), 200, "/hit2");
	worker_stop(&at.b.worker);
	close(bad.listen_fd);
}

/* The client's answer is the origin's; the peer's is worth the same. */
static void a_probe_that_is_answered(void **state)
{
	static const struct {
		const char *target, *fields, *method;
	} rows[] = {
		{ "/hit", "", "GET" },
		{ "/hit2", "If-None-Match: \"x\"\r\n", "HEAD" },
		{ "/big", "", "GET" }, /* more than it reads */
	};

	(void)state;
	at.half_open = true;
	for (int i = 0; i < 3; i++) {
		free(ask(port_a(), "GET", rows[i].target, ""));
		introduce(NULL);
		expect(ask(port_b(), rows[i].method, rows[i].target,
			   rows[i].fields), 200, "fwd=uri-miss");
		await_outcome(OUTCOME_HIT, i + 1);
		assert_int_equal(atomic_load(&at.seen), 2 * i + 2);
	}
}

/* A peer stands still in the middle of a body that is stored, when the client
 * that asked for it has left: the origin goes on. */
static void a_peer_stalls_when_the_client_has_left(void **state)
{
	struct bad_peer bad = {
		.text = OK "Content-Length: 300000\r\n\r\nbbbb",
		.hang = true, .fd = -1,
	};
	pthread_t thread;
	char url[64], some[4];
	unsigned port;
	int client;

	(void)state;
	be_impatient(true);
	bad.listen_fd = loopback_listen(&port);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
	pthread_create(&thread, NULL, run_bad_peer, &bad);
	free(ask(port_a(), "GET", "/big", ""));
	introduce(url);
	client = loopback_dial(port_b());
	say(client, "GET /big HTTP/1.1\r\nHost: h\r\n\r\n");
	assert_int_equal(recv(client, some, sizeof(some), 0), 4);
	close(client);
	await_outcome(OUTCOME_FAILED, 1);
	pthread_join(thread, NULL);
	close(bad.fd);
	close(bad.listen_fd);
	for (int i = 0; i < 5000 && atomic_load(&at.seen) < 2; i++)
		usleep(1000);
	assert_int_equal(atomic_load(&at.seen), 2);
	introduce("http://127.0.0.1:1");
	usleep(300000);
	expect(ask(port_b(), "GET", "/big", ""), 200, "b; hit");
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, two_nodes_begin, two_nodes_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(peers_are_asked_before_the_origin),
		TEST(false_hits_go_to_the_origin),
		TEST(stale_peers_are_no_liars),
		TEST(what_is_stale_is_asked_about_at_peers),
		TEST(peers_wait_for_renewals),
		TEST(a_peer_answers_head_with_its_length),
		TEST(a_peer_answers_with_parts),
		TEST(what_was_invalidated_is_not_got_from_a_peer),
		TEST(what_was_purged_is_not_got_from_a_peer),
		TEST(dead_peers_cost_nothing_but_time),
		TEST(bad_peers_harm_nobody),
		TEST(slow_peers_are_hedged),
		TEST(clients_leave_hedges),
		TEST(clients_do_not_wait_for_a_probe),
		TEST(a_probe_that_is_answered),
		TEST(a_peer_stalls_when_the_client_has_left),
	};

	signal(SIGPIPE, SIG_IGN);
	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
