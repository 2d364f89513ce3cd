/*
 * Serving leases over sockets: two peers that grant this node's, or do not,
 * and what they know is applied before it counts. The clock runs FASTER times
 * as fast as others, as terms are seconds.
 */
#include <stdio.h>
#include <string.h>

#include "digestd/fetch/fetch.h"
#include "digestd/mesh/serving_lease.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/peers/invalidation_api.h"
#include "digestd/peers/peer_kind.h"
#include "digestd/peers/renewer.h"
#include "digestd/peers/serving_desk.h"
#include "digestd/peers/teller.h"
#include "digestd/peers/upstream.h"
#include "digestd/server/server.h"
#include "tests/cache/small_cache.h"
#include "tests/unit.h"

enum { PEERS = 2, OWN = 7, FASTER = 10, WAIT_MS = 100000 };

enum manner { ANSWERS, REFUSES, SAYS_NOTHING_OF_IT, SAYS_GARBAGE };

struct granting {
	struct cache *cache;
	struct heard_by by;
	struct serving_desk *desk;
	struct server *server;
	enum manner manner;
	char name[8], url[64];
};

static struct {
	struct loop *loop;
	struct cache *cache;
	struct teller *teller;
	struct serving_desk *desk;
	struct renewer *renewer;
	struct granting peers[PEERS];
} at;

/* The clock */

int64_t __real_loop_now_ms(const struct loop *loop);
int64_t __wrap_loop_now_ms(const struct loop *loop);
int64_t __real_loop_clock_ms(void);
int64_t __wrap_loop_clock_ms(void);
void __real_loop_timer_set(struct loop *loop, struct loop_timer *t,
			   int64_t due_ms, void (*fire)(void *arg), void *arg);
void __wrap_loop_timer_set(struct loop *loop, struct loop_timer *t,
			   int64_t due_ms, void (*fire)(void *arg), void *arg);
void __wrap_log_write(enum log_level level, const char *part,
		      const char *format, ...);

int64_t __wrap_loop_now_ms(const struct loop *loop)
{
	return FASTER * __real_loop_now_ms(loop);
}

int64_t __wrap_loop_clock_ms(void)
{
	return FASTER * __real_loop_clock_ms();
}

void __wrap_loop_timer_set(struct loop *loop, struct loop_timer *t,
			   int64_t due_ms, void (*fire)(void *arg), void *arg)
{
	__real_loop_timer_set(loop, t, due_ms / FASTER, fire, arg);
}

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
	struct granting *p = arg;
	struct fields f;

	exchange_set_data(x, NULL);
	if (p->manner == ANSWERS) {
		invalidation_api_on_request(&p->by, x, true);
		return;
	}
	fields_init(&f);
	if (p->manner == SAYS_GARBAGE &&
	    fields_add(&f, RENEWAL_FIELD, RENEWAL_GRANTED))
		fail();
	if (p->manner == REFUSES)
		exchange_reply_error(x, 503, NULL);
	else
		exchange_reply_copy(x, 200, &f, "nonsense", 8);
	fields_free(&f);
}

static size_t on_body(void *arg, struct exchange *x, const void *data,
		      size_t len)
{
	(void)arg;
	return exchange_data(x) ? invalidation_api_on_body(x, data, len) : len;
}

static void on_body_end(void *arg, struct exchange *x)
{
	(void)arg;
	if (exchange_data(x))
		invalidation_api_on_body_end(x);
}

static void on_done(void *arg, struct exchange *x, enum exchange_end end)
{
	(void)arg;
	(void)end;
	if (exchange_data(x))
		invalidation_api_on_done(x);
}

static const struct server_handler handler = { on_request, on_body,
					       on_body_end, on_done, NULL };

static int cache_make(uint64_t instance, struct cache **out)
{
	struct cache_settings settings = small_cache_settings();

	settings.instance = instance;
	return cache_new(&settings, out);
}

