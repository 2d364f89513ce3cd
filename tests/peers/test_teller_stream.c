/*
 * Purges told in streams: two nodes, with caches and tellers of their own,
 * whose streams the test carries, loses and cuts, and servers for what goes by
 * a request. The clock is the test's: it goes on by STEP_MS at each turn.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/fetch/fetch.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/peers/invalidation_api.h"
#include "digestd/peers/peer_kind.h"
#include "digestd/peers/peer_note.h"
#include "digestd/peers/teller.h"
#include "digestd/peers/upstream.h"
#include "digestd/server/server.h"
#include "tests/cache/small_cache.h"
#include "tests/os/still_clock.h"
#include "tests/peers/invalidation_server.h"
#include "tests/unit.h"

enum {
	STEP_MS = 10,
	TIMEOUT_MS = 2000, /* for a sign of a peer */
	DEAF_MS = 60000,
	WAIT_MS = 5000,
	NOTES = 64,
	TICKET_BYTES = 8,
};

/* A note on its way. */
struct carried {
	struct peer_note note;
	uint8_t *body;
};

struct node {
	struct cache *cache;
	struct heard_by by;
	struct server *server;
	struct teller *teller;
	uint64_t instance;
	char name[8], url[64];
	bool reads; /* the stream of the other one */
	bool mute;  /* what it sends is lost */
	bool hangs; /* requests get no answer */
	struct carried sent[NOTES]; /* not carried yet */
	size_t nsent;
	unsigned notes, requests; /* of the other one, with messages */
};

static struct {
	struct loop *loop;
	struct node nodes[2];
	char *answers;
} at;

void __wrap_log_write(enum log_level level, const char *part,
		      const char *format, ...);
void __wrap_log_write(enum log_level level, const char *part,
		      const char *format, ...)
{
	(void)level;
	(void)part;
	(void)format;
}

static struct node *other(struct node *n)
{
	return n == at.nodes ? at.nodes + 1 : at.nodes;
}

/* Requests */

static void on_request(void *arg, struct exchange *x)
{
	struct node *n = arg;

	n->requests += !strcmp(exchange_request(x)->method, "POST");
	exchange_set_data(x, NULL);
	if (!n->hangs)
		invalidation_api_on_request(&n->by, x, true);
}

static const struct server_handler handler = {
	.on_request = on_request,
	.on_body = invalidation_server_on_body,
	.on_body_end = invalidation_server_on_body_end,
	.on_done = invalidation_server_on_done,
};

/* Streams */

static bool send_note(void *arg, const struct peer_note *note)
{
	struct node *from = arg, *to = other(from);
	struct carried *c = &from->sent[from->nsent];

	assert_string_equal(note->url, to->url);
	if (!to->reads || note->instance != to->instance ||
	    (note->kind == DIGEST_NOTE_INVALIDATIONS && !from->reads))
		return false;
	to->notes += note->kind == DIGEST_NOTE_INVALIDATIONS;
	if (from->mute)
		return true;
	assert_true(from->nsent < NOTES);
	c->body = malloc(note->len);
	assert_non_null(c->body);
	memcpy(c->body, note->body, note->len);
	c->note = (struct peer_note){ from->url, from->instance, note->kind,
				      c->body, note->len };
	from->nsent++;
	return true;
}

static void carry(struct node *from)
{
	struct carried sent[NOTES];
	size_t n = from->nsent;

	memcpy(sent, from->sent, sizeof(sent));
	from->nsent = 0;
	for (size_t i = 0; i < n; i++) {
		teller_on_note(other(from)->teller, &sent[i].note);
		free(sent[i].body);
	}
}

static void turn(void)
{
	still_clock_ms += STEP_MS;
	assert_int_equal(loop_turn(at.loop, 1), 0);
	carry(&at.nodes[0]);
	carry(&at.nodes[1]);
}

static void turn_until(bool (*done)(void))
{
	for (int i = 0; i < 10 * WAIT_MS / STEP_MS && !done(); i++)
		turn();
	assert_true(done());
}

