/*
 * The dense coding for 64-bit ARM, all of which have NEON: 8 lanes in two
 * vectors, the states' low and high halves, after the pattern of the AVX2
 * engine. The byte of a rank is found by two lookups in tables of 64 bytes.
 */
#include "codec/coder/dense_engine.h"

#if defined(SCD__DENSE_NEON)

#include <arm_neon.h>

#include "codec/coder/shuffles.h"

#define INLINE static inline __attribute__((always_inline))

/* States are to live in registers: loops over them must be unrolled. */
#define UNROLL _Pragma("GCC unroll 16")

enum {
	WIDTH = 8, /* lanes in a pair of vectors */
	MAX_PAIRS = SCD__DENSE_MAX_LANES / WIDTH,
	ANY = 0,   /* number of classes: any, and the model is not direct */
};

static void dense_neon_count(const uint8_t *bytes, size_t len,
			     uint64_t hist[SCD__DENSE_COUNTS])
{
	size_t i = 0;

	while (len - i >= 16) {
		/* At most 255 vectors, so that no byte of a sum overflows. */
		size_t n = (len - i) / 16 < 255 ? (len - i) / 16 : 255;
		uint64_t rest = n * 16;
		uint8x16_t sum[8];

		for (unsigned c = 0; c < 8; c++)
			sum[c] = vdupq_n_u8(0);
		for (; n > 0; n--, i += 16) {
			const uint8x16_t ones = vcntq_u8(vld1q_u8(bytes + i));

			UNROLL
			for (unsigned c = 0; c < 8; c++)
				sum[c] = vsubq_u8(
					sum[c],
					vceqq_u8(ones, vdupq_n_u8((uint8_t)c)));
		}
		for (unsigned c = 0; c < 8; c++) {
			hist[c] += vaddlvq_u8(sum[c]);
			rest -= vaddlvq_u8(sum[c]);
		}
		hist[8] += rest;
	}
	for (; i < len; i++)
		hist[__builtin_popcount(bytes[i])]++;
}

/* What a step needs of a model: by class, the low bytes of 8 numbers, then the
 * high ones. */
struct columns {
	uint8x16_t freq, start, inverse, shift, first;
	uint16x8_t begin[8]; /* of a class, in every element */
};

INLINE uint8x16_t dense_neon_load_column(const uint16_t column[8])
{
	const uint16x8_t v = vld1q_u16(column);

	return vuzp1q_u8(vreinterpretq_u8_u16(v),
			 vreinterpretq_u8_u16(vshrq_n_u16(v, 8)));
}

INLINE struct columns
dense_neon_load_columns(const struct scd__dense_model *model)
{
	const uint16x8_t shift = vld1q_u16(model->shift);
	uint16_t left[8]; /* a shift to the right is one to the left by less */
	struct columns c;

	vst1q_u16(left, vsubq_u16(vdupq_n_u16(0), shift));
	c.freq = dense_neon_load_column(model->freq);
	c.start = dense_neon_load_column(model->direct ? model->base
						       : model->start);
	c.inverse = dense_neon_load_column((const uint16_t *)model->inverse);
	c.shift = dense_neon_load_column(left);
	c.first = dense_neon_load_column(model->first);
	for (unsigned i = 0; i < 8; i++)
		c.begin[i] = vdupq_n_u16(model->start[i]);
	return c;
}

/* 8 states as vectors of their low and high 16 bits. */
struct states {
	uint16x8_t low, high;
};

INLINE struct states dense_neon_load_states(const uint32_t state[WIDTH])
{
	const uint16x8_t a = vreinterpretq_u16_u32(vld1q_u32(state));
	const uint16x8_t b = vreinterpretq_u16_u32(vld1q_u32(state + 4));

	return (struct states){vuzp1q_u16(a, b), vuzp2q_u16(a, b)};
}

INLINE void dense_neon_store_states(const struct states *s,
				    uint32_t state[WIDTH])
{
	vst1q_u32(state, vreinterpretq_u32_u16(vzip1q_u16(s->low, s->high)));
	vst1q_u32(state + 4,
		  vreinterpretq_u32_u16(vzip2q_u16(s->low, s->high)));
}

