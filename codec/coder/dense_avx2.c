/*
 * The dense coding for processors with AVX2: 16 lanes in two vectors, the
 * states' low and high halves, after the pattern of the AVX-512 engine. What
 * AVX2 lacks is made of byte shuffles: expanding and compressing words by a
 * table of 256 masks, the byte of a rank by 8 shuffles.
 */
#include "codec/coder/dense_engine.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "codec/cpu.h"
#include "codec/coder/shuffles.h"

/* By itself gcc 12 puts one step behind the other; they are to overlap.
 * Decoding gains 10 %. */
#ifndef __clang__
#pragma GCC optimize("schedule-insns", "sched-pressure")
#endif

#define TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define INLINE TARGET static inline __attribute__((always_inline))

/* States are to live in registers: loops over them must be unrolled. */
#define UNROLL _Pragma("GCC unroll 16")

enum {
	WIDTH = 16, /* lanes in a pair of vectors */
	ANY = 0,    /* number of classes: any, and the model is not direct */
};

/* The number of ones in each byte. */
INLINE __m256i dense_avx2_count_ones(__m256i v)
{
	const __m256i nibble = _mm256_set1_epi8(0x0f);
	const __m256i ones = _mm256_setr_epi8(
		0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1,
		2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
	__m256i low = _mm256_and_si256(v, nibble);
	__m256i high = _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble);

	return _mm256_add_epi8(_mm256_shuffle_epi8(ones, low),
			       _mm256_shuffle_epi8(ones, high));
}

/* The sum of 32 bytes. */
INLINE uint64_t dense_avx2_sum_bytes(__m256i v)
{
	__m256i sums = _mm256_sad_epu8(v, _mm256_setzero_si256());
	__m128i half = _mm_add_epi64(_mm256_castsi256_si128(sums),
				     _mm256_extracti128_si256(sums, 1));

	return (uint64_t)_mm_extract_epi64(half, 0) +
	       (uint64_t)_mm_extract_epi64(half, 1);
}

/* Add to each byte of sum[c] whether the byte of 32 there has c ones. */
INLINE void dense_avx2_count_vector(const uint8_t *bytes, __m256i sum[8])
{
	const __m256i ones = dense_avx2_count_ones(
		_mm256_loadu_si256((const __m256i *)bytes));

	UNROLL
	for (int c = 0; c < 8; c++) {
		const __m256i found =
			_mm256_cmpeq_epi8(ones, _mm256_set1_epi8((char)c));

		sum[c] = _mm256_sub_epi8(sum[c], found);
	}
}

TARGET static void dense_avx2_count(const uint8_t *bytes, size_t len,
				    uint64_t hist[SCD__DENSE_COUNTS])
{
	size_t i = 0;

	while (len - i >= 32) {
		/* At most 255 vectors, so that no byte of a sum overflows. */
		size_t n = (len - i) / 32 < 255 ? (len - i) / 32 : 255;
		uint64_t rest = n * 32;
		__m256i sum[8];

		for (int c = 0; c < 8; c++)
			sum[c] = _mm256_setzero_si256();
		for (; n > 0; n--, i += 32)
			dense_avx2_count_vector(bytes + i, sum);
		for (int c = 0; c < 8; c++) {
			hist[c] += dense_avx2_sum_bytes(sum[c]);
			rest -= dense_avx2_sum_bytes(sum[c]);
		}
		hist[8] += rest;
	}
	for (; i < len; i++)
		hist[__builtin_popcount(bytes[i])]++;
}

struct columns {
	__m256i freq, start, inverse, scale, first;
	__m256i below[8]; /* the start of a class less 1 in every element */
};

/* The low bytes of a column's 8 numbers, then the high ones; twice. */
INLINE __m256i dense_avx2_load_column(const uint16_t column[8])
{
	uint8_t bytes[16];

	for (int i = 0; i < 8; i++) {
		bytes[i] = (uint8_t)column[i];
		bytes[8 + i] = (uint8_t)(column[i] >> 8);
	}
	return _mm256_broadcastsi128_si256(
		_mm_loadu_si128((const __m128i *)bytes));
}

