/*
 * The digest for Squids as a reply: the header, a pause, the mask; and each
 * order in which the exchange and the body may end.
 */
#include <string.h>

#include "codec/squid.h"
#include "digestd/os/loop.h"
#include "digestd/peers/squid_digest.h"
#include "tests/server/exchange_fake.h"
#include "tests/unit.h"

#define PATH "/squid-internal-periodic/store_digest"

enum { KEYS = 20, BUFFER_BYTES = 4096, WAIT_MS = 100 };

static struct {
	struct loop *loop;
	struct squid_digest *digest;
	struct exchange x;
	uint8_t read[BUFFER_BYTES];
} t;

static uint64_t source_count(void *arg)
{
	(void)arg;
	return KEYS;
}

static uint64_t source_parts(void *arg)
{
	(void)arg;
	return 1;
}

static void source_walk(void *arg, const struct keypart *part, int64_t now_s,
			void (*each)(void *to, const struct scd_key *key),
			void *to)
{
	(void)arg;
	(void)part;
	(void)now_s;
	for (uint64_t i = 0; i < KEYS; i++) {
		const struct scd_key key = { i * UINT64_C(0x9e3779b97f4a7c15),
					     i };

		each(to, &key);
	}
}

static void wait_for_digest(void)
{
	struct squid_digest_stats now = { .made = 0 };

	while (!now.made) {
		loop_turn(t.loop, WAIT_MS);
		squid_digest_stats(t.digest, &now);
	}
	assert_int_equal(now.keys, KEYS);
}

static int set_up(void **state)
{
	const struct squid_source source = { NULL, source_count, source_parts,
					     source_walk };

	(void)state;
	if (loop_new(&t.loop) ||
	    squid_digest_new(t.loop, &source, 3600000, &t.digest))
		return -1;
	wait_for_digest();
	exchange_fake_make(&t.x, t.loop, "GET", PATH);
	squid_digest_on_request(t.digest, &t.x);
	assert_int_equal(t.x.status, 200);
	assert_non_null(t.x.source.read);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	exchange_fake_free(&t.x);
	squid_digest_free(&t.digest);
	loop_free(&t.loop);
	return 0;
}

static ssize_t read_body(void)
{
	return t.x.source.read(t.x.source.arg, t.read, sizeof(t.read));
}

static void release_body(void)
{
	t.x.source.release(t.x.source.arg);
}

/* The pause would have ended by then. */
static void wait_in_vain(void)
{
	const int64_t end_ms = loop_now_ms(t.loop) + 3 * SQUID_DIGEST_PAUSE_MS;

	while (loop_now_ms(t.loop) < end_ms)
		loop_turn(t.loop, SQUID_DIGEST_PAUSE_MS);
	assert_int_equal(t.x.wakes, 0);
}

static void test_the_mask_comes_after_a_pause(void **state)
{
	struct scd_squid_info info;
	uint8_t whole[BUFFER_BYTES];
	ssize_t n;

	(void)state;
	assert_int_equal(read_body(), SCD_SQUID_HEADER_BYTES);
	memcpy(whole, t.read, SCD_SQUID_HEADER_BYTES);
	assert_int_equal(read_body(), BODY_WAIT);
	while (!t.x.wakes)
		loop_turn(t.loop, WAIT_MS);
	n = read_body();
	assert_true(n > 0);
	memcpy(whole + SCD_SQUID_HEADER_BYTES, t.read, (size_t)n);
	assert_int_equal(scd_squid_parse(whole,
					 SCD_SQUID_HEADER_BYTES + (size_t)n,
					 &info), 0);
	assert_int_equal(info.count, KEYS);
	assert_int_equal(read_body(), BODY_END);
	squid_digest_on_done(&t.x);
	release_body();
}

static void test_a_client_leaves_in_the_pause(void **state)
{
	(void)state;
	assert_int_equal(read_body(), SCD_SQUID_HEADER_BYTES);
	squid_digest_on_done(&t.x);
	wait_in_vain();
	release_body();
}

/* What a server does that has no memory to send it: the body is released,
 * and the exchange aborted, for which on_done() is called later. */
static void test_a_body_is_released_first(void **state)
{
	(void)state;
	release_body();
	assert_null(exchange_data(&t.x));
	squid_digest_on_done(&t.x);
}

static void test_a_body_is_released_in_the_pause(void **state)
{
	(void)state;
	assert_int_equal(read_body(), SCD_SQUID_HEADER_BYTES);
	release_body();
	wait_in_vain();
	squid_digest_on_done(&t.x);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_the_mask_comes_after_a_pause),
		TEST(test_a_client_leaves_in_the_pause),
		TEST(test_a_body_is_released_first),
		TEST(test_a_body_is_released_in_the_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
