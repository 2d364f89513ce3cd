/*
 * Placement: which of the nodes of a cluster keeps an object. A node decides
 * for itself, when it has got one from a peer or from the origin, from what it
 * knows then; what is kept nowhere else is asked of the origin again.
 *
 * docs/ADMISSION.md has measurements: copies everywhere cost writes, and, in a
 * small cache, hits; a single copy costs bytes between the nodes.
 */
#ifndef DIGESTD_MESH_PLACEMENT_H
#define DIGESTD_MESH_PLACEMENT_H

#include <stdbool.h>

/* Whether a node keeps what it got. */
enum placement {
	PLACEMENT_KEEP,   /* always */
	PLACEMENT_SECOND, /* from a peer: on its second request for it, or if
			   * others wait for the same already */
	PLACEMENT_SINGLE, /* from a peer: never; the peer's copy is used */
	/* never, and from the origin only what was requested before: at this
	 * node; at any */
	PLACEMENT_SINGLE_SEEN,
	PLACEMENT_SINGLE_SHARED,
	/* from a peer: as a hot copy, if it is asked for more often than what
	 * it displaces; from the origin: unless it displaces too many
	 * (store/eviction_tiers.h); and what others wait for */
	PLACEMENT_AUTO,
	PLACEMENTS
};

/* Their names, in this order; a null ends them. */
extern const char *const placement_names[];

/* Reads a name; false: it is none of them. */
bool placement_read(const char *name, enum placement *out);

/* What was got. */
struct placement_case {
	bool remote;	     /* from a peer; else from the origin */
	bool asked;	     /* this node had been asked for it before */
	bool worthy;         /* of a place here, as tiers say (auto) */
	bool awaited;        /* other requests of this node wait for it: what
			      * is not kept answers one, and each of them would
			      * fetch it from the peer by itself */
	bool asked_at_peers; /* a peer had been, as far as it is known here */
};

/* Is it kept? */
bool placement_keeps(enum placement p, const struct placement_case *c);

/* Is what came from a peer, and is kept, a hot copy only? */
bool placement_has_tiers(enum placement p);

/* Must a node remember what it was asked for? */
bool placement_remembers(enum placement p);

#endif
