/*
 * Digests made and read by threads that are lent: the same bytes, arrays and
 * errors as without, whatever the threads and the order of their tasks. A build
 * with --with-sanitizer=thread says in addition whether the tasks keep apart.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/coder/chunks.h"
#include "codec/coder/tasks.h"
#include "codec/digest.h"
#include "tests/codec/alloc.h"
#include "tests/codec/lent.h"
#include "tests/codec/sample.h"
#include "tests/codec/toy_chunks.h"

static const struct scd_limits any = {
	.max_bits = SCD_DIGEST_MAX_BITS,
	.max_hash = SCD_DIGEST_MAX_HASH,
	.max_fp_ppm = 1000000,
};

static unsigned counts[] = {1, 2, 3, 4, 8};

static const struct scd_threads ways[] = {
	{.run = lent_run_threads, .pool = &counts[0]},
	{.run = lent_run_threads, .pool = &counts[1]},
	{.run = lent_run_threads, .pool = &counts[2]},
	{.run = lent_run_threads, .pool = &counts[3]},
	{.run = lent_run_threads, .pool = &counts[4]},
	{.run = lent_run_backwards},
	{.run = lent_run_shuffled},
};

/* Tasks */

enum { MAX_LOG = 2 * SCD_MAX_TASKS };

/* What tasks do and what follows them, as one log of the latter. */
struct log {
	unsigned ntasks, fails_at; /* ntasks: none fails */
	atomic_uint ndone[SCD_MAX_TASKS];
	unsigned followed[MAX_LOG]; /* plain: one thread at a time */
	unsigned nfollowed;
	atomic_uint nnext;
};

static int log_task(void *arg, unsigned i, bool is_next)
{
	struct log *l = arg;

	atomic_fetch_add(&l->ndone[i], 1);
	if (is_next) {
		assert_int_equal(l->nfollowed, i);
		atomic_fetch_add(&l->nnext, 1);
	}
	return i == l->fails_at ? SCD_ELIMIT : SCD_OK;
}

static void log_follow(void *arg, unsigned i)
{
	struct log *l = arg;

	assert_int_equal(i, l->nfollowed);
	assert_int_equal(atomic_load(&l->ndone[i]), 1);
	l->followed[l->nfollowed++] = i;
}

static int log_run(struct log *l, const struct scd_threads *threads)
{
	struct scd__tasks tasks = {
		.task = log_task,
		.follow = log_follow,
		.arg = l,
		.ntasks = l->ntasks,
	};

	return scd__tasks_run(&tasks, threads);
}

static void each_task_is_followed_in_order(void **state)
{
	(void)state;
	for (unsigned n = 0; n <= SCD_MAX_TASKS; n++) {
		struct log alone = {.ntasks = n, .fails_at = n};

		assert_int_equal(log_run(&alone, NULL), SCD_OK);
		assert_int_equal(alone.nfollowed, n);
		assert_int_equal(alone.nnext, n);
		for (size_t i = 0; i < NROWS(ways); i++) {
			struct log l = {.ntasks = n, .fails_at = n};

			assert_int_equal(log_run(&l, &ways[i]), SCD_OK);
			assert_int_equal(l.nfollowed, n);
		}
	}
}

/* Nothing follows a task that failed, and none is left out without a word. */
static void failed_tasks_end_all(void **state)
{
	const struct scd_threads fails = {.run = lent_run_fails};
	const struct scd_threads forgets = {.run = lent_run_forgets};

	(void)state;
	for (unsigned at = 0; at < 9; at++) {
		struct log alone = {.ntasks = 9, .fails_at = at};

		assert_int_equal(log_run(&alone, NULL), SCD_ELIMIT);
		assert_int_equal(alone.nfollowed, at);
		for (size_t i = 0; i < NROWS(ways); i++) {
			struct log l = {.ntasks = 9, .fails_at = at};

			assert_int_equal(log_run(&l, &ways[i]), SCD_ELIMIT);
			assert_true(l.nfollowed <= at);
		}
	}
	assert_int_equal(log_run(&(struct log){.ntasks = 9, .fails_at = 9},
				 &fails),
			 SCD_ENOMEM);
	assert_int_equal(log_run(&(struct log){.ntasks = 9, .fails_at = 9},
				 &forgets),
			 SCD_EINVAL);
}

