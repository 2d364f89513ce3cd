/*
 * The holdings: the keys of what the cache beside this node holds, as that, or
 * who watches it, says. An exact set with its catalog, so that it can be
 * published as a digest; behind a lock of its own.
 *
 * A key is there once, however often it is inserted. Who counts the variants of
 * an object uses holdings_take() and holdings_drop() in its place.
 *
 * Memory: 32 bytes a key, 48 with keys of Squid's, in a table that is between
 * three eighths and three quarters full; and the catalog.
 */
#ifndef DIGESTD_SIDECAR_HOLDINGS_H
#define DIGESTD_SIDECAR_HOLDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/key.h"
#include "digestd/mesh/catalog.h"
#include "digestd/peers/publisher.h"
#include "digestd/peers/squid_digest.h"

struct holdings;

struct holdings_settings {
	uint64_t max_keys; /* > 0 */
	uint64_t nbits;	   /* the catalog's shape, as catalog_new() takes it */
	unsigned nhash;
	uint8_t secret[SCD_SECRET_BYTES]; /* see scd_key_make() */
	bool squid; /* has Squid's keys, too */
	bool lists; /* its catalog notes changes, for lists of fingerprints */
};

/* The keys of a URI. */
struct holdings_key {
	struct scd_key own;
	struct scd_key squid; /* where settings have it; else all zero */
};

/* Counters; one row each. name, what it counts. */
/* clang-format off */
#define HOLDINGS_COUNTERS(X) \
	X(inserted, "URIs that the cache beside this node has come to hold") \
	X(evicted,  "URIs that the cache beside this node holds no more") \
	X(refused,  "URIs of the cache beside this node that are not published: beyond sidecar_objects, or no memory")
/* clang-format on */

struct holdings_stats {
	uint64_t keys;	/* held now */
	uint64_t bytes; /* of the table */
#define X(name, help) uint64_t name;
	HOLDINGS_COUNTERS(X)
#undef X
};

/* Makes an empty set. Returns 0, -EINVAL (an impossible shape), -ENOMEM. */
int holdings_new(const struct holdings_settings *settings,
		 struct holdings **out);

/* *h becomes null; null is allowed. */
void holdings_free(struct holdings **h);

/* Between both, what follows is done; short, as others wait. */
void holdings_lock(struct holdings *h);
void holdings_unlock(struct holdings *h);

/*
 * The keys of an absolute http or https URI of len bytes, in whatever spelling.
 * Returns 0, or -EINVAL: it is none, or longer than HOLDINGS_URI_BYTES. From
 * any thread, without the lock.
 */
enum { HOLDINGS_URI_BYTES = 16384 };
int holdings_key(const struct holdings *h, const char *uri, size_t len,
		 struct holdings_key *out);

/* The cache holds a key; false: it is refused, and counted. */
bool holdings_insert(struct holdings *h, const struct holdings_key *key);

/* It does not, whatever was there. */
void holdings_evict(struct holdings *h, const struct scd_key *key);

/* It holds one more, or one less, of a key; the last one evicts. What was
 * refused may be dropped, and is nothing then. */
bool holdings_take(struct holdings *h, const struct holdings_key *key);
void holdings_drop(struct holdings *h, const struct scd_key *key);

/* It holds nothing. */
void holdings_reset(struct holdings *h);

/* Whether it holds a key. */
bool holdings_have(const struct holdings *h, const struct scd_key *key);

/* How things stand; takes the lock. */
void holdings_stats(struct holdings *h, struct holdings_stats *out);
void holdings_catalog_stats(struct holdings *h, struct catalog_stats *out);

/* For a publisher; and, where it has those keys, for Squids. */
struct publisher_source holdings_source(struct holdings *h);
struct squid_source holdings_squid_source(struct holdings *h);

#endif
