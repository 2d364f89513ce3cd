/*
 * A cluster of proxies over one trace: each request goes to one proxy, which
 * has a cache of its own and asks the others as a protocol says. Plain data
 * in, counters out; no I/O.
 *
 * A request for object o of proxy p, in its order:
 *
 *  1. p has the present version of o: a local hit. (An old version counts as
 *     local_stale, and then as a miss.)
 *  2. Otherwise the protocol says which peers may have it (candidates), and
 *     they are taken in the order in which a node asks equally near peers
 *     (route_weight() in digestd/mesh/route.h), where the i-th proxy is the
 *     node called "n" and i, counted from 1, in decimal digits. A protocol
 *     that queries sends a query to all candidates and asks those for the
 *     object that answer that they have it; another asks for the object at
 *     once. Peers are asked for the object one after the other, at most
 *     `tries` of them, until one has the present version: a remote hit.
 *  3. Otherwise it comes from the origin: a false hit if candidates were
 *     asked and none had any version, remote_stale if one had an old one; a
 *     false miss if a peer that was no candidate has the present version.
 *  4. p stores it, if the size limit, the placement and the admission allow.
 *
 * Epochs. Requests are cut into epochs of `epoch` requests. Within one, peers
 * answer as they stood at its beginning, and what they published is what had
 * arrived then. Between two, the uses at peers take effect, proxies whose
 * publication is due publish, and what has arrived is applied, all at the time
 * of the request that comes next. With an epoch of one request, which is usual,
 * that is as if everything happened at once. Longer ones can be computed by
 * several processes, with the same result.
 *
 * Versions. An object that the trace lists as changed has a new version from
 * that request on; all copies are old then.
 *
 * Latency [us], by round trips: local hits cost `local`; a query, however
 * many peers, and each attempt to get an object from a peer cost one `peer`;
 * the origin costs one `origin`. Each of these only what was needed.
 *
 * Costs: for P proxies 2 masks of P bits, rounded up to bytes, an object of
 * the trace, or of one bit where an object has one place; the caches; what the
 * protocol keeps.
 */
#ifndef CACHESIM_SIM_CLUSTER_H
#define CACHESIM_SIM_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "cachesim/admission/admission_table.h"
#include "digestd/mesh/placement.h"
#include "cachesim/protocol/protocol.h"
#include "cachesim/sim/trace.h"

struct eviction_policy;
struct sim_exchange;

enum {
	SIM_MAX_PROXIES = PROTOCOL_MAX_PROXIES,
	SIM_MAX_ROWS = 64, /* proxies with counters in a result */
	SIM_MAX_SPREAD = 64, /* among several processes */
};

/* Which proxy a request goes to. Without what it needs: round robin. */
enum sim_partition {
	SIM_BY_CLIENT, /* hash of the client's name */
	SIM_BY_NUMBER, /* client's number in the trace, modulo proxies */
	SIM_BY_PREFIX, /* hash of the first prefix_bits of its address */
	SIM_BY_COLUMN, /* config.column, by client, modulo proxies */
	SIM_ROUND_ROBIN,
	SIM_PARTITIONS
};

/* When a proxy publishes: as soon as one of those that are not 0 is reached,
 * and something changed. Both 0: in every epoch. */
struct sim_publish {
	uint32_t share_ppm; /* new objects since the last, in millionths of
			       those held */
	uint32_t period_s;  /* of the trace's time; needs a time column */
};

/* What happens to publications on their way, for each receiver. */
struct sim_transport {
	uint32_t delay_s;	 /* of the trace's time */
	uint64_t delay_requests; /* and not before so many requests */
	uint32_t loss_ppm; /* of deliveries, in millionths. A receiver that
			      missed one notices with the next, and gets a
			      full digest then, which is never lost. */
};

/* [us] */
struct sim_latency {
	uint32_t local, peer, origin;
};

struct sim_config {
	/* the cluster */
	unsigned nproxies; /* 1..SIM_MAX_PROXIES */
	enum sim_partition partition;
	unsigned prefix_bits;	/* 1..128, of an IPv6 or mapped IPv4 address */
	const uint32_t *column; /* by client; borrowed; null: not known */

