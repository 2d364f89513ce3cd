/*
 * Copying from a peer, over sockets: a node's offers, as it drains and while it
 * serves, fetched by a copier whose objects are carried by the test; lists that
 * are none; bounds; and the end in the middle of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/fetch/fetch.h"
#include "digestd/mesh/peerset.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/peers/copier.h"
#include "digestd/peers/offers.h"
#include "digestd/peers/peer_kind.h"
#include "digestd/server/server.h"
#include "tests/cache/small_cache.h"
#include "tests/unit.h"

enum { BODY = 1000, TURNS = 2000, INSTANCE = 0x1234, COPIES_MAX = 64 };

static struct {
	struct loop *loop;
	struct cache *cache;
	struct offers *offers;
	struct server *server;
	struct fetcher *fetcher;
	struct copier *copier;
	const char *list; /* what the server says instead of offers; or null */
	bool holds; /* copies are not done yet */
	struct peer_copy *held[COPIES_MAX];
	unsigned nheld, most_held, ncopied, nstay;
	char copied[COPIES_MAX][64];
	unsigned lists, over;
	char url[64];
} at;

/* In place of what the daemon writes. */
void __wrap_log_write(enum log_level level, const char *part,
		      const char *format, ...);
void __wrap_log_write(enum log_level level, const char *part,
		      const char *format, ...)
{
	(void)level;
	(void)part;
	(void)format;
}

static void on_request(void *arg, struct exchange *x)
{
	(void)arg;
	at.lists++;
	assert_true(offers_are_asked_for(x));
	if (at.list)
		exchange_reply_copy(x, 200, &fields_none, at.list,
				    strlen(at.list));
	else
		offers_on_request(at.offers, x);
}

static const struct server_handler handler = { .on_request = on_request };

static void carry(struct peer_copy *copy)
{
	snprintf(at.copied[at.ncopied++], sizeof(at.copied[0]), "%s",
		 copy->uri);
	copy->stored = true;
	copy->bytes = BODY;
	loop_post(copy->loop, &copy->done);
}

static void on_copy(void *arg, struct peer_copy *copy)
{
	(void)arg;
	assert_true(at.ncopied + at.nheld < COPIES_MAX);
	at.nstay += copy->stays;
	if (!at.holds) {
		carry(copy);
		return;
	}
	at.held[at.nheld++] = copy;
	if (at.nheld > at.most_held)
		at.most_held = at.nheld;
}

static int set_up(void **state)
{
	const struct server_settings listen = {
		.listen = "127.0.0.1:0", .max_connections = 50,
		.max_header_bytes = 16384, .header_ms = 5000, .idle_ms = 5000,
		.strict = true,
	};
	const struct copier_settings settings = { .timeout_ms = 5000 };
	const struct cache_settings small = small_cache_settings();

	(void)state;
	memset(&at, 0, sizeof(at));
	if (loop_new(&at.loop) || cache_new(&small, &at.cache) ||
	    offers_new(at.loop, at.cache, &at.offers) ||
	    server_new(at.loop, &listen, &handler, NULL, &at.server) ||
	    fetcher_new(at.loop, FETCHER_EXCHANGE, 0, &at.fetcher) ||
	    copier_new(at.loop, at.fetcher, &settings, on_copy, NULL,
		       &at.copier))
		return -1;
	snprintf(at.url, sizeof(at.url), "http://127.0.0.1:%u",
		 server_port(at.server));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	copier_stop(at.copier);
	for (unsigned i = 0; i < at.nheld; i++)
		carry(at.held[i]);
	loop_turn(at.loop, 0);
	copier_free(&at.copier);
	fetcher_free(&at.fetcher);
	server_free(&at.server);
	loop_turn(at.loop, 0);
	offers_free(&at.offers);
	cache_free(&at.cache);
	loop_free(&at.loop);
	return 0;
}

static void store(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct freshness_spans minute = {
			.born_s = loop_steady_s(at.loop), .lifetime_s = 60
		};
		struct cached *c;
		char uri[64];

		snprintf(uri, sizeof(uri), "http://h/%u", i);
		c = small_cache_response(uri, 200, BODY, ADMISSION_DISK);
		freshness_set(&c->freshness, &minute);
		assert_true(small_cache_put(at.cache, uri, c, 0));
	}
}

/* A view with one peer, which holds nothing. */
static struct peerset *view(bool usable)
{
	struct scd_bloom bloom;
	struct peerset_peer peer = { .id = 1, .usable = usable,
				     .kind = peer_kind_find("digestd"),
				     .name = "n2", .url = "http://h:1" };
	struct peerset *set;

	assert_int_equal(scd_bloom_init(&bloom, 1024, 3), 0);
	scd_bloom_clear(&bloom);
	peer.digest = peer_digest_take(&bloom);
	assert_non_null(peer.digest);
	peer.digest->instance = INSTANCE;
	set = peerset_new(&peer, 1);
	peer_digest_unref(peer.digest);
	assert_non_null(set);
	return set;
}

static void begin(const char *path, uint64_t bytes, bool again)
{
	const struct copier_order order = { at.url, path, 1, bytes, again };

	copier_begin(at.copier, &order);
}

