/*
 * Text eight bytes at a time, in one 64-bit word: finding the end of a field,
 * and decimal numbers. Loads read a whole word, so that there have to be eight
 * readable bytes from the place that they are given.
 *
 * Source of the tests for bytes: Mycroft's, as in "Hacker's Delight" 6-1.
 */
#ifndef TRACE_SWAR_H
#define TRACE_SWAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The same byte eight times. */
static inline uint64_t swar_every(uint8_t byte)
{
	return 0x0101010101010101u * byte;
}

/* The first byte becomes the lowest. */
static inline uint64_t swar_load(const char *at)
{
	uint64_t x;

	memcpy(&x, at, sizeof(x));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	x = __builtin_bswap64(x);
#endif
	return x;
}

/* Marks bytes that are 0; those above the first one may be marked wrongly. */
static inline uint64_t swar_zeros(uint64_t x)
{
	return (x - swar_every(1)) & ~x & swar_every(0x80);
}

/* Marks control bytes (below 0x20); above the first one as before. */
static inline uint64_t swar_controls(uint64_t x)
{
	return (x - swar_every(0x20)) & ~x & swar_every(0x80);
}

/* The place of the first mark, 0..7. */
static inline unsigned swar_first(uint64_t marks)
{
	return (unsigned)__builtin_ctzll(marks) / 8;
}

/* A number of 1..8 digits. False: there are other bytes. */
static inline bool swar_eight(const char *at, size_t len, uint64_t *out)
{
	/* the digits move to the top, so that zeros stand before them */
	uint64_t x = (swar_load(at) ^ swar_every('0')) << (64 - 8 * len);

	if (((x + swar_every(0x76)) | x) & swar_every(0x80))
		return false;
	x = 10 * x + (x >> 8); /* pairs, in every other byte */
	*out = ((x & 0x000000ff000000ffu) * 0x000f424000000064u +
		((x >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >>
	       32;
	return true;
}

/* A number of 1..16 digits. False: other lengths, other bytes. */
static inline bool swar_number(const char *at, size_t len, uint64_t *out)
{
	uint64_t high, low;

	if (len - 1 < 8)
		return swar_eight(at, len, out);
	if (len - 9 >= 8 || !swar_eight(at, len - 8, &high) ||
	    !swar_eight(at + len - 8, 8, &low))
		return false;
	*out = high * 100000000 + low;
	return true;
}

#endif
