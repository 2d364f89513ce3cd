/*
 * Digests decoded in a thread: what comes back is the digest or the error; the
 * loop goes on meanwhile; a job that is cancelled, or whose decoder has gone,
 * calls nobody back.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "codec/delta.h"
#include "digestd/os/loop.h"
#include "digestd/peers/digest_decoder.h"
#include "digestd/peers/peer_kind.h"
#include "tests/codec/lent.h"
#include "tests/codec/sample.h"
#include "tests/rounds.h"

enum {
	NBITS = 1 << 16,
	NONES = 4000,
	LARGE_BITS = 1 << 27,
	WAIT_MS = 20000,
	TURNS = 5,
};

struct fixture {
	struct loop *loop;
	struct digest_decoder *decoder;
	struct scd_limits limits;
	struct scd_bloom bloom;
	const struct scd_threads *threads; /* lent to the next jobs */
	/* what came back */
	unsigned calls;
	int error;
	struct peer_digest *digest;
};

static void on_decoded(void *arg, const struct digest_decoded *d)
{
	struct fixture *f = arg;

	f->calls++;
	f->error = d->error;
	peer_digest_unref(f->digest);
	f->digest = d->digest ? peer_digest_ref(d->digest) : NULL;
}

static struct digest_body body_of(uint8_t *bytes, size_t len)
{
	return (struct digest_body){bytes, len, len, len};
}

static struct digest_body full_body(const struct scd_bloom *bloom)
{
	struct scd_digest_info ids = sample_ids(1, 0);
	uint8_t *bytes;
	size_t len;

	assert_int_equal(scd_digest_encode(bloom, &ids, &bytes, &len), SCD_OK);
	return body_of(bytes, len);
}

static struct digest_body delta_body(const struct scd_bloom *base,
				     const struct scd_bloom *next)
{
	struct scd_digest_info ids = sample_ids(2, 1);
	uint8_t *bytes;
	size_t len;

	assert_int_equal(scd_delta_encode(base, next, &ids, &bytes, &len),
			 SCD_OK);
	return body_of(bytes, len);
}

static int start_kind(struct fixture *f, const struct peer_kind *kind,
		      struct digest_body body, struct peer_digest *base,
		      struct digest_job **job)
{
	struct digest_expected e = {kind, &f->limits, base, base, {NULL, 0},
				    f->threads};
	int err = digest_decoder_start(f->decoder, &body, &e, job);

	assert_null(body.bytes);
	if (!err)
		digest_job_notify(*job, on_decoded, f);
	return err;
}

static int start(struct fixture *f, struct digest_body body,
		 struct peer_digest *base, struct digest_job **job)
{
	return start_kind(f, &peer_kind_digestd, body, base, job);
}

static const struct timespec short_pause = {.tv_nsec = 200000};
static atomic_uint turns;

/* Turns the loop until so many calls have come. */
static void turn_until(struct fixture *f, unsigned calls)
{
	int64_t end_ms =
		loop_now_ms(f->loop) + WAIT_MS * rounds_slowness();

	while (f->calls < calls && loop_now_ms(f->loop) < end_ms) {
		assert_int_equal(loop_turn(f->loop, 0), 0);
		nanosleep(&short_pause, NULL);
		atomic_fetch_add(&turns, 1);
	}
	assert_int_equal(f->calls, calls);
}

static void test_full_then_delta(void **state)
{
	struct fixture *f = *state;
	struct scd_bloom next = sample_next(&f->bloom, 3, 200);
	struct digest_job *job;

	assert_int_equal(start(f, full_body(&f->bloom), NULL, &job), 0);
	assert_int_equal(f->calls, 0);
	turn_until(f, 1);
	assert_int_equal(f->error, SCD_OK);
	assert_true(scd_bloom_equal(&f->digest->bloom, &f->bloom));
	assert_int_equal(f->digest->generation, 1);
	assert_int_equal(
		start(f, delta_body(&f->bloom, &next), f->digest, &job), 0);
	turn_until(f, 2);
	assert_int_equal(f->error, SCD_OK);
	assert_true(scd_bloom_equal(&f->digest->bloom, &next));
	assert_int_equal(f->digest->instance, SAMPLE_INSTANCE);
	assert_int_equal(f->digest->generation, 2);
	scd_bloom_free(&next);
}

static void test_bad(void **state)
{
	struct fixture *f = *state;
	struct digest_body body = full_body(&f->bloom);
	struct digest_job *job;

	body.bytes[body.len - 1] ^= 1;
	body.bytes[200] ^= 1;
	assert_int_equal(start(f, body, NULL, &job), 0);
	turn_until(f, 1);
	assert_int_not_equal(f->error, SCD_OK);
	assert_null(f->digest);
}

