/*
 * What is to be simulated: a configuration for each combination of the values
 * that the command line gives to parameters.
 */
#ifndef CACHESIM_PLAN_H
#define CACHESIM_PLAN_H

#include "cachesim/parameter.h"

struct plan_row {
	struct sim_config config;
	/* As it was set; null: by default, or it makes no difference here. */
	const char *text[PARAMETERS];
	double value[PARAMETERS];
};

struct plan {
	struct plan_row *rows;
	size_t nrows;
	char **texts; /* of the rows; what points to them is borrowed */
	size_t ntexts;
};

/* More is a mistake. */
enum { PLAN_ROWS_MAX = 100000 };

/*
 * Adds to a plan, which begins empty, rows for lists of values with commas
 * between them; null: the default. usual: what stands in the configurations
 * otherwise. Combinations that differ only in what makes no difference are
 * there once. Returns an exit code; what is wrong was told. In any case the
 * caller ends it with plan_free().
 */
int plan_add(struct plan *p, const char *const lists[PARAMETERS],
	     const struct sim_config *usual);

/*
 * Whether each row can be simulated over that trace; else tells why not.
 */
bool plan_fits(const struct plan *p, const struct sim_trace *t);

void plan_free(struct plan *p);

#endif
