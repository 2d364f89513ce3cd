/*
 * Section "whole" of digestbench coding: whole digests, with header, checks and
 * memory, made and read by one thread and by several, beside zstd -1.
 *
 * zstd codes the array alone, into memory that it has used before. A digest is
 * read into new memory, or into that of the one before. Times are those of the
 * clock, as several threads share the work, so other work counts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/bench/bench.h"
#include "digestd/bench/bench_coder.h"
#include "digestd/tool/crew.h"

static const struct bench_setup setups[] = {
	{140, 2, 0},
	{460, 1, 0},
	{80, 6, 0},
	{320, 3, 0},
};

/* Who does the work: zstd, one thread, several. */
enum { BY_ZSTD, BY_ONE, BY_SEVERAL, NBY };

/* What is measured of each. */
enum { ENCODE, DECODE, DECODE_SPARE, NSTEPS };

static const struct scd_limits any = {
	.max_bits = SCD_DIGEST_MAX_BITS,
	.max_hash = SCD_DIGEST_MAX_HASH,
	.max_fp_ppm = 1000000,
};

struct whole {
	struct bench_array array;
	struct scd_bloom in, spare;
	struct bench_coder zstd;
	uint8_t *code, *back; /* zstd's */
	size_t code_cap, code_len;
	uint8_t *digest;
	size_t digest_len;
	struct scd_threads threads;
	struct scd_work work; /* of the step that is measured */
};

static int bench_whole_zstd_encode(void *arg)
{
	struct whole *w = arg;
	struct scd__writer out = scd__writer(w->code, w->code_cap);
	int error = w->zstd.encode(&w->zstd, &w->array, &out);

	w->code_len = scd__writer_len(&out);
	return error;
}

static int bench_whole_zstd_decode(void *arg)
{
	struct whole *w = arg;
	struct scd__reader in = scd__reader(w->code, w->code_len);

	return w->zstd.decode(&w->zstd, &in, &w->array, w->back);
}

static int bench_whole_encode(void *arg)
{
	const struct scd_digest_info ids = {.instance = 1, .generation = 1};
	struct whole *w = arg;

	free(w->digest);
	w->digest = NULL;
	return scd_digest_encode_with(&w->in, &ids, &w->work, &w->digest,
				      &w->digest_len);
}

static int bench_whole_decode(void *arg)
{
	struct whole *w = arg;
	struct scd_bloom made;
	int error = scd_digest_decode_with(w->digest, w->digest_len, &any,
					   &w->work, NULL, &made);

	if (error)
		return error;
	if (w->work.spare)
		w->spare = made;
	else
		scd_bloom_free(&made);
	return SCD_OK;
}

static int (*const steps[NBY][NSTEPS])(void *whole) = {
	[BY_ZSTD] = {bench_whole_zstd_encode, bench_whole_zstd_decode,
		     bench_whole_zstd_decode},
	[BY_ONE] = {bench_whole_encode, bench_whole_decode, bench_whole_decode},
	[BY_SEVERAL] = {bench_whole_encode, bench_whole_decode,
			bench_whole_decode},
};

static int bench_whole_open(const struct bench *b,
			    const struct bench_setup *setup, uint64_t nkeys,
			    unsigned *nthreads, struct whole *w)
{
	int error = bench_filter(b, setup, nkeys, 0, &w->in);

	if (error)
		return error;
	w->array.shape.nbits = w->in.nbits;
	w->array.bits = w->in.bits;
	w->array.bytes = scd_bloom_bytes(&w->in);
	w->code_cap = w->array.bytes + w->array.bytes / 64 + 1024;
	w->code = malloc(w->code_cap);
	w->back = malloc(w->array.bytes);
	w->zstd = bench_coder_zstd;
	w->zstd.level = 1;
	w->threads = (struct scd_threads){.run = crew_run, .pool = nthreads};
	if (!w->code || !w->back)
		return SCD_ENOMEM;
	return w->zstd.open(&w->zstd);
}

static void bench_whole_close(struct whole *w)
{
	if (w->zstd.encoder || w->zstd.decoder)
		w->zstd.close(&w->zstd);
	free(w->code);
	free(w->back);
	free(w->digest);
	scd_bloom_free(&w->in);
	scd_bloom_free(&w->spare);
}

