/*
 * The digest of what is held here as Squids publish theirs (codec/squid.h), so
 * that an unmodified Squid can have this node as a sibling: made anew every so
 * often of all keys, part by part on the service loop, and served to Squids,
 *
 *   /squid-internal-periodic/store_digest
 *
 * with Last-Modified and Expires. Keys are MD5 sums of URIs, which nobody keeps
 * a filter of: what is held is walked over, 0.2 us a key.
 *
 * Squids up to 7 spoil the first 4 KB of a digest whose header and mask come in
 * one read. So the mask is sent SQUID_DIGEST_PAUSE_MS after the header.
 */
#ifndef DIGESTD_PEERS_SQUID_DIGEST_H
#define DIGESTD_PEERS_SQUID_DIGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/key.h"
#include "digestd/store/keypart.h"

struct cache;
struct exchange;
struct loop;
struct squid_digest;

enum {
	SQUID_DIGEST_ENTRY_BITS = 12, /* 0.6 % false positives */
	SQUID_DIGEST_PAUSE_MS = 10,
};

/* Whose keys they are. A walk calls back with those of a part that are fresh at
 * now_s (loop_steady_s()), under the lock of what has them. */
struct squid_source {
	void *arg;
	uint64_t (*count)(void *arg); /* of keys, about */
	uint64_t (*parts)(void *arg);
	void (*walk)(void *arg, const struct keypart *part, int64_t now_s,
		     void (*each)(void *to, const struct scd_key *key),
		     void *to);
};

/* The keys of what is fresh in a cache's memory. */
struct squid_source squid_source_of_cache(struct cache *cache);

/* Counters; one row each. name, what it counts. */
/* clang-format off */
#define SQUID_DIGEST_COUNTERS(X) \
	X(made,         "digests in Squid's format made") \
	X(sent,         "digests in Squid's format sent") \
	X(not_modified, "requests of Squids for the digest that were answered with nothing new")
/* clang-format on */

struct squid_digest_stats {
	uint64_t keys;	/* in the current one */
	uint64_t bytes; /* of it; 0: there is none yet */
#define X(name, help) uint64_t name;
	SQUID_DIGEST_COUNTERS(X)
#undef X
};

/*
 * Makes the first digest soon, and another one every period_ms (> 0). `loop`
 * and what the source is of are borrowed. Returns 0 or -ENOMEM.
 */
int squid_digest_new(struct loop *loop, const struct squid_source *source,
		     int64_t period_ms, struct squid_digest **out);

/* When no worker runs any more. *d becomes null; null is allowed. */
void squid_digest_free(struct squid_digest **d);

/* Whether a request is for it, by a path or, as Squids ask, by a URL. */
bool squid_digest_is_meant(const struct exchange *x);

/* Answers such a request, and hears of its end; from workers' threads. `d`
 * null: there is none, 404. */
void squid_digest_on_request(struct squid_digest *d, struct exchange *x);
void squid_digest_on_done(struct exchange *x);

/* How things stand; from any thread. */
void squid_digest_stats(struct squid_digest *d, struct squid_digest_stats *out);

#endif
