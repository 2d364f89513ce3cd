/*
 * Splitting a change into what was cleared and what was set. A word of 64
 * places at a time: pulling the changed bits of a word together by the ones
 * of the base, or its zeros, is one instruction (pext, and pdep back) where
 * the processor has BMI2; in portable C it costs by the bits that changed,
 * which are few.
 */
#include "codec/coder/conditional_coder.h"

#include <stdlib.h>
#include <string.h>

#include "codec/coder/bits.h"
#include "codec/cpu.h"
#include "codec/engine.h"
#include "codec/error.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

enum { SLACK = 16 }; /* behind an array, for words that begin at its end */

int scd__changes_new(struct scd__changes *c)
{
	c->cleared_bits = calloc(
		1, (size_t)scd__array_bytes(c->cleared.nbits) + SLACK);
	c->set_bits =
		calloc(1, (size_t)scd__array_bytes(c->set.nbits) + SLACK);
	if (c->cleared_bits && c->set_bits)
		return SCD_OK;
	scd__changes_free(c);
	return SCD_ENOMEM;
}

void scd__changes_free(struct scd__changes *c)
{
	free(c->cleared_bits);
	free(c->set_bits);
	c->cleared_bits = c->set_bits = NULL;
}

/* How the bits of a word are pulled together by a mask, and spread again. */
struct bit_ops {
	uint64_t (*extract)(uint64_t word, uint64_t mask);
	uint64_t (*deposit)(uint64_t word, uint64_t mask);
	unsigned (*count)(uint64_t word);
};

/* An array that is written, or read, from its first bit on. */
struct stream {
	uint8_t *bits;
	uint64_t at;
};

/* Append n (0..64) bits; those above them are zero. */
INLINE void conditional_append(struct stream *s, uint64_t word, unsigned n)
{
	uint8_t *to = s->bits + (s->at >> 3);
	const unsigned shift = s->at & 7;

	scd__store_bits(to, scd__load_bits(to, 8) | word << shift, 8);
	if (shift + n > 64)
		to[8] = (uint8_t)(word >> (64 - shift));
	s->at += n;
}

/* The next n (0..64) bits, and whatever follows them. */
INLINE uint64_t conditional_take(struct stream *s, unsigned n)
{
	const uint8_t *from = s->bits + (s->at >> 3);
	const unsigned shift = s->at & 7;
	uint64_t word = scd__load_bits(from, 8) >> shift;

	if (shift + n > 64)
		word |= (uint64_t)from[8] << (64 - shift);
	s->at += n;
	return word;
}

/* The places of a word that are in the array. */
INLINE uint64_t conditional_places(uint64_t nbits, uint64_t at)
{
	return nbits - at >= 64 ? UINT64_MAX
				: (UINT64_C(1) << (nbits - at)) - 1;
}

INLINE size_t conditional_bytes_at(uint64_t nbits, uint64_t at)
{
	const uint64_t left = scd__array_bytes(nbits) - at / 8;

	return left < 8 ? (size_t)left : 8;
}

INLINE void conditional_split(const uint8_t *base, const uint8_t *next,
			      uint64_t nbits, struct scd__changes *c,
			      const struct bit_ops *ops)
{
	struct stream cleared = {.bits = c->cleared_bits};
	struct stream set = {.bits = c->set_bits};

	for (uint64_t at = 0; at < nbits; at += 64) {
		const size_t n = conditional_bytes_at(nbits, at);
		const uint64_t ones = scd__load_bits(base + at / 8, n);
		const uint64_t zeros = ~ones & conditional_places(nbits, at);
		const uint64_t flips =
			ones ^ scd__load_bits(next + at / 8, n);

		conditional_append(&cleared, ops->extract(flips, ones),
				   ops->count(ones));
		conditional_append(&set, ops->extract(flips, zeros),
				   ops->count(zeros));
	}
}

