/*
 * Following a peer whose digests can be had, from the interface that serves
 * them: what is followed, what a peer says of itself and of others, which
 * digests are refused, what an operator orders, and peers elsewhere.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "digestd/fetch/fetch.h"
#include "digestd/mesh/peerset.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/os/troubles.h"
#include "digestd/peers/digest_api.h"
#include "digestd/peers/peer_follower.h"
#include "digestd/peers/peer_kind.h"
#include "digestd/peers/upstream.h"
#include "digestd/server/server.h"
#include "tests/unit.h"

enum { INSTANCE = 0xab, OTHER = 0xcd, NBITS = 1 << 12, WAIT_MS = 10000 };

static struct {
	struct loop *loop;
	struct server *server;
	struct fetcher *fetcher;
	struct peer_follower *follower;
	struct generations *generations;
	struct digest_api *api;
	struct upstream_names *names;
	struct troubles *troubles;
	char url[64];
	unsigned itself, met, drained, warnings;
} at;

static struct peer_follower_settings settings;

void __wrap_log_write(enum log_level level, const char *part,
		      const char *format, ...);
void __wrap_log_write(enum log_level level, const char *part,
		      const char *format, ...)
{
	(void)format;
	at.warnings += level == LOG_WARNING && !strcmp(part, "follower");
}

static void on_itself(void *arg, const char *url)
{
	(void)arg;
	assert_string_equal(url, at.url);
	at.itself++;
}

static void on_met(void *arg, const char *url, uint32_t id)
{
	(void)arg;
	(void)id;
	assert_string_equal(url, at.url);
	at.met++;
}

static void on_drain(void *arg, const char *url, uint32_t id)
{
	(void)arg;
	(void)id;
	assert_string_equal(url, at.url);
	at.drained++;
}

static void on_change(void *arg)
{
	(void)arg;
}

/* Every generation has a few keys more. */
static void publish(uint64_t generation)
{
	struct catalog_snapshot snapshot = { .generation = generation,
					     .nkeys = 5 * generation };
	struct publication *p;

	assert_int_equal(scd_bloom_init(&snapshot.bloom, NBITS, 3), 0);
	for (uint64_t i = 1; i <= 5 * generation; i++) {
		const struct scd_key key = { i * UINT64_C(0x9e3779b97f4a7c15),
					     i * UINT64_C(0xbf58476d1ce4e5b9) };

		scd_bloom_add(&snapshot.bloom, &key);
	}
	assert_int_equal(generations_publish(at.generations, &snapshot, &p), 0);
	publication_held(p);
	digest_api_publish(at.api, p);
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
	settings = (struct peer_follower_settings){
		.policy.fetch = { .poll_ms = 2, .backoff_min_ms = 1,
				  .backoff_max_ms = 2, .max_age_ms = 60000 },
		.policy.health = { .failures = 5, .open_min_ms = 1,
				   .open_max_ms = 10, .quarantine_ms = 60000 },
		.limits = { .max_bits = 1 << 20, .max_hash = 32,
			    .max_fp_ppm = 50000 },
		.timeout_ms = 2000, .connect_ms = 2000,
		.on_itself = on_itself, .on_met = on_met,
		.on_drain = on_drain,
	};
	if (loop_new(&at.loop) || upstream_names_new(&at.names) ||
	    troubles_new(at.names, &at.troubles) ||
	    generations_new(&at.generations, INSTANCE, 4) ||
	    digest_api_new(&at.api, 1, &digest_paths_held) ||
	    server_new(at.loop, &listen, &digest_api_handler, at.api,
		       &at.server) ||
	    fetcher_new(at.loop, FETCHER_EXCHANGE, 0, &at.fetcher))
		return -1;
	settings.troubles = at.troubles;
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
	digest_api_free(&at.api);
	generations_free(&at.generations);
	troubles_free(&at.troubles);
	upstream_names_free(&at.names);
	loop_free(&at.loop);
	return 0;
}

static struct upstream upstream(const char *name, const char *location)
{
	return (struct upstream){ .name = (char *)(uintptr_t)name,
				  .url = at.url, .kind = &peer_kind_digestd,
				  .location = (char *)(uintptr_t)location };
}

static void follow(const struct upstream *peers, size_t n)
{
	assert_int_equal(peer_follower_new(at.loop, at.fetcher, &settings,
					   peers, n, on_change, NULL,
					   &at.follower), 0);
}

