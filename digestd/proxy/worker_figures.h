/*
 * What a worker measures of requests and fetches: times, bytes and reasons. It
 * is written by the worker's thread alone, without locks, and read by any.
 */
#ifndef DIGESTD_PROXY_WORKER_FIGURES_H
#define DIGESTD_PROXY_WORKER_FIGURES_H

#include "digestd/http/access_format.h"
#include "digestd/node/not_stored.h"
#include "digestd/os/histogram.h"
#include "digestd/os/upstream_names.h"

enum {
#define X(name, what) +1
	FIGURES_SOURCES = 0 ACCESS_SOURCES(X),
#undef X
	FIGURES_CLASSES = 6, /* of statuses, by their first digit */
};

/* Of an origin, or a peer. */
struct upstream_figures {
	struct histogram duration; /* of fetches that came to an end */
	uint64_t bytes;            /* of bodies that were received */
};

struct worker_figures {
	/* of clients' requests, by the source of the reply */
	struct histogram duration[FIGURES_SOURCES];
	struct histogram first_byte[FIGURES_SOURCES];
	uint64_t responses[FIGURES_CLASSES]; /* by status; 0: there was none */
	uint64_t not_stored[NOT_STORED_COUNT];
	struct upstream_figures upstreams[UPSTREAM_KIND_COUNT][UPSTREAMS];
};

/* Adds a worker's figures, as they stand, to *sum, which is the caller's. */
void worker_figures_merge(struct worker_figures *sum,
			  const struct worker_figures *from);

#endif
