/*
 * What this node was asked for of late: an exact set of keys with its catalog,
 * so that it can be published as a digest; behind a lock of its own. Keys that
 * have not been used for longest make room for new ones.
 *
 * Memory: some 90 bytes a key, and the catalog's 5 bits for each of the
 * digest's.
 */
#ifndef DIGESTD_PEERS_SEEN_H
#define DIGESTD_PEERS_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/key.h"
#include "digestd/peers/publisher.h"

struct seen;

struct seen_settings {
	uint64_t window; /* keys, > 0 */
	uint64_t nbits;  /* the digest's shape, which it keeps */
	unsigned nhash;
};

/* Makes an empty one. Returns 0, -EINVAL (an impossible shape), -ENOMEM. */
int seen_new(const struct seen_settings *settings, struct seen **out);

/* *s becomes null; null is allowed. */
void seen_free(struct seen **s);

/* Was the key used? It is now; without memory it is not remembered. */
bool seen_use(struct seen *s, const struct scd_key *key);

/* For a publisher. */
struct publisher_source seen_source(struct seen *s);

#endif
