/*
 * The digest resources, without a server: what each request gets, by what it
 * holds and takes; requests that wait, and each way in which a wait ends; each
 * allocation failing. Time passes when the test says so.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/digest.h"
#include "digestd/os/loop.h"
#include "digestd/peers/digest_api.h"
#include "digestd/peers/digest_request.h"
#include "tests/codec/alloc.h"
#include "tests/os/still_clock.h"
#include "tests/peers/publish_array.h"
#include "tests/server/exchange_fake.h"
#include "tests/unit.h"

#define TAG(generation) "\"00000000000000ab-" #generation "\""
#define DELTA "/scd/v1/delta/00000000000000ab/"

enum { INSTANCE = 0xab, NBITS = 1 << 15, NHASH = 3, MAX_WAIT_S = 1 };

static struct loop *loop;
static struct generations *generations;
static struct scd_bloom array;
static struct digest_api *api, *seen;

static int set_up(void **state)
{
	(void)state;
	if (loop_new(&loop) || generations_new(&generations, INSTANCE, 4) ||
	    scd_bloom_init(&array, NBITS, NHASH) ||
	    digest_api_new(&api, MAX_WAIT_S, &digest_paths_held) ||
	    digest_api_new(&seen, MAX_WAIT_S, &digest_paths_seen))
		return -1;
	digest_api_add(api, seen);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	digest_api_free(&api);
	assert_null(api);
	digest_api_free(&api);
	digest_api_free(&seen);
	scd_bloom_free(&array);
	generations_free(&generations);
	loop_free(&loop);
	return 0;
}

static void publish(uint64_t generation)
{
	digest_api_publish(api, publish_array(generations, &array, generation));
}

static void ask(struct exchange *x, const char *target, const char *tags,
		const char *forms, const char *prefer)
{
	exchange_fake_make(x, loop, "GET", target);
	if ((tags && fields_add(&x->fields, "If-None-Match", tags)) ||
	    (forms && fields_add(&x->fields, "A-IM", forms)) ||
	    (prefer && fields_add(&x->fields, "Prefer", prefer)))
		fail();
	digest_api_handler.on_request(api, x);
}

static void done(struct exchange *x)
{
	digest_api_handler.on_done(api, x, EXCHANGE_DONE);
	exchange_fake_free(x);
}

/* Three generations were published: the third is current. */
static const struct {
	const char *label, *target, *tags, *forms;
	unsigned status;
	const char *im, *base; /* of a delta */
} rows[] = {
	{ "who has nothing", "/scd/v1/digest", NULL, NULL, 200, NULL, NULL },
	{ "who takes deltas, and has nothing", "/scd/v1/digest", NULL, "scd",
	  200, NULL, NULL },
	{ "who has it", "/scd/v1/digest", TAG(3), NULL, 304, NULL, NULL },
	{ "who has it, among others", "/scd/v1/digest", TAG(1) ", " TAG(3),
	  "scd", 304, NULL, NULL },
	{ "who has an old one, and takes no delta", "/scd/v1/digest", TAG(2),
	  NULL, 200, NULL, NULL },
	{ "an old one", "/scd/v1/digest", TAG(2), "scd", 226, "scd", TAG(2) },
	{ "an older one", "/scd/v1/digest", TAG(1), "scd", 226, "scd",
	  TAG(1) },
	{ "the newest of old ones", "/scd/v1/digest", TAG(1) "," TAG(2),
	  "scd", 226, "scd", TAG(2) },
	{ "one that is not known", "/scd/v1/digest", TAG(9), "scd", 200, NULL,
	  NULL },
	{ "of another instance", "/scd/v1/digest", "\"00000000000000ac-3\"",
	  "scd", 200, NULL, NULL },
	{ "a delta by name", DELTA "2-3", NULL, NULL, 200, NULL, NULL },
	{ "one of before", DELTA "1-2", NULL, NULL, 200, NULL, NULL },
	{ "one that is not there", DELTA "3-4", NULL, NULL, 404, NULL, NULL },
	{ "one backwards", DELTA "3-2", NULL, NULL, 404, NULL, NULL },
	{ "one of another instance", "/scd/v1/delta/00000000000000ac/2-3",
	  NULL, NULL, 404, NULL, NULL },
	{ "the other resource, before there is one", "/scd/v1/seen", NULL,
	  NULL, 503, NULL, NULL },
	{ "a sector, where no lists are published", "/scd/v1/sector/0-2", NULL,
	  "scd-frames", 404, NULL, NULL },
	{ "no such resource", "/scd/v1/other", NULL, NULL, 404, NULL, NULL },
};

