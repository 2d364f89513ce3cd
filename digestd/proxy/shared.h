/*
 * The seam between a request and what all workers share: the cache, and the
 * fetches under way (flight.h). Each operation is atomic: whatever workers do
 * meanwhile, it is as if all of it happened at one moment.
 */
#ifndef DIGESTD_PROXY_SHARED_H
#define DIGESTD_PROXY_SHARED_H

#include "digestd/cache/cache.h"
#include "digestd/proxy/flight.h"

/* What was looked for and not found, or not fresh. */
struct shared_miss {
	const struct scd_key *key;
	const struct fields *request;
	const struct cached *known; /* what was found; null: nothing */
};

enum shared_place {
	SHARED_LEADS,  /* `lead` has taken off for the key */
	SHARED_WAITS,  /* `wait`'s call will be posted to its loop */
	SHARED_SHOWN,  /* wait->relay can be read */
	SHARED_STORED, /* there is another response by now: look again */
};

/*
 * After a miss: joins the fetch that is under way for the key, or leads one.
 * Nobody joins a fetch that began before the key was purged last; nobody leads
 * one for what a fetch has stored since the miss. A null `wait` joins nothing,
 * and gets SHARED_WAITS.
 */
enum shared_place shared_join(struct cache *cache, struct flights *flights,
			      const struct shared_miss *miss,
			      struct flight *lead, struct flight_waiter *wait);

#endif
