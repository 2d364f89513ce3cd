/*
 * Comparing the slots of a line in any C: four at a time in a word.
 */
#include "codec/filter/table_lookup.h"

static bool table_portable_available(void)
{
	return true;
}

/* A word with the same 16 bits in each lane. */
static inline uint64_t table_portable_spread(uint16_t lane)
{
	return lane * UINT64_C(0x0001000100010001);
}

/* The lanes of a word that are 0, a bit each: the lowest lane in bit 0. Exact,
 * as no sum carries from one lane to the next. */
static inline uint32_t table_portable_zeros(uint64_t x)
{
	const uint64_t low = UINT64_C(0x7fff7fff7fff7fff);
	const uint64_t tops = ~(((x & low) + low) | x | low);

	return (uint32_t)((tops >> 15) * UINT64_C(0x0001000200040008) >> 48 &
			  15);
}

SCD__TABLE_INLINE uint32_t table_portable_match(
	const struct scd__table_line *line, uint16_t want, uint16_t mask)
{
	const uint64_t wants = table_portable_spread(want);
	const uint64_t masks = table_portable_spread(mask);
	uint32_t found = 0;

	for (unsigned i = 0; i < SCD__TABLE_WORDS; i++) {
		const uint64_t word =
			__atomic_load_n(&line->words[i], __ATOMIC_ACQUIRE);

		found |= table_portable_zeros((word & masks) ^ wants) << 4 * i;
	}
	return found & SCD__TABLE_LANES;
}

static bool table_portable_lookup(const struct scd_table *t,
				  const struct scd_key *key, uint64_t *out)
{
	return scd__table_lookup_by(t, key, out, table_portable_match);
}

static void table_portable_lookup_many(const struct scd_table *t,
				       const struct scd_key *keys, size_t n,
				       uint64_t *out)
{
	scd__table_lookup_many_by(t, keys, n, out, table_portable_match);
}

const struct scd__table_engine scd__table_portable = {
	.name = "portable",
	.available = table_portable_available,
	.match = table_portable_match,
	.lookup = table_portable_lookup,
	.lookup_many = table_portable_lookup_many,
};
