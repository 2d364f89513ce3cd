/*
 * Telling peers of purges, over sockets: two peers with caches of their own
 * that answer, refuse, or say nothing; peers that go, come back and are new;
 * one that has lost what it knew; no peers yet; and each allocation failing
 * while the list of peers changes.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/fetch/fetch.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/peers/invalidation_api.h"
#include "digestd/peers/peer_kind.h"
#include "digestd/peers/teller.h"
#include "digestd/peers/upstream.h"
#include "digestd/server/server.h"
#include "tests/cache/small_cache.h"
#include "tests/codec/alloc.h"
#include "tests/unit.h"

enum {
	PEERS = 2,
	OWN = 7, /* instances: this node's, and 10 + i */
	WAIT_MS = 5000,
	LAGGARD_MS = 250,
	UNHEARD_MS = 800,
	ALLOCATIONS_MAX = 50,
};

enum manner { ANSWERS, REFUSES, SILENT };

struct told {
	struct cache *cache;
	struct heard_by by;
	struct server *server;
	enum manner manner;
	char name[8], url[64];
	unsigned questions, messages;
};

static struct {
	struct loop *loop;
	struct cache *cache;
	struct teller *teller;
	struct told peers[PEERS];
	char *answers; /* of the last wait */
	unsigned timeout_ms; /* for a peer's answer */
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

/* The peers */

static void on_request(void *arg, struct exchange *x)
{
	struct told *p = arg;

	if (!strcmp(exchange_request(x)->method, "GET"))
		p->questions++;
	else
		p->messages++;
	exchange_set_data(x, NULL);
	if (p->manner == ANSWERS)
		invalidation_api_on_request(&p->by, x, true);
	else if (p->manner == REFUSES)
		exchange_reply_error(x, 503, NULL);
}

static size_t on_body(void *arg, struct exchange *x, const void *data,
		      size_t len)
{
	(void)arg;
	return invalidation_api_on_body(x, data, len);
}

static void on_body_end(void *arg, struct exchange *x)
{
	(void)arg;
	invalidation_api_on_body_end(x);
}

static void on_done(void *arg, struct exchange *x, enum exchange_end end)
{
	(void)arg;
	(void)end;
	invalidation_api_on_done(x);
}

static const struct server_handler handler = { on_request, on_body,
					       on_body_end, on_done,
					       NULL };

static int cache_make(uint64_t instance, struct cache **out)
{
	struct cache_settings settings = small_cache_settings();

	settings.instance = instance;
	return cache_new(&settings, out);
}

static void peer_live(struct told *p, uint64_t instance)
{
	const struct cache_settings settings = small_cache_settings();

	assert_int_equal(cache_make(instance, &p->cache), 0);
	p->by = (struct heard_by){ .loop = at.loop, .cache = p->cache,
				   .secret = settings.hash_secret };
}

static void peer_die(struct told *p)
{
	heard_stop(&p->by);
	cache_free(&p->cache);
}

/* It has lost what it knew. */
static void peer_restart(struct told *p, uint64_t instance)
{
	peer_die(p);
	peer_live(p, instance);
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
	at.timeout_ms = WAIT_MS;
	if (loop_new(&at.loop) || cache_make(OWN, &at.cache))
		return -1;
	for (unsigned i = 0; i < PEERS; i++) {
		struct told *p = &at.peers[i];

		peer_live(p, 10 + i);
		if (server_new(at.loop, &listen, &handler, p, &p->server))
			return -1;
		snprintf(p->name, sizeof(p->name), "n%u", i + 2);
		snprintf(p->url, sizeof(p->url), "http://127.0.0.1:%u",
			 server_port(p->server));
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	teller_stop(at.teller);
	teller_free(&at.teller);
	for (unsigned i = 0; i < PEERS; i++) {
		server_free(&at.peers[i].server);
		peer_die(&at.peers[i]);
	}
	loop_turn(at.loop, 0);
	cache_free(&at.cache);
	loop_free(&at.loop);
	free(at.answers);
	return 0;
}

/* The teller */

/* The peers from `first` to before `end`. */
static struct teller_settings settings_of(unsigned first, unsigned end,
					  struct upstream *peers)
{
	struct teller_settings s = { .peers = peers, .npeers = end - first,
				     .timeout_ms = at.timeout_ms,
				     .start_ms = 200,
				     .unheard_ms = UNHEARD_MS,
				     .numbers = true,
				     .awaits = true };

	for (unsigned i = first; i < end; i++)
		peers[i - first] = (struct upstream){
			.name = at.peers[i].name, .url = at.peers[i].url,
			.kind = &peer_kind_digestd };
	memcpy(s.secret, small_cache_settings().hash_secret,
	       sizeof(s.secret));
	return s;
}

static void start(unsigned npeers)
{
	struct upstream peers[PEERS];
	const struct teller_settings s = settings_of(0, npeers, peers);

	assert_int_equal(teller_new(at.loop, at.cache, &s, &at.teller), 0);
}

static int set_peers(unsigned first, unsigned end)
{
	struct upstream peers[PEERS];
	const struct teller_settings s = settings_of(first, end, peers);

	return teller_set(at.teller, &s);
}

static void turn_until(bool (*done)(void))
{
	int64_t end_ms = loop_now_ms(at.loop) + WAIT_MS;

	while (!done() && loop_now_ms(at.loop) < end_ms)
		assert_int_equal(loop_turn(at.loop, 10), 0);
	assert_true(done());
}

static bool has_heard_all(void)
{
	return cache_has_heard_all(at.cache) && cache_has_caught_up(at.cache);
}

static uint64_t purge(const char *uri)
{
	const struct scd_key key = small_cache_key(uri);
	uint64_t seq;

	cache_invalidate(at.cache, &key, NULL, 0, &seq);
	return seq;
}

static bool knows(const struct told *p, uint64_t seq)
{
	const struct invalidation_position position = { OWN, seq };

	return cache_has_applied(p->cache, &position);
}

/* How many positions this node names of a URI that it has purged. */
static size_t needs(const char *uri)
{
	struct invalidation_position need[INVALIDATION_NEED_MAX];
	const struct scd_key key = small_cache_key(uri);

	return cache_need(at.cache, &key, uri, need);
}

static void on_answers(void *arg, struct teller_wait *w)
{
	(void)arg;
	free(at.answers);
	at.answers = json_dumps(w->answers, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(w->answers);
	free(w);
}

static bool is_answered(void)
{
	return at.answers;
}

/* What peers have said of a number, within a time. */
static const char *answers_to(uint64_t seq, unsigned timeout_ms)
{
	struct teller_wait *w = calloc(1, sizeof(*w));

	free(at.answers);
	at.answers = NULL;
	*w = (struct teller_wait){ .seq = seq, .timeout_ms = timeout_ms,
				   .loop = at.loop, .done = on_answers };
	teller_wait(at.teller, w);
	turn_until(is_answered);
	return at.answers;
}

/* Tests */

static void all_are_asked_and_told(void **state)
{
	(void)state;
	start(2);
	assert_false(cache_has_caught_up(at.cache));
	turn_until(has_heard_all);
	assert_int_equal(at.peers[0].questions, 1);
	assert_string_equal(answers_to(purge("http://h/1"), WAIT_MS),
			    "{\"n2\":0,\"n3\":0}");
	assert_true(knows(&at.peers[0], 1) && knows(&at.peers[1], 1));
	assert_int_equal(needs("http://h/1"), 0); /* all members have it */
}

static bool second_knows(void)
{
	return knows(&at.peers[1], 2);
}

/* It is named, and told of all that it has missed. */
static void a_laggard(void **state)
{
	(void)state;
	at.timeout_ms = LAGGARD_MS;
	start(2);
	turn_until(has_heard_all);
	at.peers[1].manner = SILENT;
	assert_string_equal(answers_to(purge("http://h/1"), WAIT_MS),
			    "{\"n2\":0,\"n3\":null}");
	assert_int_equal(needs("http://h/1"), 1);
	purge("http://h/2");
	teller_wake(at.teller);
	at.peers[1].manner = ANSWERS;
	turn_until(second_knows);
	assert_true(knows(&at.peers[1], 1));
}

static bool first_was_refused(void)
{
	return at.peers[0].questions > 0 && cache_has_caught_up(at.cache);
}

/* A peer that does not say what it knows: what comes from peers is not kept. */
static void a_start_without_answers(void **state)
{
	struct teller_counters counters;

	(void)state;
	at.peers[0].manner = REFUSES;
	start(2);
	turn_until(first_was_refused);
	assert_false(cache_has_heard_all(at.cache));
	teller_count(at.teller, &counters);
	assert_int_equal(counters.failed, 0); /* it was a question */
	at.peers[0].manner = ANSWERS;
	turn_until(has_heard_all);
}

static uint64_t knowing;

static bool second_knows_it(void)
{
	return knows(&at.peers[1], knowing);
}

static bool has_given_up_hearing(void)
{
	return cache_has_heard_all(at.cache);
}

/* One that is dead does not keep this node from keeping what peers give. */
static void a_start_beside_a_dead_peer(void **state)
{
	int64_t began_ms = loop_now_ms(at.loop);

	(void)state;
	at.peers[0].manner = REFUSES;
	start(2);
	turn_until(has_given_up_hearing);
	assert_true(loop_now_ms(at.loop) - began_ms >= UNHEARD_MS);
}

/* What a peer knows of this node's earlier life is heard. */
static void what_peers_know_is_heard(void **state)
{
	const struct scd_key key = small_cache_key("http://h/1");
	const struct invalidation_position position = { 11, 1 };
	uint64_t seq;

	(void)state;
	cache_invalidate(at.peers[1].cache, &key, NULL, 0, &seq);
	start(2);
	turn_until(has_heard_all);
	assert_true(cache_has_applied(at.cache, &position));
}

/* Who goes without having been told stays to be named, and is told when it
 * comes back; by others it is not known any more. */
static void a_peer_goes_and_comes_back(void **state)
{
	(void)state;
	start(2);
	turn_until(has_heard_all);
	assert_non_null(answers_to(purge("http://h/1"), WAIT_MS));
	assert_int_equal(set_peers(0, 1), 0);
	assert_string_equal(answers_to(purge("http://h/2"), WAIT_MS),
			    "{\"n2\":0}");
	assert_int_equal(needs("http://h/1"), 0);
	assert_int_equal(needs("http://h/2"), 1);
	assert_int_equal(set_peers(0, 2), 0);
	assert_false(cache_has_heard_all(at.cache)); /* it is asked again */
	turn_until(second_knows);
	turn_until(has_heard_all);
	assert_string_equal(answers_to(2, WAIT_MS), "{\"n2\":0,\"n3\":0}");
	assert_int_equal(needs("http://h/2"), 0);
}

static bool second_knows_first(void)
{
	return knows(&at.peers[1], 1);
}

/* Who is new is told all that there is, and who goes in the middle of it is
 * called no more. */
static void a_newcomer(void **state)
{
	(void)state;
	start(1);
	turn_until(has_heard_all);
	assert_string_equal(answers_to(purge("http://h/1"), WAIT_MS),
			    "{\"n2\":0}");
	assert_int_equal(set_peers(0, 2), 0);
	assert_int_equal(set_peers(0, 1), 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(loop_turn(at.loop, 1), 0);
	assert_false(second_knows_first());
	assert_int_equal(set_peers(1, 2), 0);
	turn_until(second_knows_first);
}

/* Until it has been told, what all others have applied is named again. */
static void a_newcomer_that_hangs(void **state)
{
	(void)state;
	at.timeout_ms = LAGGARD_MS;
	start(1);
	turn_until(has_heard_all);
	assert_non_null(answers_to(purge("http://h/1"), WAIT_MS));
	assert_int_equal(needs("http://h/1"), 0);
	at.peers[1].manner = SILENT;
	assert_int_equal(set_peers(0, 2), 0);
	assert_int_equal(needs("http://h/1"), 1);
	at.peers[1].manner = ANSWERS;
	knowing = 1;
	turn_until(second_knows_it);
	assert_string_equal(answers_to(1, WAIT_MS), "{\"n2\":0,\"n3\":0}");
	assert_int_equal(needs("http://h/1"), 0);
}

/* The second one acknowledges late; by then the first one's acknowledgement
 * does not count any more, as it has been restarted and has forgotten. */
static void a_peer_forgets_meanwhile(void **state)
{
	int64_t then_ms;

	(void)state;
	at.timeout_ms = LAGGARD_MS;
	start(2);
	turn_until(has_heard_all);
	at.peers[1].manner = SILENT;
	assert_string_equal(answers_to(purge("http://h/1"), WAIT_MS),
			    "{\"n2\":0,\"n3\":null}");
	then_ms = loop_now_ms(at.loop) + UNHEARD_MS;
	while (loop_now_ms(at.loop) < then_ms)
		assert_int_equal(loop_turn(at.loop, 10), 0);
	peer_restart(&at.peers[0], 20);
	assert_false(knows(&at.peers[0], 1));
	at.peers[1].manner = ANSWERS;
	knowing = 1;
	turn_until(second_knows_it);
	assert_string_equal(answers_to(1, WAIT_MS), "{\"n2\":0,\"n3\":0}");
	assert_true(knows(&at.peers[0], 1));
	assert_int_equal(needs("http://h/1"), 0);
}

/* However many wait for it, it is tried again at its own pace, and counted
 * once; and what it lacks is known. */
static void a_peer_that_is_away(void **state)
{
	struct teller_peer_status lacks;
	struct teller_counters counters;
	unsigned before;

	(void)state;
	start(2);
	turn_until(has_heard_all);
	at.peers[1].manner = REFUSES;
	before = at.peers[1].messages;
	for (int i = 0; i < 20; i++)
		assert_string_equal(answers_to(purge("http://h/1"), WAIT_MS),
				    "{\"n2\":0,\"n3\":null}");
	assert_true(at.peers[1].messages - before < 8);
	teller_count(at.teller, &counters);
	assert_int_equal(counters.failed, 1);
	assert_int_equal(teller_peers(at.teller), 2);
	teller_peer_status(at.teller, 1, &lacks);
	assert_string_equal(lacks.name, "n3");
	assert_true(lacks.failing && lacks.lacking == 20 &&
		    !lacks.acknowledged);
	teller_peer_status(at.teller, 0, &lacks);
	assert_true(!lacks.failing && !lacks.lacking && !lacks.lacking_ms &&
		    lacks.acknowledged == 20);
}

/* With nobody there a purge is numbered all the same, and told later. */
static void a_purge_before_there_are_peers(void **state)
{
	(void)state;
	start(0);
	assert_true(teller_tells(at.teller));
	assert_false(cache_has_caught_up(at.cache)); /* some may come */
	assert_true(cache_has_heard_all(at.cache)); /* nobody is asked */
	assert_string_equal(answers_to(purge("http://h/1"), WAIT_MS), "{}");
	assert_int_equal(needs("http://h/1"), 1);
	assert_int_equal(set_peers(1, 2), 0);
	turn_until(second_knows_first);
}

/* Nor is it awaited that somebody comes: a reload lists a peer, which may hold
 * an older copy. */
static void a_purge_of_a_node_that_awaits_nobody(void **state)
{
	const struct teller_settings s = { .timeout_ms = at.timeout_ms,
					   .start_ms = 200,
					   .unheard_ms = UNHEARD_MS,
					   .numbers = true };

	(void)state;
	assert_int_equal(teller_new(at.loop, at.cache, &s, &at.teller), 0);
	assert_true(teller_tells(at.teller));
	assert_true(cache_has_caught_up(at.cache));
	assert_string_equal(answers_to(purge("http://h/1"), WAIT_MS), "{}");
	assert_int_equal(set_peers(1, 2), 0);
	assert_int_equal(needs("http://h/1"), 1);
	turn_until(second_knows_first);
}

/* What it acknowledged it has dropped; it asks itself for what it has lost. */
static void a_peer_is_restarted(void **state)
{
	(void)state;
	start(2);
	turn_until(has_heard_all);
	assert_non_null(answers_to(purge("http://h/1"), WAIT_MS));
	peer_restart(&at.peers[1], 21);
	assert_string_equal(answers_to(purge("http://h/2"), WAIT_MS),
			    "{\"n2\":0,\"n3\":0}");
	assert_true(knows(&at.peers[1], 2));
}

/* The list is the old one, and who is on it is told. */
static void no_memory_for_a_list(void **state)
{
	unsigned n;

	(void)state;
	start(1);
	turn_until(has_heard_all);
	for (n = 1; n < ALLOCATIONS_MAX; n++) {
		int err;

		alloc_fail_at(n);
		err = set_peers(0, 2);
		alloc_fail_at(0);
		if (!err)
			break;
		assert_int_equal(err, -ENOMEM);
		assert_string_equal(answers_to(purge("http://h/1"), WAIT_MS),
				    "{\"n2\":0}");
	}
	assert_in_range(n, 2, ALLOCATIONS_MAX - 1);
	turn_until(has_heard_all);
	assert_string_equal(answers_to(purge("http://h/1"), WAIT_MS),
			    "{\"n2\":0,\"n3\":0}");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_are_asked_and_told),
		TEST(a_laggard),
		TEST(a_start_without_answers),
		TEST(a_start_beside_a_dead_peer),
		TEST(what_peers_know_is_heard),
		TEST(a_peer_goes_and_comes_back),
		TEST(a_newcomer),
		TEST(a_newcomer_that_hangs),
		TEST(a_peer_forgets_meanwhile),
		TEST(a_peer_that_is_away),
		TEST(a_purge_before_there_are_peers),
		TEST(a_purge_of_a_node_that_awaits_nobody),
		TEST(a_peer_is_restarted),
		TEST(no_memory_for_a_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
