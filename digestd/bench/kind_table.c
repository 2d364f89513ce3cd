/*
 * The table that compares the kinds of digests.
 */
#include "digestd/bench/kind_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "codec/kind/kind.h"
#include "codec/mix.h"
#include "codec/squid.h"
#include "digestd/ctl/json_report.h"
#include "digestd/tool/command.h"

enum { ROUNDS = 7 };

/* Random keys: the first half is added, the second looked up besides. */
struct sample {
	struct scd_key *keys;
	size_t n;
	json_t *list; /* of what was measured; null: it is printed */
};

/* Seconds for all keys. */
struct times {
	double add, encode, decode, absent, present;
};

struct result {
	size_t wire, memory; /* bytes */
	size_t found;        /* of the keys that were not added */
	struct times best;
};

static double kind_table_used_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds since *since, which becomes now. */
static double kind_table_lap(double *since)
{
	double before = *since;

	*since = kind_table_used_s();
	return *since - before;
}

static int kind_table_make_sample(uint64_t nkeys, uint64_t seed,
				  struct sample *sample)
{
	sample->n = (size_t)nkeys;
	sample->keys = malloc(2 * sample->n * sizeof(*sample->keys));
	if (!sample->keys)
		return SCD_ENOMEM;
	for (size_t i = 0; i < 2 * sample->n; i++) {
		sample->keys[i].lo = scd__splitmix64(&seed);
		sample->keys[i].hi = scd__splitmix64(&seed);
	}
	return SCD_OK;
}

static int kind_table_fill(struct scd__summary *s, const struct sample *sample)
{
	int error = SCD_OK;

	for (size_t i = 0; !error && i < sample->n; i++)
		error = scd__summary_add(s, &sample->keys[i]);
	return error ? error : scd__summary_seal(s);
}

static size_t kind_table_count(const struct scd__summary *s,
			       const struct scd_key *keys, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += scd__summary_has(s, &keys[i]);
	return found;
}

/* What a receiver does with the bytes. */
static int kind_table_receive(const struct scd__kind *kind,
			      const struct sample *sample, const uint8_t *bytes,
			      struct result *r)
{
	struct scd__summary *s;
	double since = kind_table_used_s();
	int error = scd__summary_decode(kind, bytes, r->wire, SIZE_MAX, &s);

	if (error)
		return error;
	r->best.decode = fmin(r->best.decode, kind_table_lap(&since));
	r->found = kind_table_count(s, sample->keys + sample->n, sample->n);
	r->best.absent = fmin(r->best.absent, kind_table_lap(&since));
	if (kind_table_count(s, sample->keys, sample->n) != sample->n) {
		fprintf(stderr, "digestbench: tables: %s loses keys\n",
			kind->name);
		error = SCD_EFORMAT;
	}
	r->best.present = fmin(r->best.present, kind_table_lap(&since));
	r->memory = scd__summary_memory(s);
	scd__summary_free(&s);
	return error;
}

static int kind_table_run_once(const struct scd__kind *kind,
			       const struct scd__kind_goal *goal,
			       const struct sample *sample, struct result *r)
{
	struct scd__summary *s;
	uint8_t *bytes = NULL;
	double since = kind_table_used_s();
	int error = scd__summary_new(kind, goal, &s);

	if (error)
		return error;
	error = kind_table_fill(s, sample);
	r->best.add = fmin(r->best.add, kind_table_lap(&since));
	if (!error)
		error = scd__summary_encode(s, &bytes, &r->wire);
	r->best.encode = fmin(r->best.encode, kind_table_lap(&since));
	if (!error)
		error = kind_table_receive(kind, sample, bytes, r);
	free(bytes);
	scd__summary_free(&s);
	return error;
}

static void kind_table_print_row(const char *title, const struct sample *sample,
				 const struct result *r)
{
	const double n = (double)sample->n;
	const struct times *t = &r->best;

	printf("%-24s %7.3f %9.2f %9.2f %6.0f %6.0f %6.0f %7.1f %7.1f\n",
	       title, 100 * (double)r->found / n, 8 * (double)r->wire / n,
	       8 * (double)r->memory / n, 1e9 * t->add / n, 1e9 * t->absent / n,
	       1e9 * t->present / n, 1e9 * t->encode / n, 1e9 * t->decode / n);
}

