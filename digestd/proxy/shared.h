/*
 * The seam between what one worker does for a request, and what all workers
 * share: the cache, and the fills under way that others may join (collapse.h).
 *
 * There are two operations, to find what is stored or under way, and to land
 * what a fill has brought. Each is atomic, for memory: whatever workers do
 * meanwhile, it is as if all of it happened at one moment. What is on disk only
 * is not looked for here.
 */
#ifndef DIGESTD_PROXY_SHARED_H
#define DIGESTD_PROXY_SHARED_H

#include "digestd/cache/cache.h"
#include "digestd/proxy/collapse.h"
#include "digestd/proxy/worker.h"

struct shared_want {
	const struct scd_key *key;
	const char *uri; /* of that, canonical */
	const struct fields *request;
	bool joins; /* if there is nothing new, it joins or leads a fill */
	bool peers; /* it is a peer's request, which only joins */
	const struct cached *known; /* found already, and not to be used; */
	uint64_t since;		    /* what shared_found.since was then */
	struct collapse_reader *reader; /* that joins; null: only leads */
};

enum shared_place {
	SHARED_STORED, /* found->stored.c; another than known */
	SHARED_NONE,   /* nothing is in memory, as stored.why says; or, when
			  it only leads, somebody else does; or, when it only
			  joins, there is nothing to be joined */
	SHARED_LEADS,  /* found->lead is the key's; null: there was no memory
			  to let others join */
	SHARED_WAITS,  /* the reader's call will be posted to its loop */
	SHARED_SHOWN,  /* what the reader has joined can be followed */
};

struct shared_found {
	struct cache_found stored; /* what is lent, until the worker waits */
	uint64_t since; /* cache_purges() before it was looked up */
	struct collapse *lead;
};

/*
 * Finds what is stored for a request, fresh or not, which counts as a use for
 * eviction; or, if it joins, the fill that is under way for the key, and else
 * leads one. Nobody joins a fill that began before the last purge that is of
 * the key, or may be, or renews what was found before that; nobody leads one
 * for what a fill has stored since the request has missed, unless that has left
 * memory already: then it is fetched once more.
 */
enum shared_place shared_find(const struct worker_shared *shared,
			      const struct shared_want *want,
			      struct shared_found *found);

/* What a fill has brought. */
struct shared_landing {
	struct cache_fill fill;
	struct cached *whole; /* to be stored; null: nothing */
	struct collapse **lead; /* becomes null; what it is then, is allowed */
};

/*
 * Lands it: stores it, unless the key was purged since it was asked for; ends
 * the collapse; and has those who have joined called, who find it then, or read
 * on from it where they saw a part. Returns whether it is stored.
 */
bool shared_land(const struct worker_shared *shared,
		 const struct shared_landing *landing);

#endif
