/*
 * The dense coding for processors with AVX-512 (VBMI, VBMI2, BITALG): 32
 * lanes in two vectors, the states' low and high halves.
 *
 * No table is gathered from. A slot's class is the number of class starts
 * that are not above it, found by up to 7 comparisons; what depends on the
 * class comes from a byte shuffle of 8 entries; the rank within the class is a
 * multiplication and a shift; the byte of a rank is a permutation of 256
 * bytes. Refilling expands the next words into the lanes that need one.
 */
#include "codec/coder/dense_engine.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "codec/coder/ans.h"
#include "codec/cpu.h"

/* By itself gcc 12 puts one step behind the other; the pairs' steps are to
 * overlap. Decoding gains 4 %, encoding 15 %. */
#ifndef __clang__
#pragma GCC optimize("schedule-insns", "sched-pressure")
#endif

#define TARGET                                                             \
	__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,"        \
			      "avx512vbmi,avx512vbmi2,avx512bitalg,"       \
			      "avx512vpopcntdq,"                           \
			      "bmi,bmi2,popcnt")))
#define INLINE TARGET static inline __attribute__((always_inline))

/* States are to live in registers: loops over them must be unrolled. */
#define UNROLL _Pragma("GCC unroll 16")

enum {
	WIDTH = 32, /* lanes in a pair of vectors */
	ANY = 0,    /* number of classes: any, and the model is not direct */
};

static bool dense_avx512_available(void)
{
	return scd__cpu_has_avx512() &&
	       __builtin_cpu_supports("avx512bitalg") &&
	       __builtin_cpu_supports("avx512vpopcntdq");
}

TARGET static void dense_avx512_count(const uint8_t *bytes, size_t len,
				      uint64_t hist[SCD__DENSE_COUNTS])
{
	for (size_t i = 0; i < len; i += 64) {
		const unsigned n = len - i < 64 ? (unsigned)(len - i) : 64;
		const __mmask64 in = _bzhi_u64(UINT64_MAX, n);
		const __m512i ones = _mm512_popcnt_epi8(
			_mm512_maskz_loadu_epi8(in, bytes + i));
		unsigned rest = n;

		for (char c = 0; c < 8; c++) {
			unsigned found = (unsigned)_mm_popcnt_u64(
				_mm512_mask_cmpeq_epi8_mask(
					in, ones, _mm512_set1_epi8(c)));

			hist[(int)c] += found;
			rest -= found;
		}
		hist[8] += rest;
	}
}

/* 256 bytes, looked up by a byte. */
struct lookup {
	__m512i part[4];
};

INLINE struct lookup dense_avx512_load_lookup(const uint8_t table[256])
{
	struct lookup l;

	for (int i = 0; i < 4; i++)
		l.part[i] = _mm512_loadu_si512(table + 64 * i);
	return l;
}

INLINE __m512i dense_avx512_look_up(const struct lookup *l, __m512i index)
{
	__m512i low = _mm512_permutex2var_epi8(l->part[0], index, l->part[1]);
	__m512i high = _mm512_permutex2var_epi8(l->part[2], index, l->part[3]);

	return _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(index), high);
}

/* A model's columns, each of 8 numbers of 16 bits four times over. */
struct columns {
	__m512i freq, start, inverse, shift, first;
	__m512i bound[8]; /* the start of a class in every element */
};

INLINE __m512i dense_avx512_load_column(const uint16_t column[8])
{
	return _mm512_broadcast_i32x4(
		_mm_loadu_si128((const __m128i *)column));
}

INLINE struct columns
dense_avx512_load_columns(const struct scd__dense_model *model)
{
	struct columns c = {
		.freq = dense_avx512_load_column(model->freq),
		.start = dense_avx512_load_column(model->direct ? model->base
								: model->start),
		.inverse = dense_avx512_load_column(
			(const uint16_t *)model->inverse),
		.shift = dense_avx512_load_column(model->shift),
		.first = dense_avx512_load_column(model->first),
	};

	for (int i = 0; i < 8; i++)
		c.bound[i] = _mm512_set1_epi16((short)model->start[i]);
	return c;
}

