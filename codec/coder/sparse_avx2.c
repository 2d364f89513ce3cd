/*
 * Decoding the sparse coding with AVX2: 8 lanes a vector, after the pattern of
 * the AVX-512 engine. What AVX2 lacks is made of byte shuffles: words go to
 * the lanes that need one by a table of 256 masks; the low bits of 4 ones are
 * taken out of 16 bytes by a shuffle and a shift for each, for which there
 * are 8 tables, one for each bit of a byte that they may begin at.
 *
 * An escape, which has no low bits, is among 8 symbols once in some 40 times:
 * such a group is turned into places one by one.
 */
#include "codec/coder/sparse_engine.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "codec/coder/ans.h"
#include "codec/coder/bits.h"
#include "codec/cpu.h"
#include "codec/coder/shuffles.h"

#define TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define INLINE TARGET static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")

enum {
	WIDTH = 8,
	MAX_VECTORS = SCD__SPARSE_MAX_LANES / WIDTH,
};

/* Where the low bits of 4 ones are, by the bit of a byte they begin at. */
struct spread {
	uint8_t bytes[16];
	uint32_t shifts[4];
};

/* What a group needs that is the same for all of them. */
struct constants {
	struct scd__shuffles expand; /* the next words to the lanes of a mask */
	struct spread spread[8];
	const uint32_t *table;
	__m256i low_mask, escape;
	__m128i low_count;
	unsigned low_bits;
};

TARGET static void
sparse_avx2_make_constants(const struct scd__sparse_decoding *d,
			   struct constants *c)
{
	const unsigned n = d->model->low_bits;

	for (unsigned bit = 0; bit < 8; bit++) {
		for (unsigned i = 0; i < 4; i++) {
			unsigned at = bit + i * n;

			for (unsigned j = 0; j < 4; j++)
				c->spread[bit].bytes[4 * i + j] =
					(uint8_t)(at / 8 + j);
			c->spread[bit].shifts[i] = at % 8;
		}
	}
	scd__shuffles_expand(&c->expand);
	c->table = d->table;
	c->low_mask = _mm256_set1_epi32((1 << n) - 1);
	c->escape = _mm256_set1_epi32((int)d->model->nsyms);
	c->low_count = _mm_cvtsi32_si128((int)n);
	c->low_bits = n;
}

/* The next symbol of each of 8 coders. */
INLINE __m256i sparse_avx2_next_symbols(const struct constants *c,
					__m256i *state, const uint8_t **words)
{
	const __m256i twelve = _mm256_set1_epi32(SCD__GAP_SCALE - 1);
	__m256i x = *state;
	const __m256i entry = _mm256_i32gather_epi32(
		(const int *)c->table, _mm256_and_si256(x, twelve), 4);
	const __m256i freq =
		_mm256_and_si256(_mm256_srli_epi32(entry, 12), twelve);
	__m256i few, word;
	unsigned mask;

	x = _mm256_mullo_epi32(freq, _mm256_srli_epi32(x, SCD__GAP_SCALE_LOG));
	x = _mm256_add_epi32(x, _mm256_and_si256(entry, twelve));
	few = _mm256_cmpeq_epi32(_mm256_srli_epi32(x, 16),
				 _mm256_setzero_si256());
	mask = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(few));
	word = _mm256_cvtepu16_epi32(_mm_shuffle_epi8(
		_mm_loadu_si128((const __m128i *)*words),
		_mm_loadu_si128((const __m128i *)c->expand.of[mask])));
	*words += 2 * _mm_popcnt_u32(mask);
	*state = _mm256_blendv_epi8(
		x, _mm256_or_si256(_mm256_slli_epi32(x, 16), word), few);
	return _mm256_srli_epi32(entry, 24);
}

/* The sum of each element and those before it. */
INLINE __m256i sparse_avx2_prefix_sum(__m256i v)
{
	__m256i half;

	v = _mm256_add_epi32(v, _mm256_slli_si256(v, 4));
	v = _mm256_add_epi32(v, _mm256_slli_si256(v, 8));
	half = _mm256_permutevar8x32_epi32(v, _mm256_set1_epi32(3));
	return _mm256_add_epi32(
		v, _mm256_blend_epi32(_mm256_setzero_si256(), half, 0xf0));
}

INLINE __m256i sparse_avx2_load_halves(const void *low, const void *high)
{
	return _mm256_inserti128_si256(
		_mm256_castsi128_si256(_mm_loadu_si128(low)),
		_mm_loadu_si128(high), 1);
}