static bool is_field(const struct exchange *x, const char *name,
		     const char *value)
{
	const char *got = fields_get(&x->reply, name);

	return value ? got && !strcmp(got, value) : !got;
}

static void test_requests(void **state)
{
	(void)state;
	for (uint64_t g = 1; g <= 3; g++)
		publish(g);
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct exchange x;

		ask(&x, rows[i].target, rows[i].tags, rows[i].forms, NULL);
		if (x.status != rows[i].status || x.answers != 1 ||
		    !is_field(&x, "IM", rows[i].im) ||
		    !is_field(&x, "Delta-Base", rows[i].base))
			fail_msg("%s: %u", rows[i].label, x.status);
		if (x.status / 100 <= 3 && rows[i].target[8] == 'd' &&
		    rows[i].target[9] == 'i') {
			assert_true(is_field(&x, "ETag", TAG(3)));
			assert_true(is_field(&x, "Cache-Control", "no-cache"));
			assert_true(is_field(&x, "Vary", "Accept, A-IM"));
			assert_int_equal(fields_lines(&x.reply, "Link"), 2);
		}
		assert_int_equal(x.body_len != 0, x.status == 200 ||
						  x.status == 226);
		done(&x);
	}
}

/* A full digest is the array that was published. */
static void test_full_digest(void **state)
{
	struct scd_digest_info info;
	struct scd_bloom bloom;
	struct exchange x;

	(void)state;
	ask(&x, "/scd/v1/digest", NULL, NULL, NULL);
	assert_int_equal(x.status, 503); /* none yet */
	done(&x);
	publish(1);
	ask(&x, "/scd/v1/digest", NULL, NULL, NULL);
	assert_int_equal(scd_digest_decode((const uint8_t *)x.body, x.body_len,
					   NULL, &info, &bloom), 0);
	assert_true(scd_bloom_equal(&bloom, &array));
	scd_bloom_free(&bloom);
	done(&x);
}

static void test_methods(void **state)
{
	struct exchange x;

	(void)state;
	exchange_fake_make(&x, loop, "POST", "/scd/v1/digest");
	digest_api_handler.on_request(api, &x);
	assert_int_equal(x.status, 405);
	assert_string_equal(fields_get(&x.reply, "Allow"), "GET, HEAD");
	done(&x);
	publish(1);
	exchange_fake_make(&x, loop, "HEAD", "/scd/v1/digest");
	digest_api_handler.on_request(api, &x);
	assert_int_equal(x.status, 200);
	done(&x);
}

static void test_counters(void **state)
{
	struct digest_api_counters c;
	struct exchange x;

	(void)state;
	publish(1);
	publish(2);
	ask(&x, "/scd/v1/digest", TAG(2), NULL, NULL);
	done(&x);
	ask(&x, "/scd/v1/digest", TAG(1), "scd", NULL);
	digest_api_count(api, &c);
	assert_int_equal(c.delta_sent_bytes, x.body_len);
	done(&x);
	ask(&x, "/scd/v1/digest", NULL, NULL, NULL);
	digest_api_count(api, &c);
	assert_int_equal(c.full_sent_bytes, x.body_len);
	done(&x);
	ask(&x, DELTA "1-2", NULL, NULL, NULL);
	done(&x);
	digest_api_count(api, &c);
	assert_int_equal(c.not_modified, 1);
	assert_int_equal(c.delta_sent, 2);
	assert_int_equal(c.full_sent, 1);
}

/* Waiting: who has the current one, and would wait for the next. */

static void ask_to_wait(struct exchange *x, const char *tags)
{
	ask(x, "/scd/v1/digest", tags, "scd", "wait=60");
}