static void follow_one(void)
{
	const struct upstream one = upstream("b", NULL);

	follow(&one, 1);
}

static struct peer_follower_status status(void)
{
	struct peer_follower_status s;

	peer_follower_status(at.follower, 0, &s);
	return s;
}

static void turn_until(bool (*done)(void))
{
	int64_t end_ms = loop_now_ms(at.loop) + WAIT_MS;

	while (!done() && loop_now_ms(at.loop) < end_ms)
		assert_int_equal(loop_turn(at.loop, 10), 0);
	assert_true(done());
}

static uint64_t generation(void)
{
	return status().digest ? status().digest->generation : 0;
}

static bool has_first(void)
{
	return generation() == 1;
}

static bool has_second(void)
{
	return generation() == 2;
}

static void a_digest_and_its_delta(void **state)
{
	(void)state;
	publish(1);
	follow_one();
	assert_false(peer_follower_has_settled(at.follower));
	turn_until(has_first);
	assert_true(peer_follower_has_settled(at.follower));
	assert_true(status().usable);
	assert_int_equal(at.met, 1);
	assert_int_equal(status().counters.full_received, 1);
	assert_true(peer_follower_memory(at.follower) >= NBITS / 8);
	publish(2);
	turn_until(has_second);
	assert_int_equal(status().counters.delta_received, 1);
	assert_int_equal(status().counters.full_received, 1);
	assert_int_equal(at.met, 1);
	assert_int_equal(status().digest->instance, INSTANCE);
}

/* By its name, when it was last current; of nobody, now. */
static void when_it_was_seen(void **state)
{
	(void)state;
	publish(1);
	follow_one();
	turn_until(has_first);
	assert_in_range(peer_follower_seen_ms(at.follower, "b"),
			status().confirmed_ms, loop_now_ms(at.loop));
	assert_int_equal(peer_follower_seen_ms(at.follower, "c"),
			 loop_now_ms(at.loop));
}

static bool says_leases(void)
{
	return status().says.leases_said;
}

static bool says_no_leases(void)
{
	return status().says.leases_said && !status().says.leases;
}

/* Leases that are on there and off here are warned of, once; and views say who
 * grants some. */
static void what_it_says_of_leases(void **state)
{
	struct peerset *view;

	(void)state;
	publish(1);
	digest_api_say_leases(at.api, true);
	follow_one();
	turn_until(says_leases);
	turn_until(has_first);
	assert_int_equal(at.warnings, 1);
	view = peer_follower_view(at.follower);
	assert_true(peerset_at(view, 0)->leases);
	assert_true(peerset_at(view, 0)->trip_ms > 0); /* by connecting */
	peerset_unref(view);
	digest_api_say_leases(at.api, false);
	publish(2);
	turn_until(says_no_leases);
	assert_int_equal(at.warnings, 1);
	view = peer_follower_view(at.follower);
	assert_false(peerset_at(view, 0)->leases);
	peerset_unref(view);
}

static bool has_drained(void)
{
	return at.drained && status().says.drains;
}

static void it_drains(void **state)
{
	(void)state;
	publish(1);
	follow_one();
	turn_until(has_first);
	assert_int_equal(at.drained, 0);
	digest_api_drain(at.api);
	turn_until(has_drained);
}

static bool has_met_itself(void)
{
	return at.itself > 0;
}

/* A list of peers that names this node, too. */
static void it_is_the_node_itself(void **state)
{
	(void)state;
	settings.instance = INSTANCE;
	publish(1);
	follow_one();
	turn_until(has_met_itself);
	assert_null(status().digest);
	assert_int_equal(at.met, 0);
}

static bool is_unfit(void)
{
	return status().counters.unfit > 0;
}

static void count_wrong_keys(void *arg, const struct trouble_count *count)
{
	if (count->kind && count->trouble == TROUBLE_wrong_key)
		*(uint64_t *)arg += count->n;
}

/* Its keys are made by another secret: nothing would ever be found. */
static void another_hash(void **state)
{
	uint64_t wrong = 0;

	(void)state;
	digest_api_name_hash(at.api, "00112233445566778899aabbccddeeff");
	strcpy(settings.hash_name, "ffeeddccbbaa99887766554433221100");
	publish(1);
	follow_one();
	turn_until(is_unfit);
	assert_null(status().digest);
	troubles_each(at.troubles, count_wrong_keys, &wrong);
	assert_true(wrong > 0);
}

