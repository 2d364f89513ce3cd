/*
 * A trace through whole nodes, in time: requests come when they are due, over
 * links of some latency, to nodes that are the daemon's own objects; an origin
 * has what the trace says of objects. One world at a time in a process.
 *
 * A request of the trace is a GET of "http://www.example.com/oN", N the
 * object's number, and ".V" behind it for its V-th modification, so that an old
 * version is never taken for the present one; all nodes drop it at that moment.
 * Uncacheable requests are GETs of "/pN", which the origin answers with
 * no-store.
 *
 * What nodes count themselves (false hits, digests, what is stored) is what
 * their admin listener tells; how a client was served is what Cache-Status
 * says.
 *
 * Costs: the nodes with what they keep, but for bodies, which have nothing but
 * a length; 17 bytes an object of the trace.
 */
#ifndef CACHESIM_WORLD_DRIVE_H
#define CACHESIM_WORLD_DRIVE_H

#include "cachesim/sim/cluster.h"

/* A time that varies: at least `least_us`, and more that is spread evenly up to
 * `even_us`, and exponentially with a mean of `tail_us`. */
struct drive_delay {
	uint32_t least_us, even_us, tail_us;
};

enum { DRIVE_AGAIN_US = 200000 }; /* the least of what TCP waits */

struct drive_plan {
	/* proxies, partition, capacity, warm-up and seed; with a protocol of
	 * summaries the nodes are peers, with one that has a front requests go
	 * to the nodes of their objects */
	const struct sim_config *config;
	const struct sim_trace *trace;
	const char *options;  /* lines of digestd.conf(5), for all nodes */
	double rate;          /* requests a second; 0: as the trace has them */
	double speed;         /* ... so many times as fast */
	struct drive_delay client, peer, origin; /* of the links, one way */
	unsigned locations; /* where the nodes are, in turn; 0: all at one */
	struct drive_delay far; /* between nodes at two of them, one way */
	uint32_t lost_ppm; /* of what nodes and the origin send each other, one
			      way: it comes DRIVE_AGAIN_US later, or twice that
			      if it is lost again, as with TCP */
	struct drive_delay job; /* to code a digest, or take one in */
	uint32_t max_age_s;   /* how long the origin's responses are fresh */
	bool keep_changed;    /* objects have one version */
	/* is told now and then how many requests have been sent; may be null */
	void (*tell)(void *arg, uint64_t done);
	/* ... and of each request that counts, how long its client waited at
	 * that node [us]; may be null */
	void (*answered)(void *arg, unsigned node, int64_t us);
	void *arg;
};

/* What does not fit in a result. */
struct drive_count {
	uint64_t errors; /* requests without the object as an answer */
	double seconds;  /* of the nodes' time, from the first request that
			    counts to the last answer */
};

/*
 * Replays the whole trace. Returns 0, -ENOMEM, -EINVAL when neither the trace
 * nor the plan says when requests come, or -ENOSYS in a build without the
 * daemon. An option that nodes do not take ends the process with a message.
 */
int drive_run(const struct drive_plan *plan, struct sim_result *out,
	      struct drive_count *count);

#endif
