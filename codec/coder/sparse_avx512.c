/*
 * Decoding the sparse coding with AVX-512: 16 lanes a vector. A group's low
 * bits are taken out of one load by a byte permutation and a shift for each
 * element, for which there are 8 tables, one for each bit of a byte that they
 * may begin at; where escapes are among the symbols, they are spread over the
 * others. Gaps become places by a prefix sum, and the ones of a round are set
 * together.
 */
#include "codec/coder/sparse_engine.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "codec/coder/ans.h"
#include "codec/cpu.h"

#define TARGET                                                             \
	__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,"        \
			      "avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt")))
#define INLINE TARGET static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 4")

enum { WIDTH = SCD__SPARSE_GROUP };

/* Where the low bits of 16 ones are, by the bit of a byte they begin at. */
struct spread {
	uint8_t bytes[64];
	uint32_t shifts[WIDTH];
};

/* What a group needs that is the same for all of them. */
struct constants {
	const uint32_t *table;
	struct spread spread[8];
	__m512i low_mask, escape;
	unsigned low_bits;
};

TARGET static void
sparse_avx512_make_constants(const struct scd__sparse_decoding *d,
			     struct constants *c)
{
	const unsigned n = d->model->low_bits;

	for (unsigned bit = 0; bit < 8; bit++) {
		for (unsigned i = 0; i < WIDTH; i++) {
			unsigned at = bit + i * n;

			for (unsigned j = 0; j < 4; j++)
				c->spread[bit].bytes[4 * i + j] =
					(uint8_t)(at / 8 + j);
			c->spread[bit].shifts[i] = at % 8;
		}
	}
	c->table = d->table;
	c->low_mask = _mm512_set1_epi32((1 << n) - 1);
	c->escape = _mm512_set1_epi32((int)d->model->nsyms);
	c->low_bits = n;
}

/* The next symbol of each of 16 coders. */
INLINE __m512i sparse_avx512_next_symbols(const struct constants *c,
					  __m512i *state, const uint8_t **words)
{
	const __m512i twelve = _mm512_set1_epi32(SCD__GAP_SCALE - 1);
	__m512i x = *state;
	const __m512i entry = _mm512_i32gather_epi32(
		_mm512_and_si512(x, twelve), c->table, 4);
	const __m512i freq =
		_mm512_and_si512(_mm512_srli_epi32(entry, 12), twelve);
	__mmask16 refill;
	__m512i word;

	x = _mm512_mullo_epi32(freq, _mm512_srli_epi32(x, SCD__GAP_SCALE_LOG));
	x = _mm512_add_epi32(x, _mm512_and_si512(entry, twelve));
	refill = _mm512_cmplt_epu32_mask(
		x, _mm512_set1_epi32(SCD__ANS_MIN));
	word = _mm512_maskz_expand_epi32(
		refill, _mm512_cvtepu16_epi32(_mm256_loadu_si256(
				(const __m256i *)*words)));
	*words += 2 * _mm_popcnt_u32(refill);
	*state = _mm512_or_si512(_mm512_mask_slli_epi32(x, refill, x, 16),
				 word);
	return _mm512_srli_epi32(entry, 24);
}

/* The sum of each element and those before it. */
INLINE __m512i sparse_avx512_prefix_sum(__m512i v)
{
	const __m512i zero = _mm512_setzero_si512();

	v = _mm512_add_epi32(v, _mm512_alignr_epi32(v, zero, 15));
	v = _mm512_add_epi32(v, _mm512_alignr_epi32(v, zero, 14));
	v = _mm512_add_epi32(v, _mm512_alignr_epi32(v, zero, 12));
	return _mm512_add_epi32(v, _mm512_alignr_epi32(v, zero, 8));
}

INLINE uint32_t sparse_avx512_last_element(__m512i v)
{
	return (uint32_t)_mm_extract_epi32(_mm512_extracti32x4_epi32(v, 3), 3);
}

