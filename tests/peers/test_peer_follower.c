/*
 * Following peers whose digests cannot be had, from a server that answers each
 * fetch otherwise; lists of peers that change; and each allocation failing,
 * after which the peers are those of before.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "digestd/fetch/fetch.h"
#include "digestd/mesh/peerset.h"
#include "digestd/os/loop.h"
#include "digestd/peers/peer_follower.h"
#include "digestd/peers/peer_kind.h"
#include "digestd/peers/upstream.h"
#include "digestd/server/server.h"
#include "tests/codec/alloc.h"
#include "tests/unit.h"

enum { WAIT_MS = 10000, MAX_ALLOCATIONS = 200 };

static struct {
	struct loop *loop;
	struct server *server;
	struct fetcher *fetcher;
	struct peer_follower *follower;
	char url[64];
	unsigned requests, changes;
} at;

/* The answers, by turns. */
static void on_request(void *arg, struct exchange *x)
{
	static const unsigned statuses[] = { 200, 401, 404, 304, 226, 500,
					     503 };
	unsigned status = statuses[at.requests++ % NROWS(statuses)];

	(void)arg;
	if (status == 304)
		exchange_reply(x, 304, NULL, NULL, 0, NULL, NULL);
	else if (at.requests % 11 == 10)
		exchange_abort(x);
	else
		exchange_reply_copy(x, status, NULL, "no digest",
				    at.requests % 3 ? 9 : 0);
}

static const struct server_handler handler = { .on_request = on_request };

static const struct peer_follower_settings settings = {
	.policy.fetch = { .poll_ms = 2, .backoff_min_ms = 1,
			  .backoff_max_ms = 2, .max_age_ms = 1000 },
	.policy.health = { .failures = 5, .open_min_ms = 1, .open_max_ms = 10,
			   .quarantine_ms = 10 },
	.limits = { .max_bits = 1 << 20 },
	.token = "00112233445566778899aabbccddeeff",
	.wait_s = 0, .timeout_ms = 2000, .connect_ms = 2000,
};

static void on_change(void *arg)
{
	(void)arg;
	at.changes++;
}

static struct upstream upstream(const char *name,
				const struct peer_kind *kind)
{
	return (struct upstream){ .name = (char *)(uintptr_t)name,
				  .url = at.url, .kind = kind };
}

static int follow(const struct upstream *peers, size_t n)
{
	return peer_follower_new(at.loop, at.fetcher, &settings, peers, n,
				 on_change, NULL, &at.follower);
}

static int set_up(void **state)
{
	const struct server_settings listen = {
		.listen = "127.0.0.1:0", .max_connections = 50,
		.max_header_bytes = 16384, .header_ms = 5000, .idle_ms = 5000,
		.strict = true,
	};

	(void)state;
	memset(&at, 0, sizeof(at));
	if (loop_new(&at.loop) ||
	    server_new(at.loop, &listen, &handler, NULL, &at.server) ||
	    fetcher_new(at.loop, FETCHER_EXCHANGE, 0, &at.fetcher))
		return -1;
	snprintf(at.url, sizeof(at.url), "http://127.0.0.1:%u",
		 server_port(at.server));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	peer_follower_free(&at.follower);
	fetcher_free(&at.fetcher);
	server_free(&at.server);
	loop_turn(at.loop, 0);
	loop_free(&at.loop);
	return 0;
}

static struct peer_follower_status status_of(size_t i)
{
	struct peer_follower_status s;

	peer_follower_status(at.follower, i, &s);
	return s;
}

static void answers_that_are_no_digest(void **state)
{
	const struct upstream peers[] = {
		upstream("own", &peer_kind_digestd),
		upstream("other", &peer_kind_squid),
	};
	int64_t end_ms = loop_now_ms(at.loop) + WAIT_MS;

	(void)state;
	assert_int_equal(follow(peers, NROWS(peers)), 0);
	while (at.requests < 60 && loop_now_ms(at.loop) < end_ms)
		assert_int_equal(loop_turn(at.loop, 10), 0);
	assert_true(at.requests >= 60);
	for (size_t i = 0; i < NROWS(peers); i++) {
		struct peer_follower_status s = status_of(i);

		assert_null(s.digest);
		assert_true(s.counters.fetch_failed > 0);
		assert_int_equal(s.counters.full_received, 0);
	}
	assert_true(status_of(0).counters.unfit + status_of(1).counters.unfit >
		    0);
}

/* Outcomes of those that are peers, and of one that was. */
static void outcomes(void **state)
{
	const struct upstream one = upstream("one", &peer_kind_digestd);
	struct peer_follower_status s;

	(void)state;
	assert_int_equal(follow(&one, 1), 0);
	for (uint32_t id = 0; id < 10; id++) {
		for (int kind = 0; kind < PEER_OUTCOMES; kind++)
			peer_follower_outcome(at.follower, id,
					      (enum peer_outcome)kind, 1, 10);
	}
	s = status_of(0);
	assert_int_equal(s.counters.remote_hits, 1);
	assert_int_equal(s.counters.remote_hit_bytes, 10);
	assert_int_equal(s.counters.false_hits, 1);
	assert_int_equal(s.counters.stale_hits, 1);
	assert_int_equal(s.counters.variant_misses, 1);
	assert_int_equal(s.counters.query_failed, 1);
	peer_follower_lookups(at.follower, 1000);
	peer_follower_lookups(at.follower, 0);
}

