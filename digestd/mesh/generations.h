/*
 * The generations that a node has published, and what to send to a peer that
 * holds one of them.
 *
 * What is published is one immutable object, a publication: the current full
 * digest, and the deltas to it from the last few generations, each only if it
 * is smaller than the full one. They are the XOR of the arrays, which relays
 * can keep and compose; from the newest generation that anybody holds, which
 * nearly all peers have, there is one conditional on that, too, which is up to
 * a quarter smaller and takes two to three times as long to make. The arrays of
 * those generations are kept, so a peer that missed some gets one delta across
 * all of them. After a change of
 * size there is only the full digest, for every peer once.
 *
 * All that is of arrays. A publication may have a list as well, or instead
 * (list_history.h).
 */
#ifndef DIGESTD_MESH_GENERATIONS_H
#define DIGESTD_MESH_GENERATIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/store/blob.h"
#include "digestd/mesh/catalog.h"
#include "digestd/mesh/list_history.h"

enum { GENERATIONS_KEEP_MAX = 32 };

/* The forms of delta that a peer takes. */
struct delta_forms {
	bool xor;
	bool conditional;
};

/* The delta from an older generation to the publication's, in one form or in
 * both. */
struct publication_delta {
	uint64_t from;
	struct blob *xor;         /* null: the full digest is smaller */
	struct blob *conditional; /* null: none, or another one is smaller */
};

struct publication {
	atomic_uint users;
	struct holders *holders; /* of this generation */
	uint64_t instance;
	uint64_t generation;
	struct list_publication *list; /* its own; null: none */
	struct blob *full; /* null: there is no array of it, and no delta */
	unsigned ndeltas; /* newest base first */
	struct publication_delta deltas[GENERATIONS_KEEP_MAX];
};

/* One user more, one less; the last one frees it. */
struct publication *publication_ref(struct publication *p);
void publication_unref(struct publication *p); /* null is accepted */

/* Somebody is sent it, or has it: later ones are to have a delta from it. From
 * any thread. */
void publication_held(struct publication *p);

/*
 * The delta from a generation of this instance; null: there is none that is
 * smaller than the full digest. Borrowed from p.
 */
const struct publication_delta *publication_delta(const struct publication *p,
						  uint64_t instance,
						  uint64_t from);

/* The smaller of the forms that are taken; null: there is none. Borrowed. */
struct blob *publication_smallest(const struct publication_delta *delta,
				  struct delta_forms taken);

struct generations;

/*
 * Makes an empty history of an instance (not 0) that keeps up to `keep`
 * (0..GENERATIONS_KEEP_MAX) arrays, of generations that anybody holds but for
 * the newest. Returns 0 or SCD_ENOMEM.
 */
int generations_new(struct generations **out, uint64_t instance, unsigned keep);

void generations_free(struct generations **g);

/*
 * Publishes a snapshot: encodes it in full and from each generation that is
 * kept and that anybody holds, from the newest of these in both forms. The
 * snapshot's array becomes the history's, in any case. On success *out is a
 * publication with one user. Costs a pass of the coder over the array for each
 * of them. A large array that is nearly empty is folded first: readers refuse
 * one that is coded in too few bytes. A snapshot without an array makes a
 * publication without one, and the arrays that were kept are freed.
 *
 * Errors: SCD_ENOMEM, SCD_EINVAL; nothing is published then, and the next
 * publication does without this generation as a base.
 */
int generations_publish(struct generations *g,
			struct catalog_snapshot *snapshot,
			struct publication **out);

#endif
