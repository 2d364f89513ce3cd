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

/* Marks what is no digit, in a word from which every '0' was taken (xor). */
static inline uint64_t swar_nondigits(uint64_t x)
{
	return ((x + swar_every(0x76)) | x) & swar_every(0x80);
}

/* The number of eight digits, each 0..9, the first one lowest. */
static inline uint64_t swar_value(uint64_t x)
{
	x = 10 * x + (x >> 8); /* pairs, in every other byte */
	return ((x & 0x000000ff000000ffu) * 0x000f424000000064u +
		((x >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >>
	       32;
}

/* As many digits as there are, up to eight. Their number; *out is 0 of none. */
static inline unsigned swar_eight(const char *at, uint64_t *out)
{
	uint64_t x = swar_load(at) ^ swar_every('0');
	uint64_t marks = swar_nondigits(x);
	unsigned n = marks ? swar_first(marks) : 8;

	/* they move to the top, so that zeros stand before them */
	*out = n ? swar_value(x << (64 - 8 * n)) : 0;
	return n;
}

/* The same of up to 16; 17: there are more, and *out is not set. */
static inline unsigned swar_digits(const char *at, uint64_t *out)
{
	static const uint32_t power[] = { 1,	  10,	   100,
					  1000,	  10000,   100000,
					  1000000, 10000000, 100000000 };
	unsigned n = swar_eight(at, out), more;
	uint64_t low;

	if (n < 8)
		return n;
	more = swar_eight(at + 8, &low);
	*out = *out * power[more] + low;
	return more == 8 && at[16] >= '0' && at[16] <= '9' ? 17 : 8 + more;
}

#endif
