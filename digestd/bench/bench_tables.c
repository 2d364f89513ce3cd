/*
 * digestbench tables: what "Compressed Bloom Filters" prints, from our
 * formulas, and its experiment with our coder.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "codec/bloom.h"
#include "codec/digest.h"
#include "codec/mix.h"
#include "codec/tune.h"
#include "digestd/bench/curves.h"
#include "digestd/bench/digestbench.h"
#include "digestd/bench/kind_table.h"
#include "digestd/ctl/json_report.h"
#include "digestd/tool/arguments.h"

const char bench_tables_help[] =
	"usage: digestbench tables [OPTIONS]\n"
	"Prints the tables of Mitzenmacher, \"Compressed Bloom Filters\", as\n"
	"they come out here and as they stand there, and its experiment.\n";

struct wishes {
	uint64_t trials, seed, keys;
	const char *curve;
	bool kinds, json;
};

#define AT(member) .at = offsetof(struct wishes, member)

static const struct tool_option tables_rows[] = {
	{ .name = "trials", .letter = 't', .kind = OPTION_COUNT, AT(trials),
	  .value = "N",
	  .help = "filters coded in the experiment (1000; 0: none)" },
	{ .name = "kinds", .letter = 'K', .kind = OPTION_FLAG, AT(kinds),
	  .help = "instead: kinds of digests, measured" },
	{ .name = "keys", .letter = 'n', .kind = OPTION_COUNT, AT(keys),
	  .least = 1, .most = KIND_TABLE_MAX_KEYS, .value = "N",
	  .help = "of --kinds: how many keys (1000000)" },
	{ .name = "seed", .letter = 's', .kind = OPTION_COUNT, AT(seed),
	  .value = "N", .help = "of the keys (1)" },
	{ .name = "csv", .letter = 'c', .kind = OPTION_TEXT, AT(curve),
	  .value = "CURVE",
	  .help = "instead: a curve for plotting: wire, equal,\n"
		  "cost, churn" },
	{ .name = "json", .letter = 'j', .kind = OPTION_FLAG, AT(json),
	  .help = "as JSON, not with --csv" },
	{ .name = NULL },
};

#undef AT

const struct tool_option *const bench_tables_options[] = {
	tables_rows, NULL
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

enum { NTABLES = sizeof(tables) / sizeof(tables[0]) };

static double bench_tables_wire_bits(const struct table *t, const struct row *r)
{
	return t->churn > 0 ? scd_tune_delta_bits(1, r->m, r->k, t->churn) :
			      scd_tune_full_bits(1, r->m, r->k);
}

static json_t *bench_tables_table_json(const struct table *t)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < sizeof(t->rows) / sizeof(t->rows[0]); i++) {
		const struct row *r = &t->rows[i];

		json_array_append_new(
			rows, json_pack("{s:f, s:i, s:f, s:f, s:f, s:f}", "m",
					r->m, "k", (int)r->k, "wire_bits",
					bench_tables_wire_bits(t, r),
					"paper_wire_bits", r->wire, "fp",
					scd_tune_fp(1, r->m, r->k), "paper_fp",
					r->fp));
	}
	return json_pack("{s:s, s:f, s:o}", "title", t->title, "churn",
			 t->churn, "rows", rows);
}

static void bench_tables_print_table(const struct table *t)
{
	printf("Table %s\n%8s %3s %12s %10s %12s %10s\n", t->title, "m/n", "k",
	       "bits/object", "(paper)", "f", "(paper)");
	for (size_t i = 0; i < sizeof(t->rows) / sizeof(t->rows[0]); i++) {
		const struct row *r = &t->rows[i];

		printf("%8g %3u %12.4f %10.4f %12.6f %10.6f\n", r->m, r->k,
		       bench_tables_wire_bits(t, r), r->wire,
		       scd_tune_fp(1, r->m, r->k), r->fp);
	}
	putchar('\n');
}

/* The experiment: 10,000 objects, 140,000 bits, 2 hash functions. */
enum { KEYS = 10000, BITS = 140000, HASHES = 2 };

