/*
 * The kinds' rows, each defined in its own file, and what the files share.
 */
#ifndef SCD_KIND_ROWS_H
#define SCD_KIND_ROWS_H

#include "codec/bloom.h"
#include "codec/kind/kind.h"

extern const struct scd__kind scd__kind_bloom;
extern const struct scd__kind scd__kind_compressed;
extern const struct scd__kind scd__kind_golomb;
extern const struct scd__kind scd__kind_blocked;
extern const struct scd__kind scd__kind_squid;

/* A summary that is a Bloom filter. */
struct scd__filter {
	struct scd__summary base;
	struct scd_bloom bloom;
	uint64_t nkeys; /* added */
};

/*
 * A summary of an empty filter; of a filter, which it takes over. SCD_EINVAL,
 * SCD_ENOMEM as scd_bloom_init(); the filter stays the caller's then.
 */
int scd__filter_new(uint64_t nbits, unsigned nhash, struct scd__summary **out);
int scd__filter_of(const struct scd_bloom *bloom, struct scd__summary **out);

/* What is the same for all that are filters. */
int scd__filter_add(struct scd__summary *s, const struct scd_key *key);
int scd__filter_seal(struct scd__summary *s);
bool scd__filter_has(const struct scd__summary *s, const struct scd_key *key);
double scd__filter_fp(const struct scd__summary *s);
size_t scd__filter_memory(const struct scd__summary *s);
void scd__filter_destroy(struct scd__summary *s);

/*
 * Bits for n keys so that k functions give false positives at rate fp: the m
 * of fp = (1 - e^(-kn/m))^k.
 */
double scd__filter_bits(double n, unsigned k, double fp);

/* A number of bits as an array may have it: whole, at least 64. */
uint64_t scd__whole_bits(double nbits);

#endif