/* Chunks */

enum { TOY_MAX = TOY_CHUNK * 80 };

/* First bytes are multiples of 4, but for some chunks, up to 3 more. Other
 * bytes of chunks that are not coded are 0. */
static void toy_make(uint8_t *bytes, size_t len, uint64_t seed,
		     unsigned long_pm)
{
	for (size_t i = 0; i < len; i++) {
		const size_t first = i - i % TOY_CHUNK;

		bytes[i] = (uint8_t)random_next(&seed);
		if (i == first) {
			bytes[i] &= 0xfc;
			if (random_below(&seed, 1000) < long_pm)
				bytes[i] |= (uint8_t)random_below(&seed, 4);
		} else if (bytes[first] % 4 == 0) {
			bytes[i] = 0;
		}
	}
}

/* room: of struct scd__chunk_coder, which changes nothing. */
static size_t toy_code(const uint8_t *bytes, size_t len, size_t cap,
		       size_t room, const struct scd_threads *threads,
		       uint8_t *code)
{
	struct scd__chunk_coder coder = toy;
	const struct scd__shape shape = {8 * (uint64_t)len, 1};
	struct scd__writer w = scd__writer(code, cap);
	struct scd__checksum sum;
	const struct scd__coder_work work = {.threads = threads, .sum = &sum};
	struct scd__checksum again;
	int error;

	coder.room = room;
	scd__checksum_begin(&sum, bytes, 1);
	scd__checksum_begin(&again, bytes, 1);
	error = scd__chunks_encode(&coder, TOY_LOG, &shape, bytes, &w, &work);
	assert_int_equal(w.error, error);
	if (error) {
		assert_int_equal(error, SCD_ESPACE);
		return 0;
	}
	assert_true(scd__checksum_finish(&sum, bytes + len) ==
		    scd__checksum_finish(&again, bytes + len));
	return scd__writer_len(&w);
}

static int toy_uncode(const uint8_t *code, size_t code_len, size_t len,
		      const struct scd_threads *threads, uint8_t *bytes)
{
	const struct scd__shape shape = {8 * (uint64_t)len, 1};
	struct scd__reader r = scd__reader(code, code_len);
	struct scd__checksum sum, again;
	const struct scd__coder_work work = {.threads = threads, .sum = &sum};
	int error;

	scd__checksum_begin(&sum, bytes, 1);
	error = scd__chunks_decode(&toy, &shape, &r, bytes, &work);
	if (error)
		return error;
	scd__checksum_begin(&again, bytes, 1);
	assert_true(scd__checksum_finish(&sum, bytes + len) ==
		    scd__checksum_finish(&again, bytes + len));
	assert_true(sum.ones == again.ones);
	return SCD_OK;
}

/* Any number of chunks, in much room and in too little: codes that are longer
 * than the chunk, too, which have no room of their own. */
static void chunks_are_the_same(void **state)
{
	static uint8_t bytes[TOY_MAX], back[TOY_MAX];
	static uint8_t code[4 * TOY_MAX], again[4 * TOY_MAX];
	uint64_t seed = 5;
	unsigned nshort = 0, nmade = 0;

	(void)state;
	for (unsigned round = 0; round < 400; round++) {
		const size_t len = 1 + random_below(&seed, TOY_MAX);
		const size_t cap = random_below(&seed, 2 * len);
		size_t n;

		toy_make(bytes, len, round, (unsigned)random_below(&seed, 400));
		n = toy_code(bytes, len, cap, 0, NULL, code);
		nshort += n == 0;
		nmade += n > 0;
		for (size_t i = 0; i < NROWS(ways); i++) {
			assert_int_equal(toy_code(bytes, len, cap,
						  round % 4 * TOY_CHUNK / 2,
						  &ways[i], again),
					 n);
			assert_memory_equal(again, code, n);
			if (n == 0)
				continue;
			memset(back, 0x55, len);
			assert_int_equal(toy_uncode(code, n, len, &ways[i],
						    back),
					 SCD_OK);
			assert_memory_equal(back, bytes, len);
		}
	}
	assert_true(nshort > 50 && nmade > 50);
}