/* The coded size of one random filter [bytes], without the header. */
static int bench_tables_coded_size(struct scd_bloom *b, uint64_t *seed,
				 double *size)
{
	struct scd_digest_info ids = { .instance = 1, .nkeys = KEYS };
	uint8_t *bytes;
	size_t len;
	int error;

	scd_bloom_clear(b);
	for (int i = 0; i < KEYS; i++) {
		uint64_t lo = scd__splitmix64(seed);
		struct scd_key key = { lo, scd__splitmix64(seed) };

		scd_bloom_add(b, &key);
	}
	error = scd_digest_encode(b, &ids, &bytes, &len);
	if (error)
		return error;
	free(bytes);
	*size = (double)(len - SCD_DIGEST_HEADER_BYTES);
	return SCD_OK;
}

struct experiment {
	uint64_t trials, seed;
	double theory, mean, sd, max; /* bytes */
};

static int bench_tables_run_experiment(struct experiment *e)
{
	double sum = 0, squares = 0, size = 0, n = (double)e->trials;
	uint64_t seed = e->seed;
	struct scd_bloom b;
	int error = scd_bloom_init(&b, BITS, HASHES);

	if (error)
		return error;
	for (uint64_t i = 0; i < e->trials && !error; i++) {
		error = bench_tables_coded_size(&b, &seed, &size);
		sum += size;
		squares += size * size;
		e->max = fmax(e->max, size);
	}
	scd_bloom_free(&b);
	e->theory = scd_tune_full_bits(KEYS, BITS, HASHES) / 8;
	e->mean = sum / n;
	e->sd = sqrt(fmax(0, squares / n - e->mean * e->mean));
	return error;
}

static void bench_tables_print_paper(const struct experiment *e)
{
	for (size_t i = 0; i < NTABLES; i++)
		bench_tables_print_table(&tables[i]);
	if (!e->trials)
		return;
	printf("Experiment: %d objects, %d bits, %d hash functions, %" PRIu64
	       " trials\n", KEYS, BITS, HASHES, e->trials);
	printf("theory %.1f bytes; coded: mean %.1f, sd %.2f, max %.0f\n",
	       e->theory, e->mean, e->sd, e->max);
}

static int bench_tables_print_json(const struct experiment *e)
{
	json_t *all = json_array(), *experiment = NULL;

	for (size_t i = 0; i < NTABLES; i++)
		json_array_append_new(all,
				      bench_tables_table_json(&tables[i]));
	if (e->trials)
		experiment = json_pack(
			"{s:i, s:i, s:i, s:I, s:f, s:f, s:f, s:f}", "objects",
			KEYS, "nbits", BITS, "nhash", HASHES, "trials",
			(json_int_t)e->trials, "theory_bytes", e->theory,
			"mean_bytes", e->mean, "sd_bytes", e->sd, "max_bytes",
			e->max);
	return json_report_print(json_pack("{s:o, s:o?}", "tables", all,
				     "experiment", experiment));
}

static int bench_tables_print_tables(uint64_t trials, uint64_t seed, bool json)
{
	struct experiment e = { .trials = trials, .seed = seed };
	int error = trials ? bench_tables_run_experiment(&e) : SCD_OK;

	if (error) {
		fprintf(stderr, "digestbench: tables: %s\n",
			scd_strerror(error));
		return error == SCD_ENOMEM ? TOOL_IO : TOOL_NO;
	}
	if (json)
		return bench_tables_print_json(&e);
	bench_tables_print_paper(&e);
	return TOOL_OK;
}

/* What does not go together; null: nothing. */
static const char *bench_tables_mistake(const struct wishes *w, bool operands)
{
	if (operands)
		return "takes no operands";
	return w->curve && w->json ? "--curve and --json exclude each other"
				   : NULL;
}

int bench_tables(int argc, char **argv)
{
	struct wishes w = { .trials = 1000, .seed = 1, .keys = 1000000 };
	const char *what;

	if (!options_read(bench_tables_options, argc, argv, &w))
		return TOOL_USAGE;
	what = bench_tables_mistake(&w, optind < argc);
	if (what)
		return arguments_wrong("tables", what, bench_tables_help);
	if (w.kinds)
		return kind_table_print(w.keys, w.seed, w.json);
	if (w.curve)
		return curves_print(w.curve);
	return bench_tables_print_tables(w.trials, w.seed, w.json);
}
