/*
 * Any bytes as a payload in chunks, and any array coded so and damaged: without
 * threads, and with tasks in other orders, the same comes out. The chunks are
 * tiny, in a coding of the tests; fuzz_dense and fuzz_sparse have what is in
 * real ones.
 */
#include <string.h>

#include "codec/coder/tasks.h"
#include "tests/codec/toy_chunks.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_BYTES = 80 * TOY_CHUNK, NORDERS = 3 };

/* Orders of tasks: as they come; the last one first; odd ones first. */
static int chunks_run(void *pool, void (*task)(void *arg, size_t i), void *arg,
		      size_t ntasks)
{
	const unsigned order = *(const unsigned *)pool;

	fuzz_must(ntasks > 1 && ntasks <= SCD_MAX_TASKS);
	for (size_t i = 0; order < 2 && i < ntasks; i++)
		task(arg, order ? ntasks - 1 - i : i);
	for (size_t i = 1; order == 2 && i < ntasks; i += 2)
		task(arg, i);
	for (size_t i = 0; order == 2 && i < ntasks; i += 2)
		task(arg, i);
	return 0;
}

static void chunks_decode(const struct scd__shape *shape, const uint8_t *code,
			  size_t code_len)
{
	static uint8_t alone[MAX_BYTES], bits[MAX_BYTES];
	const size_t len = (size_t)scd__array_bytes(shape->nbits);
	struct scd__reader r = scd__reader(code, code_len);
	const int error = scd__chunks_decode(&toy, shape, &r, alone, NULL);

	for (unsigned i = 0; i < NORDERS; i++) {
		const struct scd_threads threads = {.run = chunks_run,
						    .pool = &i};
		struct scd__checksum sum, again;
		const struct scd__coder_work work = {.threads = &threads,
						     .sum = &sum};

		r = scd__reader(code, code_len);
		scd__checksum_begin(&sum, bits, 0);
		fuzz_must(scd__chunks_decode(&toy, shape, &r, bits, &work) ==
			  error);
		if (error)
			continue;
		fuzz_must(memcmp(alone, bits, len) == 0);
		scd__checksum_begin(&again, bits, 0);
		fuzz_must(scd__checksum_finish(&sum, bits + len) ==
			  scd__checksum_finish(&again, bits + len));
		fuzz_must(sum.ones == again.ones);
	}
}

/* Code an array in so much room; the bytes, or none, are in code. */
static size_t chunks_encode(const struct scd__shape *shape, const uint8_t *bits,
			    size_t cap, uint8_t *code)
{
	static uint8_t again[4 * MAX_BYTES];
	struct scd__writer w = scd__writer(code, cap);
	const int error = scd__chunks_encode(&toy, TOY_LOG, shape, bits, &w,
					     NULL);
	const size_t len = error ? 0 : scd__writer_len(&w);

	for (unsigned i = 0; i < NORDERS; i++) {
		const struct scd_threads threads = {.run = chunks_run,
						    .pool = &i};
		const struct scd__coder_work work = {.threads = &threads};

		w = scd__writer(again, cap);
		fuzz_must(scd__chunks_encode(&toy, TOY_LOG, shape, bits, &w,
					     &work) == error);
		fuzz_must(error || scd__writer_len(&w) == len);
		fuzz_must(memcmp(code, again, len) == 0);
	}
	return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t bits[MAX_BYTES], code[4 * MAX_BYTES];
	struct fuzz_bytes b = {data, len};
	const bool coded = fuzz_take(&b) % 2;
	const struct scd__shape shape = {
		1 + fuzz_take_u16(&b) % (8 * MAX_BYTES), 1};
	const size_t nbytes = (size_t)scd__array_bytes(shape.nbits);
	const unsigned damage = coded ? fuzz_take(&b) : 0;
	uint8_t *exact;
	size_t n, cap;

	if (!coded) {
		chunks_decode(&shape, b.at, b.left);
		return 0;
	}
	cap = fuzz_take_u16(&b) % sizeof(code);
	for (size_t i = 0; i < nbytes; i++)
		bits[i] = b.left ? b.at[i % b.left] : 0;
	n = chunks_encode(&shape, bits, cap, code);
	if (n == 0)
		return 0;
	code[damage % n] ^= (uint8_t)(damage >> 4);
	/* Of its own size, so that a byte too far is found. */
	exact = memcpy(fuzz_allocate(n), code, n);
	chunks_decode(&shape, exact, n);
	free(exact);
	return 0;
}
