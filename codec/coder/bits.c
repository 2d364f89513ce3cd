/*
 * Counting ones: with the processor's instruction where it has one, which
 * every x86-64 of the last ten years does but no compiler may assume.
 */
#include "codec/coder/bits.h"

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

uint64_t scd__count_ones(const uint8_t *bytes, size_t len)
{
	return __builtin_cpu_supports("popcnt") ? bits_count_popcnt(bytes, len)
						: bits_count_words(bytes, len);
}
#else
uint64_t scd__count_ones(const uint8_t *bytes, size_t len)
{
	return bits_count_words(bytes, len);
}
#endif