/* Adds to the list what was measured; r is null where nothing could be. */
static void kind_table_list_row(const struct scd__kind *kind,
				const struct scd__kind_goal *goal,
				const struct sample *sample,
				const struct result *r)
{
	const double n = (double)sample->n;
	json_t *row = json_pack("{s:s, s:f, s:f, s:b}", "kind", kind->name,
				"fp", goal->fp, "bits", goal->bits, "reached",
				r != NULL);

	if (row && r)
		json_object_update_new(
			row,
			json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}",
				  "found", (double)r->found / n, "wire_bits",
				  8 * (double)r->wire / n, "memory_bits",
				  8 * (double)r->memory / n, "add_ns",
				  1e9 * r->best.add / n, "no_ns",
				  1e9 * r->best.absent / n, "yes_ns",
				  1e9 * r->best.present / n, "encode_ns",
				  1e9 * r->best.encode / n, "decode_ns",
				  1e9 * r->best.decode / n));
	json_array_append_new(sample->list, row);
}

static void kind_table_tell(const struct scd__kind *kind,
			    const struct scd__kind_goal *goal,
			    const struct sample *sample, const struct result *r)
{
	if (sample->list)
		kind_table_list_row(kind, goal, sample, r);
	else if (r)
		kind_table_print_row(kind->title, sample, r);
	else
		printf("%-24s cannot reach it\n", kind->title);
	fflush(stdout);
}

static int kind_table_measure(const struct scd__kind *kind,
			      const struct scd__kind_goal *goal,
			      const struct sample *sample)
{
	struct result r = {
		.best = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY},
	};
	int error = SCD_OK;

	for (int i = 0; !error && i < ROUNDS; i++)
		error = kind_table_run_once(kind, goal, sample, &r);
	if (!error || error == SCD_EGOAL)
		kind_table_tell(kind, goal, sample, error ? NULL : &r);
	return error == SCD_EGOAL ? SCD_OK : error;
}

static int kind_table_print_rate(double fp, const struct sample *sample)
{
	const struct scd__kind *kind;
	int error = SCD_OK;

	if (!sample->list)
		printf("False positives of %g %%; no fewer bits an object than "
		       "%.2f\n", 100 * fp, -log2(fp));
	for (size_t i = 0; !error && (kind = scd__kind_at(i)); i++) {
		const struct scd__kind_goal goal = {.nkeys = sample->n,
						    .fp = fp};

		error = kind_table_measure(kind, &goal, sample);
	}
	return error;
}

static void kind_table_print_heads(void)
{
	printf("%-24s %7s %9s %9s %6s %6s %6s %7s %7s\n", "", "found",
	       "wire", "memory", "add", "no", "yes", "encode", "decode");
	printf("%-24s %7s %9s %9s %6s %6s %6s %7s %7s\n", "", "%", "bits/obj",
	       "bits/obj", "ns", "ns", "ns", "ns/obj", "ns/obj");
}

static int kind_table_print_all(const struct sample *sample)
{
	static const double rates[] = {.02, .01, .001};
	const struct scd__kind_goal as_squid = {.nkeys = sample->n,
						.bits = SCD_SQUID_ENTRY_BITS};
	int error = SCD_OK;

	if (!sample->list)
		kind_table_print_heads();
	for (size_t i = 0; !error && i < sizeof(rates) / sizeof(rates[0]); i++)
		error = kind_table_print_rate(rates[i], sample);
	if (error)
		return error;
	if (!sample->list)
		printf("What Squid sends, %d bits an object\n",
		       SCD_SQUID_ENTRY_BITS);
	return kind_table_measure(scd__kind_find("squid"), &as_squid, sample);
}

static int kind_table_print_sample(const struct sample *sample, uint64_t seed)
{
	int error;

	if (!sample->list)
		printf("%zu random keys, seed %" PRIu64 "\n\n", sample->n,
		       seed);
	error = kind_table_print_all(sample);
	if (!error && sample->list &&
	    json_report_print(json_pack("{s:I, s:I, s:O}", "keys",
				  (json_int_t)sample->n, "seed",
				  (json_int_t)seed, "kinds", sample->list)))
		error = SCD_ENOMEM;
	return error;
}

int kind_table_print(uint64_t nkeys, uint64_t seed, bool json)
{
	struct sample sample = { .list = json ? json_array() : NULL };
	int error = kind_table_make_sample(nkeys, seed, &sample);

	if (!error) {
		error = kind_table_print_sample(&sample, seed);
		free(sample.keys);
	}
	json_decref(sample.list);
	if (error)
		fprintf(stderr, "digestbench: tables: %s\n",
			scd_strerror(error));
	return error == SCD_ENOMEM ? TOOL_IO : error ? TOOL_NO : TOOL_OK;
}
