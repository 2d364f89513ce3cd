/*
 * The resource of purges without a server: what a peer tells is applied and
 * then answered; what one node gives another applies; what is no message
 * changes nothing; and who leaves in the middle.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/os/loop.h"
#include "digestd/peers/invalidation_api.h"
#include "digestd/peers/serving_desk.h"
#include "tests/cache/small_cache.h"
#include "tests/codec/alloc.h"
#include "tests/server/exchange_fake.h"
#include "tests/unit.h"

enum { TURNS = 10000, ROOM = 512, PEER = 77 };

/* By a node of the instance 1. */
#define ANSWER(n) \
	"{\"purged\": " #n ", \"instance\": \"0000000000000001\"}"


static struct loop *loop;
static struct cache *cache;
static struct heard_by by;
static uint8_t message[ROOM];

static int set_up(void **state)
{
	const struct cache_settings settings = small_cache_settings();

	(void)state;
	if (loop_new(&loop) || cache_new(&settings, &cache))
		return -1;
	by = (struct heard_by){ .loop = loop, .cache = cache,
				.secret = settings.hash_secret };
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	heard_stop(&by);
	cache_free(&cache);
	loop_free(&loop);
	return 0;
}

static void put(const char *uri)
{
	const struct scd_key key = small_cache_key(uri);
	const struct cache_fill fill = { &key, &fields_none,
					 cache_purges(cache), NULL };
	struct cached *c = small_cache_response(uri, 200, 0, ADMISSION_DISK);

	assert_true(cache_put(cache, &fill, c));
	cached_unref(&c);
}

static bool holds(const char *uri)
{
	const struct scd_key key = small_cache_key(uri);

	return cache_holds(cache, &key);
}

/* Of a peer, up to its second number: a key, and a prefix. */
static size_t write_message(bool incomplete)
{
	const struct scd_key key = small_cache_key("http://h/1");
	const struct invalidation_entry entries[] = {
		{ invalidation_of_key(&key), 1 },
		{ invalidation_of_prefix(by.secret, "http://h/2"), 2 },
	};
	const struct invalidation_section section = { PEER, 0, 2, incomplete,
						      2 };
	struct invalidation_writer w = invalidation_write_begin(message, ROOM);

	assert_true(invalidation_write_section(&w, &section, entries));
	return invalidation_write_end(&w, by.secret);
}

/* What this node tells who asks is a message, whatever it has heard. */
static struct invalidation_section known_of(uint64_t source)
{
	struct invalidation_section s = { .source = 0 };
	struct invalidation_message m;
	struct exchange x;

	exchange_fake_make(&x, loop, "GET", INVALIDATION_PATH);
	invalidation_api_on_request(&by, &x, false);
	assert_int_equal(x.status, 200);
	assert_int_equal(invalidation_read((const uint8_t *)x.body, x.body_len,
					   by.secret, &m),
			 0);
	while (s.source != source) {
		for (uint32_t i = 0; i < s.n; i++)
			(void)invalidation_read_entry(&m);
		assert_true(invalidation_read_section(&m, &s));
	}
	exchange_fake_free(&x);
	return s;
}

static bool has_applied(uint64_t source, uint64_t seq)
{
	const struct invalidation_position position = { source, seq };

	return cache_has_applied(cache, &position);
}

static void begin(struct exchange *x, const char *method, bool takes)
{
	exchange_fake_make(x, loop, method, INVALIDATION_PATH);
	x->request.has_body = !strcmp(method, "POST");
	assert_true(invalidation_api_is_for(x));
	invalidation_api_on_request(&by, x, takes);
}

static void post(struct exchange *x, size_t len)
{
	begin(x, "POST", true);
	for (size_t i = 0; i < len; i++)
		invalidation_api_on_body(x, &message[i], 1);
	invalidation_api_on_body_end(x);
}

static void finish(struct exchange *x)
{
	for (int i = 0; i < TURNS && !x->answers; i++)
		assert_int_equal(loop_turn(loop, 10), 0);
	invalidation_api_on_done(x);
	assert_null(by.under_way);
}

static void put_all(void)
{
	put("http://h/1");
	put("http://h/2/a");
	put("http://h/3");
}

