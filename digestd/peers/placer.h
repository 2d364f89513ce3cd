/*
 * What this node keeps of what it gets, for all workers: a placement
 * (mesh/placement.h), and the memory of what the node was asked for that some
 * of them need.
 */
#ifndef DIGESTD_PEERS_PLACER_H
#define DIGESTD_PEERS_PLACER_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/key.h"
#include "digestd/mesh/placement.h"

struct placer;
struct seen;

struct placer_settings {
	enum placement placement;
	uint64_t window;   /* keys that are remembered, > 0 */
	struct seen *seen; /* what remembers them, borrowed; null: a filter */
};

/* Makes one that was asked for nothing. Returns 0, -EINVAL (the window),
 * -ENOMEM. */
int placer_new(const struct placer_settings *settings, struct placer **out);

/* *p becomes null; null is allowed. */
void placer_free(struct placer **p);

/*
 * Is a response kept? Counts as a request for the key. The facts are all but
 * `asked`, which the placer knows.
 */
bool placer_keeps(struct placer *p, const struct scd_key *key,
		  const struct placement_case *facts);

/* Does its placement have tiers? */
bool placer_has_tiers(const struct placer *p);

#endif
