/*
 * How long requests of a node take until their reply begins, by where it is
 * from: quantiles of the histograms that its status has (status_json.c).
 */
#ifndef DIGESTD_CTL_LATENCIES_H
#define DIGESTD_CTL_LATENCIES_H

#include <jansson.h>
#include <stdio.h>

/* Of requests between two status; a null one earlier: since the start. */
struct latencies {
	const json_t *earlier, *status;
};

/* Requests of clients that have ended in between. */
double latencies_requests(const struct latencies *l);

/* Prints a line: p50 and p99 of all, and of each source that there was, linear
 * within a cell of the histogram. */
void latencies_print(const struct latencies *l, FILE *to);

/* The same as an object of sources, and "all"; null without memory. */
json_t *latencies_json(const struct latencies *l);

#endif
