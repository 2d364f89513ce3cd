/*
 * The table that compares the kinds of digests.
 */
#include "digestd/ctl/kind_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "codec/kind.h"
#include "codec/squid.h"
#include "digestd/ctl/command.h"
#include "digestd/ctl/random.h"

enum { ROUNDS = 7 };

/* Random keys: the first half is added, the second looked up besides. */
struct sample {
	struct scd_key *keys;
	size_t n;
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

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds since *since, which becomes now. */
static double lap(double *since)
{
	double before = *since;

	*since = now_s();
	return *since - before;
}

static int make_sample(uint64_t nkeys, uint64_t seed, struct sample *sample)
{
	sample->n = (size_t)nkeys;
	sample->keys = malloc(2 * sample->n * sizeof(*sample->keys));
	if (!sample->keys)
		return SCD_ENOMEM;
	for (size_t i = 0; i < 2 * sample->n; i++) {
		sample->keys[i].lo = random_next(&seed);
		sample->keys[i].hi = random_next(&seed);
	}
	return SCD_OK;
}

static int fill(struct scd_summary *s, const struct sample *sample)
{
	int error = SCD_OK;

	for (size_t i = 0; !error && i < sample->n; i++)
		error = scd_summary_add(s, &sample->keys[i]);
	return error ? error : scd_summary_seal(s);
}

static size_t count(const struct scd_summary *s, const struct scd_key *keys,
		    size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += scd_summary_has(s, &keys[i]);
	return found;
}

/* What a receiver does with the bytes. */
static int receive(const struct scd_kind *kind, const struct sample *sample,
		   const uint8_t *bytes, struct result *r)
{
	struct scd_summary *s;
	double since = now_s();
	int error = scd_summary_decode(kind, bytes, r->wire, SIZE_MAX, &s);

	if (error)
		return error;
	r->best.decode = fmin(r->best.decode, lap(&since));
	r->found = count(s, sample->keys + sample->n, sample->n);
	r->best.absent = fmin(r->best.absent, lap(&since));
	if (count(s, sample->keys, sample->n) != sample->n) {
		fprintf(stderr, "digestctl: tables: %s loses keys\n",
			kind->name);
		error = SCD_EFORMAT;
	}
	r->best.present = fmin(r->best.present, lap(&since));
	r->memory = scd_summary_memory(s);
	scd_summary_free(&s);
	return error;
}

static int run_once(const struct scd_kind *kind,
		    const struct scd_kind_goal *goal,
		    const struct sample *sample, struct result *r)
{
	struct scd_summary *s;
	uint8_t *bytes = NULL;
	double since = now_s();
	int error = scd_summary_new(kind, goal, &s);

	if (error)
		return error;
	error = fill(s, sample);
	r->best.add = fmin(r->best.add, lap(&since));
	if (!error)
		error = scd_summary_encode(s, &bytes, &r->wire);
	r->best.encode = fmin(r->best.encode, lap(&since));
	if (!error)
		error = receive(kind, sample, bytes, r);
	free(bytes);
	scd_summary_free(&s);
	return error;
}

static void print_row(const char *title, const struct sample *sample,
		      const struct result *r)
{
	const double n = (double)sample->n;
	const struct times *t = &r->best;

	printf("%-24s %7.3f %9.2f %9.2f %6.0f %6.0f %6.0f %7.1f %7.1f\n",
	       title, 100 * (double)r->found / n, 8 * (double)r->wire / n,
	       8 * (double)r->memory / n, 1e9 * t->add / n, 1e9 * t->absent / n,
	       1e9 * t->present / n, 1e9 * t->encode / n, 1e9 * t->decode / n);
}

static int measure(const struct scd_kind *kind,
		   const struct scd_kind_goal *goal,
		   const struct sample *sample)
{
	struct result r = {
		.best = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY},
	};
	int error = SCD_OK;

	for (int i = 0; !error && i < ROUNDS; i++)
		error = run_once(kind, goal, sample, &r);
	if (error == SCD_EGOAL)
		printf("%-24s cannot reach it\n", kind->title);
	else if (!error)
		print_row(kind->title, sample, &r);
	fflush(stdout);
	return error == SCD_EGOAL ? SCD_OK : error;
}

static int print_rate(double fp, const struct sample *sample)
{
	const struct scd_kind *kind;
	int error = SCD_OK;

	printf("False positives of %g %%; no fewer bits an object than %.2f\n",
	       100 * fp, -log2(fp));
	for (size_t i = 0; !error && (kind = scd_kind_at(i)); i++) {
		const struct scd_kind_goal goal = {.nkeys = sample->n,
						   .fp = fp};

		error = measure(kind, &goal, sample);
	}
	return error;
}

static int print_all(const struct sample *sample)
{
	static const double rates[] = {.02, .01, .001};
	const struct scd_kind_goal as_squid = {.nkeys = sample->n,
					       .bits = SCD_SQUID_ENTRY_BITS};
	int error = SCD_OK;

	printf("%-24s %7s %9s %9s %6s %6s %6s %7s %7s\n", "", "found",
	       "wire", "memory", "add", "no", "yes", "encode", "decode");
	printf("%-24s %7s %9s %9s %6s %6s %6s %7s %7s\n", "", "%", "bits/obj",
	       "bits/obj", "ns", "ns", "ns", "ns/obj", "ns/obj");
	for (size_t i = 0; !error && i < sizeof(rates) / sizeof(rates[0]); i++)
		error = print_rate(rates[i], sample);
	if (error)
		return error;
	printf("What Squid sends, %d bits an object\n", SCD_SQUID_ENTRY_BITS);
	return measure(scd_kind_find("squid"), &as_squid, sample);
}

int kind_table_print(uint64_t nkeys, uint64_t seed)
{
	struct sample sample;
	int error = make_sample(nkeys, seed, &sample);

	if (!error) {
		printf("%" PRIu64 " random keys, seed %" PRIu64 "\n\n", nkeys,
		       seed);
		error = print_all(&sample);
		free(sample.keys);
	}
	if (error)
		fprintf(stderr, "digestctl: tables: %s\n", scd_strerror(error));
	return error == SCD_ENOMEM ? CTL_IO : error ? CTL_NO : CTL_OK;
}