static void test_who_waits(void **state)
{
	struct exchange x;

	(void)state;
	ask_to_wait(&x, TAG(1));
	assert_int_equal(x.status, 503); /* there is nothing to wait behind */
	done(&x);
	publish(1);
	ask_to_wait(&x, NULL);
	assert_int_equal(x.status, 200);
	done(&x);
	ask_to_wait(&x, TAG(2));
	assert_int_equal(x.status, 200);
	done(&x);
	ask(&x, "/scd/v1/digest", TAG(1), "scd", "wait=0");
	assert_int_equal(x.status, 304);
	done(&x);
}

static void test_news_end_waits(void **state)
{
	struct exchange x[3];

	(void)state;
	publish(1);
	for (size_t i = 0; i < NROWS(x); i++) {
		ask_to_wait(&x[i], TAG(1));
		assert_int_equal(x[i].answers, 0);
	}
	/* the middle one leaves the list, others stay in it */
	digest_api_handler.on_done(api, &x[1], EXCHANGE_ABORTED);
	publish(2);
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_int_equal(x[0].status, 226);
	assert_int_equal(x[1].answers, 0);
	assert_int_equal(x[2].status, 226);
	done(&x[0]);
	exchange_fake_free(&x[1]);
	done(&x[2]);
}

/* It leaves after the news were posted, before they are delivered. */
static void test_leaving_meanwhile(void **state)
{
	struct exchange x;

	(void)state;
	publish(1);
	ask_to_wait(&x, TAG(1));
	publish(2);
	digest_api_handler.on_done(api, &x, EXCHANGE_ABORTED);
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_int_equal(x.answers, 0);
	exchange_fake_free(&x);
}

static void pass(unsigned ms)
{
	still_clock_ms += ms;
	assert_int_equal(loop_turn(loop, 0), 0);
}

/* The longest wait is the server's, not the client's. */
static void test_time_ends_waits(void **state)
{
	struct exchange x;

	(void)state;
	publish(1);
	pass(0);
	ask_to_wait(&x, TAG(1));
	pass(MAX_WAIT_S * 1000 - 1);
	assert_int_equal(x.answers, 0);
	pass(1);
	assert_int_equal(x.status, 304);
	done(&x);
}

/* Who waits hears of it at once, who comes later as long as it holds. */
static void test_suspects(void **state)
{
	int64_t now_ms = loop_now_ms(loop);
	struct exchange x;

	(void)state;
	publish(1);
	ask_to_wait(&x, TAG(1));
	digest_api_suspect(api, 0xabc, now_ms, now_ms + 100000);
	digest_api_suspect(api, 0xdef, now_ms, now_ms + 1);
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_int_equal(x.status, 304);
	assert_non_null(strstr(fields_get(&x.reply, "Scd-Suspects"),
			       "0000000000000abc"));
	done(&x);
	pass(2);
	exchange_fake_make(&x, loop, "GET", "/scd/v1/digest");
	digest_api_handler.on_request(api, &x);
	assert_int_equal(x.status, 200);
	assert_string_equal(fields_get(&x.reply, "Scd-Suspects"),
			    "0000000000000abc");
	done(&x);
	digest_api_suspect(api, 0xabc, now_ms, now_ms);
	exchange_fake_make(&x, loop, "GET", "/scd/v1/digest");
	digest_api_handler.on_request(api, &x);
	assert_null(fields_get(&x.reply, "Scd-Suspects"));
	done(&x);
}

static void test_draining_ends_waits(void **state)
{
	struct exchange x;

	(void)state;
	publish(1);
	ask_to_wait(&x, TAG(1));
	digest_api_say_leases(api, false);
	digest_api_drain(api);
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_int_equal(x.status, 304);
	assert_string_equal(fields_get(&x.reply, "Scd-Node"),
			    "leases=?0, drains");
	done(&x);
	digest_api_say_leases(api, true);
	ask_to_wait(&x, TAG(1));
	assert_int_equal(x.status, 304);
	assert_string_equal(fields_get(&x.reply, "Scd-Node"), "leases, drains");
	done(&x);
}

/* A generation of a list, with the array or without. */
static void publish_list(uint64_t generation, bool with_array)
{
	struct list_publication *list = calloc(1, sizeof(*list));
	struct catalog_snapshot snapshot = { .generation = generation };
	struct publication *p;

	assert_non_null(list);
	list->generation = list->full_generation = generation;
	list->full = blob_take(calloc(1, 4), 4);
	if (with_array)
		assert_int_equal(scd_bloom_copy(&array, &snapshot.bloom), 0);
	assert_int_equal(generations_publish(generations, &snapshot, &p), 0);
	p->list = list;
	digest_api_publish(api, p);
}

