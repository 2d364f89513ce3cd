/*
 * A cluster spread over several processes, ranks, each of which has the whole
 * trace and some of the proxies. The result is that of one process, to the
 * last byte, because nothing is guessed: what a rank needs of other ranks'
 * proxies is in its hands before it is counted with.
 *
 * What a proxy needs of the others depends on the configuration:
 *
 *  SPREAD_APART     Nothing: there is no cooperation, or every object has its
 *                   one proxy. Ranks meet at the end.
 *  SPREAD_DEFERRED  Its cache needs nothing, as it keeps whatever was asked
 *                   for and nobody uses it from outside; only the counting of
 *                   a miss does: who was asked, who had it. Requests are taken
 *                   in rounds. A rank first replays those of its own proxies,
 *                   and notes misses, what came and went, and what was
 *                   published; then all exchange the latter two, and each goes
 *                   over its misses once more, in their order, with the peers
 *                   as they stood at each.
 *  SPREAD_EPOCHS    What peers had when the epoch began decides what is kept.
 *                   Ranks meet before each epoch: first for the uses of
 *                   objects at peers, which may move something, then for what
 *                   came, went and was published.
 *  SPREAD_NOT       What peers have at this very request decides, or there is
 *                   one cache or one memory for all.
 *
 * Costs: with SPREAD_DEFERRED 8 bytes for each object that comes or goes, and
 * publications, travel to every rank, and every rank applies them all; caches,
 * the making of digests, lookups and counting are divided.
 */
#ifndef CACHESIM_SIM_SPREAD_H
#define CACHESIM_SIM_SPREAD_H

#include "cachesim/sim/cluster_state.h"
#include "cachesim/sim/exchange.h"

/* Where the fields of an event are: the proxy is in the lowest six bits, and
 * what is so of the object there in one each. */
enum {
	SPREAD_HELD = 6,
	SPREAD_STALE,
	SPREAD_SEEN,
	SPREAD_SINCE, /* the request of the round, all bits up from here */
};

/* A publication under way to the other ranks; its bytes follow. */
struct sim_notice {
	uint64_t request, time_s; /* when it was made */
	uint64_t len;
	uint32_t order; /* of those made at the same request */
	struct protocol_publication head;
};

/* Of those received, in the order in which they were made. */
struct sim_received {
	struct sim_notice notice;
	const uint8_t *bytes;
};

/* What came and went at one rank, as far as it was not yet seen. */
struct sim_events {
	const uint32_t *at;
	size_t n;
};

struct sim_spread {
	const struct sim_exchange *exchange;
	enum sim_spread_way way;
	uint64_t from;	     /* first request of the round, or of the epoch */
	struct numbers mine; /* requests of the round for own proxies */
	bool warm;	     /* the warm-up is over */
	bool ended;	     /* by an error of which all ranks know */

	/* noted for the other ranks, or for later */
	struct numbers message;
	struct numbers events; /* object, what */
	struct numbers news;   /* notices, each padded to whole numbers */
	struct numbers misses; /* request, proxy, object, size */

	/* received, and how far it was gone through */
	struct sim_events *far; /* by rank */
	struct sim_received *received;
	size_t nreceived, next, room;
	uint64_t next_change; /* of the trace, that peers see */
	uint64_t epoch, now_s;
	bool counted_warm;

	/* what is counted when misses are gone over */
	struct sim_counters late[SIM_MAX_SPREAD], before[SIM_MAX_SPREAD];
};

/* For a cluster whose configuration has an exchange; 0 or SCD_ENOMEM, or
 * SCD_EINVAL: it cannot be spread. */
int sim_spread_new(struct sim_cluster *s);
void sim_spread_free(struct sim_cluster *s);

/* Replays the next requests, as sim_cluster_run(). */
int sim_spread_run(struct sim_cluster *s, uint64_t n);

/* Makes what this rank's part has counted, for each proxy, that of all; 0 or
 * an error. */
int sim_spread_result(struct sim_cluster *s, struct sim_counters *all);

/* The first error that a rank has, for all; 0: none has. */
int sim_spread_agree(const struct sim_exchange *x, int err);

/* A miss whose peers are asked later. */
void sim_spread_miss(struct sim_cluster *s, const struct sim_proxy *p,
		     uint32_t object);

/* Peers get to see how an object stands at an own proxy. */
void sim_spread_show(struct sim_cluster *s, uint32_t object, unsigned proxy);

/* Takes over a publication, for all ranks. by_share: those by time come
 * first. */
int sim_spread_send(struct sim_cluster *s, struct protocol_publication *p,
		    bool by_share);

/* Exchanges the uses at peers: those at own proxies are left, in the order of
 * the requests. */
void sim_spread_uses(struct sim_cluster *s);

/* Exchanges what was noted; with SPREAD_EPOCHS peers see it at once. */
void sim_spread_meet(struct sim_cluster *s);

/* What was exchanged of a round is seen in its order, and the misses are
 * counted; up to a request, without it. */
void sim_spread_catch_up(struct sim_cluster *s, uint64_t end);

/* What peers see of own and other proxies becomes what it is at a request. */
void sim_spread_advance(struct sim_cluster *s, uint64_t request);

#endif