static void what_is_told_is_applied(void **state)
{
	struct exchange x;

	(void)state;
	put_all();
	post(&x, write_message(false));
	assert_int_equal(x.answers, 0); /* not before it has been walked for */
	assert_false(has_applied(PEER, 2));
	finish(&x);
	assert_int_equal(x.status, 200);
	assert_string_equal(x.body, ANSWER(2));
	assert_true(has_applied(PEER, 2));
	assert_true(!holds("http://h/1") && !holds("http://h/2/a") &&
		    holds("http://h/3"));
	exchange_fake_free(&x);

	put_all(); /* it is known already: what came later stays */
	post(&x, write_message(false));
	finish(&x);
	assert_string_equal(x.body, ANSWER(0));
	assert_true(holds("http://h/1"));
	exchange_fake_free(&x);
}

static void who_has_missed_some_forgets_all(void **state)
{
	struct exchange x;

	(void)state;
	put_all();
	post(&x, write_message(true));
	finish(&x);
	assert_string_equal(x.body, ANSWER(3));
	assert_false(holds("http://h/3"));
	exchange_fake_free(&x);
	assert_int_equal(known_of(PEER).n, 1);
	assert_int_equal(known_of(PEER).upto, 2);
}

/* A node that starts asks all peers at once: the second message waits for the
 * first one, and then has nothing new. */
static void two_messages_at_once(void **state)
{
	struct exchange x, y;
	size_t len = write_message(false);

	(void)state;
	put_all();
	post(&x, len);
	post(&y, len);
	for (int i = 0; i < TURNS && by.under_way; i++)
		assert_int_equal(loop_turn(loop, 10), 0);
	assert_string_equal(x.body, ANSWER(2));
	assert_string_equal(y.body, ANSWER(0));
	assert_int_equal(cache_purges(cache), 3); /* two, and the walk's end */
	invalidation_api_on_done(&x);
	invalidation_api_on_done(&y);
	exchange_fake_free(&x);
	exchange_fake_free(&y);
}

/* A peer leaves while its message waits for its turn; and the end of all. */
static void who_leaves_in_the_queue(void **state)
{
	struct exchange x, y;
	size_t len = write_message(false);

	(void)state;
	put_all();
	post(&x, len);
	post(&y, len);
	invalidation_api_on_done(&y);
	assert_int_equal(loop_turn(loop, 0), 0);
	invalidation_api_on_done(&x);
	heard_stop(&by);
	assert_null(by.under_way);
	assert_int_equal(x.answers + y.answers, 0);
	exchange_fake_free(&x);
	exchange_fake_free(&y);
}

static void what_is_refused(void **state)
{
	struct exchange x;
	size_t len = write_message(false);

	(void)state;
	put_all();
	message[20] ^= 1;
	post(&x, len);
	finish(&x);
	assert_int_equal(x.status, 400);
	exchange_fake_free(&x);
	post(&x, 0);
	finish(&x);
	assert_int_equal(x.status, 400);
	exchange_fake_free(&x);
	exchange_fake_make(&x, loop, "POST", INVALIDATION_PATH);
	invalidation_api_on_request(&by, &x, true); /* nothing follows */
	finish(&x);
	assert_int_equal(x.status, 400);
	exchange_fake_free(&x);
	begin(&x, "POST", false);
	finish(&x);
	assert_int_equal(x.status, 403);
	exchange_fake_free(&x);
	begin(&x, "PUT", true);
	finish(&x);
	assert_int_equal(x.status, 405);
	exchange_fake_free(&x);
	assert_true(holds("http://h/1"));
}

/* While a walk lasts there is a sign of it now and then; of another message
 * before this one, too. */