/* 32 states as vectors of their low and high 16 bits. */
struct states {
	__m512i low, high;
};

INLINE struct states dense_avx512_load_states(const uint32_t state[WIDTH])
{
	__m512i a = _mm512_loadu_si512(state);
	__m512i b = _mm512_loadu_si512(state + 16);
	struct states s = {
		.low = _mm512_inserti64x4(
			_mm512_castsi256_si512(_mm512_cvtepi32_epi16(a)),
			_mm512_cvtepi32_epi16(b), 1),
		.high = _mm512_inserti64x4(
			_mm512_castsi256_si512(_mm512_cvtepi32_epi16(
				_mm512_srli_epi32(a, 16))),
			_mm512_cvtepi32_epi16(_mm512_srli_epi32(b, 16)), 1),
	};

	return s;
}

INLINE __m512i dense_avx512_join(__m256i low, __m256i high)
{
	return _mm512_or_si512(
		_mm512_cvtepu16_epi32(low),
		_mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16));
}

INLINE void dense_avx512_store_states(const struct states *s,
				      uint32_t state[WIDTH])
{
	_mm512_storeu_si512(state,
			    dense_avx512_join(_mm512_castsi512_si256(s->low),
					      _mm512_castsi512_si256(s->high)));
	_mm512_storeu_si512(
		state + 16,
		dense_avx512_join(_mm512_extracti64x4_epi64(s->low, 1),
				  _mm512_extracti64x4_epi64(s->high, 1)));
}

/*
 * The class of each slot, as the index of a byte shuffle: the two bytes of
 * entry c are 2c and 2c + 1. Two sums, so that half the additions wait.
 */
INLINE __m512i dense_avx512_class_index(const struct columns *c, __m512i slot,
					const unsigned nclasses)
{
	const __m512i two = _mm512_set1_epi16(0x0202);
	__m512i odd = _mm512_set1_epi16(0x0100);
	__m512i even = _mm512_setzero_si512();

	UNROLL
	for (unsigned i = 1; i < nclasses; i += 2)
		odd = _mm512_mask_add_epi16(
			odd, _mm512_cmpge_epu16_mask(slot, c->bound[i]), odd,
			two);
	UNROLL
	for (unsigned i = 2; i < nclasses; i += 2)
		even = _mm512_mask_add_epi16(
			even, _mm512_cmpge_epu16_mask(slot, c->bound[i]), even,
			two);
	return _mm512_add_epi16(odd, even);
}

/*
 * What is found out of a pair's next bytes. The work on two pairs is done by
 * turns, so that one has something to do while the other waits.
 */
struct step {
	__m512i index;  /* of its classes */
	__m512i past;   /* what their starts, or bases, lie before the slots:
			   0 or negative */
	__m512i symbol; /* in its class; its rank if the model is direct */
	__m512i freq;
	__m512i more; /* freq * (low >> 14) + slot - start - freq * symbol */
};

INLINE void dense_avx512_find_class(struct step *t, const struct states *s,
				    const struct columns *c,
				    const unsigned nclasses)
{
	const __m512i slot = _mm512_and_si512(
		s->low, _mm512_set1_epi16(SCD__DENSE_SCALE - 1));

	t->index = dense_avx512_class_index(c, slot,
					    nclasses == ANY ? 8 : nclasses);
	t->past = _mm512_sub_epi16(_mm512_shuffle_epi8(c->start, t->index),
				   slot);
}

INLINE void dense_avx512_find_symbol(struct step *t, const struct states *s,
				     const struct columns *c)
{
	t->symbol = _mm512_srlv_epi16(
		_mm512_mulhrs_epi16(t->past,
				    _mm512_shuffle_epi8(c->inverse, t->index)),
		_mm512_shuffle_epi8(c->shift, t->index));
	t->freq = _mm512_shuffle_epi8(c->freq, t->index);
	t->more = _mm512_sub_epi16(
		_mm512_mullo_epi16(
			t->freq,
			_mm512_sub_epi16(_mm512_srli_epi16(s->low, 14),
					 t->symbol)),
		t->past);
}

