/*
 * A range coder whose state is one number: the range variant of asymmetric
 * numeral systems. What is pushed last is popped first, so an encoder goes
 * backwards through what a decoder reads forwards.
 *
 * A state has 32 bits and is never below 2^16 between symbols; words of 16
 * bits flow in and out. A symbol has freq of 2^scale_log slots, from start on.
 * Loss at a scale of 2^14: 0.007 %.
 *
 * Source: Duda, "Asymmetric numeral systems", 2013; Giesen, "Interleaved
 * entropy coders", 2014.
 */
#ifndef SCD_ANS_H
#define SCD_ANS_H

#include <stdbool.h>
#include <stdint.h>

/* A coder begins with it, so a decoder ends there. */
#define SCD__ANS_MIN (UINT32_C(1) << 16)

/* What an encoder needs to know about a symbol. */
struct scd__ans_symbol {
	uint32_t freq;
	uint32_t start;
	uint32_t inverse; /* (state * inverse >> 32) >> shift = state / freq, */
	uint32_t shift;   /* or one less */
};

/* The multiplication that divides by freq, 1 to 2^16. */
static inline void scd__ans_divisor(uint32_t freq, uint32_t *inverse,
				    uint32_t *shift)
{
	const unsigned b = 31 - (unsigned)__builtin_clz(freq);
	const uint64_t inv = (UINT64_C(1) << (32 + b)) / freq;

	*inverse = inv > UINT32_MAX ? UINT32_MAX : (uint32_t)inv;
	*shift = b;
}

static inline struct scd__ans_symbol scd__ans_symbol(uint32_t freq,
						     uint32_t start)
{
	struct scd__ans_symbol s = {.freq = freq, .start = start};

	scd__ans_divisor(freq, &s.inverse, &s.shift);
	return s;
}

/* Must a word leave the state before the symbol can be pushed? */
static inline bool scd__ans_is_full(uint32_t x, uint32_t freq,
				    unsigned scale_log)
{
	return x >> (32 - scale_log) >= freq;
}

/* The state with a symbol pushed; x is not full. */
static inline uint32_t scd__ans_push(uint32_t x,
				     const struct scd__ans_symbol *s,
				     unsigned scale_log)
{
	uint32_t quotient =
		(uint32_t)((uint64_t)x * s->inverse >> 32 >> s->shift);
	uint32_t rest = x - quotient * s->freq;
	const uint32_t more = rest >= s->freq;

	quotient += more;
	rest -= s->freq & -more;
	return (quotient << scale_log) + s->start + rest;
}

/* Words are little-endian. */
static inline uint32_t scd__ans_word(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8;
}

static inline void scd__ans_put_word(uint8_t *at, uint32_t x)
{
	at[0] = (uint8_t)x;
	at[1] = (uint8_t)(x >> 8);
}

#endif
