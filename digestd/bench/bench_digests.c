/*
 * Section "digests" of digestbench coding: what a node does, from URLs to a
 * sibling's answer, each step as a whole, with its checks and its memory.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/delta.h"
#include "digestd/bench/bench.h"
#include "digestd/ctl/url_key.h"

/* What the format allows: nothing that is made here is refused. */
static const struct scd_limits any = {
	.max_bits = SCD_DIGEST_MAX_BITS,
	.max_hash = SCD_DIGEST_MAX_HASH,
	.max_fp_ppm = 1000000,
};

enum {
	MAX_URLS = 200000, /* that are hashed in a repetition */
	URLS_AT_ONCE = 64,
	MAX_LOOKUPS = 1 << 20,
	INSTANCE = 1,
};

static const struct bench_setup setups[] = {
	{140, 2, 10},
	{460, 1, 10},
	{80, 6, 10},
	{320, 3, 10},
};

/* A digest, or a delta. */
struct blob {
	uint8_t *bytes;
	size_t len;
};

struct node {
	uint64_t nkeys;
	size_t nurls, nlookups;
	struct scd_key *keys;      /* nkeys that are in it, nlookups others */
	struct scd_bloom scratch;  /* what is filled */
	struct scd_bloom old, new; /* two generations */
	struct blob full, xor, conditional;
};

static int bench_digests_add_keys(void *arg)
{
	struct node *n = arg;

	scd_bloom_clear(&n->scratch);
	scd_bloom_add_many(&n->scratch, n->keys, (size_t)n->nkeys);
	return SCD_OK;
}

/* Eight hexadecimal digits. */
static void bench_digests_put_number(char *at, uint32_t number)
{
	for (int i = 7; i >= 0; i--, number >>= 4)
		at[i] = "0123456789abcdef"[number & 15];
}

static int bench_digests_add_urls(void *arg)
{
	static const uint8_t secret[SCD_SECRET_BYTES] = {1, 2, 3};
	const struct url_key how = {.secret = secret};
	char url[] =
		"http://www.example.com/pictures/2026-11/########/large.jpg";
	char *const number = strchr(url, '#');
	struct scd_key keys[URLS_AT_ONCE];
	struct node *n = arg;
	size_t nkeys = 0;

	for (uint32_t i = 0; i < n->nurls; i++) {
		int error;

		bench_digests_put_number(number, i * UINT32_C(2654435761));
		error = url_key(&how, url, sizeof(url) - 1, &keys[nkeys++]);
		if (error)
			return error;
		if (nkeys < URLS_AT_ONCE && i + 1 < n->nurls)
			continue;
		scd_bloom_add_many(&n->scratch, keys, nkeys);
		nkeys = 0;
	}
	return SCD_OK;
}

static size_t bench_digests_look_up(const struct node *n,
				    const struct scd_key *keys)
{
	size_t found = 0;

	for (size_t i = 0; i < n->nlookups; i++)
		found += scd_bloom_has(&n->old, &keys[i]);
	return found;
}

static int bench_digests_look_up_present(void *arg)
{
	const struct node *n = arg;

	return bench_digests_look_up(n, n->keys) == n->nlookups ? SCD_OK
								: SCD_ECHECKSUM;
}

static int bench_digests_look_up_absent(void *arg)
{
	const struct node *n = arg;

	return bench_digests_look_up(n, n->keys + n->nkeys) < n->nlookups
		       ? SCD_OK
		       : SCD_ECHECKSUM;
}

static struct scd_digest_info bench_digests_ids(const struct node *n)
{
	return (struct scd_digest_info){
		.instance = INSTANCE, .generation = 1, .nkeys = n->nkeys};
}

static int bench_digests_encode_full(void *arg)
{
	struct node *n = arg;
	struct scd_digest_info info = bench_digests_ids(n);

	free(n->full.bytes);
	n->full.bytes = NULL;
	return scd_digest_encode(&n->old, &info, &n->full.bytes, &n->full.len);
}

static int bench_digests_encode_xor(void *arg)
{
	struct node *n = arg;
	struct scd_digest_info info = bench_digests_ids(n);

	free(n->xor.bytes);
	n->xor.bytes = NULL;
	return scd_delta_encode(&n->old, &n->new, &info, &n->xor.bytes,
				&n->xor.len);
}