/* The low bits of 16 ones from a bit on. */
INLINE __m512i sparse_avx512_low_bits_at(const struct constants *c,
					 const uint8_t *low, uint64_t bit)
{
	const struct spread *s = &c->spread[bit % 8];
	__m512i v = _mm512_permutexvar_epi8(_mm512_loadu_si512(s->bytes),
					    _mm512_loadu_si512(low + bit / 8));

	v = _mm512_srlv_epi32(v, _mm512_loadu_si512(s->shifts));
	return _mm512_and_si512(v, c->low_mask);
}

/* A group of symbols: the places of its ones, how many there are in *n. */
INLINE void sparse_avx512_decode_group(struct scd__sparse_decoding *d,
				       const struct constants *c,
				       const __m512i sym, uint32_t *places,
				       unsigned *n)
{
	const __mmask16 ones = _mm512_cmpneq_epi32_mask(sym, c->escape);
	__m512i gap = sparse_avx512_low_bits_at(c, d->low, d->low_bit);
	const __m512i before = _mm512_set1_epi32((int)(d->place - 1));

	*n = (unsigned)_mm_popcnt_u32(ones);
	d->low_bit += *n * c->low_bits;
	/* Once in some 20 groups there is an escape. */
	if (ones != 0xffff)
		gap = _mm512_maskz_expand_epi32(ones, gap);
	gap = _mm512_add_epi32(
		gap,
		_mm512_sll_epi32(sym, _mm_cvtsi32_si128((int)c->low_bits)));
	/* A one takes a place itself. */
	gap = _mm512_mask_sub_epi32(gap, ones, gap, _mm512_set1_epi32(-1));
	gap = sparse_avx512_prefix_sum(gap);
	d->place += sparse_avx512_last_element(gap);
	gap = _mm512_add_epi32(gap, before);
	if (ones != 0xffff)
		gap = _mm512_maskz_compress_epi32(ones, gap);
	_mm512_storeu_si512(places, gap);
}

/* A round is safe if 64 bytes for each of its vectors may be read. */
INLINE bool sparse_avx512_may_go_on(const struct scd__sparse_decoding *d,
				    const unsigned nvectors)
{
	return d->nsyms - d->done >= nvectors * WIDTH &&
	       d->low_bit / 8 + 64 * nvectors <= d->low_bytes &&
	       d->end - d->at >= 64 * (ptrdiff_t)nvectors;
}

INLINE int sparse_avx512_decode_rounds(struct scd__sparse_decoding *d,
				       const unsigned nvectors)
{
	struct constants c;
	__m512i state[4];
	int error = SCD_OK;

	sparse_avx512_make_constants(d, &c);
	UNROLL
	for (unsigned i = 0; i < nvectors; i++)
		state[i] = _mm512_loadu_si512(d->state + i * WIDTH);
	while (!error && sparse_avx512_may_go_on(d, nvectors)) {
		uint32_t places[4 * WIDTH + WIDTH];
		unsigned total = 0, n;

		UNROLL
		for (unsigned i = 0; i < nvectors; i++) {
			__m512i sym = sparse_avx512_next_symbols(&c, &state[i],
								 &d->at);

			sparse_avx512_decode_group(d, &c, sym, places + total,
						   &n);
			total += n;
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
		_mm512_storeu_si512(d->state + i * WIDTH, state[i]);
	return error;
}

TARGET static int sparse_avx512_decode(struct scd__sparse_decoding *d)
{
	switch (d->nlanes) {
	case WIDTH:
		return sparse_avx512_decode_rounds(d, 1);
	case 2 * WIDTH:
		return sparse_avx512_decode_rounds(d, 2);
	case 4 * WIDTH:
		return sparse_avx512_decode_rounds(d, 4);
	}
	return SCD_OK;
}

const struct scd__sparse_engine scd__sparse_avx512 = {
	.name = "avx512",
	.available = scd__cpu_has_avx512,
	.decode = sparse_avx512_decode,
};

#endif
