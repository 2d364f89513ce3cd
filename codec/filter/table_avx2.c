/*
 * Comparing the slots of a line with AVX2: a line is two vectors.
 */
#include "codec/filter/table_engine.h"

#if defined(SCD__TABLE_VECTORS)

#include <immintrin.h>

#include "codec/cpu.h"
#include "codec/filter/table_lookup.h"

#define TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))

TARGET SCD__TABLE_INLINE uint32_t table_avx2_match(
	const struct scd__table_line *line, uint16_t want, uint16_t mask)
{
	const __m256i wants = _mm256_set1_epi16((short)want);
	const __m256i masks = _mm256_set1_epi16((short)mask);
	const __m256i *halves = (const __m256i *)(const void *)line->words;
	const __m256i a = _mm256_cmpeq_epi16(
		_mm256_and_si256(_mm256_load_si256(halves), masks), wants);
	const __m256i b = _mm256_cmpeq_epi16(
		_mm256_and_si256(_mm256_load_si256(halves + 1), masks), wants);
	/* Packing takes turns of 8 lanes of a and of b. */
	const __m256i packed =
		_mm256_permute4x64_epi64(_mm256_packs_epi16(a, b), 0xd8);

	__atomic_signal_fence(__ATOMIC_ACQUIRE);
	return (uint32_t)_mm256_movemask_epi8(packed) & SCD__TABLE_LANES;
}

TARGET static bool table_avx2_lookup(const struct scd_table *t,
				     const struct scd_key *key, uint64_t *out)
{
	return scd__table_lookup_by(t, key, out, table_avx2_match);
}

TARGET static void table_avx2_lookup_many(const struct scd_table *t,
					  const struct scd_key *keys, size_t n,
					  uint64_t *out)
{
	scd__table_lookup_many_by(t, keys, n, out, table_avx2_match);
}

const struct scd__table_engine scd__table_avx2 = {
	.name = "avx2",
	.available = scd__cpu_has_avx2,
	.match = table_avx2_match,
	.lookup = table_avx2_lookup,
	.lookup_many = table_avx2_lookup_many,
};

#endif
