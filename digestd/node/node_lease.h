/*
 * The way to an origin, where a cluster fetches what its nodes want once: the
 * owner of the key is asked for the lease (mesh/leases.h), then the node that
 * has it. A closed machine without I/O; each step is a request to a peer, or
 * the word of this node's own table, where it is the owner itself.
 *
 *   BEGIN           ask the owner
 *   ASKED_OWNER     elsewhere: ask who has it, which may be the owner; else to
 *                   the origin
 *   ASKED_HOLDER    it has it not: tell the owner so, and ask again; where it
 *                   says that each needs its own, to the origin
 *   ASKED_AGAIN     elsewhere: ask who has it; else to the origin
 *   ASKED_LAST      to the origin
 *
 * A step ends the way when its peer sends the object.
 */
#ifndef DIGESTD_NODE_NODE_LEASE_H
#define DIGESTD_NODE_NODE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/mesh/leases.h"

enum node_lease_state {
	NODE_LEASE_BEGIN,
	NODE_LEASE_ASKED_OWNER,
	NODE_LEASE_ASKED_HOLDER,
	NODE_LEASE_ASKED_AGAIN,
	NODE_LEASE_ASKED_LAST,
	NODE_LEASE_OVER,
	NODE_LEASE_STATES,
};

/* Zero at first. */
struct node_lease {
	enum node_lease_state state;
	uint64_t holder; /* who was named last; 0: nobody */
	bool asks;       /* the request under way is one of this way */
};

enum node_lease_do {
	NODE_LEASE_ASK_OWNER,  /* with `wish` */
	NODE_LEASE_ASK_HOLDER, /* l->holder, with `wish` */
	NODE_LEASE_TO_ORIGIN,
};

/* The next step, after this answer to the one before, which was no object;
 * self: this node's instance. */
enum node_lease_do node_lease_next(struct node_lease *l,
				   const struct lease_answer *told,
				   uint64_t self, struct lease_wish *wish);

/*
 * Whether to ask at all: nodes that want nothing in common, as behind a front
 * that hashes URLs, find nobody. After NODE_LEASE_PATIENCE that found nobody,
 * one in NODE_LEASE_SAMPLE is tried, until a peer has had something that was
 * wanted here, whether a digest led to it or a lease. Where one miss in fifty
 * is answered by a peer, patience is lost by chance once in 13 times, and found
 * again after fifty misses.
 */
enum { NODE_LEASE_PATIENCE = 128, NODE_LEASE_SAMPLE = 64 };

struct node_lease_worth {
	unsigned vain; /* ways since a peer has had what was wanted */
	unsigned skipped;
};

/* Whether to ask this time. */
bool node_lease_is_worth(struct node_lease_worth *w);

/* A way has ended: did it lead to an object? Or, without one, a peer has sent
 * an object that its digest shows: that is found, too. */
void node_lease_was_worth(struct node_lease_worth *w, bool found);

#endif
