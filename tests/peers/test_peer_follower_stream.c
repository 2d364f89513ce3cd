/*
 * Following a peer by a stream of frames, from the interface that makes it:
 * what the peer says of itself and of others in the middle of it.
 */
#include <stdio.h>
#include <string.h>

#include "digestd/fetch/fetch.h"
#include "digestd/mesh/catalog.h"
#include "digestd/mesh/list_history.h"
#include "digestd/mesh/peerset.h"
#include "digestd/os/loop.h"
#include "digestd/os/troubles.h"
#include "digestd/peers/digest_api.h"
#include "digestd/peers/peer_follower.h"
#include "digestd/peers/peer_kind.h"
#include "digestd/peers/peer_note.h"
#include "digestd/peers/upstream.h"
#include "digestd/server/server.h"
#include "tests/codec/random.h"
#include "tests/os/still_clock.h"
#include "tests/unit.h"

enum {
	INSTANCE = 0xab,
	OWN = 0xcd,
	WAIT_S = 10,
	WAIT_MS = 10000,
	OBJECTS = 500,
};

static struct {
	struct loop *loop;
	struct server *server;
	struct fetcher *fetcher;
	struct peer_follower *follower;
	struct catalog *catalog;
	struct list_history *history;
	struct generations *generations;
	struct digest_api *api;
	struct upstream_names *names;
	struct troubles *troubles;
	uint64_t random;
	unsigned changes, notes, ends;
	char url[64];
} at;

static void on_change(void *arg)
{
	(void)arg;
	at.changes++;
}

static void on_itself(void *arg, const char *url)
{
	(void)arg;
	(void)url;
	fail();
}

static void on_note(void *arg, const struct peer_note *note)
{
	(void)arg;
	assert_string_equal(note->url, at.url);
	assert_int_equal(note->instance, INSTANCE);
	assert_int_equal(note->kind, DIGEST_NOTE_ACKNOWLEDGEMENT);
	assert_int_equal(note->len, 3);
	assert_memory_equal(note->body, "yes", 3);
	at.notes++;
}

static void on_stream_end(void *arg, const char *url)
{
	(void)arg;
	assert_string_equal(url, at.url);
	at.ends++;
}

/* A list with so many keys more than before. */
static void publish(unsigned more)
{
	struct catalog_snapshot snapshot;
	struct list_publication *list;
	struct publication *p;

	for (unsigned i = 0; i < more; i++) {
		const uint64_t lo = random_next(&at.random);
		const struct scd_key key = { lo, random_next(&at.random) };

		catalog_add(at.catalog, &key);
	}
	catalog_snapshot_changes(at.catalog, 0, &snapshot);
	assert_int_equal(list_history_publish(at.history, &snapshot, &list), 0);
	assert_int_equal(generations_publish(at.generations, &snapshot, &p), 0);
	catalog_snapshot_free(&snapshot);
	p->list = list;
	digest_api_publish(at.api, p);
}

static int follow_it(void)
{
	const struct peer_follower_settings settings = {
		.policy.fetch = { .poll_ms = 2, .backoff_min_ms = 1,
				  .backoff_max_ms = 2, .max_age_ms = 60000,
				  .budget = FETCH_BUDGET },
		.policy.health = { .failures = 5, .open_min_ms = 1,
				   .open_max_ms = 10, .quarantine_ms = 60000 },
		.limits = { .max_bits = 1 << 20, .max_hash = 32,
			    .max_fp_ppm = 50000 },
		.wait_s = WAIT_S, .timeout_ms = 2000, .connect_ms = 2000,
		.troubles = at.troubles, .instance = OWN,
		.on_itself = on_itself, .on_note = on_note,
		.on_stream_end = on_stream_end,
	};
	const struct upstream peer = { .name = (char *)(uintptr_t)"b",
				       .url = at.url,
				       .kind = &peer_kind_digestd };

	snprintf(at.url, sizeof(at.url), "http://127.0.0.1:%u",
		 server_port(at.server));
	return peer_follower_new(at.loop, at.fetcher, &settings, &peer, 1,
				 on_change, NULL, &at.follower);
}

static bool streams(void)
{
	struct digest_api_counters c;

	digest_api_count(at.api, &c);
	return c.streams > 0;
}

static void turn(void)
{
	still_clock_ms++;
	assert_int_equal(loop_turn(at.loop, 1), 0);
}

static void turn_until(bool (*done)(void))
{
	int64_t end_ms = loop_now_ms(at.loop) + WAIT_MS;

	while (!done() && loop_now_ms(at.loop) < end_ms)
		turn();
	assert_true(done());
}

