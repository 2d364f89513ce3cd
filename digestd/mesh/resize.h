/*
 * How large the catalog's filter should be: it follows the number of keys from
 * one power of two to another, without ever going back and forth.
 *
 * A filter of m bits is made for m / bits_per_key keys. It is left
 *
 *   upwards    when the false positives to expect are more than twice those of
 *              that many keys, or the keys are twice as many: at once, to the
 *              size that all of them fit into;
 *   downwards  when for shrink_ms the keys were never more than 0.4 of that
 *              many: to the size of which they take at most 0.8.
 *
 * So it is filled to more than 0.5 and at most 1 after growing, to at most 0.8
 * after shrinking. The way back needs at most 0.4, or more than 1: a fifth
 * fewer keys, or a quarter more.
 */
#ifndef DIGESTD_MESH_RESIZE_H
#define DIGESTD_MESH_RESIZE_H

#include <stdint.h>

#include "digestd/mesh/catalog.h"

struct resize_policy {
	uint64_t min_bits, max_bits; /* powers of two; equal: a fixed size */
	uint64_t bits_per_key;       /* > 0, as tuned */
	int64_t shrink_ms;           /* see above */
};

/* All fields are private; zero is the beginning. */
struct resize {
	uint64_t nbits;   /* of the filter that the next two are about */
	uint64_t peak;    /* most keys since then */
	int64_t since_ms; /* never more than 0.4 since then */
};

/*
 * The size that a catalog should have [bits], a power of two within the
 * policy's; its own size when it should stay. To be called several times a
 * second, but not while it is being rebuilt.
 */
uint64_t resize_wanted(struct resize *r, const struct resize_policy *policy,
		       const struct catalog_stats *now, int64_t now_ms);

/* When it will be another one if no more keys come or go [ms], as of the last
 * resize_wanted(); INT64_MAX: it will not. */
int64_t resize_due_ms(const struct resize *r,
		      const struct resize_policy *policy,
		      const struct catalog_stats *now);

/* Whether the keys are too many for the filter, as above. */
bool resize_is_crowded(const struct resize_policy *policy,
		       const struct catalog_stats *now);

/*
 * Bits for each key of a filter with nhash functions (1..32) whose false
 * positives are to be at most fp (1e-9..0.5), rounded up: the least b with
 * (1 - e^(-nhash/b))^nhash <= fp.
 */
uint64_t resize_bits_per_key(double fp, unsigned nhash);

#endif