/* With one name more for the peer, so that the second is told by the first. */
static void follow_twice(void)
{
	const struct upstream peers[] = { upstream("b", NULL),
					  upstream("c", NULL) };

	follow(peers, NROWS(peers));
}

static bool both_are_met(void)
{
	return at.met == 2;
}

static bool is_suspect(void)
{
	return status().suspect;
}

/* Of whom another peer says that it lies: the one of that instance; nobody says
 * so of itself. */
static void it_is_suspected(void **state)
{
	(void)state;
	publish(1);
	digest_api_suspect(at.api, OTHER, 0, INT64_MAX);
	follow_twice();
	turn_until(both_are_met);
	publish(2);
	turn_until(has_second);
	assert_false(status().suspect);
	assert_int_equal(at.warnings, 0);
	digest_api_suspect(at.api, INSTANCE, 0, INT64_MAX);
	turn_until(is_suspect);
	assert_true(status().usable); /* it is a peer's word alone */
}

static void nobody_suspects_itself(void **state)
{
	(void)state;
	publish(1);
	digest_api_suspect(at.api, INSTANCE, 0, INT64_MAX);
	follow_one();
	turn_until(has_first);
	publish(2);
	turn_until(has_second);
	assert_false(status().suspect);
}

static bool is_usable(void)
{
	return status().usable;
}

static void an_operator_holds_it(void **state)
{
	(void)state;
	publish(1);
	follow_one();
	turn_until(is_usable);
	assert_int_equal(peer_follower_hold(at.follower, "c", true), -ENOENT);
	assert_int_equal(peer_follower_hold(at.follower, "b", false),
			 -EALREADY);
	assert_int_equal(peer_follower_hold(at.follower, "b", true), 0);
	assert_true(status().held);
	assert_false(status().usable);
	assert_int_equal(peer_follower_hold(at.follower, "b", true),
			 -EALREADY);
	assert_int_equal(peer_follower_hold(at.follower, "b", false), 0);
	assert_false(status().held);
	turn_until(is_usable);
}

/* Of who is elsewhere the sector of this node is followed; who is here owns a
 * sector of each of those. */
static void peers_elsewhere(void **state)
{
	const struct upstream peers[] = {
		upstream("b", "here"), upstream("c", "there"),
		upstream("d", NULL), upstream("e", "there"),
	};
	struct peerset *view;
	struct peer_follower_status s;

	(void)state;
	settings.node = "a";
	settings.location = "here";
	follow(peers, NROWS(peers));
	for (size_t i = 0; i < NROWS(peers); i++) {
		peer_follower_status(at.follower, i, &s);
		assert_int_equal(s.sector.count != 0, i % 2);
	}
	view = peer_follower_view(at.follower);
	for (size_t i = 0; i < NROWS(peers); i++) {
		const struct peerset_peer *p = peerset_at(view, i);

		assert_int_equal(p->sector.count, i % 2 ? 3 : 0);
		assert_int_equal(p->owns.count, i % 2 ? 0 : 3);
	}
	/* this node, b and d: each has another one */
	assert_int_not_equal(peerset_at(view, 0)->owns.number,
			     peerset_at(view, 2)->owns.number);
	assert_int_equal(peerset_at(view, 1)->sector.number,
			 peerset_at(view, 3)->sector.number);
	peerset_unref(view);
	/* nobody is elsewhere any more */
	assert_int_equal(peer_follower_set_peers(at.follower, peers, 1), 0);
	view = peer_follower_view(at.follower);
	assert_int_equal(peerset_at(view, 0)->owns.count, 0);
	peerset_unref(view);
}

/* A peer that has cost too much is asked later: that is counted, and said. */
static void it_costs_too_much(void **state)
{
	(void)state;
	settings.policy.fetch.budget = 0;
	settings.policy.fetch.price_ms = 2 * FETCH_PACE_MS;
	publish(1);
	follow_one();
	turn_until(has_first);
	assert_int_equal(status().counters.put_off, 1);
	assert_int_equal(at.warnings, 1);
	publish(2);
	turn_until(has_second);
	assert_int_equal(status().counters.put_off, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_digest_and_its_delta),
		TEST(when_it_was_seen),
		TEST(what_it_says_of_leases),
		TEST(it_drains),
		TEST(it_is_the_node_itself),
		TEST(another_hash),
		TEST(it_is_suspected),
		TEST(nobody_suspects_itself),
		TEST(an_operator_holds_it),
		TEST(it_costs_too_much),
		TEST(peers_elsewhere),
	};

	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
