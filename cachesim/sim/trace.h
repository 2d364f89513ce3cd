/*
 * A trace in memory, as the simulator replays it: columns of numbers that
 * begin at 0 without gaps, so that what is known of an object or a client is
 * an array. Object numbers are given in the order of first appearance.
 *
 * It comes from any trace that cachesim/trace reads, the generator included,
 * in one pass and with memory for the columns and one table of the objects;
 * or it is mapped from a file in the compact format (sim/compact.h), without
 * copying.
 *
 * Sizes. An object's size is that of the first response that has all of it: a
 * status of 200 or none, and a known size. Until one comes it is that of
 * the first response of any kind, 1 where no size is ever told. A later whole
 * response of another size, or a row of another version, is a modification,
 * listed in the changes. Sizes beyond 4 GiB - 1 count as that.
 *
 * Costs: 4 bytes a request and column; 12 bytes an object, and 12 bytes a
 * change; 16 bytes an uncacheable request.
 */
#ifndef CACHESIM_SIM_TRACE_H
#define CACHESIM_SIM_TRACE_H

#include "cachesim/trace/reader.h"

enum { SIM_ADDRESS_BYTES = 16 };

/* An IPv6 address, or an IPv4 one mapped into it; all zero: none. */
struct sim_address {
	uint8_t byte[SIM_ADDRESS_BYTES];
};

/* What was counted in the requests as they came, before sizes were settled. */
struct sim_totals {
	uint64_t bytes;        /* of all cacheable responses */
	uint64_t unique_bytes; /* of the objects, each at its largest */
	uint64_t bad;          /* records that are no request */
	int64_t first_ms;      /* time of the first request; 0: none known */
};

struct sim_trace {
	uint64_t nrequests, nchanges, npasses;
	uint32_t nobjects, nclients;

	/* a cacheable request each */
	const uint32_t *object; /* 0..nobjects-1 */
	const uint32_t *time;   /* seconds since the first; null: none known,
				   0 for requests that are dated before it */
	const uint32_t *client; /* 0..nclients-1; null: no client is known */

	/* an object each */
	const uint32_t *size; /* [bytes], at first; never 0 */
	const uint64_t *hash; /* of its key, for digests and for sampling;
				 different objects have different ones */

	/* a client each; null without clients */
	const uint64_t *client_hash;       /* of its name; 0: without a name */
	const struct sim_address *address; /* null: none has one */

	/*
	 * The modifications, in the order of the requests: at request change[i]
	 * its object had become change_size[i] bytes long (the size may be the
	 * one that it had, when only the version differs).
	 */
	const uint64_t *change;
	const uint32_t *change_size;

	/*
	 * The uncacheable requests (trace/cacheable.h), which pass to the
	 * origin whatever is in a cache: in their order, the cacheable ones
	 * that came before each. An unsafe one is a modification at the next
	 * cacheable request of its object, too.
	 */
	const uint64_t *pass;
	const uint32_t *pass_size;   /* of the response [bytes]; may be 0 */
	const uint32_t *pass_client; /* null: no client is known */

	struct sim_totals totals;

	/* where it lies: for sim_trace_free() */
	void *map; /* null: every column by itself */
	size_t map_bytes;
	bool changes_apart; /* the modifications are by themselves */
};

/* Is told now and then how far loading has come; all may be null. */
struct sim_tell {
	/* expected: requests in all, 0: not known */
	void (*loaded)(void *arg, uint64_t requests, uint64_t expected);
	void *arg;
};

/*
 * Loads what trace_open() takes, or a file in the compact format. opt and tell
 * may be null. 0; an error of trace_open() or trace_next(); TRACE_EOBJECTS
 * beyond 2^32 - 1 objects or clients; TRACE_ECOMPACT for a damaged compact
 * file. On success the caller ends it with sim_trace_free(), on failure *out
 * is empty.
 */
int sim_trace_load(struct sim_trace *out, const char *name,
		   const struct trace_options *opt,
		   const struct sim_tell *tell);

/* The first uncacheable request that counts, if the first `warm` cacheable ones
 * and what comes before them do not; npasses: none. */
uint64_t sim_trace_first_pass(const struct sim_trace *t, uint64_t warm);

/* Leaves it empty; accepts one that is. */
void sim_trace_free(struct sim_trace *t);

#endif