/* The state that is left, freq * (state >> 14) and the slot in the symbol: of
 * that freq * 4 * high is the most. */
INLINE void dense_avx512_take_symbol(const struct step *t, struct states *s)
{
	const __m512i freq4 = _mm512_slli_epi16(t->freq, 2);

	s->low = _mm512_add_epi16(_mm512_mullo_epi16(freq4, s->high), t->more);
	s->high = _mm512_mulhi_epu16(freq4, s->high);
	s->high = _mm512_mask_sub_epi16(
		s->high, _mm512_cmplt_epu16_mask(s->low, t->more), s->high,
		_mm512_set1_epi16(-1));
}

/* *words moves on. */
INLINE void dense_avx512_refill(struct states *s, const uint8_t **words)
{
	const __mmask32 empty = _mm512_testn_epi16_mask(s->high, s->high);

	s->high = _mm512_mask_mov_epi16(s->high, empty, s->low);
	s->low = _mm512_mask_expand_epi16(s->low, empty,
					  _mm512_loadu_si512(*words));
	*words += 2 * _mm_popcnt_u32(empty);
}

INLINE __m512i dense_avx512_rank_of(const struct step *t,
				    const struct columns *c,
				    const unsigned nclasses)
{
	if (nclasses != ANY)
		return t->symbol;
	return _mm512_add_epi16(t->symbol,
				_mm512_shuffle_epi8(c->first, t->index));
}

/* The low bytes of the 16-bit elements of two vectors. */
INLINE __m512i dense_avx512_pack(__m512i a, __m512i b)
{
	static const uint8_t low[64] = {
		0,   2,	  4,   6,   8,	 10,  12,  14,	16,  18,  20,
		22,  24,  26,  28,  30,	 32,  34,  36,	38,  40,  42,
		44,  46,  48,  50,  52,	 54,  56,  58,	60,  62,  64,
		66,  68,  70,  72,  74,	 76,  78,  80,	82,  84,  86,
		88,  90,  92,  94,  96,	 98,  100, 102, 104, 106, 108,
		110, 112, 114, 116, 118, 120, 122, 124, 126,
	};

	return _mm512_permutex2var_epi8(a, _mm512_loadu_si512(low), b);
}

/*
 * Have the words of the rounds to come fetched. Where they begin depends on all
 * that is decoded before, so a processor asks for them too late by itself, and
 * then has nothing to do: without, decoding takes half as long again where the
 * payload is not in the nearer caches. It may be an address beyond the end.
 */
INLINE void dense_avx512_fetch(const uint8_t *words)
{
	enum { AHEAD = 1024 }; /* 256 to 2048 make no difference */

	__builtin_prefetch((const void *)((uintptr_t)words + AHEAD));
}

/* The ranks of two pairs' next bytes, or of one pair's (and garbage). */
INLINE __m512i dense_avx512_decode_pairs(struct states *s,
					 const struct columns *c,
					 const unsigned nclasses,
					 const unsigned npairs,
					 const uint8_t **words)
{
	const unsigned n = npairs < 2 ? npairs : 2;
	struct step t[2];

	UNROLL
	for (unsigned i = 0; i < n; i++)
		dense_avx512_find_class(&t[i], &s[i], c, nclasses);
	UNROLL
	for (unsigned i = 0; i < n; i++)
		dense_avx512_find_symbol(&t[i], &s[i], c);
	UNROLL
	for (unsigned i = 0; i < n; i++)
		dense_avx512_take_symbol(&t[i], &s[i]);
	UNROLL
	for (unsigned i = 0; i < n; i++)
		dense_avx512_refill(&s[i], words);
	return dense_avx512_pack(dense_avx512_rank_of(&t[0], c, nclasses),
				 dense_avx512_rank_of(&t[n - 1], c, nclasses));
}

