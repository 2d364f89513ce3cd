/*
 * Section "conditional" of digestbench coding: bytes of a delta as an XOR and
 * in the conditional form, by configuration and share replaced. Header
 * included.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/delta.h"
#include "digestd/bench/bench.h"

static const struct {
	unsigned m10, nhash;
} shapes[] = {
	{80, 5},  {80, 6},  {120, 3}, {126, 2}, {131, 2}, {140, 2},
	{160, 3}, {260, 2}, {320, 2}, {320, 3}, {460, 1}, {495, 1},
};

static const unsigned churns_pm[] = {1, 10, 50, 200};

enum { NCHURNS = sizeof(churns_pm) / sizeof(churns_pm[0]) };

struct sizes {
	size_t xor, conditional; /* bytes */
};

typedef int encode_fn(const struct scd_bloom *base,
		      const struct scd_bloom *next,
		      const struct scd_digest_info *ids, uint8_t **out,
		      size_t *out_len);

/* Bytes of the delta; it is released again. */
static int bench_conditional_size_of(encode_fn *encode,
				     const struct scd_bloom *base,
				     const struct scd_bloom *next, size_t *len)
{
	const struct scd_digest_info ids = {.instance = 1, .generation = 1};
	uint8_t *bytes;
	int error = encode(base, next, &ids, &bytes, len);

	if (!error)
		free(bytes);
	return error;
}

static int bench_conditional_measure(const struct bench *b,
				     const struct bench_setup *setup,
				     uint64_t nkeys, struct sizes *sizes)
{
	struct scd_bloom base, next;
	int error = bench_filter(b, setup, nkeys, 0, &base);

	if (error)
		return error;
	error = bench_filter(b, setup, nkeys, bench_replaced(setup, nkeys),
			     &next);
	if (error)
		goto out_base;
	error = bench_conditional_size_of(scd_delta_encode, &base, &next,
					  &sizes->xor);
	if (!error)
		error = bench_conditional_size_of(scd_delta_encode_conditional,
						  &base, &next,
						  &sizes->conditional);
	scd_bloom_free(&next);
out_base:
	scd_bloom_free(&base);
	return error;
}

static double bench_conditional_saving(const struct sizes *s)
{
	return 1 - (double)s->conditional / (double)s->xor;
}

static void bench_conditional_list(const struct bench *b,
				   const struct bench_setup *setup,
				   uint64_t nkeys, const struct sizes *sizes)
{
	json_array_append_new(
		b->list,
		json_pack("{s:I, s:f, s:i, s:f, s:I, s:I, s:f}", "objects",
			  (json_int_t)nkeys, "m", setup->m10 / 10., "k",
			  (int)setup->nhash, "churn", setup->churn_pm / 1000.,
			  "xor_bytes", (json_int_t)sizes->xor,
			  "conditional_bytes", (json_int_t)sizes->conditional,
			  "saving", bench_conditional_saving(sizes)));
}

static void bench_conditional_print_heads(uint64_t nkeys)
{
	printf("Deltas of %" PRIu64 " objects, XOR [bytes] and what the "
	       "conditional form saves, by\nshare replaced\n%4s %2s",
	       nkeys, "m/n", "k");
	for (size_t i = 0; i < NCHURNS; i++)
		printf(" %10g %%      ", churns_pm[i] / 10.);
	putchar('\n');
}

static int bench_conditional_run_shape(const struct bench *b, size_t shape,
				       uint64_t nkeys)
{
	int error = SCD_OK;

	if (!b->list)
		printf("%4g %2u", shapes[shape].m10 / 10., shapes[shape].nhash);
	for (size_t i = 0; i < NCHURNS; i++) {
		const struct bench_setup setup = {
			.m10 = shapes[shape].m10,
			.nhash = shapes[shape].nhash,
			.churn_pm = churns_pm[i],
		};
		struct sizes sizes;

		bench_say(b, "deltas", nkeys);
		error = bench_conditional_measure(b, &setup, nkeys, &sizes);
		bench_clear(b);
		if (error)
			return error;
		if (b->list)
			bench_conditional_list(b, &setup, nkeys, &sizes);
		else
			printf(" %10zu %5.1f %%", sizes.xor,
			       100 * bench_conditional_saving(&sizes));
	}
	if (!b->list)
		putchar('\n');
	fflush(stdout);
	return SCD_OK;
}

int bench_conditional(const struct bench *b)
{
	int error = SCD_OK;

	for (size_t i = 0; i < b->nsizes; i++) {
		if (!b->list)
			bench_conditional_print_heads(b->nkeys[i]);
		for (size_t j = 0;
		     !error && j < sizeof(shapes) / sizeof(shapes[0]); j++)
			error = bench_conditional_run_shape(b, j, b->nkeys[i]);
		if (!b->list)
			putchar('\n');
	}
	return error;
}
