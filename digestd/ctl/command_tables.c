/*
 * digestctl tables: what "Compressed Bloom Filters" prints, from our formulas,
 * and its experiment with our coder.
 */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/bloom.h"
#include "codec/digest.h"
#include "codec/tune.h"
#include "digestd/ctl/arguments.h"
#include "digestd/ctl/command.h"
#include "digestd/ctl/curves.h"
#include "digestd/ctl/kind_table.h"
#include "digestd/ctl/random.h"

const char command_tables_help[] =
	"usage: digestctl tables [OPTIONS]\n"
	"Prints the tables of Mitzenmacher, \"Compressed Bloom Filters\", as\n"
	"they come out here and as they stand there, and its experiment.\n"
	"  -t, --trials N  filters coded in the experiment (1000; 0: none)\n"
	"  -K, --kinds     instead: kinds of digests, measured\n"
	"  -n, --keys N    of --kinds: how many keys (1000000)\n"
	"  -s, --seed N    of the keys (1)\n"
	"  -c, --csv CURVE instead: a curve for plotting: wire, equal, cost,\n"
	"                  churn\n";

static const struct option options[] = {
	{ "trials", required_argument, NULL, 't' },
	{ "kinds", no_argument, NULL, 'K' },
	{ "keys", required_argument, NULL, 'n' },
	{ "seed", required_argument, NULL, 's' },
	{ "csv", required_argument, NULL, 'c' },
	{ 0 },
};

/* A line of a table, with what the paper prints. */
struct row {
	double m; /* bits an object */
	unsigned k;
	double wire; /* bits an object, coded */
	double fp;
};

struct table {
	const char *title;
	double churn; /* 0: full digests */
	struct row rows[3];
};

static const struct table tables[] = {
	{ "1: at most 8 bits an object", 0,
	  { { 8, 6, 7.982, .02158 }, { 14, 2, 7.9231, .01772 },
	    { 92, 1, 7.9231, .01081 } } },
	{ "2: at most 16 bits an object", 0,
	  { { 16, 11, 15.9996, .000459 }, { 28, 4, 15.8463, .000314 },
	    { 48, 3, 15.8290, .000222 } } },
	{ "3: false positives of about 0.0216", 0,
	  { { 8, 6, 7.982, .02158 }, { 12.6, 2, 7.5815, .0215 },
	    { 46, 1, 6.8911, .0215 } } },
	{ "4: false positives of about 0.00046", 0,
	  { { 16, 11, 15.9996, .000459 }, { 37.5, 3, 14.6663, .000454 },
	    { 93, 2, 13.8147, .000453 } } },
	{ "5: deltas, 5 % of the objects replaced", .05,
	  { { 8, 5, 1.6713, .02168 }, { 12, 3, 1.6532, .01082 },
	    { 32, 2, 1.6607, .00367 } } },
	{ "6: deltas, 1 % of the objects replaced", .01,
	  { { 8, 5, .4624, .02168 }, { 12, 3, .4409, .01082 },
	    { 26, 2, .4035, .00548 } } },
};

static void print_table(const struct table *t)
{
	printf("Table %s\n%8s %3s %12s %10s %12s %10s\n", t->title, "m/n", "k",
	       "bits/object", "(paper)", "f", "(paper)");
	for (size_t i = 0; i < sizeof(t->rows) / sizeof(t->rows[0]); i++) {
		const struct row *r = &t->rows[i];
		double wire = t->churn > 0 ? scd_tune_delta_bits(1, r->m, r->k,
								 t->churn) :
					     scd_tune_full_bits(1, r->m, r->k);

		printf("%8g %3u %12.4f %10.4f %12.6f %10.6f\n", r->m, r->k,
		       wire, r->wire, scd_tune_fp(1, r->m, r->k), r->fp);
	}
	putchar('\n');
}

/* The experiment: 10,000 objects, 140,000 bits, 2 hash functions. */
enum { KEYS = 10000, BITS = 140000, HASHES = 2 };

/* The coded size of one random filter [bytes], without the header. */
static int coded_size(struct scd_bloom *b, uint64_t *seed, double *size)
{
	struct scd_digest_info ids = { .instance = 1, .nkeys = KEYS };
	uint8_t *bytes;
	size_t len;
	int error;

	scd_bloom_clear(b);
	for (int i = 0; i < KEYS; i++) {
		struct scd_key key = { random_next(seed), random_next(seed) };

		scd_bloom_add(b, &key);
	}
	error = scd_digest_encode(b, &ids, &bytes, &len);
	if (error)
		return error;
	free(bytes);
	*size = (double)(len - SCD_DIGEST_HEADER_BYTES);
	return SCD_OK;
}

static int experiment(uint64_t trials, uint64_t seed)
{
	double sum = 0, squares = 0, max = 0, size = 0;
	struct scd_bloom b;
	int error = scd_bloom_init(&b, BITS, HASHES);
	double n = (double)trials, mean;

	if (error)
		return error;
	for (uint64_t i = 0; i < trials && !error; i++) {
		error = coded_size(&b, &seed, &size);
		sum += size;
		squares += size * size;
		max = fmax(max, size);
	}
	scd_bloom_free(&b);
	mean = sum / n;
	printf("Experiment: %d objects, %d bits, %d hash functions, %" PRIu64
	       " trials\n", KEYS, BITS, HASHES, trials);
	printf("theory %.1f bytes; coded: mean %.1f, sd %.2f, max %.0f\n",
	       scd_tune_full_bits(KEYS, BITS, HASHES) / 8, mean,
	       sqrt(fmax(0, squares / n - mean * mean)), max);
	return error;
}

int command_tables(int argc, char **argv)
{
	uint64_t trials = 1000, seed = 1, keys = 1000000;
	const char *curve = NULL;
	bool kinds = false;
	int c, error = SCD_OK;

	while ((c = getopt_long(argc, argv, "t:Kn:s:c:", options, NULL)) !=
	       -1) {
		if (c == '?' ||
		    (c == 't' && !arguments_number("--trials", optarg,
						   &trials)) ||
		    (c == 'n' && !arguments_number("--keys", optarg, &keys)) ||
		    (c == 's' && !arguments_number("--seed", optarg, &seed)))
			return CTL_USAGE;
		kinds = kinds || c == 'K';
		if (c == 'c')
			curve = optarg;
	}
	if (optind < argc || !keys || keys > KIND_TABLE_MAX_KEYS)
		return arguments_wrong("tables", command_tables_help);
	if (kinds)
		return kind_table_print(keys, seed);
	if (curve)
		return curves_print(curve);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		print_table(&tables[i]);
	if (trials)
		error = experiment(trials, seed);
	if (error)
		fprintf(stderr, "digestctl: tables: %s\n", scd_strerror(error));
	return error ? CTL_NO : CTL_OK;
}