/* Store 64 bytes, or 32. */
INLINE void dense_avx512_store_bytes(uint8_t *out, __m512i v,
				     const unsigned npairs)
{
	if (npairs == 1)
		_mm256_storeu_si256((__m256i *)out, _mm512_castsi512_si256(v));
	else
		_mm512_storeu_si512(out, v);
}

/* Take the bytes that stand for escapes from the list. */
INLINE void dense_avx512_resolve(struct scd__dense_decoding *d, uint8_t *out,
				 uint64_t escapes)
{
	for (; escapes; escapes &= escapes - 1)
		out[__builtin_ctzll(escapes)] = scd__dense_list_get(d);
}

/* Add a round's bytes to a checksum. */
INLINE void dense_avx512_sum(struct scd__checksum *sum, __m512i *ones,
			     const size_t nlanes)
{
	UNROLL
	for (size_t i = 0; i < nlanes; i += 64) {
		const __mmask64 used = nlanes == 32 ? UINT32_MAX : UINT64_MAX;
		const __m512i v = _mm512_maskz_loadu_epi8(used, sum->next + i);

		*ones = _mm512_add_epi64(*ones, _mm512_popcnt_epi64(v));
	}
	scd__checksum_add(sum, nlanes);
}

INLINE void dense_avx512_decode_rounds(struct scd__dense_decoding *d,
				       const unsigned nclasses,
				       const unsigned npairs)
{
	const struct columns c = dense_avx512_load_columns(d->model);
	const struct lookup bytes = dense_avx512_load_lookup(scd__dense_byte);
	const size_t nlanes = npairs * WIDTH;
	const __mmask64 used = npairs == 1 ? UINT32_MAX : UINT64_MAX;
	const bool escapes = d->model->escapes;
	const uint8_t *at = d->at;
	uint8_t *out = d->bytes + d->done;
	size_t rounds = (d->len - d->done) / nlanes;
	const bool summed = d->sum && d->sum->next == out;
	struct scd__checksum sum = {.next = out};
	__m512i ones = _mm512_setzero_si512();
	struct states s[4];

	if (summed)
		sum = *d->sum;
	UNROLL
	for (unsigned i = 0; i < npairs; i++)
		s[i] = dense_avx512_load_states(d->state + i * WIDTH);
	for (; rounds > 0 && (size_t)(d->end - at) >= 2 * nlanes; rounds--) {
		dense_avx512_fetch(at);
		/* The bytes of the round before, beside the steps of this
		 * one, most of which wait for each other. */
		if (summed && sum.next < out)
			dense_avx512_sum(&sum, &ones, nlanes);
		UNROLL
		for (unsigned i = 0; i < npairs; i += 2) {
			__m512i v = dense_avx512_decode_pairs(
				&s[i], &c, nclasses, npairs, &at);

			v = dense_avx512_look_up(&bytes, v);
			dense_avx512_store_bytes(out + i * WIDTH, v, npairs);
			if (escapes)
				dense_avx512_resolve(
					d, out + i * WIDTH,
					_mm512_mask_cmpeq_epi8_mask(
						used, v, _mm512_set1_epi8(-1)));
		}
		out += nlanes;
	}
	UNROLL
	for (unsigned i = 0; i < npairs; i++)
		dense_avx512_store_states(&s[i], d->state + i * WIDTH);
	if (summed) {
		sum.ones += (uint64_t)_mm512_reduce_add_epi64(ones);
		*d->sum = sum;
	}
	d->done = (size_t)(out - d->bytes);
	d->at = at;
}

/* The loop for a number of classes, so that comparisons are not wasted. */
INLINE void dense_avx512_decode_classes(struct scd__dense_decoding *d,
					const unsigned npairs)
{
	switch (d->model->direct ? d->model->nclasses : ANY) {
	case 2:
		dense_avx512_decode_rounds(d, 2, npairs);
		break;
	case 3:
		dense_avx512_decode_rounds(d, 3, npairs);
		break;
	case 4:
		dense_avx512_decode_rounds(d, 4, npairs);
		break;
	case 5:
		dense_avx512_decode_rounds(d, 5, npairs);
		break;
	case 6:
		dense_avx512_decode_rounds(d, 6, npairs);
		break;
	case 7:
		dense_avx512_decode_rounds(d, 7, npairs);
		break;
	case 8:
		dense_avx512_decode_rounds(d, 8, npairs);
		break;
	default:
		dense_avx512_decode_rounds(d, ANY, npairs);
		break;
	}
}

