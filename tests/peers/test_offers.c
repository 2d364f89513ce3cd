/*
 * What a node offers its peers: each object that nobody else holds once, to
 * the one of the peers that owns it; until they have fetched it, or will not
 * come; and what is used most, within a limit.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/disk/cached.h"
#include "digestd/mesh/peerset.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/peers/offers.h"
#include "digestd/peers/peer_kind.h"
#include "tests/cache/small_cache.h"
#include "tests/codec/alloc.h"
#include "tests/server/exchange_fake.h"
#include "tests/unit.h"

enum {
	OBJECTS = 50, /* more than a peer gets at once */
	BODY_BYTES = 100,
	FIRST = 5, /* the instances of peers */
	SECOND = 6,
	TURNS = 1000,
	MAX_ALLOCATIONS = 1000,
};

static struct loop *loop;
static struct cache *cache;
static struct offers *offers;
static unsigned nover;
static unsigned seen[OBJECTS]; /* how many times a reply had them */

static void on_over(void *arg)
{
	assert_ptr_equal(arg, &nover);
	nover++;
}

static void put(unsigned n, int64_t age_s)
{
	const struct freshness_spans spans = {
		.born_s = loop_steady_s(loop) - age_s, .lifetime_s = 60,
		.stale_if_error_s = -1 };
	struct freshness freshness;
	struct cached_head head = { .fields = &fields_none,
				    .selecting = &fields_none,
				    .status = 200, .freshness = &freshness };
	struct cached *c;
	char uri[32];

	freshness_set(&freshness, &spans);
	snprintf(uri, sizeof(uri), "http://h/%u", n);
	head.uri = uri;
	c = cached_new(&head);
	assert_non_null(c);
	cached_set_body(c, NULL, BODY_BYTES);
	c->place = ADMISSION_DISK;
	assert_true(small_cache_put(cache, uri, c, cache_purges(cache)));
}

