/*
 * Arrays of bits, eight bytes at a time. Bit i is bit i & 7 of byte i >> 3,
 * so it is bit i of the number that the bytes make, little-endian.
 */
#ifndef SCD_BITS_H
#define SCD_BITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t scd__le64(uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap64(word);
#else
	return word;
#endif
}

/* The number of the n (at most 8) bytes from p on. */
static inline uint64_t scd__load_bits(const uint8_t *p, size_t n)
{
	uint64_t word = 0;

	memcpy(&word, p, n);
	return scd__le64(word);
}

/* Store the n (at most 8) lowest bytes of a number. */
static inline void scd__store_bits(uint8_t *p, uint64_t word, size_t n)
{
	word = scd__le64(word);
	memcpy(p, &word, n);
}

/* The number of ones in an array of bytes. */
uint64_t scd__count_ones(const uint8_t *bytes, size_t len);

#endif
