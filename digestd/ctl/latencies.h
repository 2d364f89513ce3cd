/*
 * How long requests of a node take until their reply begins, by where it is
 * from: quantiles of the histograms that two of its status have (status_json.c).
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

/*
 * Within which time [s] a share of the requests, 0 to 1, had the first byte of
 * their reply, linear within a cell of the histogram; of a source, or of all
 * (null). -1: there were none.
 */
double latencies_quantile(const struct latencies *l, const char *source,
			  double share);

/* Prints a line: p50 and p99 of all, and of each source that there was. */
void latencies_print(const struct latencies *l, FILE *to);

/* The same as an object of sources, and "all"; null without memory. */
json_t *latencies_json(const struct latencies *l);

#endif