	/* caches */
	uint64_t capacity;     /* of all together [bytes]; 0: by share */
	uint32_t capacity_ppm; /* of the infinite size, in millionths */
	bool objects;	       /* capacity and size are in objects: all are 1 */
	uint64_t size_limit;   /* larger objects are not stored; 0: no limit */
	const struct eviction_policy *eviction; /* null: LRU */
	enum placement placement;
	/* What is stored of that; null: all of it. Capacity, mean size and
	 * eviction policy in its options are found. */
	const struct admission_policy *admission;
	struct admission_config admission_options;
	bool admission_shared; /* one memory for all proxies */

	/* cooperation */
	const struct protocol *protocol; /* null: none */
	struct protocol_digest digest;	 /* expected 0: capacity of a proxy by
					    the mean size of an object */
	const uint32_t *server; /* by object; borrowed; null: not known */
	uint32_t nservers;
	unsigned tries; /* peers that are asked for an object; 0: all */
	bool peer_use;	/* a remote hit is a use at the peer */
	struct sim_publish publish;
	struct sim_transport transport;
	struct sim_latency latency;
	uint64_t epoch; /* requests; 0 counts as 1 */

	/* what comes first is not counted: a share of the requests, and those
	 * before a second of the trace's time */
	uint32_t warmup_ppm, warmup_s;
	uint64_t seed;
	/* The other processes that simulate this (sim/exchange.h), all with
	 * the same configuration and trace; borrowed. Null: there are none. */
	const struct sim_exchange *exchange;
};

/* How a cluster is spread over processes: see sim/spread.h. */
enum sim_spread_way {
	SPREAD_NOT, /* it cannot be */
	SPREAD_APART,
	SPREAD_DEFERRED,
	SPREAD_EPOCHS,
};

/*
 * What is counted, for each proxy and in sum. The first block is sums over
 * its requests behind the warm-up; messages count at who causes them: queries,
 * replies and fetches at who asks, updates at who publishes, resynchronisation
 * at who missed something. sim_counter_rows names all fields.
 */
struct sim_counters {
	uint64_t requests, bytes;
	uint64_t local_hits, local_bytes;
	uint64_t remote_hits, remote_bytes;
	uint64_t origin, origin_bytes;
	uint64_t uncacheable, uncacheable_bytes; /* of these */
	uint64_t collapsed, collapsed_bytes; /* served by another request's
						fetch; whole nodes only */
	uint64_t local_stale;	/* misses that had an old version */
	uint64_t remote_stale;	/* got old versions from peers only */
	uint64_t false_hits;	/* asked peers, none had it */
	uint64_t false_misses;	/* went to the origin, a peer that was no
				   candidate had it */
	uint64_t untried;	/* went to the origin, a candidate that was not
				   asked had it */
	uint64_t candidates;	/* peers that summaries named */
	uint64_t false_candidates; /* of these, did not have any version */
	uint64_t forwards, forward_bytes; /* served by the object's owner, which
					     is another proxy */
	uint64_t latency_us;

	/* messages between proxies, and their bytes */
	uint64_t queries, query_bytes;
	uint64_t replies, reply_bytes;
	uint64_t fetches, fetch_bytes;	 /* attempts that got no object */
	uint64_t updates, update_bytes;	 /* sent, to each receiver */
	uint64_t lost;			 /* of these */
	uint64_t resyncs, resync_bytes;

	/* publications, each once, however many receive it */
	uint64_t published, changes;
	uint64_t full_raw, delta_raw;
	uint64_t full_coded, xor_coded, conditional_coded;

	/* stores */
	uint64_t writes, write_bytes;
	uint64_t evicted, evicted_bytes;
	uint64_t refused; /* larger than the limit, or not admitted */