/*
 * The class c of each slot, as the index of a byte lookup: c for the low byte
 * of a number in a column, 8 + c for the high one. A comparison gives -1 in
 * both bytes.
 */
INLINE uint8x16_t dense_neon_class_index(const struct columns *c,
					 uint16x8_t slot,
					 const unsigned nclasses)
{
	uint8x16_t index = vreinterpretq_u8_u16(vdupq_n_u16(0x0800));

	UNROLL
	for (unsigned i = 1; i < nclasses; i++)
		index = vsubq_u8(index, vreinterpretq_u8_u16(
						vcgeq_u16(slot, c->begin[i])));
	return index;
}

INLINE uint16x8_t dense_neon_of_class(uint8x16_t column, uint8x16_t index)
{
	return vreinterpretq_u16_u8(vqtbl1q_u8(column, index));
}

/* A bit for each lane that is all ones. */
INLINE unsigned dense_neon_mask(uint16x8_t lanes)
{
	static const uint16_t bits[8] = {1, 2, 4, 8, 16, 32, 64, 128};

	return vaddvq_u16(vandq_u16(lanes, vld1q_u16(bits)));
}

/* How many lanes are all ones. */
INLINE unsigned dense_neon_count_lanes(uint16x8_t lanes)
{
	return vaddvq_u16(vshrq_n_u16(lanes, 15));
}

/* The symbols of slots that are -past from their classes' starts or bases. */
INLINE uint16x8_t dense_neon_symbols(const struct columns *c, uint16x8_t past,
				     uint8x16_t index)
{
	const int16x8_t product = vqrdmulhq_s16(
		vreinterpretq_s16_u16(past),
		vreinterpretq_s16_u16(
			dense_neon_of_class(c->inverse, index)));

	return vshlq_u16(vreinterpretq_u16_s16(product),
			 vreinterpretq_s16_u16(
				 dense_neon_of_class(c->shift, index)));
}

/* One byte of each lane, as ranks in 16 bits; *words moves on. */
INLINE uint16x8_t dense_neon_decode_step(struct states *s,
					 const struct columns *c,
					 const struct scd__shuffles *expand,
					 const unsigned nclasses,
					 const uint8_t **words)
{
	const uint16x8_t slot =
		vandq_u16(s->low, vdupq_n_u16(SCD__DENSE_SCALE - 1));
	const bool direct = nclasses != ANY;
	const uint8x16_t index =
		dense_neon_class_index(c, slot, direct ? nclasses : 8);
	const uint16x8_t freq = dense_neon_of_class(c->freq, index);
	/* From the class's start, or from its base: always negative. */
	const uint16x8_t past =
		vsubq_u16(dense_neon_of_class(c->start, index), slot);
	const uint16x8_t symbol = dense_neon_symbols(c, past, index);
	/*
	 * freq * (state >> 14) - past - freq * symbol, of which 4 * freq *
	 * high is the most
	 */
	const uint16x8_t freq4 = vshlq_n_u16(freq, 2);
	const uint16x8_t a = vreinterpretq_u16_u32(
		vmull_u16(vget_low_u16(freq4), vget_low_u16(s->high)));
	const uint16x8_t b =
		vreinterpretq_u16_u32(vmull_high_u16(freq4, s->high));
	const uint16x8_t more = vsubq_u16(
		vmulq_u16(freq,
			  vsubq_u16(vshrq_n_u16(s->low, 14), symbol)),
		past);
	const uint16x8_t low = vaddq_u16(vuzp1q_u16(a, b), more);
	/* One more than all ones is none: a comparison subtracts 1. */
	const uint16x8_t high =
		vsubq_u16(vuzp2q_u16(a, b), vcgtq_u16(more, low));
	const uint16x8_t refill = vceqzq_u16(high);
	const uint16x8_t next = vreinterpretq_u16_u8(
		vqtbl1q_u8(vld1q_u8(*words),
			   vld1q_u8(expand->of[dense_neon_mask(refill)])));

	*words += 2 * dense_neon_count_lanes(refill);
	s->high = vbslq_u16(refill, low, high);
	s->low = vbslq_u16(refill, next, low);
	if (direct)
		return symbol;
	return vaddq_u16(symbol, dense_neon_of_class(c->first, index));
}

