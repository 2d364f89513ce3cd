/*
 * The digest for Squids: made in steps, again and again, of what there is then;
 * which requests are for it, and what each gets; and each allocation failing.
 */
#include <stdio.h>
#include <stdlib.h>

#include "codec/squid.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/peers/squid_digest.h"
#include "tests/codec/alloc.h"
#include "tests/server/exchange_fake.h"
#include "tests/unit.h"

#define PATH "/squid-internal-periodic/store_digest"

enum { PARTS = 3, PERIOD_MS = 2, RARELY_MS = 3600000, WAIT_MS = 100 };

static struct loop *loop;
static struct squid_digest *digest;
static unsigned errors; /* in the log */

void __wrap_log_write(enum log_level level, const char *module,
		      const char *format, ...);

void __wrap_log_write(enum log_level level, const char *module,
		      const char *format, ...)
{
	(void)module;
	(void)format;
	errors += level == LOG_ERROR;
}

/* What there is: so many keys in each part. */
static unsigned keys_of_part;

static uint64_t source_count(void *arg)
{
	(void)arg;
	return (uint64_t)PARTS * keys_of_part;
}

static uint64_t source_parts(void *arg)
{
	(void)arg;
	return PARTS;
}

static void source_walk(void *arg, const struct keypart *part, int64_t now_s,
			void (*each)(void *to, const struct scd_key *key),
			void *to)
{
	(void)arg;
	(void)now_s;
	for (uint64_t i = 0; i < keys_of_part; i++) {
		const uint64_t n = part->number * 1000 + i + 1;
		const struct scd_key key = { n * UINT64_C(0x9e3779b97f4a7c15),
					     n };

		each(to, &key);
	}
}

static int begin(int64_t period_ms)
{
	const struct squid_source source = { NULL, source_count, source_parts,
					     source_walk };

	keys_of_part = 5;
	errors = 0;
	return squid_digest_new(loop, &source, period_ms, &digest);
}

static int set_up(void **state)
{
	(void)state;
	return loop_new(&loop) || begin(RARELY_MS);
}

static int set_up_often(void **state)
{
	(void)state;
	return loop_new(&loop) || begin(PERIOD_MS);
}

static int tear_down(void **state)
{
	(void)state;
	squid_digest_free(&digest);
	squid_digest_free(&digest); /* null is allowed */
	loop_free(&loop);
	return 0;
}

static struct squid_digest_stats stats(void)
{
	struct squid_digest_stats now;

	squid_digest_stats(digest, &now);
	return now;
}

/* Until it has been made so often. */
static void wait_for(uint64_t made)
{
	while (stats().made < made)
		assert_int_equal(loop_turn(loop, WAIT_MS), 0);
}

static void ask(struct exchange *x, struct squid_digest *d, const char *method,
		const char *since)
{
	exchange_fake_make(x, loop, method, PATH);
	if (since && fields_add(&x->fields, "If-Modified-Since", since))
		fail();
	squid_digest_on_request(d, x);
	assert_int_equal(x->answers, 1);
}

static void done(struct exchange *x)
{
	if (x->source.release)
		x->source.release(x->source.arg);
	squid_digest_on_done(x);
	exchange_fake_free(x);
}

static void test_what_is_there_then(void **state)
{
	uint64_t made, bytes;

	(void)state;
	wait_for(2);
	assert_int_equal(stats().keys, PARTS * 5);
	bytes = stats().bytes;
	keys_of_part = 100;
	made = stats().made;
	wait_for(made + 2); /* the next may be half made */
	assert_int_equal(stats().keys, PARTS * 100);
	assert_true(stats().bytes > bytes);
	keys_of_part = 0;
	made = stats().made;
	wait_for(made + 2);
	assert_int_equal(stats().keys, 0);
	assert_true(stats().bytes > SCD_SQUID_HEADER_BYTES);
}

static void expect_status(const char *method, const char *since,
			  unsigned status)
{
	struct exchange x;

	ask(&x, digest, method, since);
	if (x.status != status)
		fail_msg("%s, since %s: %u", method, since ? since : "never",
			 x.status);
	done(&x);
}