static int peer_begin(struct granting *p, unsigned i)
{
	static struct cache_settings settings;
	const struct server_settings listen = {
		.listen = "127.0.0.1:0", .max_connections = 50,
		.max_header_bytes = 16384, .header_ms = 50000,
		.idle_ms = 50000, .strict = true,
	};

	settings = small_cache_settings();
	if (cache_make(10 + i, &p->cache) || serving_desk_new(&p->desk))
		return -1;
	serving_desk_recover(p->desk); /* it has been there for long */
	p->by = (struct heard_by){ .loop = at.loop, .cache = p->cache,
				   .secret = settings.hash_secret,
				   .desk = p->desk };
	if (server_new(at.loop, &listen, &handler, p, &p->server))
		return -1;
	snprintf(p->name, sizeof(p->name), "n%u", i);
	snprintf(p->url, sizeof(p->url), "http://127.0.0.1:%u",
		 server_port(p->server));
	return 0;
}

static struct teller_settings settings_of(struct upstream peers[PEERS])
{
	struct teller_settings s = { .peers = peers, .npeers = PEERS,
				     .timeout_ms = 50000, .start_ms = 2000,
				     .unheard_ms = 8000, .numbers = true,
				     .desk = at.desk };

	for (unsigned i = 0; i < PEERS; i++)
		peers[i] = (struct upstream){ .name = at.peers[i].name,
					      .url = at.peers[i].url,
					      .kind = &peer_kind_digestd };
	memcpy(s.secret, small_cache_settings().hash_secret,
	       sizeof(s.secret));
	return s;
}

