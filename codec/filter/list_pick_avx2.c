/*
 * Picking ids with AVX2: 32 at a time. The last four bits of an id choose a row
 * of the set, the first four a bit of it.
 * Source: Mula, "SIMD-ized check which bytes are in a set", 2018.
 */
#include "codec/filter/list_pick.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "codec/cpu.h"

#define TARGET __attribute__((target("avx2")))

enum { LANES = 32 };

TARGET static inline __m256i list_pick_row(const uint8_t *rows)
{
	return _mm256_broadcastsi128_si256(
		_mm_loadu_si128((const __m128i *)(const void *)rows));
}

/* The lanes whose ids are in a set, a bit each. */
TARGET static inline uint32_t list_pick_lanes(const struct scd__pick_set *set,
					      __m256i ids)
{
	const __m256i bits = _mm256_setr_epi8(
		1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128, 1,
		2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128);
	const __m256i nibble = _mm256_set1_epi8(15);
	const __m256i low = _mm256_and_si256(ids, nibble);
	const __m256i high =
		_mm256_and_si256(_mm256_srli_epi16(ids, 4), nibble);
	/* a lane's sign chooses between the halves of the set */
	const __m256i row = _mm256_blendv_epi8(
		_mm256_shuffle_epi8(list_pick_row(set->rows), low),
		_mm256_shuffle_epi8(list_pick_row(set->rows + 16), low), ids);
	const __m256i bit = _mm256_shuffle_epi8(bits, high);

	return (uint32_t)_mm256_movemask_epi8(
		_mm256_cmpeq_epi8(_mm256_and_si256(row, bit), bit));
}

TARGET static uint64_t list_pick_avx2(const struct scd__pick_set *set,
				      const uint8_t *ids, unsigned n)
{
	uint8_t last[LANES] = {0};
	uint64_t picked = 0;
	unsigned i = 0;

	for (; i + LANES <= n; i += LANES)
		picked |= (uint64_t)list_pick_lanes(
				  set,
				  _mm256_loadu_si256(
					  (const __m256i *)(const void *)(ids +
									  i)))
			  << i;
	if (i < n) {
		memcpy(last, ids + i, n - i);
		picked |=
			(list_pick_lanes(
				 set,
				 _mm256_loadu_si256(
					 (const __m256i *)(const void *)last)) &
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