/* Who has the current one, or one that is no older, gets no other. */
static void test_answers(void **state)
{
	char modified[64];
	struct exchange x;

	(void)state;
	expect_status("GET", NULL, 404); /* there is none yet */
	wait_for(1);
	ask(&x, NULL, "GET", NULL);
	assert_int_equal(x.status, 404);
	done(&x);
	ask(&x, digest, "GET", NULL);
	assert_int_equal(x.status, 200);
	assert_string_equal(fields_get(&x.reply, "Content-Type"),
			    "application/cache-digest");
	assert_non_null(fields_get(&x.reply, "Expires"));
	snprintf(modified, sizeof(modified), "%s",
		 fields_get(&x.reply, "Last-Modified"));
	done(&x);
	expect_status("HEAD", NULL, 200);
	expect_status("GET", modified, 304);
	expect_status("GET", "Thu, 01 Jan 2099 00:00:00 GMT", 304);
	expect_status("GET", "Thu, 01 Jan 1998 00:00:00 GMT", 200);
	expect_status("GET", "yesterday", 200);
	expect_status("POST", NULL, 405);
	assert_int_equal(stats().not_modified, 2);
	assert_int_equal(stats().sent, 4);
}

static const struct {
	const char *target;
	bool meant;
} targets[] = {
	{ PATH, true },
	{ "http://a" PATH, true },
	{ "http://a:3128" PATH, true },
	{ "http://" PATH, false },
	{ "http://a/b" PATH, false },
	{ "https://a" PATH, false },
	{ "/a" PATH, false },
	{ PATH "/", false },
	{ "/squid-internal-periodic/store_digesT", false },
	{ "/", false },
};

static void test_targets(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(targets); i++) {
		struct exchange x;

		exchange_fake_make(&x, loop, "GET", targets[i].target);
		if (squid_digest_is_meant(&x) != targets[i].meant)
			fail_msg("%s", targets[i].target);
		exchange_fake_free(&x);
	}
}

/* In whatever pieces it is read, the pause comes behind the header. */
static void test_small_pieces(void **state)
{
	const size_t piece = SCD_SQUID_HEADER_BYTES / 3 + 1;
	size_t len = 0, at_pause = 0;
	uint8_t byte[SCD_SQUID_HEADER_BYTES];
	struct exchange x;
	ssize_t n;

	(void)state;
	wait_for(1);
	ask(&x, digest, "GET", NULL);
	while ((n = x.source.read(x.source.arg, byte, piece)) != BODY_END) {
		if (n == BODY_WAIT) {
			at_pause = len;
			while (!x.wakes)
				loop_turn(loop, WAIT_MS);
			continue;
		}
		assert_in_range(n, 1, piece);
		len += (size_t)n;
	}
	assert_int_equal(at_pause, SCD_SQUID_HEADER_BYTES);
	assert_int_equal(len, stats().bytes);
	done(&x);
}

/* Without memory there is none this time, which the log says, or an answer is
 * not sent. */
static void test_every_allocation(void **state)
{
	bool failed = true;

	(void)state;
	squid_digest_free(&digest);
	for (unsigned n = 1; failed; n++) {
		int err;

		alloc_fail_at(n);
		err = begin(RARELY_MS);
		while (!err && !stats().made && !errors)
			assert_int_equal(loop_turn(loop, WAIT_MS), 0);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(failed, err || errors);
		if (failed)
			squid_digest_free(&digest);
	}
	failed = true;
	for (unsigned n = 1; failed; n++) {
		struct exchange x;

		exchange_fake_make(&x, loop, "GET", PATH);
		alloc_fail_at(n);
		squid_digest_on_request(digest, &x);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(x.answers, 1);
		if (x.status != 200)
			assert_true(failed && x.aborted);
		done(&x);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_is_there_then,
						set_up_often, tear_down),
		TEST(test_answers),
		TEST(test_targets),
		TEST(test_small_pieces),
		TEST(test_every_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
