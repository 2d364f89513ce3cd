/*
 * The shape of the filter that digestctl build makes.
 */
#include "digestd/ctl/build_shape.h"

#include <math.h>
#include <stdio.h>

#include "codec/bloom.h"
#include "codec/list.h"
#include "codec/squid.h"
#include "codec/tune.h"
#include "digestd/ctl/digestctl.h"

static const double DEFAULT_FP = .01;

static const char *build_shape_squid_mistake(const struct build_shape *s)
{
	if (s->nhash && s->nhash != SCD_SQUID_HASH)
		return "--hashes: Squid's digests have 4";
	return s->nbits % 8 || s->nbits > SCD_SQUID_MAX_BITS
		       ? "--bits: not what Squid's digests can have"
		       : NULL;
}

static const char *build_shape_list_mistake(const struct build_shape *s)
{
	if (s->hashing != SCD_HASHING_DOUBLE)
		return "--list: lists have a hashing of their own";
	return s->nbits || s->nhash ? "--list excludes --bits and --hashes"
				    : NULL;
}

const char *build_shape_mistake(const struct build_shape *s)
{
	if (s->list && build_shape_list_mistake(s))
		return build_shape_list_mistake(s);
	if (s->nbits > SCD_BLOOM_MAX_BITS)
		return "--bits: too many";
	if (s->nhash > SCD_MAX_HASH)
		return "--hashes: too many";
	if (s->fp >= 1)
		return "--fp: not below 1";
	if (s->nbits && (s->objects || s->fp > 0))
		return "--bits excludes --objects and --fp";
	switch (s->hashing) {
	case SCD_HASHING_DOUBLE:
		return !s->nbits == !s->nhash
			       ? NULL
			       : "--bits and --hashes go together";
	case SCD_HASHING_SQUID:
		return build_shape_squid_mistake(s);
	case SCD_HASHING_PREFIX:
		return "--hashing: only lists have this one";
	}
	return NULL;
}

bool build_shape_needs_count(const struct build_shape *s)
{
	return !s->nbits && !s->objects && !s->list;
}

unsigned build_shape_width(const struct build_shape *s, uint64_t nkeys)
{
	const uint64_t least = nkeys > s->objects ? nkeys : s->objects;
	const unsigned width = scd_list_width(least ? least : 1,
					      s->fp > 0 ? s->fp : DEFAULT_FP);

	if (!width)
		fputs("digestctl: --objects, --fp: no list has so many and so "
		      "few\n", stderr);
	return width;
}

static int build_shape_find_double(struct build_shape *s)
{
	const struct scd_goal goal = { .objects = s->objects ? s->objects : 1,
				       .fp = s->fp > 0 ? s->fp : DEFAULT_FP };
	struct scd_tuning t;
	int error = scd_tune(&goal, &t);

	if (error) {
		fprintf(stderr, "digestctl: --objects, --fp: %s\n",
			scd_strerror(error));
		return CTL_NO;
	}
	s->nbits = t.nbits;
	s->nhash = t.nhash;
	return CTL_OK;
}

/* Squid's own number of bits, or as many as the rate asks for. */
static int build_shape_find_squid(struct build_shape *s)
{
	double each = SCD_SQUID_ENTRY_BITS, bits;

	if (s->fp > 0)
		each = -SCD_SQUID_HASH / log1p(-pow(s->fp, .25));
	bits = 8 * fmax(1, ceil((double)s->objects * each / 8));
	if (bits > (double)SCD_SQUID_MAX_BITS) {
		fputs("digestctl: --objects, --fp: more than Squid's digests "
		      "can have\n",
		      stderr);
		return CTL_NO;
	}
	s->nbits = (uint64_t)bits;
	return CTL_OK;
}

int build_shape_find(struct build_shape *s)
{
	if (s->hashing == SCD_HASHING_SQUID)
		s->nhash = SCD_SQUID_HASH;
	if (s->nbits)
		return CTL_OK;
	switch (s->hashing) {
	case SCD_HASHING_DOUBLE:
		return build_shape_find_double(s);
	case SCD_HASHING_SQUID:
		return build_shape_find_squid(s);
	case SCD_HASHING_PREFIX:
		break;
	}
	return CTL_NO;
}
