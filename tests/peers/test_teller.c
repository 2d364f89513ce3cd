/*
 * Telling peers of purges, over sockets: two peers with caches of their own
 * that answer, refuse, say nothing or nonsense; peers that go, come back and
 * are new; one that has lost what it knew; no peers yet; and each allocation
 * failing. The clock is the test's: it goes on by STEP_MS at each turn of the
 * loop, so that waits are short, and a busy machine makes no peer late.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/peers/invalidation_api.h"
#include "digestd/peers/peer_kind.h"
#include "digestd/peers/teller.h"
#include "digestd/peers/upstream.h"
#include "digestd/server/server.h"
#include "tests/cache/small_cache.h"
#include "tests/codec/alloc.h"
#include "tests/os/still_clock.h"
#include "tests/peers/invalidation_server.h"
#include "tests/unit.h"

enum {
	PEERS = 2,
	STEP_MS = 10,
	PACE_MS = 100, /* between two tries, at least */
	GONE_MS = 3600000, /* until who is gone is forgotten */
	GONE_MAX = 64,     /* kept */
	OWN = 7, /* instances: this node's, and 10 + i */
	WAIT_MS = 5000,
	LAGGARD_MS = 250,
	UNHEARD_MS = 800,
	ALLOCATIONS_MAX = 50,
};

enum manner { ANSWERS, REFUSES, KNOWS_NOTHING, SAYS, SILENT };

struct told {
	struct cache *cache;
	struct heard_by by;
	struct server *server;
	enum manner manner;
	char name[8], url[64];
	const char *says; /* instead of an answer */
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
	else if (p->manner == REFUSES || p->manner == KNOWS_NOTHING)
		exchange_reply_error(x, p->manner == REFUSES ? 503 : 404, NULL);
	else if (p->manner == SAYS)
		exchange_reply_copy(x, 200, &fields_none, p->says,
				    strlen(p->says));
}

static const struct server_handler handler = {
	.on_request = on_request,
	.on_body = invalidation_server_on_body,
	.on_body_end = invalidation_server_on_body_end,
	.on_done = invalidation_server_on_done,
};

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

static void turn(void)
{
	still_clock_ms += STEP_MS;
	assert_int_equal(loop_turn(at.loop, 1), 0);
}

static void turn_until(bool (*done)(void))
{
	for (int i = 0; i < 10 * WAIT_MS / STEP_MS && !done(); i++)
		turn();
	assert_true(done());
}

static bool has_heard_all(void)
{
	return cache_has_heard_all(at.cache) && cache_has_caught_up(at.cache);
}

