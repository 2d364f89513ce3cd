/*
 * What the generator draws from: clients, catalogues of objects and their
 * sizes, calibrated to a plan.
 *
 * An object is a catalogue (0: shared by all groups, 1..groups: a group's own,
 * ONCE: one-hit wonders), a rank in it, and how many objects had that rank
 * before.
 */
#ifndef TRACE_POPULATION_H
#define TRACE_POPULATION_H

#include "cachesim/trace/generator.h"
#include "cachesim/trace/zipf.h"

enum {
	POPULATION_ONCE = 0xffff,
	POPULATION_RANK_BITS = 48,
	POPULATION_GROUPS_MAX = 4096,
};

struct object {
	uint64_t id; /* catalogue << POPULATION_RANK_BITS | rank */
	uint64_t generation;
};

struct population {
	struct trace_plan plan;
	struct zipf clients;
	struct zipf shared; /* the catalogue of all groups */
	struct zipf own;    /* of one group: they differ in their objects */
	double *share;       /* of the requests, of each group */
	struct quantiles sizes;
	double once_scale, core_scale; /* [bytes] of a size of 1 */
	/* from files; empty otherwise */
	struct weighted popularity, size_list;
};

/* 0, TRACE_ENOMEM, TRACE_EIO, or TRACE_EOPTION: the plan cannot be met. */
int population_new(struct population **out, const struct trace_plan *plan);

/* The size of an object [bytes], > 0. */
uint64_t population_size(const struct population *p, struct object o);

/* Accepts null and nulls the pointer. */
void population_free(struct population **p);

#endif