INLINE struct columns
dense_avx2_load_columns(const struct scd__dense_model *model)
{
	uint16_t scale[8];
	struct columns c;

	/* A shift to the right by n as the high half of times 2^(15 - n). */
	for (int i = 0; i < 8; i++)
		scale[i] = (uint16_t)(1u << (15 - model->shift[i]));
	c.freq = dense_avx2_load_column(model->freq);
	c.start = dense_avx2_load_column(model->direct ? model->base
						       : model->start);
	c.inverse = dense_avx2_load_column((const uint16_t *)model->inverse);
	c.scale = dense_avx2_load_column(scale);
	c.first = dense_avx2_load_column(model->first);
	for (int i = 0; i < 8; i++)
		c.below[i] = _mm256_set1_epi16((short)(model->start[i] - 1));
	return c;
}

/* 16 states as vectors of their low and high 16 bits. */
struct states {
	__m256i low, high;
};

INLINE struct states dense_avx2_load_states(const uint32_t state[WIDTH])
{
	uint16_t low[WIDTH], high[WIDTH];
	struct states s;

	for (int i = 0; i < WIDTH; i++) {
		low[i] = (uint16_t)state[i];
		high[i] = (uint16_t)(state[i] >> 16);
	}
	s.low = _mm256_loadu_si256((const __m256i *)low);
	s.high = _mm256_loadu_si256((const __m256i *)high);
	return s;
}

INLINE void dense_avx2_store_states(const struct states *s,
				    uint32_t state[WIDTH])
{
	uint16_t low[WIDTH], high[WIDTH];

	_mm256_storeu_si256((__m256i *)low, s->low);
	_mm256_storeu_si256((__m256i *)high, s->high);
	for (int i = 0; i < WIDTH; i++)
		state[i] = low[i] | (uint32_t)high[i] << 16;
}

/*
 * The class c of each slot, as the index of a byte shuffle: c for the low byte
 * of a number in a column, 8 + c for the high one. A comparison gives -1 in
 * both bytes; two sums, so that half the subtractions wait.
 */
INLINE __m256i dense_avx2_class_index(const struct columns *c, __m256i slot,
				      const unsigned nclasses)
{
	__m256i odd = _mm256_set1_epi16(0x0800);
	__m256i even = _mm256_setzero_si256();

	UNROLL
	for (unsigned i = 1; i < nclasses; i += 2)
		odd = _mm256_sub_epi8(odd,
				      _mm256_cmpgt_epi16(slot, c->below[i]));
	UNROLL
	for (unsigned i = 2; i < nclasses; i += 2)
		even = _mm256_sub_epi8(even,
				       _mm256_cmpgt_epi16(slot, c->below[i]));
	return _mm256_add_epi8(odd, even);
}

/* Up to 8 words for the lanes of a mask. */
INLINE __m128i dense_avx2_next_words(const struct scd__shuffles *expand,
				     unsigned mask, const uint8_t **words)
{
	__m128i v = _mm_shuffle_epi8(
		_mm_loadu_si128((const __m128i *)*words),
		_mm_load_si128((const __m128i *)expand->of[mask]));

	*words += 2 * _mm_popcnt_u32(mask);
	return v;
}

/* One byte of each lane, as ranks in 16 bits; *words moves on. */
INLINE __m256i dense_avx2_decode_step(struct states *s, const struct columns *c,
				      const struct scd__shuffles *expand,
				      const unsigned nclasses,
				      const uint8_t **words)
{
	const __m256i slot = _mm256_and_si256(
		s->low, _mm256_set1_epi16(SCD__DENSE_SCALE - 1));
	const bool direct = nclasses != ANY;
	const __m256i index =
		dense_avx2_class_index(c, slot, direct ? nclasses : 8);
	const __m256i freq = _mm256_shuffle_epi8(c->freq, index);
	/* From the class's start, or from its base: always negative. */
	const __m256i past = _mm256_sub_epi16(
		_mm256_shuffle_epi8(c->start, index), slot);
	const __m256i symbol = _mm256_mulhi_epu16(
		_mm256_slli_epi16(
			_mm256_mulhrs_epi16(
				past, _mm256_shuffle_epi8(c->inverse, index)),
			1),
		_mm256_shuffle_epi8(c->scale, index));
	/*
	 * freq * (state >> 14) - past - freq * symbol, of which 4 * freq *
	 * high is the most
	 */
	const __m256i freq4 = _mm256_slli_epi16(freq, 2);
	const __m256i more = _mm256_sub_epi16(
		_mm256_mullo_epi16(
			freq, _mm256_sub_epi16(_mm256_srli_epi16(s->low, 14),
					       symbol)),
		past);
	const __m256i low =
		_mm256_add_epi16(_mm256_mullo_epi16(freq4, s->high), more);
	/* -1 in all that did not carry */
	const __m256i kept =
		_mm256_cmpeq_epi16(_mm256_max_epu16(low, more), low);
	__m256i high = _mm256_mulhi_epu16(freq4, s->high);
	__m256i refill;
	__m128i a, b;
	unsigned mask;

	high = _mm256_add_epi16(
		_mm256_add_epi16(high, _mm256_set1_epi16(1)), kept);
	refill = _mm256_cmpeq_epi16(high, _mm256_setzero_si256());
	mask = (unsigned)_mm256_movemask_epi8(
		_mm256_packs_epi16(refill, refill));
	a = dense_avx2_next_words(expand, mask & 255, words);
	b = dense_avx2_next_words(expand, mask >> 16 & 255, words);
	s->high = _mm256_blendv_epi8(high, low, refill);
	s->low = _mm256_blendv_epi8(
		low, _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1),
		refill);
	if (direct)
		return symbol;
	return _mm256_add_epi16(symbol, _mm256_shuffle_epi8(c->first, index));
}