TARGET static void dense_avx512_decode(struct scd__dense_decoding *d)
{
	switch (d->nlanes) {
	case WIDTH:
		dense_avx512_decode_classes(d, 1);
		break;
	case 2 * WIDTH:
		dense_avx512_decode_classes(d, 2);
		break;
	case 4 * WIDTH:
		dense_avx512_decode_classes(d, 4);
		break;
	}
}

/* What the encoder looks up by class, in 32 bits. */
struct encoder {
	__m512i freq;
	__m512i start; /* of the symbol that would have rank 0 */
	__m512i inverse, shift;
	__m512i last; /* the last class, in every byte */
	struct lookup ranks;
	bool escapes;
};

TARGET static struct encoder
dense_avx512_make_encoder(const struct scd__dense_model *model)
{
	uint32_t freq[16] = {0}, start[16] = {0};
	uint32_t inverse[16] = {0}, shift[16] = {0};
	struct encoder e;

	for (unsigned c = 0; c < model->nclasses; c++) {
		freq[c] = model->freq[c];
		start[c] = model->start[c] - model->first[c] * freq[c];
		scd__ans_divisor(freq[c], &inverse[c], &shift[c]);
	}
	e.freq = _mm512_loadu_si512(freq);
	e.start = _mm512_loadu_si512(start);
	e.inverse = _mm512_loadu_si512(inverse);
	e.shift = _mm512_loadu_si512(shift);
	e.last = _mm512_set1_epi8((char)(model->nclasses - 1));
	e.ranks = dense_avx512_load_lookup(scd__dense_rank);
	e.escapes = model->escapes;
	return e;
}

/* From its element n on: the permutation that moves n words to the end. */
static const uint16_t to_end[32] = {
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,  0,  0,
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
};

/* 16 bytes (their classes and ranks) into 16 states; words go below at. */
INLINE uint8_t *dense_avx512_encode_step(const struct encoder *e,
					 __m512i *state, const __m128i classes,
					 const __m128i ranks, uint8_t *at)
{
	const __m512i c = _mm512_cvtepu8_epi32(classes);
	const __m512i rank = _mm512_cvtepu8_epi32(ranks);
	const __m512i freq = _mm512_permutexvar_epi32(c, e->freq);
	const __m512i inverse = _mm512_permutexvar_epi32(c, e->inverse);
	__m512i x = *state, even, odd, quotient, rest;
	__mmask16 full = _mm512_cmpge_epu32_mask(
		_mm512_srli_epi32(x, 32 - SCD__DENSE_SCALE_LOG), freq);
	const unsigned n = (unsigned)_mm_popcnt_u32(full);
	__m256i words;

	/* A whole vector is stored, its words at its end: what lies below
	 * them is overwritten later. */
	words = _mm256_maskz_compress_epi16(full, _mm512_cvtepi32_epi16(x));
	words = _mm256_permutexvar_epi16(
		_mm256_loadu_si256((const __m256i *)(to_end + n)), words);
	_mm256_storeu_si256((__m256i *)(at - 32), words);
	at -= 2 * (size_t)n;
	x = _mm512_mask_srli_epi32(x, full, x, 16);
	even = _mm512_srli_epi64(_mm512_mul_epu32(x, inverse), 32);
	odd = _mm512_mul_epu32(_mm512_srli_epi64(x, 32),
			       _mm512_srli_epi64(inverse, 32));
	quotient = _mm512_srlv_epi32(_mm512_mask_mov_epi32(even, 0xaaaa, odd),
				     _mm512_permutexvar_epi32(c, e->shift));
	rest = _mm512_sub_epi32(x, _mm512_mullo_epi32(quotient, freq));
	full = _mm512_cmpge_epu32_mask(rest, freq);
	quotient = _mm512_mask_add_epi32(quotient, full, quotient,
					 _mm512_set1_epi32(1));
	rest = _mm512_mask_sub_epi32(rest, full, rest, freq);
	rest = _mm512_add_epi32(rest, _mm512_mullo_epi32(rank, freq));
	rest = _mm512_add_epi32(rest, _mm512_permutexvar_epi32(c, e->start));
	*state = _mm512_add_epi32(
		_mm512_slli_epi32(quotient, SCD__DENSE_SCALE_LOG), rest);
	return at;
}