/* The bytes of ranks below 128. */
struct bytes {
	uint8x16x4_t low, high;
};

INLINE struct bytes dense_neon_load_bytes(void)
{
	return (struct bytes){vld1q_u8_x4(scd__dense_byte),
			      vld1q_u8_x4(scd__dense_byte + 64)};
}

/*
 * The byte of each rank. Rank 255 - r is the complement of rank r, so 128 of
 * them will do. A lookup leaves alone what is beyond its table.
 */
INLINE uint8x16_t dense_neon_look_up(const struct bytes *bytes, uint8x16_t rank)
{
	const uint8x16_t high =
		vcltzq_s8(vreinterpretq_s8_u8(rank));
	const uint8x16_t index = veorq_u8(rank, high);
	const uint8x16_t v = vqtbx4q_u8(vqtbl4q_u8(bytes->low, index),
					bytes->high,
					vsubq_u8(index, vdupq_n_u8(64)));

	return veorq_u8(v, high);
}

/* Four bits for each byte that is all ones. */
INLINE uint64_t dense_neon_byte_mask(uint8x16_t bytes)
{
	return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(
				     vreinterpretq_u16_u8(bytes), 4)), 0) &
	       UINT64_C(0x1111111111111111);
}

/* Take the bytes that stand for escapes from the list. */
INLINE void dense_neon_resolve(struct scd__dense_decoding *d, uint8_t *out,
			       uint8x16_t v)
{
	uint64_t escapes =
		dense_neon_byte_mask(vceqq_u8(v, vdupq_n_u8(0xff)));

	for (; escapes; escapes &= escapes - 1)
		out[__builtin_ctzll(escapes) / 4] = scd__dense_list_get(d);
}

INLINE void dense_neon_decode_rounds(struct scd__dense_decoding *d,
				     const struct scd__shuffles *expand,
				     const unsigned nclasses,
				     const unsigned npairs)
{
	const struct columns c = dense_neon_load_columns(d->model);
	const struct bytes bytes = dense_neon_load_bytes();
	const size_t nlanes = npairs * WIDTH;
	/* What a round may read: its words, and a vector begun at the last. */
	const size_t most = 2 * nlanes + 16;
	const uint8_t *at = d->at;
	uint8_t *out = d->bytes + d->done;
	size_t rounds = (d->len - d->done) / nlanes;
	struct states s[MAX_PAIRS];

	UNROLL
	for (unsigned i = 0; i < npairs; i++)
		s[i] = dense_neon_load_states(d->state + i * WIDTH);
	for (; rounds > 0 && (size_t)(d->end - at) >= most; rounds--) {
		UNROLL
		for (unsigned i = 0; i < npairs; i += 2) {
			const uint16x8_t a = dense_neon_decode_step(
				&s[i], &c, expand, nclasses, &at);
			const uint16x8_t b = dense_neon_decode_step(
				&s[i + 1], &c, expand, nclasses, &at);
			const uint8x16_t v = dense_neon_look_up(
				&bytes, vuzp1q_u8(vreinterpretq_u8_u16(a),
						  vreinterpretq_u8_u16(b)));

			vst1q_u8(out + i * WIDTH, v);
			if (d->model->escapes)
				dense_neon_resolve(d, out + i * WIDTH, v);
		}
		out += nlanes;
	}
	UNROLL
	for (unsigned i = 0; i < npairs; i++)
		dense_neon_store_states(&s[i], d->state + i * WIDTH);
	d->done = (size_t)(out - d->bytes);
	d->at = at;
}