static int set_up(void **state)
{
	const struct cache_settings settings = small_cache_settings();

	(void)state;
	log_set_level("error");
	nover = 0;
	memset(seen, 0, sizeof(seen));
	if (loop_new(&loop) || cache_new(&settings, &cache) ||
	    offers_new(loop, cache, &offers))
		return -1;
	for (unsigned n = 0; n < OBJECTS; n++)
		put(n, 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	offers_free(&offers);
	assert_null(offers);
	offers_free(&offers);
	cache_free(&cache);
	loop_free(&loop);
	return 0;
}

/* A peer whose digest has nothing, or all. */
static struct peerset_peer peer_of(uint64_t instance, bool has_all)
{
	struct peerset_peer peer = { .usable = true, .name = "n2", .url = "",
				     .kind = &peer_kind_digestd };
	struct scd_bloom bloom;

	assert_int_equal(scd_bloom_init(&bloom, 64, 1), SCD_OK);
	memset(bloom.bits, has_all ? 255 : 0, 8);
	peer.digest = peer_digest_take(&bloom);
	assert_non_null(peer.digest);
	peer.digest->instance = instance;
	return peer;
}

static struct peerset *view_of(const struct peerset_peer *peers, size_t n)
{
	struct peerset *view = peerset_new(peers, n);

	assert_non_null(view);
	for (size_t i = 0; i < n; i++)
		peer_digest_unref(peers[i].digest);
	return view;
}

static struct peerset *view_of_two(void)
{
	const struct peerset_peer peers[] = { peer_of(FIRST, false),
					      peer_of(SECOND, false) };

	return view_of(peers, 2);
}

/* Counts the objects of a reply. */
static unsigned note_seen(const char *text)
{
	unsigned lines = 0, n;
	int len;

	for (; sscanf(text, "http://h/%u\n%n", &n, &len) == 1; text += len) {
		assert_true(n < OBJECTS);
		seen[n]++;
		lines++;
	}
	assert_string_equal(text, "");
	return lines;
}

/* The status of a request, and how many objects the reply has. */
static unsigned ask(const char *method, const char *target, unsigned *lines)
{
	struct exchange x;
	unsigned status;

	exchange_fake_make(&x, loop, method, target);
	assert_true(offers_are_asked_for(&x));
	offers_on_request(offers, &x);
	assert_int_equal(x.answers, 1);
	status = x.status;
	*lines = x.body ? note_seen(x.body) : 0; /* null: an error */
	exchange_fake_free(&x);
	return status;
}

static unsigned take_over(uint64_t instance, unsigned *lines)
{
	char target[64];

	snprintf(target, sizeof(target), "/scd/v1/handover/%016" PRIx64,
		 instance);
	return ask("GET", target, lines);
}

/* All that is for a peer. */
static unsigned take_over_all(uint64_t instance)
{
	unsigned lines, sum = 0;

	do {
		assert_int_equal(take_over(instance, &lines), 200);
		assert_true(lines <= OFFERS_PIECE);
		sum += lines;
	} while (lines);
	return sum;
}

static void hand_over(const struct peerset *view, uint64_t bytes)
{
	offers_hand_over(offers, view, bytes, on_over, &nover);
}

static void await_over(void)
{
	for (int i = 0; i < TURNS && !nover; i++)
		assert_int_equal(loop_turn(loop, 10), 0);
	assert_int_equal(nover, 1);
}

static void each_object_goes_to_one_peer(void **state)
{
	struct peerset *view = view_of_two();
	struct offers_counters counters;
	unsigned first, lines;

	(void)state;
	assert_int_equal(take_over(FIRST, &lines), 404); /* not yet */
	hand_over(view, UINT64_MAX);
	assert_int_equal(nover, 0);
	assert_int_equal(take_over(77, &lines), 404);
	first = take_over_all(FIRST);
	assert_in_range(first, 1, OBJECTS - 1);
	assert_int_equal(first + take_over_all(SECOND), OBJECTS);
	for (unsigned n = 0; n < OBJECTS; n++)
		assert_int_equal(seen[n], 1);
	offers_count(offers, &counters);
	assert_int_equal(counters.offered, OBJECTS);
	assert_int_equal(counters.fetched, OBJECTS);
	await_over();
	peerset_unref(view);
}

/* Who has gone is not waited for; what it has not fetched is not kept. */
static void peers_that_go(void **state)
{
	struct peerset *view = view_of_two(), *empty = view_of(NULL, 0);
	unsigned lines;

	(void)state;
	hand_over(view, UINT64_MAX);
	assert_int_equal(take_over(FIRST, &lines), 200);
	offers_follow(offers, view);
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_int_equal(nover, 0);
	offers_follow(offers, empty);
	await_over();
	peerset_unref(view);
	peerset_unref(empty);
}

/* Whom nobody can hand anything to is not waited for at all. */
static void peers_that_take_nothing(void **state)
{
	struct peerset_peer peers[] = { peer_of(FIRST, false),
					peer_of(FIRST, false),
					peer_of(FIRST, false),
					peer_of(FIRST, false),
					peer_of(0, false) };
	struct peerset *view;

	(void)state;
	peers[0].usable = false;
	peers[1].half_open = true;
	peers[2].kind = &peer_kind_squid;
	peers[3].sector.count = 2;
	view = view_of(peers, NROWS(peers));
	hand_over(view, UINT64_MAX);
	assert_int_equal(nover, 1);
	peerset_unref(view);
}

static void without_peers_it_is_over(void **state)
{
	(void)state;
	hand_over(NULL, UINT64_MAX);
	assert_int_equal(nover, 1);
}

/* What some peer has, what is stale, and what is too much stays. */
static void what_is_not_offered(void **state)
{
	static const struct {
		bool has_all;
		uint64_t bytes;
		unsigned offered;
	} rows[] = {
		{ true, UINT64_MAX, 0 },
		{ false, 0, 0 },
		{ false, BODY_BYTES - 1, 0 },
		{ false, 3 * BODY_BYTES, 3 },
		{ false, UINT64_MAX, OBJECTS - 1 },
	};

	for (size_t i = 0; i < NROWS(rows); i++) {
		const struct peerset_peer peer = peer_of(FIRST,
							 rows[i].has_all);
		struct peerset *view = view_of(&peer, 1);
		struct offers_counters counters;

		put(0, 100);
		hand_over(view, rows[i].bytes);
		assert_int_equal(take_over_all(FIRST), rows[i].offered);
		assert_int_equal(seen[0], 0);
		offers_count(offers, &counters);
		assert_int_equal(counters.offered, rows[i].offered);
		peerset_unref(view);
		tear_down(state);
		assert_int_equal(set_up(state), 0);
	}
}

static void the_hottest_are_listed(void **state)
{
	unsigned lines;

	(void)state;
	put(0, 100); /* stale */
	assert_int_equal(ask("GET", "/scd/v1/hottest/1000000", &lines), 200);
	assert_int_equal(lines, OBJECTS - 1);
	assert_int_equal(seen[0], 0);
	assert_int_equal(ask("GET", "/scd/v1/hottest/1", &lines), 200);
	assert_int_equal(lines, 0);
}

static void what_is_refused(void **state)
{
	static const struct {
		const char *method, *target;
		unsigned status;
	} rows[] = {
		{ "POST", "/scd/v1/hottest/1000", 405 },
		{ "POST", "/scd/v1/handover/0000000000000005", 405 },
		{ "GET", "/scd/v1/hottest/", 404 },
		{ "GET", "/scd/v1/hottest/0", 404 },
		{ "GET", "/scd/v1/hottest/x", 404 },
		{ "GET", "/scd/v1/hottest/1x", 404 },
		{ "GET", "/scd/v1/hottest/1234567890123456789", 404 },
		{ "GET", "/scd/v1/handover/", 404 },
	};
	struct exchange x;
	unsigned lines;

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++)
		assert_int_equal(ask(rows[i].method, rows[i].target, &lines),
				 rows[i].status);
	exchange_fake_make(&x, loop, "GET", "/scd/v1/digest");
	assert_false(offers_are_asked_for(&x));
	exchange_fake_free(&x);
}