/* Whichever byte of sizes and codes is another, and wherever it ends. */
static void damaged_chunks_are_refused(void **state)
{
	static uint8_t bytes[TOY_MAX], back[2][TOY_MAX], code[4 * TOY_MAX];
	const size_t len = TOY_CHUNK * 70 - 3;
	size_t n;

	(void)state;
	toy_make(bytes, len, 3, 300);
	n = toy_code(bytes, len, sizeof(code), 0, NULL, code);
	for (size_t at = 0; at < n; at++) {
		const struct scd_threads *way = &ways[at % NROWS(ways)];
		int error;

		code[at] ^= 1;
		error = toy_uncode(code, n, len, NULL, back[0]);
		assert_int_equal(toy_uncode(code, n, len, way, back[1]), error);
		if (!error)
			assert_memory_equal(back[0], back[1], len);
		code[at] ^= 1;
		assert_int_equal(toy_uncode(code, at, len, way, back[1]),
				 SCD_EFORMAT);
	}
}

/* Digests */

/* Of several chunks each, but the first. */
static const struct {
	uint64_t nbits, nones;
	enum scd_coding coding;
} shapes[] = {
	{4000000, 500000, SCD_CODING_DENSE},
	{8 * (UINT64_C(9) << 20) + 5, 10000000, SCD_CODING_DENSE},
	{8 * (UINT64_C(9) << 20) + 1, 2200000, SCD_CODING_SPARSE},
	{8 * (UINT64_C(9) << 20) + 7, 66000000, SCD_CODING_MIRRORED_DENSE},
};

struct blob {
	uint8_t *bytes;
	size_t len;
};

static struct blob blob_make(const struct scd_bloom *bloom,
			     const struct scd_threads *threads)
{
	const struct scd_digest_info ids = sample_ids(3, 0);
	const struct scd_work work = {.threads = threads};
	struct blob blob;

	assert_int_equal(scd_digest_encode_with(bloom, &ids, &work,
						&blob.bytes, &blob.len),
			 SCD_OK);
	return blob;
}

static int blob_read(const struct blob *blob, const struct scd_threads *threads,
		     struct scd_bloom *out)
{
	const struct scd_work work = {.threads = threads};

	return scd_digest_decode_with(blob->bytes, blob->len, &any, &work, NULL,
				      out);
}

static void digests_are_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(shapes); i++) {
		struct scd_bloom in = sample_bloom(i + 1, shapes[i].nbits,
						   shapes[i].nones);
		struct blob blob = blob_make(&in, NULL);
		struct scd_bloom out;

		assert_int_equal(blob.bytes[5], shapes[i].coding);
		for (size_t j = 0; j < NROWS(ways); j++) {
			struct blob again = blob_make(&in, &ways[j]);

			assert_int_equal(again.len, blob.len);
			assert_memory_equal(again.bytes, blob.bytes, blob.len);
			assert_int_equal(blob_read(&again, &ways[j], &out),
					 SCD_OK);
			sample_same(&out, &in);
			scd_bloom_free(&out);
			free(again.bytes);
		}
		free(blob.bytes);
		scd_bloom_free(&in);
	}
}

