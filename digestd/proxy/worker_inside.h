/*
 * Inside a worker: what its requests use of it.
 */
#ifndef DIGESTD_PROXY_WORKER_INSIDE_H
#define DIGESTD_PROXY_WORKER_INSIDE_H

#include <pthread.h>

#include "digestd/fetch/fetch.h"
#include "digestd/http/httpdate.h"
#include "digestd/mesh/distance_table.h"
#include "digestd/node/node_hedge.h"
#include "digestd/node/node_lease.h"
#include "digestd/node/node_memory.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/os/memory.h"
#include "digestd/peers/copier.h"
#include "digestd/peers/heard.h"
#include "digestd/peers/purge.h"
#include "digestd/proxy/ready.h"
#include "digestd/proxy/worker.h"
#include "digestd/proxy/worker_figures.h"
#include "digestd/server/server.h"

struct access_ring;
struct fill;
struct reply_slices;
struct request;

struct worker {
	struct loop *loop;
	struct server *data, *peer;
	struct fetcher *fetcher; /* origins and peers */
	struct fetcher *public;  /* a forward proxy's, public targets only */
	struct worker_shared shared;
	struct access_ring *access; /* null: there is no access log */
	uint64_t access_seen;	    /* requests of which a share is logged */
	struct worker_hooks hooks;
	struct worker_settings *settings;
	struct peerset *view;
	struct distance_table peer_distances, origin_distances;
	struct loop_timer warm;
	struct peerset *seen; /* what peers were asked for; null: not told */
	struct request *requests;
	struct request *spare; /* memory for others, see request_new() */
	unsigned nspare;
	struct request_hold *holds; /* replies that wait, in request_purge.c */
	struct fill *fills;
	struct reply_slices *sliced; /* replies in slices */
	struct worker_counters counters; /* written here, read anywhere */
	struct worker_figures figures;   /* the same */
	unsigned untimed; /* requests until the next one is timed, and */
	int64_t timed_us; /* how long the last one took; request_figures.c */
	struct httpdate_last dates; /* of origins and peers */
	struct log_limit loop_log;
	struct log_limit rate_log;
	struct purger purger; /* for peers */
	struct purger client_purger; /* for clients, of which peers are told */
	struct heard_by heard_by; /* what they have said */
	struct ready ready;
	struct node_lease_worth lease_worth, renewal_worth;
	struct node_hedges hedges;
	unsigned checks; /* under way, see fill_check.c */
	double check_share; /* of the next one */

	pthread_t thread;
	bool started;
	struct loop_call drain, part;
	bool hands_over; /* what drains: see worker_hand_over() */
	bool leaves;	 /* clients' socket: see worker_leave_socket() */
	unsigned draining;       /* listeners not drained yet, and itself */
	struct loop *drained_to;
	struct loop_call *drained; /* see worker_drain() */
};

/*
 * A copy with everything in it and one user, or null; one user more, of a copy
 * only; one less (null is allowed).
 */
struct worker_settings *
worker_settings_copy(const struct worker_settings *from);
struct worker_settings *worker_settings_ref(struct worker_settings *s);
void worker_settings_unref(struct worker_settings *s);

/* A request has come that names this node among those that it has passed:
 * counted, and logged now and then. */
void worker_count_loop(struct worker *w);

/* A client asks more often than so many times a second: logged now and then. */
void worker_log_hurried(struct worker *w, const struct sockaddr *from,
			unsigned per_s);

/* There is a distant peer that answers, to which connections are kept open from
 * now on, in worker_warm.c. */
void worker_keep_warm(struct worker *w);

/* What memory its requests have. */
static inline struct node_memory worker_memory(void)
{
	return (struct node_memory){ &memory_ledger, memory_reserve() };
}

/* By its loop: the clock of ages and purges, that of dates, and that of time
 * limits. */
static inline int64_t worker_now_s(const struct worker *w)
{
	return loop_steady_s(w->loop);
}

static inline int64_t worker_wall_s(const struct worker *w)
{
	return loop_wall_s(w->loop);
}

static inline int64_t worker_now_ms(const struct worker *w)
{
	return loop_now_ms(w->loop);
}

/* Counts: only the worker's own thread writes, so a plain add will do. */
static inline void worker_add(uint64_t *counter, uint64_t n)
{
	uint64_t now = __atomic_load_n(counter, __ATOMIC_RELAXED);

	__atomic_store_n(counter, now + n, __ATOMIC_RELAXED);
}

#endif