/* Every allocation fails: some are not offered, or none, and it ends. */
static void every_allocation(void **state)
{
	bool failed = true;

	for (unsigned n = 1; failed && n < MAX_ALLOCATIONS; n++) {
		struct peerset *view = view_of_two();
		struct peerset *empty = view_of(NULL, 0);
		struct offers_counters counters;
		unsigned lines;

		alloc_fail_at(n);
		hand_over(view, UINT64_MAX);
		(void)ask("GET", "/scd/v1/hottest/1000000", &lines);
		failed = alloc_failed();
		alloc_fail_at(0);
		memset(seen, 0, sizeof(seen));
		offers_count(offers, &counters);
		if (!nover)
			assert_int_equal(take_over_all(FIRST) +
					 take_over_all(SECOND),
					 counters.offered);
		offers_follow(offers, empty);
		await_over();
		peerset_unref(view);
		peerset_unref(empty);
		tear_down(state);
		assert_int_equal(set_up(state), 0);
	}
	assert_false(failed);
}

static void new_needs_memory(void **state)
{
	struct offers *other;

	(void)state;
	alloc_fail_at(1);
	assert_int_equal(offers_new(loop, cache, &other), -ENOMEM);
	alloc_fail_at(0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_object_goes_to_one_peer),
		TEST(peers_that_go),
		TEST(peers_that_take_nothing),
		TEST(without_peers_it_is_over),
		TEST(what_is_not_offered),
		TEST(the_hottest_are_listed),
		TEST(what_is_refused),
		TEST(every_allocation),
		TEST(new_needs_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