/* The loop for a number of classes, so that comparisons are not wasted. */
INLINE void dense_neon_decode_classes(struct scd__dense_decoding *d,
				      const struct scd__shuffles *expand,
				      const unsigned npairs)
{
	switch (d->model->direct ? d->model->nclasses : ANY) {
	case 2:
	case 3:
		dense_neon_decode_rounds(d, expand, 3, npairs);
		break;
	case 4:
	case 5:
		dense_neon_decode_rounds(d, expand, 5, npairs);
		break;
	case 6:
	case 7:
	case 8:
		dense_neon_decode_rounds(d, expand, 8, npairs);
		break;
	default:
		dense_neon_decode_rounds(d, expand, ANY, npairs);
		break;
	}
}

static void dense_neon_decode(struct scd__dense_decoding *d)
{
	struct scd__shuffles expand __attribute__((aligned(16)));

	scd__shuffles_expand(&expand);
	switch (d->nlanes) {
	case 4 * WIDTH:
		dense_neon_decode_classes(d, &expand, 4);
		break;
	case 8 * WIDTH:
		dense_neon_decode_classes(d, &expand, 8);
		break;
	case 16 * WIDTH:
		dense_neon_decode_classes(d, &expand, 16);
		break;
	}
}

/* What the encoder looks up by class, in 32 bits. */
struct encoder {
	uint8x16x2_t freq, inverse, shift;
	uint8x16_t last; /* the last class, in every byte */
	struct scd__dense_symbols symbols;
	struct scd__shuffles compress;
};

INLINE uint8x16x2_t dense_neon_load_table(const uint32_t of[8])
{
	return vld1q_u8_x2((const uint8_t *)of);
}

static void dense_neon_make_encoder(const struct scd__dense_model *model,
				    struct encoder *e)
{
	uint32_t left[8]; /* a shift to the right is one to the left by less */

	scd__dense_symbols_make(model, &e->symbols);
	for (unsigned c = 0; c < 8; c++)
		left[c] = 0 - e->symbols.shift[c];
	e->freq = dense_neon_load_table(e->symbols.freq);
	e->inverse = dense_neon_load_table(e->symbols.inverse);
	e->shift = dense_neon_load_table(left);
	e->last = vdupq_n_u8((uint8_t)(model->nclasses - 1));
	scd__shuffles_compress(&e->compress);
}

INLINE uint32x4_t dense_neon_of_table(uint8x16x2_t table, uint8x16_t index)
{
	return vreinterpretq_u32_u8(vqtbl2q_u8(table, index));
}

/* 4 symbols into 4 states which are not full. */
INLINE uint32x4_t dense_neon_push(const struct encoder *e, uint32x4_t x,
				  uint32x4_t freq, uint8x16_t index,
				  const uint32_t start[4])
{
	const uint32x4_t inverse = dense_neon_of_table(e->inverse, index);
	const uint32x4_t a = vreinterpretq_u32_u64(
		vmull_u32(vget_low_u32(x), vget_low_u32(inverse)));
	const uint32x4_t b = vreinterpretq_u32_u64(vmull_high_u32(x, inverse));
	uint32x4_t quotient = vshlq_u32(
		vuzp2q_u32(a, b), vreinterpretq_s32_u32(dense_neon_of_table(
					  e->shift, index)));
	uint32x4_t rest = vmlsq_u32(x, quotient, freq);
	const uint32x4_t one_more = vcgeq_u32(rest, freq);

	quotient = vsubq_u32(quotient, one_more);
	rest = vsubq_u32(rest, vandq_u32(one_more, freq));
	return vaddq_u32(vshlq_n_u32(quotient, SCD__DENSE_SCALE_LOG),
			 vaddq_u32(rest, vld1q_u32(start)));
}

