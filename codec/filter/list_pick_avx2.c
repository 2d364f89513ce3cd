/*
 * Picking words by their ids with AVX2: eight at a time. The set is one vector,
 * of which each lane takes the word of its id.
 */
#include "codec/filter/list_pick.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "codec/cpu.h"

#define TARGET __attribute__((target("avx2,bmi2,popcnt")))

enum { LANES = 8 };

/* The lanes of some words whose ids are in a set, a bit each. */
TARGET static inline uint64_t list_pick_lanes(__m256i set, __m256i words)
{
	const __m256i ids = _mm256_and_si256(
		words, _mm256_set1_epi32(SCD__COHORT_IDS - 1));
	const __m256i of_set =
		_mm256_permutevar8x32_epi32(set, _mm256_srli_epi32(ids, 5));
	/* the bit that is meant becomes a lane's sign */
	const __m256i up = _mm256_andnot_si256(ids, _mm256_set1_epi32(31));
	const __m256i signs = _mm256_sllv_epi32(of_set, up);

	return (uint64_t)_mm256_movemask_ps(_mm256_castsi256_ps(signs));
}

TARGET static inline __m256i list_pick_load(const uint32_t *words)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)words);
}

TARGET static uint64_t list_pick_avx2(const struct scd__pick_set *set,
				      const uint32_t *words, unsigned n)
{
	const __m256i sets = list_pick_load(set->words);
	const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
	uint64_t picked = 0;
	unsigned i = 0;

	for (; i + LANES <= n; i += LANES)
		picked |= list_pick_lanes(sets, list_pick_load(words + i))
			  << i;
	if (i < n) {
		const __m256i left = _mm256_cmpgt_epi32(
			_mm256_set1_epi32((int)(n - i)), lanes);
		const __m256i last = _mm256_maskload_epi32(
			(const int *)(const void *)(words + i), left);

		picked |= (list_pick_lanes(sets, last) &
			   ((UINT64_C(1) << (n - i)) - 1))
			  << i;
	}
	return picked;
}

const struct scd__pick_engine scd__pick_avx2 = {
	.name = "avx2",
	.available = scd__cpu_has_avx2,
	.pick = list_pick_avx2,
};

#endif
