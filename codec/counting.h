/*
 * Counting Bloom filters: a filter from which keys can be removed again. A
 * counter of 4 bits stands behind every bit; the bit is set while it is not
 * zero.
 *
 * A counter that reaches 15 stays there for good: with k functions and the
 * usual sizes that happens to one counter in 10^14 and more, and costs a
 * false positive, where wrapping round would cost a false negative.
 *
 * Source: Fan, Cao, Almeida, Broder, "Summary Cache: A Scalable Wide-Area Web
 * Cache Sharing Protocol", 2000, section V-C.
 */
#ifndef SCD_COUNTING_H
#define SCD_COUNTING_H

#include <stdint.h>

#include "bloom.h"
#include "digest.h"

#ifdef __cplusplus
extern "C" {
#endif

struct scd_counting;

/*
 * Make an empty counting filter of nbits bits (1..2^40) with nhash hash
 * functions (1..32), to be released with scd_counting_free(). It takes 5 bits
 * of memory for each of nbits. SCD_EINVAL: outside of these ranges. SCD_ENOMEM.
 * Errors leave *out alone.
 */
int scd_counting_new(struct scd_counting **out, uint64_t nbits, unsigned nhash);

/*
 * Choose how positions derive from keys, while no bit is set. A new filter has
 * SCD_HASHING_DOUBLE. SCD_HASHING_SQUID is for a cache that publishes digests
 * in Squid's format; all its keys must be of scd_squid_key() (squid.h). Errors
 * leave c alone. SCD_EINVAL: a bit is set; an unknown hashing; Squid's, but
 * nhash is not 4, or nbits no multiple of 8 or above SCD_SQUID_MAX_BITS;
 * SCD_HASHING_PREFIX, but nhash is not 1, or nbits 1 or no power of two.
 */
int scd_counting_set_hashing(struct scd_counting *c, enum scd_hashing hashing);

/* Release; *c becomes null. Null is accepted. */
void scd_counting_free(struct scd_counting **c);

/*
 * Add a key once more, and take one addition back. A key that was added n times
 * is found until it has been removed n times. Do not remove a key that was not
 * added: others may be lost by it, though no counter goes below zero. Cannot
 * fail.
 */
void scd_counting_add(struct scd_counting *c, const struct scd_key *key);
void scd_counting_remove(struct scd_counting *c, const struct scd_key *key);

/* Remove everything, the saturated counters too. */
void scd_counting_clear(struct scd_counting *c);

/*
 * The Bloom filter of the keys that are there: it changes with every addition
 * and removal. Borrowed; valid until scd_counting_free(). Copy it to keep what
 * was published as the base of the next delta.
 */
const struct scd_bloom *scd_counting_bloom(const struct scd_counting *c);

/* Number of bits set, kept up to date: costs nothing. */
uint64_t scd_counting_ones(const struct scd_counting *c);

/* Counters that have saturated, and so will never be zero again. */
uint64_t scd_counting_saturated(const struct scd_counting *c);

/*
 * Make a digest of the counters themselves (SCD_COUNTING), for a node that
 * takes over the filter of another, or its own after a restart, and goes on
 * adding and removing. Its size is the entropy of the counters: at m/n 14 and
 * k 2 some 9 % more than the array alone. Of ids, instance (not 0), generation
 * and nkeys are read. On success *out is a buffer of *out_len bytes, to be
 * released with free(). The same filter and ids always give the same bytes.
 * Errors leave *out and *out_len alone.
 *
 * SCD_EINVAL: instance is 0; nkeys is not 0, but no bit is set. SCD_ENOMEM.
 * Source: Mitzenmacher, "Compressed Bloom Filters", 2002, section 5, on
 * sending the counters.
 */
int scd_counting_encode(const struct scd_counting *c,
			const struct scd_digest_info *ids, uint8_t **out,
			size_t *out_len);

/*
 * Read one. On success *out is a new filter, verified, that the caller
 * releases with scd_counting_free(), and *info (may be null) has the header's
 * fields; it takes 5 bits of memory for each of info->nbits. Errors leave both
 * alone, and nothing allocated.
 *
 * The errors of scd_digest_parse(); and SCD_EBASE: a digest of another kind;
 * SCD_EFORMAT: the payload breaks a rule of its coding; SCD_ECHECKSUM: it
 * decodes to other counters than announced; SCD_ENOMEM.
 */
int scd_counting_decode(const uint8_t *in, size_t len,
			const struct scd_limits *limits,
			struct scd_digest_info *info,
			struct scd_counting **out);

#ifdef __cplusplus
}
#endif

#endif