/*
 * The bytes of ranks below 128, for shuffles whose results are summed up (by
 * exclusive or): part i has what part i - 1 must be changed by.
 */
struct bytes {
	__m256i part[8];
};

INLINE struct bytes dense_avx2_load_bytes(void)
{
	struct bytes b;
	__m128i before = _mm_setzero_si128();

	UNROLL
	for (int i = 0; i < 8; i++) {
		__m128i part = _mm_loadu_si128(
			(const __m128i *)(scd__dense_byte + 16 * i));

		b.part[i] = _mm256_broadcastsi128_si256(
			_mm_xor_si128(part, before));
		before = part;
	}
	return b;
}

/*
 * The byte of each rank. Rank 255 - r is the complement of rank r, so 128 of
 * them will do. A shuffle gives zero for a negative index: part i counts from
 * rank 16 * i on.
 */
INLINE __m256i dense_avx2_look_up(const struct bytes *bytes, __m256i rank)
{
	const __m256i high = _mm256_cmpgt_epi8(_mm256_setzero_si256(), rank);
	__m256i index = _mm256_xor_si256(rank, high);
	__m256i v = _mm256_xor_si256(
		high, _mm256_shuffle_epi8(bytes->part[0], index));

	UNROLL
	for (int i = 1; i < 8; i++) {
		index = _mm256_sub_epi8(index, _mm256_set1_epi8(16));
		v = _mm256_xor_si256(
			v, _mm256_shuffle_epi8(bytes->part[i], index));
	}
	return v;
}

/* Take the bytes that stand for escapes from the list. */
INLINE void dense_avx2_resolve(struct scd__dense_decoding *d, uint8_t *out,
			       __m256i v)
{
	unsigned escapes = (unsigned)_mm256_movemask_epi8(
		_mm256_cmpeq_epi8(v, _mm256_set1_epi8(-1)));

	for (; escapes; escapes &= escapes - 1)
		out[__builtin_ctz(escapes)] = scd__dense_list_get(d);
}

/* Add a round's bytes to a checksum. */
INLINE void dense_avx2_sum(struct scd__checksum *sum, const size_t nlanes)
{
	for (size_t i = 0; i < nlanes; i += 8)
		sum->ones += (unsigned)_mm_popcnt_u64(
			scd__load_bits(sum->next + i, 8));
	scd__checksum_add(sum, nlanes);
}

INLINE void dense_avx2_decode_rounds(struct scd__dense_decoding *d,
				     const struct scd__shuffles *expand,
				     const unsigned nclasses,
				     const unsigned npairs)
{
	const struct columns c = dense_avx2_load_columns(d->model);
	const struct bytes bytes = dense_avx2_load_bytes();
	const size_t nlanes = npairs * WIDTH;
	/* What a round may read: its words, and a vector begun at the last. */
	const size_t most = 2 * nlanes + 16;
	const uint8_t *at = d->at;
	uint8_t *out = d->bytes + d->done;
	size_t rounds = (d->len - d->done) / nlanes;
	const bool summed = d->sum && d->sum->next == out;
	struct scd__checksum sum = {.next = out};
	struct states s[8];

	if (summed)
		sum = *d->sum;
	UNROLL
	for (unsigned i = 0; i < npairs; i++)
		s[i] = dense_avx2_load_states(d->state + i * WIDTH);
	for (; rounds > 0 && (size_t)(d->end - at) >= most; rounds--) {
		/* The round before, beside what waits in this one. */
		if (summed && sum.next < out)
			dense_avx2_sum(&sum, nlanes);
		UNROLL
		for (unsigned i = 0; i < npairs; i += 2) {
			__m256i a = dense_avx2_decode_step(&s[i], &c, expand,
							   nclasses, &at);
			__m256i b = dense_avx2_decode_step(
				&s[i + 1], &c, expand, nclasses, &at);
			__m256i v = _mm256_permute4x64_epi64(
				_mm256_packus_epi16(a, b), 0xd8);

			v = dense_avx2_look_up(&bytes, v);
			_mm256_storeu_si256((__m256i *)(out + i * WIDTH), v);
			if (d->model->escapes)
				dense_avx2_resolve(d, out + i * WIDTH, v);
		}
		out += nlanes;
	}
	UNROLL
	for (unsigned i = 0; i < npairs; i++)
		dense_avx2_store_states(&s[i], d->state + i * WIDTH);
	if (summed)
		*d->sum = sum;
	d->done = (size_t)(out - d->bytes);
	d->at = at;
}

