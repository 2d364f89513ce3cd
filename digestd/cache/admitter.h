/*
 * What is worth keeping, in this node: an admission policy (admission_policy.h)
 * and a cap on what is written, for all workers and for other caches that ask
 * /v1/admit; behind a lock of its own, held for a few memory accesses.
 *
 * All of them share what was seen: a URI that another cache has asked about is
 * seen by this node's own store, and the other way round.
 */
#ifndef DIGESTD_CACHE_ADMITTER_H
#define DIGESTD_CACHE_ADMITTER_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/key.h"
#include "digestd/admission/admission_policy.h"
#include "digestd/store/store.h"

struct admitter;

struct admitter_settings {
	const char *policy;    /* one of admission_offered */
	const char *eviction;  /* of the cache that it is for */
	uint64_t capacity;     /* [bytes], of that cache: of its disk, if it
				  has one */
	uint64_t memory;       /* [bytes], of that cache */
	uint64_t mean_size;    /* [bytes], of its objects */
	uint64_t window;       /* keys remembered; 0: 1.5 times its objects */
	double memory_share;   /* of the memory, for what is on probation */
	double write_cost;     /* of a write, in hits: what `auto` goes by */
	uint64_t max_rate;     /* [bytes/s] written; 0: no cap */
};

/* What it was asked, and answered. One row each: name, what it counts. */
/* clang-format off */
#define ADMITTER_COUNTERS(X) \
	X(admitted,       "objects admitted: worth a write") \
	X(admitted_bytes, "bytes of the objects admitted") \
	X(on_probation,   "objects kept in RAM until their second use") \
	X(refused,        "objects that admission refused") \
	X(capped,         "objects not written because of admission_max_rate") \
	X(questions,      "objects that other caches asked about")
/* clang-format on */

struct admitter_stats {
#define X(name, help) uint64_t name;
	ADMITTER_COUNTERS(X)
#undef X
	uint64_t window; /* keys; 0: none are remembered */
	uint64_t bytes;  /* of memory */
	bool admits_all; /* as things stand */
};

/* The policy of that name that a node can have; null: none. */
const struct admission_policy *admitter_policy(const char *name);

/*
 * Makes one that has seen nothing. Returns 0, -EINVAL (a value is out of
 * range), -ENOMEM.
 */
int admitter_new(const struct admitter_settings *settings, int64_t now_ms,
		 struct admitter **out);

/* *a becomes null; null is allowed. */
void admitter_free(struct admitter **a);

/*
 * An object that is not on disk: what becomes of it? Counts as a use. `size`:
 * what it weighs there [bytes].
 */
enum admission_decision admitter_decide(struct admitter *a,
					const struct scd_key *key,
					uint64_t size, int64_t now_ms);

/* The same for another cache, and without `note` not counted as a use. */
enum admission_decision admitter_answer(struct admitter *a,
					const struct scd_key *key,
					uint64_t size, bool note,
					int64_t now_ms);

/* Has a policy's answer ADMISSION_RAM a place, of how many bytes of a cache's
 * memory? 0 also while it has no use for it. */
bool admitter_wants_ram(const struct admitter *a);
uint64_t admitter_ram_bytes(struct admitter *a, uint64_t memory);

/* Does the policy want to know of what was found? */
bool admitter_hears_hits(const struct admitter *a);

/* A key is used elsewhere. */
void admitter_note(struct admitter *a, const struct scd_key *key);

/* A request for an object, found or not, of that size. */
void admitter_request(struct admitter *a, const struct scd_key *key,
		      uint64_t size, bool hit);

/*
 * The filter of keys, for images of it, which others may change meanwhile;
 * null: the policy has none. And another one in its place, whose owner the
 * admitter becomes; not while the old one is still looked at.
 */
const struct scd_admission *admitter_seen(struct admitter *a);
void admitter_take(struct admitter *a, struct scd_admission *seen);

/*
 * What the cache holds by now: once that says how many objects there will be,
 * the window follows, unless it was given; and all follows what admitter_set()
 * has changed. The filter that admitter_seen() gave may go in this call: not
 * while it is looked at. Without memory things stay as they are.
 */
void admitter_follow(struct admitter *a, const struct store_stats *held);

/* Whether the window was given. */
bool admitter_is_fixed(const struct admitter *a);

/* Takes what may change while it is in use: write_cost, max_rate, capacity,
 * and memory. */
void admitter_set(struct admitter *a, const struct admitter_settings *settings,
		  int64_t now_ms);

/* How things stand. */
void admitter_stats(struct admitter *a, struct admitter_stats *out);

#endif