static int set_up(void **state)
{
	const struct server_settings listen = {
		.listen = "127.0.0.1:0", .max_connections = 50,
		.max_header_bytes = 16384, .header_ms = 5000, .idle_ms = 5000,
		.strict = true,
	};
	const struct list_shape shape = { 1e-3, OBJECTS };

	(void)state;
	memset(&at, 0, sizeof(at));
	if (loop_new(&at.loop) || upstream_names_new(&at.names) ||
	    troubles_new(at.names, &at.troubles) ||
	    catalog_new(&at.catalog, 0, 1) ||
	    list_history_new(&at.history, INSTANCE, &shape) ||
	    generations_new(&at.generations, INSTANCE, 0) ||
	    digest_api_new(&at.api, WAIT_S, &digest_paths_held) ||
	    server_new(at.loop, &listen, &digest_api_handler, at.api,
		       &at.server) ||
	    fetcher_new(at.loop, FETCHER_EXCHANGE, 0, &at.fetcher))
		return -1;
	catalog_note_changes(at.catalog);
	publish(OBJECTS);
	if (follow_it())
		return -1;
	turn_until(streams);
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
	list_history_free(&at.history);
	catalog_free(&at.catalog);
	troubles_free(&at.troubles);
	upstream_names_free(&at.names);
	loop_free(&at.loop);
	return 0;
}

static struct peer_follower_status status(void)
{
	struct peer_follower_status s;

	peer_follower_status(at.follower, 0, &s);
	return s;
}

static bool reads(void)
{
	return peer_follower_reads(at.follower, at.url, INSTANCE);
}

static bool says_leases(void)
{
	return status().says.leases;
}

static bool says_no_leases(void)
{
	return status().says.leases_said && !status().says.leases;
}

static bool has_second(void)
{
	return status().digest->generation == 2;
}

/* It says so in the stream, which goes on: nobody asks again. */
static void what_it_says_in_between(void **state)
{
	struct digest_api_counters c;
	struct peerset *view;

	(void)state;
	digest_api_say_leases(at.api, true);
	turn_until(says_leases);
	view = peer_follower_view(at.follower);
	assert_true(peerset_at(view, 0)->leases);
	peerset_unref(view);
	publish(1);
	digest_api_say_leases(at.api, false);
	turn_until(says_no_leases);
	turn_until(has_second);
	digest_api_count(at.api, &c);
	assert_int_equal(c.streams, 1);
	assert_int_equal(status().counters.unfit, 0);
}

/* Each word makes the node look at all its peers anew: no more than sixteen a
 * second count, here of 1.2 seconds. */
static void it_says_too_much(void **state)
{
	const unsigned before = at.changes;

	(void)state;
	turn_until(reads);
	for (unsigned i = 0; i < 100; i++) {
		digest_api_say_leases(at.api, !(i % 2));
		for (unsigned turns = 0; turns < 4; turns++)
			turn();
		still_clock_ms += 8;
	}
	assert_in_range(at.changes - before, 17, 32);
}

static bool is_unfit(void)
{
	return status().counters.unfit > 0;
}

static uint64_t notes_sent(void)
{
	struct digest_api_counters c;

	digest_api_count(at.api, &c);
	return c.stream_notes;
}

/* Notes are not made to wait: a flood of them is refused. */
static void it_floods(void **state)
{
	static uint8_t body[DIGEST_NOTE_MAX - DIGEST_NOTE_HEAD_BYTES];
	const struct peer_note note = { "", OWN, DIGEST_NOTE_NODE, body,
					sizeof(body) };

	(void)state;
	turn_until(reads);
	for (unsigned i = 0; i < 8 << 20 >> 15; i++) {
		assert_true(digest_api_send_note(at.api, &note));
		while (notes_sent() <= i)
			assert_int_equal(loop_turn(at.loop, 1), 0);
	}
	assert_false(is_unfit());
	assert_true(digest_api_send_note(at.api, &note));
	turn_until(is_unfit);
}

static bool has_noted(void)
{
	return at.notes > 0;
}

static bool has_ended(void)
{
	return at.ends > 0;
}

/* What is for others, it passes on, with whose it is, until the stream ends. */
static void what_is_for_others(void **state)
{
	const struct peer_note note = { "", OWN, DIGEST_NOTE_ACKNOWLEDGEMENT,
					(const uint8_t *)"yes", 3 };

	(void)state;
	turn_until(reads);
	assert_false(peer_follower_reads(at.follower, at.url, OWN));
	assert_false(peer_follower_reads(at.follower, "http://h", INSTANCE));
	assert_true(digest_api_send_note(at.api, &note));
	turn_until(has_noted);
	assert_int_equal(at.ends, 0);
	digest_api_drain(at.api);
	turn_until(has_ended);
	assert_int_equal(at.notes, 1);
	assert_false(peer_follower_reads(at.follower, at.url, INSTANCE));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_it_says_in_between),
		TEST(it_says_too_much),
		TEST(it_floods),
		TEST(what_is_for_others),
	};

	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