	/* as it stands at the end */
	uint64_t held, held_bytes;
	uint64_t duplicates, duplicate_bytes; /* a proxy before it has it too */
	uint64_t peer_memory, own_memory;     /* for summaries [bytes] */
	/* of admission: memory [bytes], and the keys that it is for; and when
	 * that is measured, decisions on keys that were never used before, and
	 * how many of these it took for seen. One that is shared counts at the
	 * first proxy. */
	uint64_t admission_memory, admission_keys;
	uint64_t admission_fresh, admission_false_seen;
};

struct sim_counter_row {
	const char *name; /* as in a result: a word */
	const char *about;
	size_t at;	/* offset in struct sim_counters */
	bool stands;	/* at the end; not a sum over requests */
};

/* All counters in their order; a null name ends the list. */
extern const struct sim_counter_row sim_counter_rows[];

/* The counter of a row. */
uint64_t sim_counter(const struct sim_counters *c,
		     const struct sim_counter_row *row);

/* Adds field by field. */
void sim_counters_add(struct sim_counters *sum, const struct sim_counters *c);

/* Takes away what had been counted before; what stands at the end stays. */
void sim_counters_since(struct sim_counters *now,
			const struct sim_counters *then);

struct sim_result {
	unsigned nproxies;
	uint64_t capacity; /* of all together, as it was */
	uint64_t expected; /* objects of a proxy that digests were made for */
	struct sim_counters sum;
	struct sim_counters proxy[SIM_MAX_ROWS]; /* the first of them */
};

/* Everything as usual: 4 proxies by client, 10 % of the infinite size, LRU, no
 * protocol, 1 try; 1, 2 and 100 ms. */
void sim_config_init(struct sim_config *c);

/*
 * Chooses a protocol and what goes with it: publication by time if it is usual
 * with it, otherwise by 1 % new objects.
 */
void sim_config_use(struct sim_config *c, const struct protocol *protocol);

/* The capacity of all caches together that it means for this trace [bytes, or
 * objects with `objects`]. */
uint64_t sim_config_capacity(const struct sim_config *c,
			     const struct sim_trace *t);

/* The first request that is counted; with none behind the warm-up, their
 * number. */
uint64_t sim_config_warm(const struct sim_config *c,
			 const struct sim_trace *t);

/* The proxy of each client, to be released with free(); null: the requests go
 * to the proxies in turn. 0 or SCD_ENOMEM. */
int sim_config_homes(const struct sim_config *c, const struct sim_trace *t,
		     uint16_t **home);

/* The proxy of each object, to be released with free(); null: the protocol has
 * no front that knows it. 0, SCD_ENOMEM or SCD_EINVAL. */
int sim_config_owners(const struct sim_config *c, const struct sim_trace *t,
		      uint16_t **owner);

/* What is wrong with a configuration for this trace, in English without a full
 * stop; null: nothing. Static. */
const char *sim_config_fault(const struct sim_config *c,
			     const struct sim_trace *t);

/* How it would be spread. */
enum sim_spread_way sim_config_spread(const struct sim_config *c);

/*
 * Runs one configuration over a whole trace. 0; SCD_EINVAL if
 * sim_config_fault() finds one, or there is an exchange and it cannot be
 * spread; SCD_ENOMEM; an error of libscd. *out is undefined on errors. With an
 * exchange all ranks have the same result, or the same error.
 */
int sim_run(const struct sim_config *c, const struct sim_trace *t,
	    struct sim_result *out);

/* A cluster, block by block: what sim_run() is made of. */
struct sim_cluster;

/* Makes one before its first request; c and t are borrowed until it is freed.
 * Errors as sim_run(). */
int sim_cluster_new(struct sim_cluster **out, const struct sim_config *c,
		    const struct sim_trace *t);

/* Replays the next requests, at most n; 0 or an error, then it is of no more
 * use. */
int sim_cluster_run(struct sim_cluster *s, uint64_t n);

/* How things stand, as if the trace ended here. 0; with an exchange, in which
 * all ranks meet here, an error. */
int sim_cluster_result(struct sim_cluster *s, struct sim_result *out);

/* Accepts null and nulls the pointer. */
void sim_cluster_free(struct sim_cluster **s);

#endif
