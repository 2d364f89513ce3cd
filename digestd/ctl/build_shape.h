/*
 * The shape of the filter that digestctl build makes: as the options have it,
 * or found for a number of objects, which are the lines of the input if nobody
 * says how many there will be.
 */
#ifndef DIGESTD_CTL_BUILD_SHAPE_H
#define DIGESTD_CTL_BUILD_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/key.h"

/* Options; 0 for what is not given. */
struct build_shape {
	enum scd_hashing hashing;
	uint64_t nbits, nhash;
	bool list;        /* of fingerprints: their width follows */
	uint64_t objects; /* to expect; in place of nbits */
	double fp;        /* rate of false positives, with objects */
};

/* Why the options do not go together or are not possible; null: they do. */
const char *build_shape_mistake(const struct build_shape *s);

/* Whether the number of objects has to be counted. */
bool build_shape_needs_count(const struct build_shape *s);

/* Finds nbits and nhash. An exit code; what is wrong is told. */
int build_shape_find(struct build_shape *s);

/* The width of a list for so many keys, or for as many as are to be expected;
 * 0: no list has so few false positives, which is told. */
unsigned build_shape_width(const struct build_shape *s, uint64_t nkeys);

#endif