static void count_call(void *arg)
{
	++*(unsigned *)arg;
}

/* Of lists only: who asks for an array makes it be made, and gets it, though
 * lists are published before; who asks for lists does not. */
static void test_array_is_made(void **state)
{
	unsigned wishes = 0;
	struct exchange x;

	(void)state;
	digest_api_on_wanted(api, count_call, &wishes);
	publish_list(1, false);
	exchange_fake_make(&x, loop, "GET", "/scd/v1/digest");
	assert_int_equal(fields_add(&x.fields, "Accept",
				    "application/scd-list"), 0);
	digest_api_handler.on_request(api, &x);
	assert_int_equal(x.status, 200);
	done(&x);
	assert_int_equal(wishes, 0);
	assert_false(digest_api_array_wanted(api, INT64_MIN + 1));

	ask(&x, "/scd/v1/digest", NULL, NULL, NULL);
	assert_int_equal(x.answers, 0);
	assert_int_equal(wishes, 1);
	assert_true(digest_api_array_wanted(api, loop_now_ms(loop)));
	publish_list(2, false);
	loop_turn(loop, 0);
	assert_int_equal(x.answers, 0);
	publish_list(3, true);
	loop_turn(loop, 0);
	assert_int_equal(x.status, 200);
	assert_string_equal(fields_get(&x.reply, "ETag"), TAG(3));
	done(&x);
	assert_int_equal(wishes, 1);
	digest_api_on_wanted(api, NULL, NULL);
}

/* It takes longer than anybody may wait: it is to come again. */
static void test_array_takes_long(void **state)
{
	struct exchange x;

	(void)state;
	publish_list(1, false);
	ask(&x, "/scd/v1/digest", NULL, NULL, NULL);
	pass(MAX_WAIT_S * 1000 - 1);
	assert_int_equal(x.answers, 0);
	pass(1);
	assert_int_equal(x.status, 503);
	assert_string_equal(fields_get(&x.reply, "Retry-After"), "1");
	done(&x);
}

/* Without memory: the connection ends, or nobody waits; nothing leaks. */
static void check_every_allocation(const char *target, const char *tags,
				   const char *forms, const char *prefer)
{
	bool failed = true;

	for (unsigned n = 1; failed; n++) {
		struct exchange x;

		exchange_fake_make(&x, loop, "GET", target);
		if ((tags && fields_add(&x.fields, "If-None-Match", tags)) ||
		    (forms && fields_add(&x.fields, "A-IM", forms)) ||
		    (prefer && fields_add(&x.fields, "Prefer", prefer)))
			fail();
		alloc_fail_at(n);
		digest_api_handler.on_request(api, &x);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_true(x.answers == 1 || (prefer && !failed));
		done(&x);
	}
}

static void test_every_allocation(void **state)
{
	struct exchange x;

	(void)state;
	publish(1);
	publish(2);
	check_every_allocation("/scd/v1/digest", NULL, NULL, NULL);
	check_every_allocation("/scd/v1/digest", TAG(2), NULL, NULL);
	check_every_allocation("/scd/v1/digest", TAG(2), NULL, "wait=9");
	check_every_allocation("/scd/v1/digest", TAG(1), "scd", NULL);
	check_every_allocation(DELTA "1-2", NULL, NULL, NULL);
	exchange_fake_make(&x, loop, "PUT", "/");
	alloc_fail_at(1);
	digest_api_handler.on_request(api, &x);
	alloc_fail_at(0);
	assert_true(x.aborted);
	done(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(test_requests),
		TEST(test_full_digest),
		TEST(test_methods),
		TEST(test_counters),
		TEST(test_who_waits),
		TEST(test_news_end_waits),
		TEST(test_leaving_meanwhile),
		TEST(test_time_ends_waits),
		TEST(test_suspects),
		TEST(test_draining_ends_waits),
		TEST(test_array_is_made),
		TEST(test_array_takes_long),
		TEST(test_every_allocation),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