static void turn_for(unsigned ms)
{
	for (unsigned passed = 0; passed < ms; passed += STEP_MS)
		turn();
}

static bool have_heard_all(void)
{
	return cache_has_heard_all(at.nodes[0].cache) &&
	       cache_has_heard_all(at.nodes[1].cache);
}

static struct teller_settings settings_of(struct node *n,
					  struct upstream *peer)
{
	struct teller_settings s = {
		.peers = peer,
		.npeers = 1,
		.timeout_ms = TIMEOUT_MS,
		.start_ms = 200,
		.unheard_ms = 20000, /* or it confirms what took long */
		.numbers = true,
		.streams = { send_note, n },
	};

	*peer = (struct upstream){ .name = other(n)->name,
				   .url = other(n)->url,
				   .kind = &peer_kind_digestd };
	memcpy(s.secret, small_cache_settings().hash_secret,
	       sizeof(s.secret));
	return s;
}

static int node_start(struct node *n, unsigned number)
{
	const struct server_settings listen = {
		.listen = "127.0.0.1:0", .max_connections = 50,
		.max_header_bytes = 16384, .header_ms = 5000, .idle_ms = 5000,
		.strict = true,
	};
	struct cache_settings settings = small_cache_settings();

	n->instance = settings.instance = 10 + number;
	n->reads = true;
	n->by = (struct heard_by){ .loop = at.loop,
				   .secret = settings.hash_secret };
	if (cache_new(&settings, &n->cache) ||
	    server_new(at.loop, &listen, &handler, n, &n->server))
		return -1;
	n->by.cache = n->cache;
	snprintf(n->name, sizeof(n->name), "n%u", number + 1);
	snprintf(n->url, sizeof(n->url), "http://127.0.0.1:%u",
		 server_port(n->server));
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	memset(&at, 0, sizeof(at));
	if (loop_new(&at.loop) || node_start(&at.nodes[0], 0) ||
	    node_start(&at.nodes[1], 1))
		return -1;
	for (unsigned i = 0; i < 2; i++) {
		struct node *n = &at.nodes[i];
		struct upstream peer;
		const struct teller_settings s = settings_of(n, &peer);

		if (teller_new(at.loop, n->cache, &s, &n->teller))
			return -1;
	}
	turn_until(have_heard_all);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct node *n = &at.nodes[i];

		while (n->nsent)
			free(n->sent[--n->nsent].body);
		teller_stop(n->teller);
		teller_free(&n->teller);
		server_free(&n->server);
		heard_stop(&n->by);
		cache_free(&n->cache);
	}
	loop_turn(at.loop, 0);
	loop_free(&at.loop);
	free(at.answers);
	return 0;
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

/* The first node purges; returns the number. */
static uint64_t purge(const char *uri)
{
	const struct scd_key key = small_cache_key(uri);
	struct teller_wait *w = calloc(1, sizeof(*w));
	uint64_t seq;

	free(at.answers);
	at.answers = NULL;
	cache_invalidate(at.nodes[0].cache, &key, NULL, 0, &seq);
	*w = (struct teller_wait){ .seq = seq, .timeout_ms = WAIT_MS,
				   .loop = at.loop, .done = on_answers };
	teller_wait(at.nodes[0].teller, w);
	return seq;
}

static bool second_has(uint64_t seq)
{
	const struct invalidation_position position = { 10, seq };

	return cache_has_applied(at.nodes[1].cache, &position);
}

/* ... and is answered, when the second has it. */
static void purge_answered(void)
{
	uint64_t seq = purge("http://h/1");

	turn_until(is_answered);
	assert_string_equal(at.answers, "{\"n2\":0}");
	assert_true(second_has(seq));
}

/* How many messages have come by each way, all in all. */
static void check_ways(unsigned notes, unsigned requests)
{
	assert_int_equal(at.nodes[1].notes, notes);
	assert_int_equal(at.nodes[1].requests, requests);
}

/* Tests */

