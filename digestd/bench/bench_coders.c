/*
 * Section "coders" of digestbench coding: one array after the other, by all
 * coders. Speeds are in bytes of the array, whatever it is coded to.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/bench/bench.h"
#include "digestd/bench/bench_coder.h"

static const struct bench_setup setups[] = {
	{140, 2, 0}, {460, 1, 0},  {80, 6, 0},   {320, 3, 0},
	{120, 3, 1}, {120, 3, 10}, {120, 3, 50}, {320, 3, 10},
};

/* What the speed of others is divided by. */
static const struct {
	const char *name;
	int level;
} yardstick = {"zstd", 1};

/* A coder at work. */
struct contest {
	struct bench_coder coder;
	const struct bench_array *array;
	uint8_t *code; /* room for all coders, one after the other */
	size_t room;
	size_t len;
	uint8_t *back;
	double encode_s[BENCH_MAX_REPETITIONS];
	double decode_s[BENCH_MAX_REPETITIONS];
	double encode_mbs, decode_mbs; /* of the medians */
};

/* An array and all its coders. */
struct field {
	const struct bench *bench;
	const struct bench_setup *setup;
	uint64_t nkeys;
	struct bench_array array;
	struct contest contests[BENCH_MAX_CODERS];
	size_t ncoders;
};

static int bench_coders_encode(void *arg)
{
	struct contest *c = arg;
	struct scd__writer w = scd__writer(c->code, c->room);
	int error = c->coder.encode(&c->coder, c->array, &w);

	c->len = scd__writer_len(&w);
	return error;
}

static int bench_coders_decode(void *arg)
{
	struct contest *c = arg;
	struct scd__reader r = scd__reader(c->code, c->len);

	return c->coder.decode(&c->coder, &r, c->array, c->back);
}

static int bench_coders_run_once(struct contest *c, unsigned repetition)
{
	int error =
		bench_time(bench_coders_encode, c, &c->encode_s[repetition]);

	if (!error) {
		memset(c->back, 0xff, c->array->bytes);
		error = bench_time(bench_coders_decode, c,
				   &c->decode_s[repetition]);
	}
	if (!error && memcmp(c->back, c->array->bits, c->array->bytes))
		error = SCD_ECHECKSUM;
	if (error)
		fprintf(stderr, "digestbench: coding: %s fails\n",
			c->coder.name);
	return error;
}

static double bench_coders_mbs(const struct contest *c, double *s,
			       unsigned repetitions)
{
	return (double)c->array->bytes / 1e6 / bench_median(s, repetitions);
}

/* In turns, so that what else the machine does meets all alike. */
static int bench_coders_run(struct field *f)
{
	const unsigned n = f->bench->repetitions;
	int error = SCD_OK;

	for (unsigned r = 0; r < n; r++) {
		for (size_t i = 0; !error && i < f->ncoders; i++) {
			bench_say(f->bench, f->contests[i].coder.name,
				  f->nkeys);
			error = bench_coders_run_once(&f->contests[i], r);
		}
	}
	for (size_t i = 0; i < f->ncoders; i++) {
		struct contest *c = &f->contests[i];

		c->encode_mbs = bench_coders_mbs(c, c->encode_s, n);
		c->decode_mbs = bench_coders_mbs(c, c->decode_s, n);
	}
	bench_clear(f->bench);
	return error;
}

static const struct contest *bench_coders_find_yardstick(const struct field *f)
{
	size_t i = 0;

	while (f->contests[i].coder.level != yardstick.level ||
	       strcmp(f->contests[i].coder.name, yardstick.name))
		i++;
	return &f->contests[i];
}

static void bench_coders_print_title(const struct field *f)
{
	const struct bench_setup *s = f->setup;

	if (s->churn_pm)
		printf("Delta, %g %% replaced", s->churn_pm / 10.);
	else
		printf("Full digest");
	printf(", m/n %g, k %u, %" PRIu64 " objects: %zu bytes, entropy %.1f\n",
	       s->m10 / 10., s->nhash, f->nkeys, f->array.bytes,
	       scd__coder_entropy(&f->array.shape));
}

static void bench_coders_print(const struct field *f)
{
	const struct contest *yard = bench_coders_find_yardstick(f);
	const double entropy = scd__coder_entropy(&f->array.shape);

	bench_coders_print_title(f);
	printf("%-17s %9s %8s %9s %9s %8s %8s\n", "", "bytes", "/entropy",
	       "enc MB/s", "dec MB/s", "enc/zstd", "dec/zstd");
	for (size_t i = 0; i < f->ncoders; i++) {
		const struct contest *c = &f->contests[i];
		char name[32];

		if (c->coder.engine)
			snprintf(name, sizeof(name), "%s %s", c->coder.name,
				 c->coder.engine);
		else if (c->coder.level)
			snprintf(name, sizeof(name), "%s -%d", c->coder.name,
				 c->coder.level);
		else
			snprintf(name, sizeof(name), "%s", c->coder.name);
		printf("%-17s %9zu %8.4f %9.1f %9.1f %8.2f %8.2f\n", name,
		       c->len, (double)c->len / entropy, c->encode_mbs,
		       c->decode_mbs, c->encode_mbs / yard->encode_mbs,
		       c->decode_mbs / yard->decode_mbs);
	}
	putchar('\n');
	fflush(stdout);
}

