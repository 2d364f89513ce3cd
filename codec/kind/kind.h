/*
 * Kinds of digests: several ways to summarize a set of keys behind one
 * interface, so that a table (digestbench tables --kinds) or a simulation can
 * compare them. Nodes publish compressed Bloom filters (digest.h); the others
 * are what those are measured against. The kinds are an archive of their own,
 * which is not installed and is no part of libscd.
 *
 *     made for n keys, add ... add, seal      the owner
 *     encode -> bytes -> decode               the wire
 *     has, has, ...                           either
 *
 * No kind has false negatives. Bytes are real: encode gives all that a
 * receiver needs, decode trusts nothing that it is given. A kind is a file
 * with a struct scd__kind, and a row of the table in kind.c.
 */
#ifndef SCD_KIND_H
#define SCD_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/error.h"
#include "codec/key.h"

struct scd__kind;

/* What a summary is made for: fp, or bits if fp is 0. */
struct scd__kind_goal {
	uint64_t nkeys;     /* keys to expect, 1..2^32 */
	double fp;          /* false-positive rate to reach, 0 < fp < 1 */
	double bits;        /* bits an object that it may have on the wire */
	double memory_bits; /* most memory an object, for a kind that can
			     * trade it for wire; 0: 64 */
};

/* The beginning of every summary; the rest is its kind's own. */
struct scd__summary {
	const struct scd__kind *kind;
	bool sealed;
};

/*
 * A kind. Its functions are called through those below, which say what they
 * do; create, add and decode give SCD_ errors.
 */
struct scd__kind {
	const char *name;         /* a word, as on a command line */
	const char *title;        /* as in a table */
	enum scd_hashing hashing; /* which keys it is for */

	int (*create)(const struct scd__kind_goal *goal,
		      struct scd__summary **out);
	int (*add)(struct scd__summary *s, const struct scd_key *key);
	int (*seal)(struct scd__summary *s);
	bool (*has)(const struct scd__summary *s, const struct scd_key *key);
	double (*fp)(const struct scd__summary *s);
	size_t (*memory)(const struct scd__summary *s);
	int (*encode)(const struct scd__summary *s, uint8_t **out,
		      size_t *out_len);
	int (*decode)(const uint8_t *in, size_t len, size_t max_memory,
		      struct scd__summary **out);
	void (*destroy)(struct scd__summary *s);
};

/* The i-th kind; null: there are no more. */
const struct scd__kind *scd__kind_at(size_t i);

/* The kind with a name; null: none has it. */
const struct scd__kind *scd__kind_find(const char *name);

/*
 * Make an empty summary, to be released with scd__summary_free(). SCD_EINVAL:
 * a number of the goal out of range. SCD_EGOAL: the kind cannot reach it.
 * SCD_ENOMEM. Errors leave *out alone.
 */
int scd__summary_new(const struct scd__kind *kind,
		     const struct scd__kind_goal *goal,
		     struct scd__summary **out);

/* Release; *s becomes null. Null is accepted. */
void scd__summary_free(struct scd__summary **s);

/*
 * Add a key, before sealing. More keys than were expected are taken, and
 * raise the rate of false positives. SCD_ENOMEM: it was not added.
 */
int scd__summary_add(struct scd__summary *s, const struct scd_key *key);

/*
 * End adding, for what follows. A second call does nothing. SCD_ENOMEM: it
 * may be tried again.
 */
int scd__summary_seal(struct scd__summary *s);

/* Whether a key may have been added. The summary is sealed. */
bool scd__summary_has(const struct scd__summary *s, const struct scd_key *key);

/* The rate at which other keys are found, from what is in it. Sealed. */
double scd__summary_fp(const struct scd__summary *s);

/* Bytes of memory that a receiver needs to answer from it. Sealed. */
size_t scd__summary_memory(const struct scd__summary *s);

/*
 * The bytes for the wire, a buffer to be released with free(). The same keys
 * added to the same goal give the same bytes. Sealed. SCD_ENOMEM leaves *out
 * and *out_len alone; SCD_ELIMIT: so full that no receiver would take it.
 */
int scd__summary_encode(const struct scd__summary *s, uint8_t **out,
			size_t *out_len);

/*
 * Make a sealed summary of bytes from outside. It takes at most max_memory
 * bytes, and is refused before that is exceeded. Errors leave *out alone.
 * SCD_ETRUNC, SCD_EFORMAT, SCD_EVERSION, SCD_ECHECKSUM: not such bytes;
 * SCD_ELIMIT: too large, or too full; SCD_ENOMEM.
 */
int scd__summary_decode(const struct scd__kind *kind, const uint8_t *in,
			size_t len, size_t max_memory,
			struct scd__summary **out);

#endif