/* The low bits of 8 ones from a bit on. */
INLINE __m256i sparse_avx2_low_bits_at(const struct constants *c,
				       const uint8_t *low, uint64_t bit)
{
	const uint64_t high = bit + 4 * c->low_bits;
	const struct spread *a = &c->spread[bit % 8];
	const struct spread *b = &c->spread[high % 8];
	__m256i v = _mm256_shuffle_epi8(
		sparse_avx2_load_halves(low + bit / 8, low + high / 8),
		sparse_avx2_load_halves(a->bytes, b->bytes));

	v = _mm256_srlv_epi32(v, sparse_avx2_load_halves(a->shifts, b->shifts));
	return _mm256_and_si256(v, c->low_mask);
}

/* The places of the ones of 8 symbols, and how many these are. */
static unsigned sparse_avx2_one_by_one(struct scd__sparse_decoding *d,
				       const uint32_t sym[WIDTH],
				       uint32_t *places)
{
	const unsigned n = d->model->low_bits;
	unsigned count = 0;

	for (unsigned i = 0; i < WIDTH; i++) {
		d->place += (uint64_t)sym[i] << n;
		if (sym[i] == d->model->nsyms)
			continue;
		d->place += scd__load_bits(d->low + d->low_bit / 8, 4) >>
				    d->low_bit % 8 &
			    ((1u << n) - 1);
		d->low_bit += n;
		places[count++] = (uint32_t)d->place++;
	}
	return count;
}

/* The same of any 8 symbols. */
INLINE unsigned sparse_avx2_decode_group(struct scd__sparse_decoding *d,
					 const struct constants *c,
					 const __m256i sym, uint32_t *places)
{
	const __m256i escapes = _mm256_cmpeq_epi32(sym, c->escape);
	const __m256i before = _mm256_set1_epi32((int)(d->place - 1));
	__m256i gap;

	if (!_mm256_testz_si256(escapes, escapes)) {
		uint32_t each[WIDTH];

		_mm256_storeu_si256((__m256i *)each, sym);
		return sparse_avx2_one_by_one(d, each, places);
	}
	gap = _mm256_add_epi32(sparse_avx2_low_bits_at(c, d->low, d->low_bit),
			       _mm256_sll_epi32(sym, c->low_count));
	/* A one takes a place itself. */
	gap = _mm256_sub_epi32(gap, _mm256_set1_epi32(-1));
	gap = _mm256_add_epi32(sparse_avx2_prefix_sum(gap), before);
	_mm256_storeu_si256((__m256i *)places, gap);
	d->low_bit += WIDTH * c->low_bits;
	d->place = (uint64_t)places[WIDTH - 1] + 1;
	return WIDTH;
}

/* A round is safe if 4 bytes a lane of low bits, and 2 of words, are there. */
INLINE bool sparse_avx2_may_go_on(const struct scd__sparse_decoding *d,
				  const unsigned nlanes)
{
	return d->nsyms - d->done >= nlanes &&
	       d->low_bit / 8 + 4 * nlanes <= d->low_bytes &&
	       d->end - d->at >= 2 * (ptrdiff_t)nlanes;
}

INLINE int sparse_avx2_decode_rounds(struct scd__sparse_decoding *d,
				     const unsigned nvectors)
{
	struct constants c;
	__m256i state[MAX_VECTORS];
	int error = SCD_OK;

	sparse_avx2_make_constants(d, &c);
	UNROLL
	for (unsigned i = 0; i < nvectors; i++)
		state[i] = _mm256_loadu_si256(
			(const __m256i *)(d->state + i * WIDTH));
	while (!error && sparse_avx2_may_go_on(d, nvectors * WIDTH)) {
		uint32_t places[SCD__SPARSE_MAX_LANES + WIDTH];
		unsigned total = 0;

		UNROLL
		for (unsigned i = 0; i < nvectors; i++) {
			__m256i sym =
				sparse_avx2_next_symbols(&c, &state[i], &d->at);

			total += sparse_avx2_decode_group(d, &c, sym,
							  places + total);
		}
		/* Below 2^32, so no place of this round has wrapped. */
		if (d->place > d->nbits) {
			error = SCD_EFORMAT;
			break;
		}
		for (unsigned i = 0; i < total; i++)
			d->bits[places[i] >> 3] |=
				(uint8_t)(1u << (places[i] & 7));
		d->done += nvectors * WIDTH;
	}
	UNROLL
	for (unsigned i = 0; i < nvectors; i++)
		_mm256_storeu_si256((__m256i *)(d->state + i * WIDTH),
				    state[i]);
	return error;
}

TARGET static int sparse_avx2_decode(struct scd__sparse_decoding *d)
{
	switch (d->nlanes) {
	case 2 * WIDTH:
		return sparse_avx2_decode_rounds(d, 2);
	case 4 * WIDTH:
		return sparse_avx2_decode_rounds(d, 4);
	case 8 * WIDTH:
		return sparse_avx2_decode_rounds(d, 8);
	}
	return SCD_OK;
}

const struct scd__sparse_engine scd__sparse_avx2 = {
	.name = "avx2",
	.available = scd__cpu_has_avx2,
	.decode = sparse_avx2_decode,
};

#endif