static void a_walk_that_lasts(void **state)
{
	struct heard *other = heard_new(&by, NULL, NULL);
	struct exchange x;
	char bytes[ROOM];
	ssize_t n;

	(void)state;
	put_all();
	by.applying = other;
	post(&x, write_message(false));
	for (int i = 0; i < TURNS && !x.wakes; i++)
		assert_int_equal(loop_turn(loop, 10), 0);
	assert_int_equal(x.status, 200);
	assert_int_equal(x.source.read(x.source.arg, bytes, ROOM), 1);
	assert_int_equal(bytes[0], ' ');
	assert_int_equal(x.source.read(x.source.arg, bytes, ROOM), BODY_WAIT);
	heard_free(&other);
	for (int i = 0; i < TURNS && by.under_way; i++)
		assert_int_equal(loop_turn(loop, 10), 0);
	n = x.source.read(x.source.arg, bytes, ROOM - 1);
	assert_in_range(n, 1, ROOM - 1);
	bytes[n] = '\0';
	assert_string_equal(bytes, ANSWER(2));
	assert_int_equal(x.source.read(x.source.arg, bytes, ROOM), BODY_END);
	invalidation_api_on_done(&x);
	exchange_fake_free(&x);
}

/* It is applied all the same, once it is whole. */
static void who_tells_leaves(void **state)
{
	struct exchange x;

	(void)state;
	put_all();
	begin(&x, "POST", true);
	invalidation_api_on_body(&x, message, 5);
	invalidation_api_on_done(&x);
	assert_null(by.under_way);
	exchange_fake_free(&x);
	post(&x, write_message(false));
	invalidation_api_on_done(&x);
	for (int i = 0; i < TURNS && by.under_way; i++)
		assert_int_equal(loop_turn(loop, 10), 0);
	assert_int_equal(x.answers, 0);
	assert_false(holds("http://h/2/a"));
	exchange_fake_free(&x);
}

/* What one node gives, own purges and a peer's, another applies; what it has
 * said itself it knows. */
static void what_is_asked_for(void **state)
{
	const struct scd_key key = small_cache_key("http://h/3");
	uint64_t seq;
	struct exchange x;
	size_t len;

	(void)state;
	put_all();
	post(&x, write_message(false));
	finish(&x);
	exchange_fake_free(&x);
	cache_invalidate(cache, &key, NULL, 0, &seq);
	begin(&x, "GET", false);
	assert_int_equal(x.status, 200);
	assert_true(x.body_len <= ROOM);
	memcpy(message, x.body, len = x.body_len);
	exchange_fake_free(&x);

	put_all();
	post(&x, len);
	finish(&x);
	assert_string_equal(x.body, ANSWER(0));
	exchange_fake_free(&x);
	tear_down(NULL);
	assert_int_equal(set_up(NULL), 0); /* the same instance: it is own */
	put_all();
	post(&x, len);
	finish(&x);
	assert_string_equal(x.body, ANSWER(2));
	assert_true(has_applied(PEER, 2));
	exchange_fake_free(&x);
}

/* The positions of a node, after which it lacks the second entry of another. */
static void renew_of(struct exchange *x, uint64_t source, uint64_t has)
{
	const struct invalidation_position at = { PEER, has };
	struct invalidation_log *log;
	uint8_t bytes[INVALIDATION_POSITIONS_MAX];
	size_t len;

	assert_int_equal(invalidation_log_new(source, by.secret, 8, &log), 0);
	if (has)
		invalidation_log_reach(log, &at);
	len = invalidation_write_positions(log, by.secret, bytes);
	invalidation_log_free(&log);
	exchange_fake_make(x, loop, "POST", RENEWAL_PATH);
	x->request.has_body = true;
	assert_true(invalidation_api_is_for(x));
	invalidation_api_on_request(&by, x, true);
	invalidation_api_on_body(x, bytes, len);
	invalidation_api_on_body_end(x);
}

static void renew(struct exchange *x, uint64_t has)
{
	renew_of(x, 5, has);
}

static unsigned renewed_entries(struct exchange *x)
{
	struct invalidation_message m;
	struct invalidation_section s;
	unsigned n = 0;

	assert_int_equal(x->status, 200);
	assert_int_equal(invalidation_read((const uint8_t *)x->body,
					   x->body_len, by.secret, &m), 0);
	while (invalidation_read_section(&m, &s)) {
		n += s.n;
		for (uint32_t i = 0; i < s.n; i++)
			(void)invalidation_read_entry(&m);
	}
	invalidation_api_on_done(x);
	return n;
}

/* Who renews a lease gets what it lacks with it; who acknowledges a purge says
 * whose leases it has renewed. */