static void told_without_a_request(void **state)
{
	struct teller_counters c;

	(void)state;
	for (unsigned i = 1; i < 4; i++) {
		purge_answered();
		check_ways(i, 0);
	}
	teller_count(at.nodes[0].teller, &c);
	assert_int_equal(c.streamed, 3);
	assert_int_equal(c.told, 3);
}

/* One of the two does not read: who told could not be told of it, or who is
 * told would not hear it. */
static void by_a_request_without_both_streams(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		at.nodes[i].reads = false;
		purge_answered();
		check_ways(0, i + 1);
		at.nodes[i].reads = true;
	}
	purge_answered();
	check_ways(1, 2);
}

/* What is lost on its way is sent by a request after a while, as are others of
 * the next minute. */
static void lost_on_the_way(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		const unsigned before = 2 * i;
		int64_t began_ms = (int64_t)still_clock_ms;

		at.nodes[i].mute = true;
		purge_answered();
		assert_in_range((int64_t)still_clock_ms - began_ms,
				TIMEOUT_MS / 2, TIMEOUT_MS - 1);
		check_ways(i + 1, before + 1);
		at.nodes[i].mute = false;
		purge_answered();
		check_ways(i + 1, before + 2);
		still_clock_ms += DEAF_MS;
	}
	purge_answered();
	check_ways(3, 4);
}

/* One that hangs costs no more time than it does by requests alone. */
static void it_hangs(void **state)
{
	int64_t began_ms = (int64_t)still_clock_ms;

	(void)state;
	at.nodes[1].mute = at.nodes[1].hangs = true;
	purge("http://h/1");
	turn_until(is_answered);
	assert_string_equal(at.answers, "{\"n2\":null}");
	check_ways(1, 1);
	assert_in_range((int64_t)still_clock_ms - began_ms, TIMEOUT_MS,
			TIMEOUT_MS + 200);
}

/* Its stream ends while a message is under way: nobody waits for it. */
static void the_stream_ends(void **state)
{
	int64_t began_ms = (int64_t)still_clock_ms;

	(void)state;
	at.nodes[1].mute = true;
	purge("http://h/1");
	turn();
	turn();
	check_ways(1, 0);
	at.nodes[0].reads = false;
	teller_on_stream_end(at.nodes[0].teller, "http://127.0.0.1:1");
	turn();
	check_ways(1, 0); /* that was another one's */
	teller_on_stream_end(at.nodes[0].teller, at.nodes[1].url);
	turn_until(is_answered);
	assert_string_equal(at.answers, "{\"n2\":0}");
	check_ways(1, 1);
	assert_true((int64_t)still_clock_ms - began_ms < TIMEOUT_MS);
}

/* Acknowledges, of what the first node has told, the message of a ticket. */
static void acknowledge(const char *url, uint64_t instance, unsigned ticket,
			const char *text)
{
	uint8_t body[128] = { (uint8_t)ticket };
	const size_t len = strlen(text);
	const struct peer_note note = { url, instance,
					DIGEST_NOTE_ACKNOWLEDGEMENT, body,
					TICKET_BYTES + len };

	memcpy(body + TICKET_BYTES, text, len);
	teller_on_note(at.nodes[0].teller, &note);
}

static const char good[] = "{\"purged\": 0, \"instance\": "
			   "\"000000000000000b\"}";

/* What is of another ticket, peer or life is no acknowledgement. */
static void whose_acknowledgement(void **state)
{
	const char *url = at.nodes[1].url;
	const struct peer_note cut = { url, 11, DIGEST_NOTE_ACKNOWLEDGEMENT,
				       (const uint8_t *)"\1\0\0", 3 };

	(void)state;
	at.nodes[1].mute = true;
	purge("http://h/1");
	turn();
	turn();
	check_ways(1, 0);
	acknowledge(url, 11, 0, good);
	acknowledge(url, 11, 2, good);
	acknowledge(url, 12, 1, good);
	acknowledge("http://127.0.0.1:1", 11, 1, good);
	teller_on_note(at.nodes[0].teller, &cut);
	for (int i = 0; i < 10; i++)
		turn();
	assert_null(at.answers);
	check_ways(1, 0);
	acknowledge(url, 11, 1, good);
	turn_until(is_answered);
	assert_string_equal(at.answers, "{\"n2\":0}");
	check_ways(1, 0);
	acknowledge(url, 11, 1, good); /* once more */
}

