/*
 * Advice from whole nodes: a log is replayed through nodes of digestd in
 * virtual time, once with each placement, then with the best one and digests
 * that are published more and more often. What models cannot tell is in it:
 * how late digests are, and which requests wait for each other.
 */
#ifndef CACHESIM_ADVISE_NODES_H
#define CACHESIM_ADVISE_NODES_H

#include "cachesim/settings.h"
#include "cachesim/sim/cluster.h"
#include "digestd/mesh/placement.h"

enum { ADVISE_FALSE_HIT_BYTES = 1000 }; /* a request and a reply */

/* The bytes that a cluster has to carry, but for those between its nodes and
 * clients: from the origin, for digests, and for false hits. */
uint64_t advise_bytes(const struct sim_counters *c);

/* What is replayed, and the digests that models have found. */
struct advise_nodes_plan {
	const struct settings *s;
	const struct sim_trace *trace;
	const struct sim_config *config; /* of compressed digests */
	const char *bits, *hashes, *expected; /* as digestd is told */
	double share; /* publish_share to begin with; 0: as it ships */
};

struct advice_of_nodes {
	struct sim_result placements[PLACEMENTS];
	enum placement placement; /* the best of these, by advise_bytes() */
	double share;             /* the best publish_share with that */
	struct sim_result best;   /* of both */
};

/* Replays the log up to eight times. Returns an exit code; what went wrong was
 * told. */
int advise_nodes(const struct advise_nodes_plan *p,
		 struct advice_of_nodes *out);

#endif