static int bench_digests_encode_conditional(void *arg)
{
	struct node *n = arg;
	struct scd_digest_info info = bench_digests_ids(n);

	free(n->conditional.bytes);
	n->conditional.bytes = NULL;
	return scd_delta_encode_conditional(&n->old, &n->new, &info,
					    &n->conditional.bytes,
					    &n->conditional.len);
}

static int bench_digests_decode_full(void *arg)
{
	struct node *n = arg;
	struct scd_bloom made;
	int error = scd_digest_decode(n->full.bytes, n->full.len,
				      &any, NULL, &made);

	if (error)
		return error;
	scd_bloom_free(&made);
	return SCD_OK;
}

static int bench_digests_apply(const struct node *n, const struct blob *delta)
{
	const struct scd_base base = {.bloom = &n->old, .instance = INSTANCE};
	struct scd_bloom made;
	int error = scd_delta_apply(delta->bytes, delta->len,
				    &any, &base, NULL, &made);

	if (error)
		return error;
	scd_bloom_free(&made);
	return SCD_OK;
}

static int bench_digests_apply_xor(void *arg)
{
	struct node *n = arg;

	return bench_digests_apply(n, &n->xor);
}

static int bench_digests_apply_conditional(void *arg)
{
	struct node *n = arg;

	return bench_digests_apply(n, &n->conditional);
}

static double bench_digests_keys_a_us(const struct node *n, double s)
{
	return (double)n->nkeys / s / 1e6;
}

static double bench_digests_urls_a_us(const struct node *n, double s)
{
	return (double)n->nurls / s / 1e6;
}

static double bench_digests_ns_a_lookup(const struct node *n, double s)
{
	return 1e9 * s / (double)n->nlookups;
}

static double bench_digests_gb_a_s(const struct node *n, double s)
{
	return (double)scd_bloom_bytes(&n->old) / s / 1e9;
}

static double bench_digests_ms(const struct node *n, double s)
{
	(void)n;
	return 1e3 * s;
}

/* The steps, in the order in which each has what it needs. */
static const struct step {
	const char *name; /* in JSON */
	const char *head[2];
	int (*work)(void *node);
	double (*figure)(const struct node *n, double s);
} steps[] = {
	{"keys_per_us",
	 {"keys", "M/s"},
	 bench_digests_add_keys,
	 bench_digests_keys_a_us},
	{"urls_per_us",
	 {"URLs", "M/s"},
	 bench_digests_add_urls,
	 bench_digests_urls_a_us},
	{"hit_ns",
	 {"hit", "ns"},
	 bench_digests_look_up_present,
	 bench_digests_ns_a_lookup},
	{"miss_ns",
	 {"miss", "ns"},
	 bench_digests_look_up_absent,
	 bench_digests_ns_a_lookup},
	{"encode_gbs",
	 {"enc", "GB/s"},
	 bench_digests_encode_full,
	 bench_digests_gb_a_s},
	{"decode_gbs",
	 {"dec", "GB/s"},
	 bench_digests_decode_full,
	 bench_digests_gb_a_s},
	{"xor_encode_ms",
	 {"XOR", "ms"},
	 bench_digests_encode_xor,
	 bench_digests_ms},
	{"xor_apply_ms",
	 {"apply", "ms"},
	 bench_digests_apply_xor,
	 bench_digests_ms},
	{"conditional_encode_ms",
	 {"cond.", "ms"},
	 bench_digests_encode_conditional,
	 bench_digests_ms},
	{"conditional_apply_ms",
	 {"apply", "ms"},
	 bench_digests_apply_conditional,
	 bench_digests_ms},
};

enum { NSTEPS = sizeof(steps) / sizeof(steps[0]) };

static int bench_digests_make_keys(const struct bench *b, struct node *n)
{
	const uint64_t others = 2 * n->nkeys; /* beyond the new generation */
	const size_t total = (size_t)n->nkeys + n->nlookups;

	n->keys = malloc(total * sizeof(*n->keys));
	if (!n->keys)
		return SCD_ENOMEM;
	for (size_t i = 0; i < total; i++)
		n->keys[i] =
			bench_key(b, i < n->nkeys ? i : others + i - n->nkeys);
	return SCD_OK;
}

static int bench_digests_make_node(const struct bench *b,
				   const struct bench_setup *setup,
				   struct node *n)
{
	int error = bench_digests_make_keys(b, n);