/* The loop for a number of classes, so that comparisons are not wasted. */
INLINE void dense_avx2_decode_classes(struct scd__dense_decoding *d,
				      const struct scd__shuffles *expand,
				      const unsigned npairs)
{
	switch (d->model->direct ? d->model->nclasses : ANY) {
	case 2:
	case 3:
		dense_avx2_decode_rounds(d, expand, 3, npairs);
		break;
	case 4:
	case 5:
		dense_avx2_decode_rounds(d, expand, 5, npairs);
		break;
	case 6:
		dense_avx2_decode_rounds(d, expand, 6, npairs);
		break;
	case 7:
		dense_avx2_decode_rounds(d, expand, 7, npairs);
		break;
	case 8:
		dense_avx2_decode_rounds(d, expand, 8, npairs);
		break;
	default:
		dense_avx2_decode_rounds(d, expand, ANY, npairs);
		break;
	}
}

TARGET static void dense_avx2_decode(struct scd__dense_decoding *d)
{
	struct scd__shuffles expand __attribute__((aligned(16)));

	scd__shuffles_expand(&expand);
	switch (d->nlanes) {
	case 2 * WIDTH:
		dense_avx2_decode_classes(d, &expand, 2);
		break;
	case 4 * WIDTH:
		dense_avx2_decode_classes(d, &expand, 4);
		break;
	case 8 * WIDTH:
		dense_avx2_decode_classes(d, &expand, 8);
		break;
	}
}

/* What the encoder looks up by class, in 32 bits. */
struct encoder {
	__m256i freq, inverse, shift;
	__m256i last; /* the last class, in every byte */
	struct scd__dense_symbols symbols;
	struct scd__shuffles compress;
};

TARGET static void dense_avx2_make_encoder(const struct scd__dense_model *model,
					   struct encoder *e)
{
	const struct scd__dense_symbols *s = &e->symbols;

	scd__dense_symbols_make(model, &e->symbols);
	e->freq = _mm256_loadu_si256((const __m256i *)s->freq);
	e->inverse = _mm256_loadu_si256((const __m256i *)s->inverse);
	e->shift = _mm256_loadu_si256((const __m256i *)s->shift);
	e->last = _mm256_set1_epi8((char)(model->nclasses - 1));
	scd__shuffles_compress(&e->compress);
}

/* The low 16 bits of 8 numbers, all of which are below 2^16. */
INLINE __m128i dense_avx2_narrow(__m256i v)
{
	return _mm_packus_epi32(_mm256_castsi256_si128(v),
				_mm256_extracti128_si256(v, 1));
}