/* 8 bytes and their classes into 8 states; words go below at. */
INLINE uint8_t *dense_neon_encode_step(const struct encoder *e,
				       uint32x4_t state[2], uint8x8_t classes,
				       const uint8_t *from, uint8_t *at)
{
	/* the four bytes of each class's number in a table */
	const uint32x4_t each = vdupq_n_u32(0x03020100);
	const uint16x8_t wide = vmovl_u8(classes);
	const uint32x4_t ones = vdupq_n_u32(0x04040404);
	uint32x4_t full[2], freq[2];
	uint8x16_t index[2];
	uint16x8_t out;
	uint32_t start[8];

	UNROLL
	for (unsigned i = 0; i < 8; i++)
		start[i] = e->symbols.start[from[i]];
	index[0] = vreinterpretq_u8_u32(
		vmlaq_u32(each, vmovl_u16(vget_low_u16(wide)), ones));
	index[1] = vreinterpretq_u8_u32(
		vmlaq_u32(each, vmovl_high_u16(wide), ones));
	UNROLL
	for (unsigned i = 0; i < 2; i++) {
		freq[i] = dense_neon_of_table(e->freq, index[i]);
		full[i] = vcgeq_u32(
			vshrq_n_u32(state[i], 32 - SCD__DENSE_SCALE_LOG),
			freq[i]);
	}
	out = vuzp1q_u16(vreinterpretq_u16_u32(full[0]),
			 vreinterpretq_u16_u32(full[1]));
	vst1q_u8(at - 16,
		 vqtbl1q_u8(vreinterpretq_u8_u16(vuzp1q_u16(
				    vreinterpretq_u16_u32(state[0]),
				    vreinterpretq_u16_u32(state[1]))),
			    vld1q_u8(e->compress.of[dense_neon_mask(out)])));
	at -= 2 * dense_neon_count_lanes(out);
	UNROLL
	for (unsigned i = 0; i < 2; i++) {
		const uint32x4_t x = vbslq_u32(
			full[i], vshrq_n_u32(state[i], 16), state[i]);

		state[i] = dense_neon_push(e, x, freq[i], index[i],
					   start + 4 * i);
	}
	return at;
}

/* Put escaped bytes into the list, from the last one down. */
INLINE void dense_neon_list(struct scd__dense_encoding *e, const uint8_t *bytes,
			    uint8x16_t escaped)
{
	uint64_t escapes = dense_neon_byte_mask(escaped);

	while (escapes) {
		const int last = 63 - __builtin_clzll(escapes);

		scd__dense_list_put(e, bytes[last / 4]);
		escapes ^= UINT64_C(1) << last;
	}
}

/* 16 bytes, the last ones first. */
INLINE uint8_t *dense_neon_encode_bytes(struct scd__dense_encoding *e,
					const struct encoder *enc,
					uint32x4_t state[4],
					const uint8_t *from, uint8_t *at)
{
	const uint8x16_t c = vminq_u8(vcntq_u8(vld1q_u8(from)), enc->last);

	if (e->model->escapes)
		dense_neon_list(e, from, vceqq_u8(c, enc->last));
	at = dense_neon_encode_step(enc, state + 2, vget_high_u8(c), from + 8,
				    at);
	return dense_neon_encode_step(enc, state, vget_low_u8(c), from, at);
}

/* A chunk's states are more than there are registers. */
static void dense_neon_encode(struct scd__dense_encoding *e)
{
	const size_t nlanes = e->nlanes;
	uint8_t *at = e->at;
	struct encoder enc __attribute__((aligned(16)));
	uint32x4_t state[SCD__DENSE_MAX_LANES / 4];

	if (nlanes % 16)
		return;
	dense_neon_make_encoder(e->model, &enc);
	for (unsigned i = 0; i < nlanes / 4; i++)
		state[i] = vld1q_u32(e->state + 4 * i);
	while (e->left > 0 && (size_t)(at - e->floor) >= 2 * nlanes) {
		e->left -= nlanes;
		for (size_t i = nlanes; i > 0; i -= 16)
			at = dense_neon_encode_bytes(
				e, &enc, &state[(i - 16) / 4],
				e->bytes + e->left + i - 16, at);
	}
	for (unsigned i = 0; i < nlanes / 4; i++)
		vst1q_u32(e->state + 4 * i, state[i]);
	e->at = at;
}

static bool dense_neon_available(void)
{
	return true;
}

const struct scd__dense_engine scd__dense_neon = {
	.name = "neon",
	.available = dense_neon_available,
	.count = dense_neon_count,
	.encode = dense_neon_encode,
	.decode = dense_neon_decode,
};

#endif