/* Who stays keeps what was counted. */
static void other_peers(void **state)
{
	const struct upstream before[] = {
		upstream("a", &peer_kind_digestd),
		upstream("b", &peer_kind_digestd),
	};
	const struct upstream after[] = {
		upstream("b", &peer_kind_digestd),
		upstream("a", &peer_kind_squid),
		upstream("c", &peer_kind_digestd),
	};

	(void)state;
	assert_int_equal(follow(before, 2), 0);
	for (uint32_t id = 0; id < 10; id++)
		peer_follower_outcome(at.follower, id, OUTCOME_HIT, 1, 10);
	assert_int_equal(peer_follower_set_peers(at.follower, after, 3), 0);
	assert_int_equal(peer_follower_count(at.follower), 3);
	assert_int_equal(status_of(0).counters.remote_hits, 1);
	assert_int_equal(status_of(1).counters.remote_hits, 0);
	assert_int_equal(status_of(2).counters.remote_hits, 0);
	peer_follower_set(at.follower, &settings);
	assert_int_equal(peer_follower_set_peers(at.follower, NULL, 0), 0);
	assert_int_equal(peer_follower_count(at.follower), 0);
}

/* One that knows where it is, and shares what it follows. */
static void a_place_without_memory(void **state)
{
	const struct upstream peer = upstream("a", &peer_kind_digestd);
	struct peer_follower_settings placed = settings;
	int err = -ENOMEM;

	(void)state;
	placed.node = "n1";
	placed.location = "here";
	for (unsigned i = 1; err && i < MAX_ALLOCATIONS; i++) {
		alloc_fail_at(i);
		err = peer_follower_new(at.loop, at.fetcher, &placed, &peer, 1,
					on_change, NULL, &at.follower);
		assert_int_equal(err, alloc_failed() ? -ENOMEM : 0);
		alloc_fail_at(0);
		assert_int_equal(!at.follower, err != 0);
	}
	assert_int_equal(err, 0);
	assert_int_equal(peer_follower_count(at.follower), 1);
}

static void without_memory(void **state)
{
	const struct upstream peers[] = {
		upstream("a", &peer_kind_digestd),
		upstream("b", &peer_kind_squid),
	};
	const struct upstream others[] = {
		upstream("b", &peer_kind_squid),
		upstream("c", &peer_kind_digestd),
	};
	struct peerset *view;
	unsigned i = 0;
	int err;

	(void)state;
	do {
		alloc_fail_at(++i);
		err = follow(peers, NROWS(peers));
		assert_int_equal(err, alloc_failed() ? -ENOMEM : 0);
		alloc_fail_at(0);
		assert_int_equal(!at.follower, err != 0);
	} while (err && i < MAX_ALLOCATIONS);
	assert_non_null(at.follower);
	for (i = 1; i < MAX_ALLOCATIONS; i++) {
		alloc_fail_at(i);
		err = peer_follower_set_peers(at.follower, others, 2);
		alloc_fail_at(0);
		if (!err)
			break;
		assert_int_equal(peer_follower_count(at.follower), 2);
		assert_string_equal(status_of(0).name, "a");
		assert_string_equal(status_of(1).name, "b");
	}
	assert_string_equal(status_of(1).name, "c");
	for (i = 1; i < MAX_ALLOCATIONS; i++) {
		alloc_fail_at(i);
		view = peer_follower_view(at.follower);
		alloc_fail_at(0);
		if (view)
			break;
	}
	assert_non_null(view);
	peerset_unref(view);
}

/* Fetches, with one allocation failing here and there: others come. */
static void fetches_without_memory(void **state)
{
	const struct upstream peers[] = {
		upstream("own", &peer_kind_digestd),
		upstream("other", &peer_kind_squid),
	};

	(void)state;
	assert_int_equal(follow(peers, NROWS(peers)), 0);
	for (unsigned i = 1; i < 40; i++) {
		int64_t end_ms = loop_now_ms(at.loop) + WAIT_MS;
		unsigned before = at.requests;

		alloc_fail_at(i);
		while (at.requests < before + 2 &&
		       loop_now_ms(at.loop) < end_ms)
			assert_int_equal(loop_turn(at.loop, 10), 0);
		alloc_fail_at(0);
		assert_true(at.requests >= before + 2);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(answers_that_are_no_digest),
		TEST(outcomes),
		TEST(other_peers),
		TEST(a_place_without_memory),
		TEST(without_memory),
		TEST(fetches_without_memory),
	};

	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