/* One damaged byte in any chunk gives the same error, and no filter. */
static void damaged_digests_are_refused(void **state)
{
	struct scd_bloom in = sample_bloom(7, shapes[1].nbits, shapes[1].nones);
	struct blob blob = blob_make(&in, NULL);

	(void)state;
	for (size_t i = 0; i < 3 * NROWS(ways); i++) {
		const size_t at = SCD_DIGEST_HEADER_BYTES + 6 +
				  i * (blob.len / (3 * NROWS(ways) + 1));
		struct scd_bloom out = {.nbits = 5};
		int error;

		blob.bytes[at] ^= 0x10;
		error = blob_read(&blob, NULL, &out);
		assert_int_not_equal(error, SCD_OK);
		assert_int_equal(blob_read(&blob, &ways[i % NROWS(ways)],
					   &out),
				 error);
		assert_true(out.bits == NULL && out.nbits == 5);
		blob.bytes[at] ^= 0x10;
	}
	free(blob.bytes);
	scd_bloom_free(&in);
}

/* Threads that do not do all that they should, whenever that is. */
static void failing_threads_fail(void **state)
{
	const struct scd_digest_info ids = sample_ids(3, 0);
	const struct scd_threads fails = {.run = lent_run_fails};
	const struct scd_threads forgets = {.run = lent_run_forgets};
	struct scd_bloom in = sample_bloom(7, shapes[1].nbits, shapes[1].nones);
	struct blob blob = blob_make(&in, NULL);
	struct scd_bloom out = {.nbits = 5};
	struct scd_work work = {0};
	uint8_t *bytes = NULL;
	size_t len = 0;

	(void)state;
	for (int i = 0; i < 2; i++) {
		const int error = i ? SCD_EINVAL : SCD_ENOMEM;

		work.threads = i ? &forgets : &fails;
		assert_int_equal(blob_read(&blob, work.threads, &out), error);
		assert_int_equal(scd_digest_encode_with(&in, &ids, &work,
							&bytes, &len),
				 error);
		assert_true(bytes == NULL && len == 0 && out.bits == NULL);
	}
	/* Where there is one task only, nobody is asked. */
	scd_bloom_free(&in);
	free(blob.bytes);
	in = sample_bloom(8, 400000, 50000);
	work.threads = &fails;
	assert_int_equal(scd_digest_encode_with(&in, &ids, &work, &blob.bytes,
						&blob.len),
			 SCD_OK);
	assert_int_equal(blob_read(&blob, &fails, &out), SCD_OK);
	sample_same(&in, &out);
	scd_bloom_free(&out);
	scd_bloom_free(&in);
	free(blob.bytes);
}

/* Every allocation that fails, with threads at work. */
static void no_memory_leaves_nothing(void **state)
{
	const struct scd_digest_info ids = sample_ids(3, 0);
	const struct scd_work work = {.threads = &ways[1]};
	struct scd_bloom in = sample_bloom(7, shapes[1].nbits, shapes[1].nones);
	struct blob blob = blob_make(&in, NULL), made = {0};
	struct scd_bloom out = {.nbits = 5};
	unsigned n = 0;
	int error;

	(void)state;
	do {
		alloc_fail_at(++n);
		error = scd_digest_decode_with(blob.bytes, blob.len, &any,
					       &work, NULL, &out);
		assert_int_equal(error, alloc_failed() ? SCD_ENOMEM : SCD_OK);
	} while (error);
	sample_same(&in, &out);
	scd_bloom_free(&out);
	n = 0;
	do {
		alloc_fail_at(++n);
		error = scd_digest_encode_with(&in, &ids, &work, &made.bytes,
					       &made.len);
		/* A result that is not made smaller is good, too. */
		assert_true(error == SCD_OK || error == SCD_ENOMEM);
	} while (error);
	alloc_fail_at(0);
	assert_int_equal(made.len, blob.len);
	assert_memory_equal(made.bytes, blob.bytes, blob.len);
	free(made.bytes);
	free(blob.bytes);
	scd_bloom_free(&in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_task_is_followed_in_order),
		cmocka_unit_test(failed_tasks_end_all),
		cmocka_unit_test(chunks_are_the_same),
		cmocka_unit_test(damaged_chunks_are_refused),
		cmocka_unit_test(digests_are_the_same),
		cmocka_unit_test(damaged_digests_are_refused),
		cmocka_unit_test(failing_threads_fail),
		cmocka_unit_test(no_memory_leaves_nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
