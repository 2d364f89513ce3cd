/*
 * What simulations brought, as a report: what was set, ratios, and in files
 * all counters.
 */
#ifndef CACHESIM_RESULTS_H
#define CACHESIM_RESULTS_H

#include "cachesim/plan.h"

/*
 * Begins a report for the rows of a plan. counters: with all counters;
 * proxies: with a row for each proxy, which has its number. See report_init().
 */
void results_init(struct report *r, const char *kind, bool counters,
		  bool proxies);

/* Adds the rows of a result; as it was begun. */
void results_add(struct report *r, const struct plan_row *row,
		 const struct sim_result *result);

/* A ratio by the name of its column; the column must be one of a ratio. */
double results_ratio(const char *column, const struct sim_counters *c);

#endif