/* Put escaped bytes into the list, from the last one down. */
INLINE void dense_avx512_list(struct scd__dense_encoding *e,
			      const uint8_t *bytes, uint64_t escapes)
{
	while (escapes) {
		int last = 63 - __builtin_clzll(escapes);

		scd__dense_list_put(e, bytes[last]);
		escapes ^= UINT64_C(1) << last;
	}
}

/* 64 or 32 bytes, the last ones first. */
INLINE uint8_t *dense_avx512_encode_bytes(struct scd__dense_encoding *e,
					  const struct encoder *enc,
					  __m512i *state, const uint8_t *from,
					  const unsigned n, uint8_t *at)
{
	const __mmask64 used = n == 32 ? UINT32_MAX : UINT64_MAX;
	const __m512i v = _mm512_maskz_loadu_epi8(used, from);
	const __m512i c = _mm512_min_epu8(_mm512_popcnt_epi8(v), enc->last);
	__m512i rank = dense_avx512_look_up(&enc->ranks, v);
	uint8_t classes[64], ranks[64];

	if (enc->escapes) {
		__mmask64 rare = _mm512_mask_cmpeq_epi8_mask(used, c,
							     enc->last);

		rank = _mm512_mask_set1_epi8(rank, rare, -1);
		dense_avx512_list(e, from, rare);
	}
	_mm512_storeu_si512(classes, c);
	_mm512_storeu_si512(ranks, rank);
	UNROLL
	for (unsigned i = n / 16; i-- > 0;)
		at = dense_avx512_encode_step(
			enc, &state[i],
			_mm_loadu_si128((const __m128i *)(classes + 16 * i)),
			_mm_loadu_si128((const __m128i *)(ranks + 16 * i)), at);
	return at;
}

INLINE void dense_avx512_encode_rounds(struct scd__dense_encoding *e,
				       const unsigned npairs)
{
	const struct encoder enc = dense_avx512_make_encoder(e->model);
	const size_t nlanes = npairs * WIDTH;
	const unsigned step = npairs == 1 ? 32 : 64;
	uint8_t *at = e->at;
	__m512i state[8];

	UNROLL
	for (unsigned i = 0; i < 2 * npairs; i++)
		state[i] = _mm512_loadu_si512(e->state + 16 * i);
	while (e->left > 0 && (size_t)(at - e->floor) >= 2 * nlanes) {
		e->left -= nlanes;
		UNROLL
		for (unsigned i = (unsigned)nlanes; i > 0; i -= step)
			at = dense_avx512_encode_bytes(
				e, &enc, &state[(i - step) / 16],
				e->bytes + e->left + i - step, step, at);
	}
	UNROLL
	for (unsigned i = 0; i < 2 * npairs; i++)
		_mm512_storeu_si512(e->state + 16 * i, state[i]);
	e->at = at;
}

TARGET static void dense_avx512_encode(struct scd__dense_encoding *e)
{
	switch (e->nlanes) {
	case WIDTH:
		dense_avx512_encode_rounds(e, 1);
		break;
	case 2 * WIDTH:
		dense_avx512_encode_rounds(e, 2);
		break;
	case 4 * WIDTH:
		dense_avx512_encode_rounds(e, 4);
		break;
	}
}

const struct scd__dense_engine scd__dense_avx512 = {
	.name = "avx512",
	.available = dense_avx512_available,
	.count = dense_avx512_count,
	.encode = dense_avx512_encode,
	.decode = dense_avx512_decode,
};

#endif
