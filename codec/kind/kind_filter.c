/*
 * What the kinds that are Bloom filters share.
 */
#include "codec/kind/kind_rows.h"

#include <math.h>
#include <stdlib.h>

enum { MIN_BITS = 64 };

static const struct scd__filter *kind_filter(const struct scd__summary *s)
{
	return (const struct scd__filter *)s;
}

int scd__filter_of(const struct scd_bloom *bloom, struct scd__summary **out)
{
	struct scd__filter *f = calloc(1, sizeof(*f));

	if (!f)
		return SCD_ENOMEM;
	f->bloom = *bloom;
	*out = &f->base;
	return SCD_OK;
}

int scd__filter_new(uint64_t nbits, unsigned nhash, struct scd__summary **out)
{
	struct scd_bloom bloom;
	int error = scd_bloom_init(&bloom, nbits, nhash);

	if (error)
		return error;
	error = scd__filter_of(&bloom, out);
	if (error)
		scd_bloom_free(&bloom);
	return error;
}

int scd__filter_add(struct scd__summary *s, const struct scd_key *key)
{
	struct scd__filter *f = (struct scd__filter *)s;

	scd_bloom_add(&f->bloom, key);
	f->nkeys++;
	return SCD_OK;
}

int scd__filter_seal(struct scd__summary *s)
{
	(void)s;
	return SCD_OK;
}

bool scd__filter_has(const struct scd__summary *s, const struct scd_key *key)
{
	return scd_bloom_has(&kind_filter(s)->bloom, key);
}

double scd__filter_fp(const struct scd__summary *s)
{
	return scd_bloom_fp(&kind_filter(s)->bloom);
}

size_t scd__filter_memory(const struct scd__summary *s)
{
	return sizeof(struct scd__filter) +
	       scd_bloom_bytes(&kind_filter(s)->bloom);
}

void scd__filter_destroy(struct scd__summary *s)
{
	scd_bloom_free(&((struct scd__filter *)s)->bloom);
	free(s);
}

double scd__filter_bits(double n, unsigned k, double fp)
{
	return -(double)k * n / log1p(-pow(fp, 1.0 / k));
}

uint64_t scd__whole_bits(double nbits)
{
	return nbits > MIN_BITS ? (uint64_t)ceil(nbits) : MIN_BITS;
}