static void turn_until_idle(void)
{
	for (int i = 0; i < TURNS && copier_is_busy(at.copier); i++)
		loop_turn(at.loop, 10);
	assert_false(copier_is_busy(at.copier));
}

static void on_over(void *arg)
{
	(void)arg;
	at.over++;
}

static void turn_until_over(void)
{
	for (int i = 0; i < TURNS && !at.over; i++)
		loop_turn(at.loop, 10);
	assert_int_equal(at.over, 1);
}

/* All of it, piece by piece; and the node that drains hears of the end. */
static void test_handed_over(void **state)
{
	struct peerset *set = view(true);
	struct copier_counters counters;

	(void)state;
	store(OFFERS_PIECE + 5);
	begin("/scd/v1/handover/0000000000001234", 1 << 20, true);
	turn_until_idle();
	assert_int_equal(at.ncopied, 0); /* it does not drain */
	offers_hand_over(at.offers, set, 1 << 20, on_over, NULL);
	begin("/scd/v1/handover/0000000000009999", 1 << 20, true);
	turn_until_idle();
	assert_int_equal(at.ncopied, 0); /* nothing is for that one */
	begin("/scd/v1/handover/0000000000001234", 1 << 20, true);
	turn_until_idle();
	assert_int_equal(at.ncopied, OFFERS_PIECE + 5);
	assert_string_equal(at.copied[0], "http://h/20"); /* the hottest */
	assert_int_equal(at.nstay, 0); /* where they were */
	turn_until_over();
	copier_count(at.copier, &counters);
	assert_int_equal(counters.lists, 2);
	assert_int_equal(counters.copied_bytes, BODY * (OFFERS_PIECE + 5));
	peerset_unref(set);
}

/* Who does not come any more is not waited for; nor is anybody where nobody
 * is. */
static void test_nobody_comes(void **state)
{
	struct peerset *set = view(true), *gone = view(false);

	(void)state;
	offers_hand_over(at.offers, gone, 1 << 20, on_over, NULL);
	assert_int_equal(at.over, 1);
	tear_down(NULL);
	set_up(NULL);
	store(3);
	offers_hand_over(at.offers, set, 1 << 20, on_over, NULL);
	assert_int_equal(at.over, 0);
	loop_turn(at.loop, 0);
	offers_follow(at.offers, gone);
	turn_until_over();
	peerset_unref(set);
	peerset_unref(gone);
}

/* Some at a time, and no more than was said. */
static void test_bounds(void **state)
{
	(void)state;
	store(20);
	at.holds = true;
	begin("/scd/v1/hottest/1000000", 6 * BODY, false);
	begin("/scd/v1/hottest/1000000", 6 * BODY, false); /* the same */
	for (int i = 0; i < TURNS && at.ncopied < 6; i++) {
		loop_turn(at.loop, 1);
		while (at.nheld && (at.nheld == COPIER_AT_ONCE || i % 8 == 7))
			carry(at.held[--at.nheld]);
	}
	at.holds = false;
	while (at.nheld)
		carry(at.held[--at.nheld]);
	turn_until_idle();
	assert_int_equal(at.most_held, COPIER_AT_ONCE);
	assert_in_range(at.ncopied, 6, 6 + COPIER_AT_ONCE - 1);
	assert_int_equal(at.lists, 1);
	begin("/scd/v1/hottest/2500", 1 << 20, false);
	at.ncopied = at.nstay = 0;
	turn_until_idle();
	assert_int_equal(at.ncopied, 2);
	assert_int_equal(at.nstay, 2);
}

/* What a peer says instead of a list. */
static void test_lists_that_are_none(void **state)
{
	/* clang-format off */
	static const struct {
		const char *text;
		unsigned copies;
	} rows[] = {
		{ "", 0 },
		{ "\n\n\n", 0 },
		{ "no end of the line", 0 },
		{ "\tAccept: x\n", 0 },
		{ "http://h/1\n\tno colon\nhttp://h/2\n", 0 },
		{ "http://h/1\nhttp://h/2\n\tA: b\n\tC: d\nhttp://h/3\n", 3 },
		{ "http://h/1\n\tA: b\n\tC", 0 },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		at.list = rows[i].text;
		at.ncopied = 0;
		begin("/scd/v1/hottest/1000", 1 << 20, false);
		turn_until_idle();
		if (at.ncopied != rows[i].copies)
			fail_msg("row %zu: %u", i, at.ncopied);
	}
}

/* The end, with copies under way: the tear-down finds nothing left. */
static void test_stopped(void **state)
{
	(void)state;
	store(10);
	at.holds = true;
	begin("/scd/v1/hottest/1000000", 1 << 20, false);
	for (int i = 0; i < TURNS && !at.nheld; i++)
		loop_turn(at.loop, 10);
	begin("/scd/v1/hottest/999999", 1 << 20, false); /* not answered yet */
	copier_stop(at.copier);
	begin("/scd/v1/hottest/999998", 1 << 20, false);
	assert_true(copier_is_busy(at.copier));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_handed_over),
		TEST(test_nobody_comes),
		TEST(test_bounds),
		TEST(test_lists_that_are_none),
		TEST(test_stopped),
	};

	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
