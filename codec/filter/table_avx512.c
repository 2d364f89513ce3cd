/*
 * Comparing the slots of a line with AVX-512: a line is a vector.
 */
#include "codec/filter/table_engine.h"

#if defined(SCD__TABLE_VECTORS)

#include <immintrin.h>

#include "codec/cpu.h"
#include "codec/filter/table_lookup.h"

#define TARGET __attribute__((target("avx512f,avx512bw,bmi,bmi2,popcnt")))

TARGET SCD__TABLE_INLINE uint32_t table_avx512_match(
	const struct scd__table_line *line, uint16_t want, uint16_t mask)
{
	const __m512i wants = _mm512_set1_epi16((short)want);
	const __m512i masks = _mm512_set1_epi16((short)mask);
	const __m512i lanes = _mm512_load_si512(line->words);
	const __mmask32 found = _mm512_cmpeq_epi16_mask(
		_mm512_and_si512(lanes, masks), wants);

	__atomic_signal_fence(__ATOMIC_ACQUIRE);
	return found & SCD__TABLE_LANES;
}

TARGET static bool table_avx512_lookup(const struct scd_table *t,
				       const struct scd_key *key, uint64_t *out)
{
	return scd__table_lookup_by(t, key, out, table_avx512_match);
}

TARGET static void
table_avx512_lookup_many(const struct scd_table *t, const struct scd_key *keys,
			 size_t n, uint64_t *out)
{
	scd__table_lookup_many_by(t, keys, n, out, table_avx512_match);
}

const struct scd__table_engine scd__table_avx512 = {
	.name = "avx512",
	.available = scd__cpu_has_avx512,
	.match = table_avx512_match,
	.lookup = table_avx512_lookup,
	.lookup_many = table_avx512_lookup_many,
};

#endif