/* 8 bytes (their classes and starts) into 8 states; words go below at. */
INLINE uint8_t *dense_avx2_encode_step(const struct encoder *e, __m256i *state,
				       const __m256i c, const __m256i start,
				       uint8_t *at)
{
	const __m256i freq = _mm256_permutevar8x32_epi32(e->freq, c);
	const __m256i inverse = _mm256_permutevar8x32_epi32(e->inverse, c);
	__m256i x = *state, even, odd, quotient, rest, full;
	unsigned mask;

	/* Both sides are below 2^18: a signed comparison will do. */
	full = _mm256_cmpgt_epi32(
		freq, _mm256_srli_epi32(x, 32 - SCD__DENSE_SCALE_LOG));
	mask = ~(unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(full)) & 255;
	_mm_storeu_si128(
		(__m128i *)(at - 16),
		_mm_shuffle_epi8(
			dense_avx2_narrow(
				_mm256_and_si256(x, _mm256_set1_epi32(0xffff))),
			_mm_load_si128((const __m128i *)e->compress.of[mask])));
	at -= 2 * _mm_popcnt_u32(mask);
	x = _mm256_blendv_epi8(_mm256_srli_epi32(x, 16), x, full);
	even = _mm256_srli_epi64(_mm256_mul_epu32(x, inverse), 32);
	odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32),
			       _mm256_srli_epi64(inverse, 32));
	quotient = _mm256_srlv_epi32(_mm256_blend_epi32(even, odd, 0xaa),
				     _mm256_permutevar8x32_epi32(e->shift, c));
	rest = _mm256_sub_epi32(x, _mm256_mullo_epi32(quotient, freq));
	full = _mm256_cmpgt_epi32(freq, rest); /* -1: the quotient is right */
	quotient = _mm256_add_epi32(
		quotient, _mm256_add_epi32(full, _mm256_set1_epi32(1)));
	rest = _mm256_sub_epi32(rest, _mm256_andnot_si256(full, freq));
	*state = _mm256_add_epi32(
		_mm256_slli_epi32(quotient, SCD__DENSE_SCALE_LOG),
		_mm256_add_epi32(rest, start));
	return at;
}

/* Put escaped bytes into the list, from the last one down. */
INLINE void dense_avx2_list(struct scd__dense_encoding *e, const uint8_t *bytes,
			    unsigned escapes)
{
	while (escapes) {
		int last = 31 - __builtin_clz(escapes);

		scd__dense_list_put(e, bytes[last]);
		escapes ^= 1u << last;
	}
}

/* 32 bytes, the last ones first. */
INLINE uint8_t *dense_avx2_encode_bytes(struct scd__dense_encoding *e,
					const struct encoder *enc,
					__m256i *state, const uint8_t *from,
					uint8_t *at)
{
	const __m256i c =
		_mm256_min_epu8(dense_avx2_count_ones(_mm256_loadu_si256(
					(const __m256i *)from)),
				enc->last);
	uint8_t classes[32];

	if (e->model->escapes)
		dense_avx2_list(e, from,
				(unsigned)_mm256_movemask_epi8(
					_mm256_cmpeq_epi8(c, enc->last)));
	_mm256_storeu_si256((__m256i *)classes, c);
	UNROLL
	for (unsigned i = 4; i-- > 0;) {
		uint32_t start[8];

		UNROLL
		for (unsigned j = 0; j < 8; j++)
			start[j] = enc->symbols.start[from[8 * i + j]];
		at = dense_avx2_encode_step(
			enc, &state[i],
			_mm256_cvtepu8_epi32(_mm_loadl_epi64(
				(const __m128i *)(classes + 8 * i))),
			_mm256_loadu_si256((const __m256i *)start), at);
	}
	return at;
}

INLINE void dense_avx2_encode_rounds(struct scd__dense_encoding *e,
				     const unsigned npairs)
{
	const size_t nlanes = npairs * WIDTH;
	uint8_t *at = e->at;
	struct encoder enc __attribute__((aligned(32)));
	__m256i state[16];

	dense_avx2_make_encoder(e->model, &enc);
	UNROLL
	for (unsigned i = 0; i < 2 * npairs; i++)
		state[i] = _mm256_loadu_si256(
			(const __m256i *)(e->state + 8 * i));
	while (e->left > 0 && (size_t)(at - e->floor) >= 2 * nlanes) {
		e->left -= nlanes;
		UNROLL
		for (unsigned i = (unsigned)nlanes; i > 0; i -= 32)
			at = dense_avx2_encode_bytes(
				e, &enc, &state[(i - 32) / 8],
				e->bytes + e->left + i - 32, at);
	}
	UNROLL
	for (unsigned i = 0; i < 2 * npairs; i++)
		_mm256_storeu_si256((__m256i *)(e->state + 8 * i), state[i]);
	e->at = at;
}

TARGET static void dense_avx2_encode(struct scd__dense_encoding *e)
{
	switch (e->nlanes) {
	case 2 * WIDTH:
		dense_avx2_encode_rounds(e, 2);
		break;
	case 4 * WIDTH:
		dense_avx2_encode_rounds(e, 4);
		break;
	case 8 * WIDTH:
		dense_avx2_encode_rounds(e, 8);
		break;
	}
}

const struct scd__dense_engine scd__dense_avx2 = {
	.name = "avx2",
	.available = scd__cpu_has_avx2,
	.count = dense_avx2_count,
	.encode = dense_avx2_encode,
	.decode = dense_avx2_decode,
};

#endif
