/*
 * What a replay counts, for one node, and how it is reported.
 */
#ifndef LIVE_TALLY_H
#define LIVE_TALLY_H

#include <stdio.h>

#include "cachesim/live/latency.h"
#include "cachesim/live/served_by.h"

enum tally_error {
	TALLY_CONNECT,	/* no connection */
	TALLY_TIMEOUT,	/* nothing within the time limit */
	TALLY_CUT,	/* the connection ended inside the answer */
	TALLY_OTHER,	/* anything else that libcurl calls an error */
	TALLY_GATEWAY,	/* a 5xx that is not the origin's */
	TALLY_MISMATCH, /* a body that is not the origin's */
	TALLY_ERRORS
};

struct tally {
	uint64_t requests, bytes;
	uint64_t status[6]; /* by class; 0: no answer */
	uint64_t error[TALLY_ERRORS];
	uint64_t served_by[SERVED_KINDS];
	uint64_t verified; /* bodies found right */
	struct latency latency;
};

/* The sum of all errors: 0 when every client was served well. */
uint64_t tally_errors(const struct tally *t);

/* A row a node and one for the sum; names: of the n nodes. */
void tally_print(FILE *f, const struct tally *t, const char *const *names,
		 unsigned n, double seconds);

/* The same as one JSON object. */
void tally_json(FILE *f, const struct tally *t, const char *const *names,
		unsigned n, double seconds);

#endif
