/*
 * What nodes keep of what they get where a placement decides that, see
 * two_nodes.h and mesh/placement.h.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "digestd/fetch/fetch.h"
#include "digestd/peers/copier.h"
#include "tests/codec/alloc.h"
#include "tests/proxy/two_nodes.h"
#include "tests/spared.h"
#include "tests/unit.h"

#define OBJECT "Proxy-Authorization: Bearer " TOKEN "\r\n"

enum { PEER = 7, WAITS = 25000, QUIET = 3 };

static pthread_t clients;

/* Only the nodes are to fail, not their clients and origin. */
bool spared_thread(void)
{
	return pthread_equal(pthread_self(), clients) ||
	       pthread_equal(pthread_self(), at.thread);
}

static int begin_auto(void **state)
{
	at.placement = PLACEMENT_AUTO;
	return two_nodes_begin(state);
}

static int begin_shared(void **state)
{
	at.placement = PLACEMENT_SINGLE_SHARED;
	return two_nodes_begin(state);
}

static int end(void **state)
{
	at.placement = PLACEMENT_KEEP;
	return two_nodes_end(state);
}

/* What a peer has is had from there again, what the origin has sent stays. */
static void a_peer_has_it_already(void **state)
{
	(void)state;
	free(ask(port_a(), "GET", "/hit", ""));
	introduce(NULL);
	expect(ask(port_b(), "GET", "/hit", ""), 200, "peer=a");
	expect(ask(port_b(), "GET", "/hit", ""), 200, "peer=a");
	expect(ask(port_b(), "GET", "/chunked", ""), 200, "uri-miss");
	expect(ask(port_b(), "GET", "/chunked", ""), 200, "b; hit");
	assert_int_equal(atomic_load(&at.seen), 2);
}

/* But the slices of a peer's object pass through the store. */
static void slices_pass_through(void **state)
{
	(void)state;
	at.a.settings.slice_bytes = at.b.settings.slice_bytes = 8192;
	assert_int_equal(worker_reconfigure(at.a.worker, &at.a.settings), 0);
	assert_int_equal(worker_reconfigure(at.b.worker, &at.b.settings), 0);
	free(ask(port_a(), "GET", "/sliced", ""));
	introduce(NULL);
	atomic_store(&at.seen, 0);
	expect(ask(port_b(), "GET", "/sliced", ""), 200, at.sliced);
	expect(ask(port_b(), "GET", "/sliced", "Range: bytes=0-9\r\n"), 206,
	       "b; hit");
	assert_int_equal(atomic_load(&at.seen), 0);
}

/* What was asked for nowhere before passes, and is stored the next time; what
 * was at a peer is stored at once. */
static void what_is_asked_for_once(void **state)
{
	(void)state;
	expect(ask(port_b(), "GET", "/hit", ""), 200, "uri-miss");
	expect(ask(port_b(), "GET", "/hit", ""), 200, "stored");
	expect(ask(port_b(), "GET", "/hit", ""), 200, "b; hit");
	free(ask(port_a(), "GET", "/hit2", ""));
	free(ask(port_a(), "GET", "/hit2", ""));
	show_what_a_was_asked_for();
	expect(ask(port_b(), "GET", "/hit2", ""), 200, "stored");
	expect(ask(port_b(), "GET", "/hit3", ""), 200, "uri-miss");
	expect(ask(port_b(), "GET", "/hit3", ""), 200, "stored");
}

/* Copies */

static void count_done(void *arg)
{
	atomic_fetch_add((atomic_int *)arg, 1);
}

/* Node b copies it from a peer of this number; whether that was done. */
static bool copy(const char *uri, uint32_t peer, bool stays)
{
	atomic_int done = 0;
	struct peer_copy c = {
		.peer = peer, .uri = strdup(uri), .stays = stays,
		.loop = at.loop,
		.done = { .run = count_done, .arg = &done },
	};

	worker_copy(at.b.worker, &c);
	for (int i = 0; i < WAITS && !atomic_load(&done); i++)
		usleep(200);
	assert_int_equal(atomic_load(&done), 1);
	free(c.uri);
	return c.stored;
}

/* What a peer hands over is here in its place; of what goes on being there,
 * too, this is a copy that no third node gets. */
static void copies(void **state)
{
	/* clang-format off */
	static const struct {
		const char *label, *uri;
		uint32_t peer;
		bool stays, stored;
		unsigned status; /* for another peer */
	} rows[] = {
		{ "it is handed over", "http://h/hit1", PEER, false, true, 200 },
		{ "it is here already", "http://h/hit1", PEER, false, false, 200 },
		{ "it stays there, too", "http://h/hit2", PEER, true, true, 504 },
		{ "there is no such peer", "http://h/hit3", PEER + 1, false, false, 504 },
		{ "the peer has not got it", "http://h/none", PEER, false, false, 504 },
		{ "it is no URI", "nothing", PEER, false, false, 400 },
	};
	/* clang-format on */

	(void)state;
	free(ask(port_a(), "GET", "/hit1", ""));
	free(ask(port_a(), "GET", "/hit2", ""));
	free(ask(port_a(), "GET", "/hit3", ""));
	introduce(NULL);
	for (size_t i = 0; i < NROWS(rows); i++) {
		if (copy(rows[i].uri, rows[i].peer, rows[i].stays) !=
		    rows[i].stored)
			fail_msg("%s", rows[i].label);
		expect(ask(worker_peer_port(at.b.worker), "GET", rows[i].uri,
			   OBJECT), rows[i].status, NULL);
	}
	assert_int_equal(atomic_load(&at.seen), 3);
}

/* It is copied or not, and whoever waits for its end hears of that. */
static void copies_without_memory(void **state)
{
	unsigned i = 0, quiet = 0;

	(void)state;
	for (; quiet < QUIET; i++) {
		char target[32], uri[64];
		bool stored, failed;

		snprintf(target, sizeof(target), "/hit%u", i);
		snprintf(uri, sizeof(uri), "http://h%s", target);
		free(ask(port_a(), "GET", target, ""));
		introduce(NULL);
		alloc_fail_at(i + 1);
		stored = copy(uri, PEER, i % 2);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_true(stored || failed);
		quiet = failed ? 0 : quiet + 1;
	}
	assert_in_range(i, 10, 200);
}

static int begin_copies(void **state)
{
	clients = pthread_self();
	return begin_auto(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_peer_has_it_already,
						begin_auto, end),
		cmocka_unit_test_setup_teardown(slices_pass_through,
						begin_auto, end),
		cmocka_unit_test_setup_teardown(what_is_asked_for_once,
						begin_shared, end),
		cmocka_unit_test_setup_teardown(copies, begin_copies, end),
		cmocka_unit_test_setup_teardown(copies_without_memory,
						begin_copies, end),
	};

	signal(SIGPIPE, SIG_IGN);
	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