	if (!error)
		error = bench_filter(b, setup, n->nkeys, 0, &n->old);
	if (!error)
		error = bench_filter(b, setup, n->nkeys,
				     bench_replaced(setup, n->nkeys), &n->new);
	if (!error)
		error = scd_bloom_init(&n->scratch, n->old.nbits, n->old.nhash);
	return error;
}

static void bench_digests_free_node(struct node *n)
{
	scd_bloom_free(&n->scratch);
	scd_bloom_free(&n->old);
	scd_bloom_free(&n->new);
	free(n->keys);
	free(n->full.bytes);
	free(n->xor.bytes);
	free(n->conditional.bytes);
}

static int bench_digests_measure(const struct bench *b, struct node *n,
				 double figures[NSTEPS])
{
	double s[NSTEPS][BENCH_MAX_REPETITIONS];
	int error = SCD_OK;

	for (unsigned r = 0; r < b->repetitions; r++) {
		for (size_t i = 0; !error && i < NSTEPS; i++) {
			bench_say(b, steps[i].name, n->nkeys);
			error = bench_time(steps[i].work, n, &s[i][r]);
		}
	}
	for (size_t i = 0; !error && i < NSTEPS; i++)
		figures[i] =
			steps[i].figure(n, bench_median(s[i], b->repetitions));
	bench_clear(b);
	return error;
}

/* Three digits of it. */
static void bench_digests_print_figure(double x)
{
	printf(" %5.*f", x < 10 ? 2 : x < 100 ? 1 : 0, x);
}

static void bench_digests_print(const struct bench_setup *setup, uint64_t nkeys,
				const double figures[NSTEPS])
{
	printf("%9" PRIu64 " %4g %2u", nkeys, setup->m10 / 10., setup->nhash);
	for (size_t i = 0; i < NSTEPS; i++)
		bench_digests_print_figure(figures[i]);
	putchar('\n');
	fflush(stdout);
}

static void bench_digests_list(const struct bench *b,
			       const struct bench_setup *setup, uint64_t nkeys,
			       const double figures[NSTEPS])
{
	json_t *row =
		json_pack("{s:I, s:f, s:i, s:f}", "objects", (json_int_t)nkeys,
			  "m", setup->m10 / 10., "k", (int)setup->nhash,
			  "churn", setup->churn_pm / 1000.);

	for (size_t i = 0; i < NSTEPS; i++)
		json_object_set_new(row, steps[i].name, json_real(figures[i]));
	json_array_append_new(b->list, row);
}

static int bench_digests_run_setup(const struct bench *b,
				   const struct bench_setup *setup,
				   uint64_t nkeys)
{
	struct node n = {.nkeys = nkeys};
	double figures[NSTEPS];
	int error;

	n.nurls = nkeys < MAX_URLS ? (size_t)nkeys : MAX_URLS;
	n.nlookups = nkeys < MAX_LOOKUPS ? (size_t)nkeys : MAX_LOOKUPS;
	bench_say(b, "filters", nkeys);
	error = bench_digests_make_node(b, setup, &n);
	if (!error)
		error = bench_digests_measure(b, &n, figures);
	bench_digests_free_node(&n);
	if (error)
		return error;
	if (b->list)
		bench_digests_list(b, setup, nkeys, figures);
	else
		bench_digests_print(setup, nkeys, figures);
	return SCD_OK;
}

static void bench_digests_print_heads(void)
{
	puts("Filling a filter, asking it; digests; deltas, 1 % replaced");
	for (size_t line = 0; line < 2; line++) {
		printf("%9s %4s %2s", line ? "" : "objects", line ? "" : "m/n",
		       line ? "" : "k");
		for (size_t i = 0; i < NSTEPS; i++)
			printf(" %5s", steps[i].head[line]);
		putchar('\n');
	}
}

int bench_digests(const struct bench *b)
{
	int error = SCD_OK;

	if (!b->list)
		bench_digests_print_heads();
	for (size_t i = 0; i < b->nsizes; i++) {
		for (size_t j = 0;
		     !error && j < sizeof(setups) / sizeof(setups[0]); j++)
			error = bench_digests_run_setup(b, &setups[j],
							b->nkeys[i]);
	}
	if (!b->list)
		putchar('\n');
	return error;
}
