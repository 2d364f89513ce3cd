/*
 * Sectors.
 */
#include "digestd/mesh/sector.h"

#include <assert.h>
#include <string.h>

enum { SECTOR_LEAST_WIDTH = 16 }; /* a few objects more must fit as well */

struct sector sector_of(const char *self, const char *const *names, size_t n)
{
	struct sector s = { 0, 1 };

	for (size_t i = 0; i < n; i++) {
		const int order = strcmp(names[i], self);

		s.count += order != 0;
		s.number += order < 0;
	}
	assert(s.count <= SECTOR_COUNT_MAX);
	return s;
}

static uint64_t sector_noted(const struct scd_key *key)
{
	return scd_fingerprint(key, SCD_LIST_MAX_WIDTH);
}

bool sector_has(const struct sector *s, const struct scd_key *key)
{
	return !s->count ||
	       sector_number(sector_noted(key), s->count) == s->number;
}

uint64_t sector_begin(const struct sector *s)
{
	const uint64_t all = UINT64_C(1) << SCD_LIST_MAX_WIDTH;

	assert(s->count && s->number <= s->count);
	return (all * s->number + s->count - 1) / s->count;
}

struct scd_key sector_key(const struct sector *s, const struct scd_key *key)
{
	assert(s->count);
	return (struct scd_key){
		.lo = sector_within(sector_noted(key), s->count)
		      << (64 - SCD_LIST_MAX_WIDTH),
		.hi = key->hi,
	};
}

unsigned sector_width(unsigned width, unsigned count)
{
	assert(count);
	while (count > 1 && width > SECTOR_LEAST_WIDTH) {
		count /= 2;
		width--;
	}
	return width;
}
