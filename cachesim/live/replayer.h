/*
 * Sends the requests of a trace to nodes, on one curl multi handle in one
 * thread, and counts what comes back.
 */
#ifndef LIVE_REPLAYER_H
#define LIVE_REPLAYER_H

#include "cachesim/live/tally.h"
#include "cachesim/trace/reader.h"
#include "digestd/tool/progress.h"

enum replay_verify {
	REPLAY_VERIFY_AUTO, /* bodies whose ETag is scd-origin's */
	REPLAY_VERIFY_ALL,  /* a 200 without such an ETag is a mismatch */
	REPLAY_VERIFY_NONE,
};

enum replay_partition {
	REPLAY_BY_CLIENT, /* the same node for the same client */
	REPLAY_ROUND_ROBIN,
};

struct replay_options {
	const char *const *nodes; /* base URLs, http://host:port */
	unsigned nnodes;
	uint64_t concurrency; /* requests under way at a time, > 0 */
	double speed;	      /* times the trace's own; 0: without waiting */
	bool proxy;	      /* absolute-form requests: a forward proxy */
	unsigned verify;      /* enum replay_verify */
	unsigned partition;   /* enum replay_partition */
	uint64_t timeout_ms; /* for one request */
	uint64_t limit;	     /* of requests; 0: all */
};

/*
 * Replays what is left of the trace. tally: one for each node, zeroed by the
 * caller. *skipped: requests that were not sent (no GET or HEAD, no URL).
 * 0, TRACE_ENOMEM, or what trace_next() returns.
 */
int replay_run(struct trace_reader *trace, const struct replay_options *opt,
	       struct tally *tally, struct progress *progress,
	       uint64_t *skipped);

#endif
