/*
 * How publications get to their receivers: after a delay, in their order, and
 * some of them get lost. Who missed some gets a full digest with the next one
 * that arrives, unless that is full itself; then its view is as if none had
 * been lost.
 *
 * Whether one is lost follows from the seed, the publisher, its number and
 * the receiver alone.
 */
#ifndef CACHESIM_SIM_TRANSPORT_H
#define CACHESIM_SIM_TRANSPORT_H

#include "cachesim/protocol/protocol.h"

/* A publication under way. */
struct parcel {
	struct protocol_publication *publication;
	uint64_t number;  /* of its publisher's, from 0 */
	uint64_t request; /* not before this one */
	uint64_t time_s;  /* and not before this time */
};

/* Publications, first in, first out. */
struct parcels {
	struct parcel *at;
	size_t first, n, room;
};

struct transport {
	struct protocol_state *protocol;
	struct parcels queue;
	struct parcels *missed; /* [receiver * nproxies + publisher]; null:
				   none get lost */
	uint64_t sent[PROTOCOL_MAX_PROXIES];
	uint32_t loss_ppm;
	uint64_t seed;
	/* with views of their own that are kept here: of the first 64; all
	 * others are */
	uint64_t receivers;
	/* Told of each loss, and of each gap that was filled; by whom it is
	 * counted. */
	void (*lost)(void *arg, unsigned publisher);
	void (*resync)(void *arg, unsigned receiver, uint64_t bytes);
	void *arg;
};

/* Makes room for what gets lost; the other fields are set. 0 or SCD_ENOMEM. */
int transport_init(struct transport *t);

/* Drops all that is under way. Accepts one that is all zero. */
void transport_free(struct transport *t);

/* Takes a publication over. 0 or SCD_ENOMEM: then it is released. */
int transport_send(struct transport *t, struct protocol_publication *p,
		   uint64_t request, uint64_t time_s);

/* Delivers what has arrived by a request and a time. 0 or an error of the
 * protocol. */
int transport_arrive(struct transport *t, uint64_t request, uint64_t time_s);

#endif
