/*
 * Flights: one fetch for concurrent misses of one key, in all workers.
 *
 * The first request that misses leads; those that come while it is under way
 * wait, and are called in their own loops when it has landed, to look again;
 * or, when its response is a large one, as soon as that can be read (relay.h).
 * Shared by threads, behind one lock that is held for a few instructions.
 */
#ifndef DIGESTD_PROXY_FLIGHT_H
#define DIGESTD_PROXY_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/key.h"
#include "digestd/os/loop.h"

struct flights;
struct relay;

/* A leader's place in the table. Times are those of cache_purges(). Fields from
 * `key` on are the table's; under its lock, as flights of one bucket write each
 * other's. */
struct flight {
	bool under_way;  /* only the leader's thread writes and reads it */
	uint64_t begun;  /* set before joining: before anybody is asked */
	uint64_t purged; /* and when the key was purged last, by then */
	struct scd_key key;
	struct flight *next, **link; /* link is null: nobody joins any more */
	struct flight_waiter *waiters;
	struct relay *relay; /* what is shown; null: nothing yet */
};

/* A request that waits. loop, call.run, call.arg and for_landing are the
 * caller's to set. */
struct flight_waiter {
	struct loop *loop;
	struct loop_call call;
	bool for_landing;    /* it has no use for a relay */
	struct relay *relay; /* where it is called to; the caller's to unref */
	struct flight_waiter *next, **link; /* link is null: not waiting */
};

/* Returns 0 or -ENOMEM. */
int flights_new(struct flights **out);

/* Frees; nothing may be under way. *flights becomes null. */
void flights_free(struct flights **flights);

enum flight_place {
	FLIGHT_LEADS, /* `lead` has taken off for the key */
	FLIGHT_WAITS, /* `wait`'s call will be posted to its loop */
	FLIGHT_SHOWN, /* wait->relay can be read */
};

/*
 * Leads, or joins the flight that is under way for the key; but not one that
 * began before lead->purged: that goes on for those who have joined it, and
 * `lead` takes its place. A null `wait` joins nothing, and gets FLIGHT_WAITS.
 */
enum flight_place flights_join(struct flights *flights,
			       const struct scd_key *key, struct flight *lead,
			       struct flight_waiter *wait);

/* Shows a relay to who waits, and to who will join; or, with null, no more. */
void flights_show(struct flights *flights, struct flight *lead,
		  struct relay *relay);

/* Lands when nobody waits, and nobody reads what is shown; returns whether that
 * is so, also when not under way. */
bool flights_land_alone(struct flights *flights, struct flight *lead);

/* Lands: all who wait are called. Nothing happens when not under way. */
void flights_land(struct flights *flights, struct flight *lead);

/*
 * Stops waiting. Returns false when the call has been posted already, and
 * comes for certain.
 */
bool flights_leave(struct flights *flights, struct flight_waiter *wait);

#endif