/* One that will not do is followed by a request. */
static void what_is_no_acknowledgement(void **state)
{
	static const char *const bad[] = {
		"no", "{}", "{\"purged\": 1}",
		"{\"purged\": 1, \"instance\": \"000000000000000c\"}",
	};

	(void)state;
	at.nodes[1].mute = true;
	for (unsigned i = 0; i < NROWS(bad); i++) {
		purge("http://h/1");
		turn();
		turn();
		check_ways(i + 1, i);
		acknowledge(at.nodes[1].url, 11, i + 1, bad[i]);
		turn_until(is_answered);
		check_ways(i + 1, i + 1);
		still_clock_ms += DEAF_MS;
	}
}

/* As long as it says that it is at work, it is waited for. */
static void it_takes_its_time(void **state)
{
	(void)state;
	at.nodes[1].mute = true;
	purge("http://h/1");
	for (int i = 0; i < 5; i++) {
		turn_for(TIMEOUT_MS / 2 - 100);
		acknowledge(at.nodes[1].url, 11, 1, "");
	}
	assert_null(at.answers);
	check_ways(1, 0);
	acknowledge(at.nodes[1].url, 11, 1, good);
	turn_until(is_answered);
	check_ways(1, 0);
}

/* But not for ever: in the end it is sent the message by a request. */
static void it_never_ends(void **state)
{
	enum { TOTAL_MS = 600000, BEAT_MS = TIMEOUT_MS / 2 - 100 };
	int64_t end_ms = (int64_t)still_clock_ms + TOTAL_MS;

	(void)state;
	at.nodes[1].mute = true;
	purge("http://h/1");
	turn();
	while ((int64_t)still_clock_ms < end_ms) {
		check_ways(1, 0);
		acknowledge(at.nodes[1].url, 11, 1, "");
		still_clock_ms += BEAT_MS;
		turn();
	}
	turn_for(100);
	check_ways(1, 1);
}

/* It has another life: what it had acknowledged counts for nothing, and it is
 * told by a request, which shows which life that is. */
static void it_has_restarted(void **state)
{
	(void)state;
	purge_answered();
	at.nodes[1].instance = 20;
	purge_answered();
	check_ways(1, 1);
}

/* What is no message is not acknowledged; nor is any by a node that takes no
 * purges. */
static void what_is_not_taken(void **state)
{
	static const uint8_t bytes[TICKET_BYTES + 4] = { 1 };
	struct peer_note note = { at.nodes[1].url, 11,
				  DIGEST_NOTE_INVALIDATIONS, bytes,
				  sizeof(bytes) };
	struct upstream peer;
	struct teller_settings s = settings_of(&at.nodes[1], &peer);

	(void)state;
	for (note.len = 0; note.len <= sizeof(bytes); note.len++)
		teller_on_note(at.nodes[0].teller, &note);
	for (int i = 0; i < 10; i++)
		turn();
	assert_int_equal(at.nodes[0].nsent, 0);
	s.numbers = false;
	assert_int_equal(teller_set(at.nodes[1].teller, &s), 0);
	purge_answered(); /* by the server of this test, which does */
	check_ways(1, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(told_without_a_request),
		TEST(by_a_request_without_both_streams),
		TEST(lost_on_the_way),
		TEST(it_hangs),
		TEST(the_stream_ends),
		TEST(whose_acknowledgement),
		TEST(what_is_no_acknowledgement),
		TEST(it_takes_its_time),
		TEST(it_never_ends),
		TEST(it_has_restarted),
		TEST(what_is_not_taken),
	};

	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