static int bench_whole_measure(const struct bench *b, struct whole *w,
			       double s[NBY][NSTEPS])
{
	double all[NBY][NSTEPS][BENCH_MAX_REPETITIONS];
	int error = SCD_OK;

	for (unsigned r = 0; r < b->repetitions; r++) {
		for (unsigned i = 0; !error && i < NBY * NSTEPS; i++) {
			const unsigned by = i / NSTEPS, step = i % NSTEPS;

			w->work = (struct scd_work){
				.threads = by == BY_SEVERAL ? &w->threads
							    : NULL,
				.spare = step == DECODE_SPARE ? &w->spare
							      : NULL,
			};
			error = bench_time_clock(steps[by][step], w,
						 &all[by][step][r]);
		}
	}
	for (unsigned i = 0; !error && i < NBY * NSTEPS; i++)
		s[i / NSTEPS][i % NSTEPS] = bench_median(
			all[i / NSTEPS][i % NSTEPS], b->repetitions);
	return error;
}

static void bench_whole_print(const struct bench_setup *setup, uint64_t nkeys,
			      const unsigned threads[NBY],
			      double s[NBY][NSTEPS])
{
	for (unsigned by = 0; by < NBY; by++) {
		printf("%9" PRIu64 " %4g %2u  ", nkeys, setup->m10 / 10.,
		       setup->nhash);
		if (by == BY_ZSTD)
			printf("%-9s", "zstd -1");
		else
			printf("%u thread%-1s", threads[by],
			       threads[by] == 1 ? "" : "s");
		for (unsigned i = 0; i < NSTEPS; i++)
			printf(" %8.3f", 1e3 * s[by][i]);
		for (unsigned i = 0; i < NSTEPS; i++)
			printf(" %6.2f", s[BY_ZSTD][i] / s[by][i]);
		putchar('\n');
	}
	fflush(stdout);
}

static void bench_whole_list(const struct bench *b,
			     const struct bench_setup *setup, uint64_t nkeys,
			     const unsigned threads[NBY], double s[NBY][NSTEPS])
{
	for (unsigned by = 0; by < NBY; by++)
		json_array_append_new(
			b->list,
			json_pack("{s:I, s:f, s:i, s:s, s:i, s:f, s:f, s:f}",
				  "objects", (json_int_t)nkeys, "m",
				  setup->m10 / 10., "k", (int)setup->nhash,
				  "by", by == BY_ZSTD ? "zstd -1" : "scd",
				  "threads", (int)threads[by], "encode_ms",
				  1e3 * s[by][ENCODE], "decode_ms",
				  1e3 * s[by][DECODE], "decode_spare_ms",
				  1e3 * s[by][DECODE_SPARE]));
}

static int bench_whole_run_setup(const struct bench *b,
				 const struct bench_setup *setup,
				 uint64_t nkeys)
{
	unsigned threads[NBY] = {1, 1, b->nthreads};
	double s[NBY][NSTEPS];
	struct whole w = {0};
	int error;

	bench_say(b, "whole digests", nkeys);
	error = bench_whole_open(b, setup, nkeys, &threads[BY_SEVERAL], &w);
	if (!error)
		error = bench_whole_measure(b, &w, s);
	bench_whole_close(&w);
	bench_clear(b);
	if (error)
		return error;
	if (b->list)
		bench_whole_list(b, setup, nkeys, threads, s);
	else
		bench_whole_print(setup, nkeys, threads, s);
	return SCD_OK;
}

int bench_whole(const struct bench *b)
{
	int error = SCD_OK;

	if (!b->list)
		puts("Whole digests, made and read, by the clock\n"
		     "                              encode   decode    spare"
		     " encode decode  spare\n"
		     "  objects  m/n  k  by             ms       ms       ms"
		     "           / zstd -1");
	for (size_t i = 0; i < b->nsizes; i++) {
		for (size_t j = 0;
		     !error && j < sizeof(setups) / sizeof(setups[0]); j++)
			error = bench_whole_run_setup(b, &setups[j],
						      b->nkeys[i]);
	}
	if (!b->list)
		putchar('\n');
	return error;
}