static int set_up(void **state)
{
	(void)state;
	memset(&at, 0, sizeof(at));
	if (loop_new(&at.loop) || cache_make(OWN, &at.cache) ||
	    serving_desk_new(&at.desk))
		return -1;
	for (unsigned i = 0; i < PEERS; i++) {
		if (peer_begin(&at.peers[i], i))
			return -1;
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	renewer_free(&at.renewer);
	renewer_free(&at.renewer); /* null is allowed */
	teller_stop(at.teller);
	loop_turn(at.loop, 0); /* a renewal may just have woken it */
	teller_free(&at.teller);
	for (unsigned i = 0; i < PEERS; i++) {
		server_free(&at.peers[i].server);
		heard_stop(&at.peers[i].by);
		cache_free(&at.peers[i].cache);
		serving_desk_free(&at.peers[i].desk);
	}
	loop_turn(at.loop, 0);
	cache_free(&at.cache);
	serving_desk_free(&at.desk);
	loop_free(&at.loop);
	return 0;
}

static void start(enum manner first, enum manner second)
{
	struct upstream peers[PEERS];
	const struct teller_settings s = settings_of(peers);

	at.peers[0].manner = first;
	at.peers[1].manner = second;
	assert_int_equal(teller_new(at.loop, at.cache, &s, &at.teller), 0);
	assert_int_equal(renewer_new(at.teller, at.desk, &s, &at.renewer), 0);
}

/* Turns until it serves, or does not. */
static void await_serving(bool wanted)
{
	int64_t end_ms = loop_clock_ms() + WAIT_MS;

	while (serving_desk_may_serve(at.desk) != wanted) {
		assert_true(loop_clock_ms() < end_ms);
		assert_int_equal(loop_turn(at.loop, 1), 0);
	}
}

static void both_grant(void **state)
{
	(void)state;
	assert_false(serving_desk_may_serve(at.desk));
	start(ANSWERS, ANSWERS);
	await_serving(true);
	assert_true(serving_desk_has_recovered(at.desk));
}

/* It ends when a majority has not renewed it for a term, and is there again
 * when one has. */
static void it_ends_and_comes_back(void **state)
{
	(void)state;
	start(ANSWERS, ANSWERS);
	await_serving(true);
	at.peers[0].manner = at.peers[1].manner = REFUSES;
	await_serving(false);
	at.peers[1].manner = ANSWERS;
	await_serving(true);
}

/* New settings of the same peers cost no lease; other peers do. */
static void new_settings(void **state)
{
	struct upstream peers[PEERS];
	struct teller_settings s = settings_of(peers);

	(void)state;
	start(ANSWERS, ANSWERS);
	await_serving(true);
	assert_int_equal(renewer_set(at.renewer, &s), 0);
	assert_true(serving_desk_may_serve(at.desk));
	at.peers[0].manner = at.peers[1].manner = REFUSES;
	await_serving(false); /* in time */
	at.peers[0].manner = at.peers[1].manner = ANSWERS;
	await_serving(true);
	s = settings_of(peers);
	peers[1].url = at.peers[0].url;
	assert_int_equal(renewer_set(at.renewer, &s), 0);
	assert_false(serving_desk_may_serve(at.desk));
	await_serving(true);
	s = settings_of(peers);
	s.npeers = PEERS - 1;
	assert_int_equal(renewer_set(at.renewer, &s), 0);
	assert_false(serving_desk_may_serve(at.desk));
}

/* An answer that says nothing of the lease, or is damaged, renews nothing. */
static void what_is_no_answer(void **state)
{
	int64_t end_ms;

	(void)state;
	start(SAYS_NOTHING_OF_IT, SAYS_GARBAGE);
	end_ms = loop_clock_ms() + 2 * SERVING_EPOCH_MS;
	while (loop_clock_ms() < end_ms) {
		assert_int_equal(loop_turn(at.loop, 1), 0);
		assert_false(serving_desk_may_serve(at.desk));
		assert_false(serving_desk_has_recovered(at.desk));
	}
}

/* What a peer knows, and this node does not, is gone before it serves. */
static void what_peers_know_comes_first(void **state)
{
	const struct scd_key key = small_cache_key("http://h/1");
	struct cached *found;
	uint64_t seq;

	(void)state;
	assert_true(small_cache_put(at.cache, "http://h/1",
				    small_cache_response("http://h/1", 200, 4,
							 ADMISSION_DISK), 0));
	cache_invalidate(at.peers[0].cache, &key, NULL, 0, &seq);
	start(ANSWERS, ANSWERS);
	await_serving(true);
	found = small_cache_get(at.cache, "http://h/1");
	assert_null(found);
}

/* Too few others know what was purged before: all that is stored is, and when a
 * majority has that, it serves. */
static void what_nobody_knows(void **state)
{
	struct cached *found;

	(void)state;
	assert_true(small_cache_put(at.cache, "http://h/1",
				    small_cache_response("http://h/1", 200, 4,
							 ADMISSION_DISK), 0));
	start(ANSWERS, REFUSES);
	await_serving(true);
	found = small_cache_get(at.cache, "http://h/1");
	assert_null(found);
}

static bool is_alone(size_t npeers, struct serving_desk *desk)
{
	struct upstream peers[PEERS];
	struct teller_settings s = settings_of(peers);

	s.npeers = npeers;
	s.desk = desk;
	assert_int_equal(teller_set(at.teller, &s), 0);
	return teller_is_alone(at.teller);
}

/* Who has purged something waits, but where nobody has to acknowledge it; a
 * node that serves by leases may need one even so. */
static void who_has_to_acknowledge(void **state)
{
	(void)state;
	start(REFUSES, REFUSES);
	assert_false(teller_is_alone(at.teller));
	assert_false(is_alone(0, at.desk));
	assert_true(is_alone(0, NULL));
	assert_false(is_alone(1, NULL));
	assert_true(is_alone(0, NULL));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(both_grant),
		TEST(it_ends_and_comes_back),
		TEST(new_settings),
		TEST(what_is_no_answer),
		TEST(what_peers_know_comes_first),
		TEST(what_nobody_knows),
		TEST(who_has_to_acknowledge),
	};

	fetch_global_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