/* What is decoded only after some turns; or, without any, in the end. */
static int decode_slowly(const struct digest_expected *e,
			 const struct digest_body *body,
			 struct scd_digest_info *info, struct peer_digest **out)
{
	for (int i = 0; i < WAIT_MS && atomic_load(&turns) < TURNS; i++)
		nanosleep(&short_pause, NULL);
	return peer_kind_digestd.decode(e, body, info, out);
}

/* A digest of 16 MiB takes some ms, or more: the loop turns all the while. */
static void test_loop_goes_on(void **state)
{
	struct fixture *f = *state;
	struct scd_bloom large = sample_bloom(2, LARGE_BITS, 100000);
	struct peer_kind slow = peer_kind_digestd;
	struct digest_job *job;

	slow.decode = decode_slowly;
	atomic_store(&turns, 0);
	assert_int_equal(start_kind(f, &slow, full_body(&large), NULL, &job),
			 0);
	turn_until(f, 1);
	assert_true(atomic_load(&turns) >= TURNS);
	assert_int_equal(f->error, SCD_OK);
	assert_int_equal(f->digest->bloom.nbits, LARGE_BITS);
	scd_bloom_free(&large);
}

static atomic_uint runs, tasks_run;

static int run_and_count(void *pool, void (*task)(void *arg, size_t i),
			 void *arg, size_t ntasks)
{
	atomic_fetch_add(&runs, 1);
	atomic_fetch_add(&tasks_run, (unsigned)ntasks);
	return lent_run_threads(pool, task, arg, ntasks);
}

static int run_nothing(void *pool, void (*task)(void *arg, size_t i),
		       void *arg, size_t ntasks)
{
	(void)pool;
	(void)task;
	(void)arg;
	(void)ntasks;
	return SCD_ENOMEM;
}

/* What is lent decodes a large digest, and its errors come back. */
static void test_shared_by_threads(void **state)
{
	struct fixture *f = *state;
	struct scd_bloom large = sample_bloom(3, LARGE_BITS, LARGE_BITS / 8);
	unsigned two = 2;
	const struct scd_threads good = {.run = run_and_count, .pool = &two};
	const struct scd_threads bad = {.run = run_nothing};
	struct digest_job *job;

	f->threads = &good;
	assert_int_equal(start(f, full_body(&large), NULL, &job), 0);
	turn_until(f, 1);
	assert_int_equal(f->error, SCD_OK);
	assert_int_equal(atomic_load(&runs), 1);
	assert_int_equal(atomic_load(&tasks_run), LARGE_BITS / 8 >> 22);
	sample_same(&f->digest->bloom, &large);
	f->threads = &bad;
	assert_int_equal(start(f, full_body(&large), NULL, &job), 0);
	turn_until(f, 2);
	assert_int_equal(f->error, SCD_ENOMEM);
	scd_bloom_free(&large);
}

static void test_cancelled(void **state)
{
	struct fixture *f = *state;
	struct digest_job *job, *second;

	assert_int_equal(start(f, full_body(&f->bloom), NULL, &job), 0);
	assert_int_equal(start(f, full_body(&f->bloom), NULL, &second), 0);
	digest_job_cancel(&job);
	assert_null(job);
	digest_job_cancel(&job);
	turn_until(f, 1);
	assert_int_equal(f->error, SCD_OK);
}

static void test_queue_is_bounded(void **state)
{
	struct fixture *f = *state;
	struct digest_job *job;

	for (unsigned i = 0; i < DIGEST_DECODER_JOBS; i++)
		assert_int_equal(start(f, full_body(&f->bloom), NULL, &job), 0);
	assert_int_equal(start(f, full_body(&f->bloom), NULL, &job), -EAGAIN);
	turn_until(f, DIGEST_DECODER_JOBS);
	assert_int_equal(start(f, full_body(&f->bloom), NULL, &job), 0);
	turn_until(f, DIGEST_DECODER_JOBS + 1);
}

/* It goes with jobs that wait, one under way, and some that came back. */
static void test_freed_meanwhile(void **state)
{
	struct fixture *f = *state;
	struct digest_job *job;

	for (unsigned i = 0; i < 50; i++)
		assert_int_equal(start(f, full_body(&f->bloom), NULL, &job), 0);
	digest_decoder_free(&f->decoder);
	assert_null(f->decoder);
	digest_decoder_free(&f->decoder);
	loop_turn(f->loop, 0);
	assert_int_equal(f->calls, 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(digest_decoder_new(f->loop, &f->decoder), 0);
	scd_limits_init(&f->limits);
	f->bloom = sample_bloom(1, NBITS, NONES);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	digest_decoder_free(&f->decoder);
	loop_turn(f->loop, 0);
	loop_free(&f->loop);
	peer_digest_unref(f->digest);
	scd_bloom_free(&f->bloom);
	free(f);
	return 0;
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(test_full_then_delta),  WITH(test_bad),
		WITH(test_loop_goes_on),     WITH(test_cancelled),
		WITH(test_queue_is_bounded), WITH(test_freed_meanwhile),
		WITH(test_shared_by_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