INLINE void conditional_join(const uint8_t *base, uint8_t *next, uint64_t nbits,
			     const struct scd__changes *c,
			     const struct bit_ops *ops)
{
	struct stream cleared = {.bits = c->cleared_bits};
	struct stream set = {.bits = c->set_bits};

	for (uint64_t at = 0; at < nbits; at += 64) {
		const size_t n = conditional_bytes_at(nbits, at);
		const uint64_t ones = scd__load_bits(base + at / 8, n);
		const uint64_t zeros = ~ones & conditional_places(nbits, at);
		uint64_t word = ones;

		word ^= ops->deposit(
			conditional_take(&cleared, ops->count(ones)), ones);
		word ^= ops->deposit(conditional_take(&set, ops->count(zeros)),
				     zeros);
		scd__store_bits(next + at / 8, word, n);
	}
}

static unsigned conditional_portable_count(uint64_t word)
{
	return (unsigned)__builtin_popcountll(word);
}

/* The bits of the mask below a bit of it are the place of that bit. */
static uint64_t conditional_portable_extract(uint64_t word, uint64_t mask)
{
	uint64_t out = 0;

	for (word &= mask; word; word &= word - 1)
		out |= UINT64_C(1) << conditional_portable_count(
			       mask & ((word & -word) - 1));
	return out;
}

static uint64_t conditional_portable_deposit(uint64_t word, uint64_t mask)
{
	uint64_t out = 0;

	for (; word && mask; word >>= 1) {
		const uint64_t low = mask & -mask;

		out |= word & 1 ? low : 0;
		mask ^= low;
	}
	return out;
}

static void conditional_portable_split(const uint8_t *base, const uint8_t *next,
				       uint64_t nbits, struct scd__changes *c)
{
	static const struct bit_ops ops = {conditional_portable_extract,
					   conditional_portable_deposit,
					   conditional_portable_count};

	conditional_split(base, next, nbits, c, &ops);
}

static void conditional_portable_join(const uint8_t *base, uint8_t *next,
				      uint64_t nbits,
				      const struct scd__changes *c)
{
	static const struct bit_ops ops = {conditional_portable_extract,
					   conditional_portable_deposit,
					   conditional_portable_count};

	conditional_join(base, next, nbits, c, &ops);
}

static bool conditional_portable_available(void)
{
	return true;
}

static const struct scd__change_engine portable = {
	.name = "portable",
	.available = conditional_portable_available,
	.split = conditional_portable_split,
	.join = conditional_portable_join,
};

#if defined(__x86_64__)

#define BMI2 __attribute__((target("bmi2,popcnt")))

BMI2 static unsigned conditional_bmi2_count(uint64_t word)
{
	return (unsigned)_mm_popcnt_u64(word);
}

BMI2 static uint64_t conditional_bmi2_extract(uint64_t word, uint64_t mask)
{
	return _pext_u64(word, mask);
}

BMI2 static uint64_t conditional_bmi2_deposit(uint64_t word, uint64_t mask)
{
	return _pdep_u64(word, mask);
}

BMI2 static void conditional_bmi2_split(const uint8_t *base,
					const uint8_t *next, uint64_t nbits,
					struct scd__changes *c)
{
	static const struct bit_ops ops = {conditional_bmi2_extract,
					   conditional_bmi2_deposit,
					   conditional_bmi2_count};

	conditional_split(base, next, nbits, c, &ops);
}

BMI2 static void conditional_bmi2_join(const uint8_t *base, uint8_t *next,
				       uint64_t nbits,
				       const struct scd__changes *c)
{
	static const struct bit_ops ops = {conditional_bmi2_extract,
					   conditional_bmi2_deposit,
					   conditional_bmi2_count};

	conditional_join(base, next, nbits, c, &ops);
}

static const struct scd__change_engine bmi2 = {
	.name = "bmi2",
	.available = scd__cpu_has_bmi2,
	.split = conditional_bmi2_split,
	.join = conditional_bmi2_join,
};
#endif

const struct scd__change_engine *const scd__change_engines[] = {
#if defined(__x86_64__)
	&bmi2,
#endif
	&portable,
};

const size_t scd__change_nengines =
	sizeof(scd__change_engines) / sizeof(scd__change_engines[0]);

const struct scd__change_engine *scd__change_engine(const char *limit)
{
	size_t i = 0;

	while (!scd__change_engines[i]->available() ||
	       !scd__engine_within(scd__change_engines[i]->name, limit))
		i++;
	return scd__change_engines[i];
}
