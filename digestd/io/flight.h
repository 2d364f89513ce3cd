/*
 * Flights: one fetch for concurrent misses of one key, in all workers.
 *
 * The first request that misses leads; those that come while it is under way
 * wait, and are called in their own loops when it has landed, to look again.
 * Shared by threads, behind one lock that is held for a few instructions.
 */
#ifndef DIGESTD_IO_FLIGHT_H
#define DIGESTD_IO_FLIGHT_H

#include <stdbool.h>

#include "codec/key.h"
#include "digestd/io/loop.h"

struct flights;

/* A leader's place in the table. All fields are the table's. */
struct flight {
	struct scd_key key;
	struct flight *next, **link; /* link is null: not under way */
	struct flight_waiter *waiters;
};

/* A request that waits. call.run and call.arg are the caller's to set. */
struct flight_waiter {
	struct loop *loop;
	struct loop_call call;
	struct flight_waiter *next, **link; /* link is null: not waiting */
};

/* Returns 0 or -ENOMEM. */
int flights_new(struct flights **out);

/* Frees; nothing may be under way. *flights becomes null. */
void flights_free(struct flights **flights);

/*
 * Either `lead` takes off for the key (true), or `wait` joins the flight that
 * is under way: its call will be posted to its loop when that lands. A null
 * `wait` joins nothing.
 */
bool flights_join(struct flights *flights, const struct scd_key *key,
		  struct flight *lead, struct flight_waiter *wait);

/* Lands: all who wait are called. Nothing happens when not under way. */
void flights_land(struct flights *flights, struct flight *lead);

/*
 * Stops waiting. Returns false when the call has been posted already, and
 * comes for certain.
 */
bool flights_leave(struct flights *flights, struct flight_waiter *wait);

#endif