static json_t *bench_coders_coder_json(const struct field *f,
				       const struct contest *c)
{
	const struct contest *yard = bench_coders_find_yardstick(f);

	return json_pack(
		"{s:s, s:s?, s:i, s:I, s:f, s:f, s:f, s:f, s:f}", "name",
		c->coder.name, "engine", c->coder.engine, "level",
		c->coder.level, "bytes", (json_int_t)c->len, "ratio",
		(double)c->len / scd__coder_entropy(&f->array.shape),
		"encode_mbs", c->encode_mbs, "decode_mbs", c->decode_mbs,
		"encode_to_zstd", c->encode_mbs / yard->encode_mbs,
		"decode_to_zstd", c->decode_mbs / yard->decode_mbs);
}

static void bench_coders_list(const struct field *f)
{
	json_t *coders = json_array();

	for (size_t i = 0; i < f->ncoders; i++)
		json_array_append_new(
			coders, bench_coders_coder_json(f, &f->contests[i]));
	json_array_append_new(
		f->bench->list,
		json_pack("{s:I, s:f, s:i, s:f, s:I, s:f, s:o}", "objects",
			  (json_int_t)f->nkeys, "m", f->setup->m10 / 10., "k",
			  (int)f->setup->nhash, "churn",
			  f->setup->churn_pm / 1000., "array_bytes",
			  (json_int_t)f->array.bytes, "entropy",
			  scd__coder_entropy(&f->array.shape), "coders",
			  coders));
}

/* The array to be coded: a filter, or what differs in the next one. */
static int bench_coders_make_bits(const struct field *f, struct scd_bloom *out)
{
	const uint64_t replaced = bench_replaced(f->setup, f->nkeys);
	struct scd_bloom next;
	int error = bench_filter(f->bench, f->setup, f->nkeys, 0, out);

	if (error || !replaced)
		return error;
	error = bench_filter(f->bench, f->setup, f->nkeys, replaced, &next);
	if (error) {
		scd_bloom_free(out);
		return error;
	}
	error = scd_bloom_xor(out, &next);
	scd_bloom_free(&next);
	return error;
}

static int bench_coders_open_coders(struct field *f, uint8_t *code, size_t room)
{
	struct bench_coder coders[BENCH_MAX_CODERS];
	struct scd__writer w = scd__writer(code, room);
	int error = scd__coder_encode(&f->array.shape, f->array.bits, &w,
				      NULL, &f->array.coding);

	if (error)
		return error;
	f->ncoders = bench_coders_for(&f->array, coders);
	for (size_t i = 0; i < f->ncoders; i++) {
		struct contest *c = &f->contests[i];

		*c = (struct contest){.coder = coders[i],
				      .array = &f->array,
				      .code = code,
				      .room = room,
				      .back = code + room};
		if (c->coder.open && !error)
			error = c->coder.open(&c->coder);
	}
	return error;
}

static void bench_coders_close_coders(struct field *f)
{
	for (size_t i = 0; i < f->ncoders; i++) {
		if (f->contests[i].coder.close)
			f->contests[i].coder.close(&f->contests[i].coder);
	}
}

static int bench_coders_run_field(struct field *f)
{
	/* more than any coder takes for what it cannot compress */
	const size_t room = f->array.bytes + f->array.bytes / 64 + 4096;
	uint8_t *buffers = malloc(room + f->array.bytes);
	int error = buffers ? bench_coders_open_coders(f, buffers, room)
			    : SCD_ENOMEM;

	if (!error)
		error = bench_coders_run(f);
	bench_coders_close_coders(f);
	free(buffers);
	if (error)
		return error;
	if (f->bench->list)
		bench_coders_list(f);
	else
		bench_coders_print(f);
	return SCD_OK;
}

static int bench_coders_run_setup(const struct bench *b,
				  const struct bench_setup *setup,
				  uint64_t nkeys)
{
	struct field *f = calloc(1, sizeof(*f));
	struct scd_bloom bits;
	int error;

	if (!f)
		return SCD_ENOMEM;
	f->bench = b;
	f->setup = setup;
	f->nkeys = nkeys;
	bench_say(b, "filter", nkeys);
	error = bench_coders_make_bits(f, &bits);
	if (!error) {
		f->array.shape.nbits = bits.nbits;
		f->array.shape.nones = scd_bloom_ones(&bits);
		f->array.bits = bits.bits;
		f->array.bytes = scd_bloom_bytes(&bits);
		error = bench_coders_run_field(f);
		scd_bloom_free(&bits);
	}
	free(f);
	return error;
}

int bench_coders(const struct bench *b)
{
	int error = SCD_OK;

	for (size_t i = 0; i < b->nsizes; i++) {
		for (size_t j = 0;
		     !error && j < sizeof(setups) / sizeof(setups[0]); j++)
			error = bench_coders_run_setup(b, &setups[j],
						       b->nkeys[i]);
	}
	return error;
}