static void start_and_hear(unsigned npeers)
{
	start(npeers);
	turn_until(has_heard_all);
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

static uint64_t knowing;

static bool second_knows_it(void)
{
	return knows(&at.peers[1], knowing);
}

static void turn_until_second_knows(uint64_t seq)
{
	knowing = seq;
	turn_until(second_knows_it);
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

/* Purges; and what peers have said of it. */
static void purge_answers(const char *uri, const char *wanted)
{
	assert_string_equal(answers_to(purge(uri), WAIT_MS), wanted);
}

/* Tests */

static void all_are_asked_and_told(void **state)
{
	(void)state;
	start(2);
	assert_false(cache_has_caught_up(at.cache));
	turn_until(has_heard_all);
	assert_int_equal(at.peers[0].questions, 1);
	purge_answers("http://h/1", "{\"n2\":0,\"n3\":0}");
	assert_true(knows(&at.peers[0], 1) && knows(&at.peers[1], 1));
	assert_int_equal(needs("http://h/1"), 0); /* all members have it */
}

/* It is named, and told of all that it has missed. */
static void a_laggard(void **state)
{
	(void)state;
	at.timeout_ms = LAGGARD_MS;
	start_and_hear(2);
	at.peers[1].manner = SILENT;
	purge_answers("http://h/1", "{\"n2\":0,\"n3\":null}");
	assert_int_equal(needs("http://h/1"), 1);
	purge("http://h/2");
	teller_wake(at.teller);
	at.peers[1].manner = ANSWERS;
	turn_until_second_knows(2);
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
	start_and_hear(2);
	assert_true(cache_has_applied(at.cache, &position));
}

/* Who goes without having been told stays to be named, and is told when it
 * comes back; by others it is not known any more. */
static void a_peer_goes_and_comes_back(void **state)
{
	(void)state;
	start_and_hear(2);
	assert_non_null(answers_to(purge("http://h/1"), WAIT_MS));
	assert_int_equal(set_peers(0, 1), 0);
	purge_answers("http://h/2", "{\"n2\":0}");
	assert_int_equal(needs("http://h/1"), 0);
	assert_int_equal(needs("http://h/2"), 1);
	assert_int_equal(set_peers(0, 2), 0);
	assert_false(cache_has_heard_all(at.cache)); /* it is asked again */
	turn_until_second_knows(2);
	turn_until(has_heard_all);
	assert_string_equal(answers_to(2, WAIT_MS), "{\"n2\":0,\"n3\":0}");
	assert_int_equal(needs("http://h/2"), 0);
}

/* Who is new is told all that there is, and who goes in the middle of it is
 * called no more. */
static void a_newcomer(void **state)
{
	(void)state;
	start_and_hear(1);
	purge_answers("http://h/1", "{\"n2\":0}");
	assert_int_equal(set_peers(0, 2), 0);
	assert_int_equal(set_peers(0, 1), 0);
	for (int i = 0; i < 20; i++)
		turn();
	assert_false(knows(&at.peers[1], 1));
	assert_int_equal(set_peers(1, 2), 0);
	turn_until_second_knows(1);
}

/* Until it has been told, what all others have applied is named again. */
static void a_newcomer_that_hangs(void **state)
{
	(void)state;
	at.timeout_ms = LAGGARD_MS;
	start_and_hear(1);
	assert_non_null(answers_to(purge("http://h/1"), WAIT_MS));
	assert_int_equal(needs("http://h/1"), 0);
	at.peers[1].manner = SILENT;
	assert_int_equal(set_peers(0, 2), 0);
	assert_int_equal(needs("http://h/1"), 1);
	at.peers[1].manner = ANSWERS;
	turn_until_second_knows(1);
	assert_string_equal(answers_to(1, WAIT_MS), "{\"n2\":0,\"n3\":0}");
	assert_int_equal(needs("http://h/1"), 0);
}

/* The second one acknowledges late; by then the first one's acknowledgement
 * does not count any more, as it has been restarted and has forgotten. */
static void a_peer_forgets_meanwhile(void **state)
{
	(void)state;
	at.timeout_ms = LAGGARD_MS;
	start_and_hear(2);
	at.peers[1].manner = SILENT;
	purge_answers("http://h/1", "{\"n2\":0,\"n3\":null}");
	for (int i = 0; i <= UNHEARD_MS / STEP_MS; i++)
		turn();
	peer_restart(&at.peers[0], 20);
	assert_false(knows(&at.peers[0], 1));
	at.peers[1].manner = ANSWERS;
	turn_until_second_knows(1);
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
	uint64_t began_ms;
	unsigned before;

	(void)state;
	start_and_hear(2);
	at.peers[1].manner = REFUSES;
	before = at.peers[1].messages;
	began_ms = still_clock_ms;
	for (int i = 0; i < 20; i++)
		purge_answers("http://h/1", "{\"n2\":0,\"n3\":null}");
	assert_true(at.peers[1].messages - before <=
		    (still_clock_ms - began_ms) / PACE_MS + 1);
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
	purge_answers("http://h/1", "{}");
	assert_int_equal(needs("http://h/1"), 1);
	assert_int_equal(set_peers(1, 2), 0);
	turn_until_second_knows(1);
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
	purge_answers("http://h/1", "{}");
	assert_int_equal(set_peers(1, 2), 0);
	assert_int_equal(needs("http://h/1"), 1);
	turn_until_second_knows(1);
}

/* What it acknowledged it has dropped; it asks itself for what it has lost. */
static void a_peer_is_restarted(void **state)
{
	(void)state;
	start_and_hear(2);
	assert_non_null(answers_to(purge("http://h/1"), WAIT_MS));
	peer_restart(&at.peers[1], 21);
	purge_answers("http://h/2", "{\"n2\":0,\"n3\":0}");
	assert_true(knows(&at.peers[1], 2));
}

/* The list is the old one, and who is on it is told. */
static void no_memory_for_a_list(void **state)
{
	unsigned n;

	(void)state;
	start_and_hear(1);
	for (n = 1; n < ALLOCATIONS_MAX; n++) {
		int err;

		alloc_fail_at(n);
		err = set_peers(0, 2);
		alloc_fail_at(0);
		if (!err)
			break;
		assert_int_equal(err, -ENOMEM);
		purge_answers("http://h/1", "{\"n2\":0}");
	}
	assert_in_range(n, 2, ALLOCATIONS_MAX - 1);
	turn_until(has_heard_all);
	purge_answers("http://h/1", "{\"n2\":0,\"n3\":0}");
}

/* Nor of a list of those that are new, or of whom the first one had gone. */
static void no_memory_for(unsigned known)
{
	unsigned n = 0;

	start(known);
	do {
		assert_int_equal(set_peers(0, 0), 0);
		alloc_fail_at(++n);
	} while (set_peers(0, 2) == -ENOMEM && n < ALLOCATIONS_MAX);
	alloc_fail_at(0);
	assert_in_range(n, 4, ALLOCATIONS_MAX - 1);
	assert_int_equal(teller_peers(at.teller), 2);
	turn_until(has_heard_all);
}

static void no_memory_for_newcomers(void **state)
{
	(void)state;
	no_memory_for(0);
	teller_stop(at.teller);
	teller_free(&at.teller);
	no_memory_for(1);
}

/* One is made or not, with a file of the lives that it has met; one that is
 * made works. */
static void no_memory_for_a_teller(void **state)
{
	struct upstream peers[PEERS];
	struct teller_settings s = settings_of(0, PEERS, peers);
	char folder[] = "teller-XXXXXX", lives[64];
	bool failed = true;
	unsigned nrefused = 0;

	(void)state;
	assert_non_null(mkdtemp(folder));
	s.disk_path = folder;
	for (unsigned n = 1; failed && n < ALLOCATIONS_MAX; n++) {
		int err;

		alloc_fail_at(n);
		err = teller_new(at.loop, at.cache, &s, &at.teller);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(!at.teller, err != 0);
		nrefused += err == -ENOMEM;
		if (err)
			continue;
		turn_until(has_heard_all); /* a question is asked again */
		teller_stop(at.teller);
		teller_free(&at.teller);
	}
	assert_false(failed);
	assert_true(nrefused > 8);
	snprintf(lives, sizeof(lives), "%s/lives", folder);
	assert_int_equal(unlink(lives), 0); /* both peers were met */
	assert_int_equal(rmdir(folder), 0);
}

static bool both_know(void)
{
	return knows(&at.peers[0], knowing) && knows(&at.peers[1], knowing);
}

/* Whatever fails of what all three do for it, both peers know it by and by. */
static void no_memory_to_tell(void **state)
{
	bool failed = true;
	unsigned n = 1;

	(void)state;
	start_and_hear(2);
	for (; failed && n < 1000; n++) {
		knowing = purge("http://h/1");
		alloc_fail_at(n);
		teller_wake(at.teller);
		turn_until(both_know);
		failed = alloc_failed();
		alloc_fail_at(0);
	}
	assert_false(failed);
	assert_true(n > 10);
}

static const struct {
	const char *text;
	bool is_answer;
} said[] = {
	{ "{\"purged\": 2}", true },
	{ "      {\"purged\": 0}", true }, /* while it was at work */
	{ "{\"purged\": 0, \"grants\": 1, \"instance\": 5}", true },
	{ "{\"purged\": 0, \"grants\": [\"b\", 1]}", true },
	{ "", false }, { "[]", false }, { "{}", false }, { "no", false },
	{ "{\"purged\": -1}", false }, { "{\"purged\": \"2\"}", false },
};

static unsigned messages_before;

static bool has_got_a_message(void)
{
	return at.peers[1].messages > messages_before;
}

static bool has_acknowledged(void)
{
	struct teller_peer_status status;

	teller_peer_status(at.teller, 1, &status);
	return status.acknowledged == knowing;
}

/* What a peer says with 200 has to be an acknowledgement; if it is none, it is
 * told again. */
static void what_is_an_answer(void **state)
{
	struct teller_counters counters;
	unsigned nbad = 0;

	(void)state;
	start_and_hear(2);
	at.peers[1].manner = SAYS;
	for (size_t i = 0; i < NROWS(said); i++) {
		knowing = purge("http://h/1");
		at.peers[1].says = said[i].text;
		messages_before = at.peers[1].messages;
		teller_wake(at.teller);
		turn_until(has_got_a_message);
		at.peers[1].says = said[0].text;
		turn_until(has_acknowledged);
		nbad += !said[i].is_answer;
		if (at.peers[1].messages - messages_before !=
		    (said[i].is_answer ? 1 : 2))
			fail_msg("%s", said[i].text);
	}
	teller_count(at.teller, &counters);
	assert_int_equal(counters.failed, nbad);
}

static bool second_was_asked_twice(void)
{
	return at.peers[1].questions > 1;
}

/* A peer of an older version has no purges, and says so; nonsense is asked for
 * again. */
static void what_is_an_answer_to_a_question(void **state)
{
	(void)state;
	at.peers[0].manner = KNOWS_NOTHING;
	at.peers[1].manner = SAYS;
	at.peers[1].says = "nonsense";
	start(2);
	turn_until(second_was_asked_twice);
	assert_int_equal(at.peers[0].questions, 1);
	assert_false(cache_has_heard_all(at.cache));
	at.peers[1].manner = ANSWERS;
	turn_until(has_heard_all);
}

/* Who is gone is not named for ever; and of those that go only the last ones
 * are kept, however many there are. */
static void who_is_gone_is_forgotten(void **state)
{
	char name[16];
	struct upstream peer[PEERS];
	struct teller_settings s = settings_of(0, 1, peer);

	(void)state;
	start_and_hear(1);
	peer[0].name = name;
	for (int i = 0; i <= GONE_MAX + 1; i++) {
		snprintf(name, sizeof(name), "g%d", i);
		assert_int_equal(teller_set(at.teller, &s), 0);
	}
	assert_int_equal(set_peers(0, 1), 0);
	turn_until(has_heard_all);
	assert_non_null(answers_to(purge("http://h/1"), WAIT_MS));
	assert_int_equal(needs("http://h/1"), 1); /* of those that are gone */
	still_clock_ms += GONE_MS + 1;
	assert_non_null(answers_to(purge("http://h/2"), WAIT_MS));
	assert_int_equal(needs("http://h/1"), 0);
}

/* They are no peers that are told. */
static void squids_are_not_told(void **state)
{
	struct upstream peers[PEERS];
	struct teller_settings s = settings_of(0, PEERS, peers);

	(void)state;
	peers[1].kind = &peer_kind_squid;
	assert_int_equal(teller_new(at.loop, at.cache, &s, &at.teller), 0);
	assert_int_equal(teller_peers(at.teller), 1);
	purge_answers("http://h/1", "{\"n2\":0}");
	assert_int_equal(at.peers[1].questions + at.peers[1].messages, 0);
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
		TEST(no_memory_for_newcomers),
		TEST(no_memory_for_a_teller),
		TEST(no_memory_to_tell),
		TEST(what_is_an_answer),
		TEST(what_is_an_answer_to_a_question),
		TEST(who_is_gone_is_forgotten),
		TEST(squids_are_not_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
