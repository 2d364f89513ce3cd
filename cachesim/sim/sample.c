/*
 * Sampling: which objects are in, then their requests and changes.
 */
#include "cachesim/sim/sample.h"

#include <stdlib.h>
#include <string.h>

#include "codec/error.h"
#include "codec/mix.h"

/* What an object's number in the sample is, before it has one. */
enum { OUT = UINT32_MAX, IN = UINT32_MAX - 1 };

static const double HASHES = 18446744073709551616.0; /* 2^64 */

struct sampling {
	const struct sim_trace *in;
	uint64_t seed; /* mixed */
	uint32_t *number; /* by object */
	uint32_t *object, *size, *change_size; /* the columns to come */
	uint64_t *hash, *change;
	uint64_t nrequests, nchanges;
	uint32_t nobjects;
};

static uint64_t sample_draw(const struct sampling *s, uint32_t object)
{
	return scd__mix64(s->in->hash[object] ^ s->seed);
}

static int sample_by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The draw below which so many objects are. */
static int sample_limit_of(const struct sampling *s, uint64_t max_objects,
			   uint64_t *limit)
{
	uint32_t n = s->in->nobjects;
	uint64_t *draws = malloc(n * sizeof(*draws));

	if (!draws)
		return SCD_ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		draws[i] = sample_draw(s, i);
	qsort(draws, n, sizeof(*draws), sample_by_value);
	*limit = draws[max_objects];
	free(draws);
	return 0;
}

/* The draw below which objects are in; 0: all are. */
static int sample_find_limit(const struct sampling *s,
			     const struct sim_sample_config *config,
			     uint64_t *limit)
{
	double scaled = config->rate * HASHES;
	uint64_t fewer;
	int err;

	*limit = scaled < HASHES ? (uint64_t)scaled : 0;
	if (!config->max_objects || config->max_objects >= s->in->nobjects)
		return 0;
	err = sample_limit_of(s, config->max_objects, &fewer);
	if (!err && (!*limit || fewer < *limit))
		*limit = fewer;
	return err;
}

static int sample_choose(struct sampling *s, uint64_t limit)
{
	s->number = malloc(((size_t)s->in->nobjects + 1) * sizeof(*s->number));
	if (!s->number)
		return SCD_ENOMEM;
	for (uint32_t i = 0; i < s->in->nobjects; i++) {
		bool in = !limit || sample_draw(s, i) < limit;

		s->number[i] = in ? IN : OUT;
		s->nobjects += in;
	}
	for (uint64_t i = 0; i < s->in->nrequests; i++)
		s->nrequests += s->number[s->in->object[i]] != OUT;
	for (uint64_t i = 0; i < s->in->nchanges; i++)
		s->nchanges +=
			s->number[s->in->object[s->in->change[i]]] != OUT;
	return 0;
}

static int sample_allocate(struct sampling *s)
{
	size_t n = s->nobjects + (size_t)1, changes = s->nchanges + 1;

	s->object = malloc((s->nrequests + 1) * sizeof(*s->object));
	s->size = malloc(n * sizeof(*s->size));
	s->hash = malloc(n * sizeof(*s->hash));
	s->change = malloc(changes * sizeof(*s->change));
	s->change_size = malloc(changes * sizeof(*s->change_size));
	return s->object && s->size && s->hash && s->change && s->change_size
		       ? 0
		       : SCD_ENOMEM;
}

/* The number of an object that is in. */
static uint32_t sample_number(struct sampling *s, uint32_t object)
{
	if (s->number[object] == IN) {
		uint32_t n = s->nobjects++;

		s->number[object] = n;
		s->size[n] = s->in->size ? s->in->size[object] : 1;
		s->hash[n] = s->in->hash[object];
	}
	return s->number[object];
}

/* The sampled requests; returns how many of them do not count. */
static uint64_t sample_fill(struct sampling *s, uint64_t warm)
{
	uint64_t change = 0, nwarm = 0;

	s->nobjects = 0;
	s->nrequests = s->nchanges = 0;
	for (uint64_t i = 0; i < s->in->nrequests; i++) {
		uint32_t object = s->in->object[i];
		bool in = s->number[object] != OUT;

		for (; change < s->in->nchanges && s->in->change[change] == i;
		     change++) {
			if (!in)
				continue;
			s->change[s->nchanges] = s->nrequests;
			s->change_size[s->nchanges++] =
				s->in->change_size[change];
		}
		if (!in)
			continue;
		s->object[s->nrequests++] = sample_number(s, object);
		nwarm += i < warm;
	}
	return nwarm;
}

static void sample_hand_over(struct sampling *s, struct sim_sample *out)
{
	out->trace = (struct sim_trace){
		.nrequests = s->nrequests,
		.nchanges = s->nchanges,
		.nobjects = s->nobjects,
		.object = s->object,
		.size = s->size,
		.hash = s->hash,
		.change = s->change,
		.change_size = s->change_size,
	};
	s->object = s->size = s->change_size = NULL;
	s->hash = s->change = NULL;
}

int sim_sample_make(struct sim_sample *out, const struct sim_trace *in,
		    const struct sim_sample_config *config)
{
	struct sampling s = { .in = in, .seed = scd__mix64(config->seed) };
	uint64_t limit;
	int err = sample_find_limit(&s, config, &limit);

	memset(out, 0, sizeof(*out));
	if (!err)
		err = sample_choose(&s, limit);
	if (!err)
		err = sample_allocate(&s);
	if (!err) {
		out->rate = limit ? (double)limit / HASHES : 1;
		out->warm = sample_fill(&s, config->warm);
		sample_hand_over(&s, out);
	}
	free(s.number);
	free(s.object);
	free(s.size);
	free(s.hash);
	free(s.change);
	free(s.change_size);
	return err;
}

void sim_sample_free(struct sim_sample *s)
{
	sim_trace_free(&s->trace);
}
