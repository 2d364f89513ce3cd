/*
 * What a node publishes of its list of fingerprints (codec/list.h): frames, one
 * from each generation to the next, and a full digest.
 *
 * A publication costs what has changed. A reader that has missed some
 * generations gets their frames one behind the other; they are kept for as long
 * as they take fewer bytes than a full digest. A full digest is made anew only
 * when the frames since the last one have a sixteenth of its bytes, or when it
 * costs next to nothing: so it may be some generations old, and the frames from
 * there on are kept in any case.
 *
 * The width of the fingerprints gives a peer at most the false positives that
 * are meant, for twice the objects that there are, or for as many as were
 * expected. With more, or with far fewer, it changes: then peers get a full
 * digest. So that no walk over the objects is needed for that, all fingerprints
 * are kept in full width, too: 4 to 5 bytes an object more.
 *
 * A list of some size keeps ages (FORMAT.md, "Ages"). Those who have them get
 * frames by age where these are smaller; those who ask for them get them with
 * the generation of the full digest.
 */
#ifndef DIGESTD_MESH_LIST_HISTORY_H
#define DIGESTD_MESH_LIST_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/mesh/catalog.h"
#include "digestd/mesh/sector_digest.h"
#include "digestd/store/blob.h"

/* What a node publishes. */
enum digest_form { DIGEST_FORM_AUTO, DIGEST_FORM_LIST, DIGEST_FORM_ARRAY };

extern const char *const digest_form_names[]; /* a null ends them */

enum { LIST_HISTORY_STEPS = 1024 }; /* that are kept, at most */

/* The frame from one generation to the next. */
struct list_step {
	uint64_t from;
	struct blob *frame;
	struct blob *aged; /* by age; null: it is not smaller */
	uint64_t gone;     /* entries that go */
};

/* A generation, and what leads to it. Immutable, of any thread. */
struct list_publication {
	uint64_t generation;
	uint64_t nkeys;
	unsigned width;
	struct blob *full; /* of full_generation, which is not above */
	uint64_t full_generation;
	struct blob *ages; /* of full_generation; null: it keeps none */
	size_t nsteps; /* oldest first; the last one leads to generation */
	struct list_step steps[];
};

/* Null is accepted. */
void list_publication_free(struct list_publication *p);

/* The step from a generation; nsteps: there is none. */
size_t list_publication_find(const struct list_publication *p, uint64_t from);

/* The frame of a step, for a reader with ages or without. Has one more user. */
struct blob *list_publication_frame(const struct list_publication *p,
				    size_t step, bool aged);

/* Bytes of the frames from a step on. */
size_t list_publication_bytes(const struct list_publication *p, size_t step);

/*
 * The frames from a step (< nsteps) on, one behind the other, with one user
 * more. Null: no memory.
 */
struct blob *list_publication_frames(const struct list_publication *p,
				     size_t step);

/*
 * The same for a reader who has ages; or, by `ages`, one who gets them first:
 * then the step is that from full_generation, or nsteps.
 */
struct blob *list_publication_aged_frames(const struct list_publication *p,
					  size_t step, bool ages);

struct list_history;

/* What the width of a list is made for. */
struct list_shape {
	double fp;         /* false positives, above 0 and below 1 */
	uint64_t expected; /* objects, at least */
};

/*
 * Makes a history of an empty list. instance: not 0. SCD_ENOMEM.
 */
int list_history_new(struct list_history **out, uint64_t instance,
		     const struct list_shape *shape);

void list_history_free(struct list_history **h);

/*
 * Publishes the changes of a snapshot, which become those of none. In time
 * proportional to them, but where a full digest is made. *out is to be freed.
 * Errors: SCD_ENOMEM, and SCD_EINVAL: something is to go that has not come.
 * After that list_history_is_lost() may say that nothing more can be published.
 */
int list_history_publish(struct list_history *h,
			 struct catalog_snapshot *snapshot,
			 struct list_publication **out);

/*
 * What a node of another location gets of its sector, as sector_digest_make().
 * From the first time on changes are kept for that, a quarter as many as there
 * are objects. SCD_EINVAL: nothing is published.
 */
int list_history_sector(struct list_history *h, const struct sector *s,
			uint64_t from, struct sector_digest *out);

/* Whether changes were lost, so that the list is not the catalog's. */
bool list_history_is_lost(const struct list_history *h);

/* Bytes of memory of the lists and the frames. */
size_t list_history_memory(const struct list_history *h);

#endif