static void leases_are_renewed(void **state)
{
	struct exchange x;

	(void)state;
	renew(&x, 0);
	assert_int_equal(x.status, 404); /* purges are not strict here */
	invalidation_api_on_done(&x);
	exchange_fake_free(&x);
	assert_int_equal(serving_desk_new(&by.desk), 0);
	post(&x, write_message(false));
	finish(&x);
	assert_non_null(strstr(x.body, "\"logged\": false"));
	assert_null(strstr(x.body, "grants")); /* it has just started */
	exchange_fake_free(&x);
	renew(&x, 0);
	assert_int_equal(renewed_entries(&x), 2);
	assert_string_equal(fields_get(&x.reply, RENEWAL_FIELD), "recovering");
	exchange_fake_free(&x);
	serving_desk_recover(by.desk);
	renew(&x, 1);
	assert_int_equal(renewed_entries(&x), 1);
	assert_string_equal(fields_get(&x.reply, RENEWAL_FIELD),
			    RENEWAL_GRANTED);
	exchange_fake_free(&x);
	renew(&x, 2);
	assert_int_equal(renewed_entries(&x), 0);
	exchange_fake_free(&x);
	renew_of(&x, 1, 2); /* this node itself */
	assert_int_equal(renewed_entries(&x), 0);
	assert_string_equal(fields_get(&x.reply, RENEWAL_FIELD), "recovering");
	exchange_fake_free(&x);
	serving_desk_free(&by.desk);
}

/* It is refused when it is too long, and the rest of it is thrown away. */
static void a_message_without_end(void **state)
{
	static const uint8_t part[1 << 16];
	struct exchange x;

	(void)state;
	begin(&x, "POST", true);
	for (size_t n = 0; n <= INVALIDATION_WIRE_MAX; n += sizeof(part))
		assert_int_equal(invalidation_api_on_body(&x, part,
							  sizeof(part)),
				 sizeof(part));
	assert_int_equal(x.status, 413);
	assert_int_equal(x.answers, 1);
	invalidation_api_on_body_end(&x);
	finish(&x);
	assert_int_equal(x.answers, 1);
	exchange_fake_free(&x);
}

/* Every allocation of a message fails, until it is answered: what is not
 * acknowledged with 200 may be told again, and then applies. */
static void a_message_without_memory(void **state)
{
	size_t len = write_message(false);
	bool failed = true;

	(void)state;
	for (unsigned n = 1; failed; n++) {
		struct exchange x;

		put_all();
		alloc_fail_at(n);
		post(&x, len);
		for (int i = 0; i < TURNS && !x.answers && by.under_way; i++)
			assert_int_equal(loop_turn(loop, 10), 0);
		failed = alloc_failed();
		alloc_fail_at(0);
		finish(&x);
		assert_true(x.status == 503 || x.status == 200 || x.aborted);
		if (x.status == 503)
			assert_true(holds("http://h/1"));
		exchange_fake_free(&x);
		if (!failed)
			break;
		post(&x, len);
		finish(&x);
		assert_int_equal(x.status, 200);
		assert_true(has_applied(PEER, 2));
		exchange_fake_free(&x);
		tear_down(NULL);
		assert_int_equal(set_up(NULL), 0);
	}
}

/* Nor is what is asked for: all or nothing. */
static void an_answer_without_memory(void **state)
{
	struct exchange x;
	bool failed = true;

	(void)state;
	put_all();
	post(&x, write_message(false));
	finish(&x);
	exchange_fake_free(&x);
	for (unsigned n = 1; failed; n++) {
		alloc_fail_at(n);
		begin(&x, "GET", false);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_true(x.aborted || x.status == 503 ||
			    (x.status == 200 && x.body_len > 0));
		exchange_fake_free(&x);
	}
	assert_int_equal(known_of(PEER).n, 2);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_told_is_applied),
		TEST(who_has_missed_some_forgets_all),
		TEST(two_messages_at_once),
		TEST(who_leaves_in_the_queue),
		TEST(what_is_refused),
		TEST(a_walk_that_lasts),
		TEST(who_tells_leaves),
		TEST(what_is_asked_for),
		TEST(leases_are_renewed),
		TEST(a_message_without_end),
		TEST(a_message_without_memory),
		TEST(an_answer_without_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
