/*
 * The static binary range coder.
 *
 * The state is an interval [low, low + range) of 64-bit numbers. A bit of the
 * more frequent value takes the lower part of the interval, the rarer value
 * the upper range / 2^32 * p. Whole leading bytes are shifted out as soon as
 * range falls below 2^56, so (range >> 32) keeps 24 bits and more and its
 * truncation costs less than 2^-24 of a bit's probability. A carry out of low
 * runs back into the bytes already written: all of them are still in memory.
 *
 * The common case, a byte with no rare value in it, is eight subtractions
 * that depend on each other, and no unpredictable branch: that sets the speed
 * of sparse arrays. In dense ones it is the mispredicted branch of each rare
 * value.
 */
#include "codec/coder/range_coder.h"

#include "codec/coder/bits.h"
#include "codec/error.h"

static const uint64_t range_full = UINT64_MAX;
static const uint64_t range_min = UINT64_C(1) << 56;

/*
 * A bit takes some 3 ns, whatever comes of it, so how many there may be goes by
 * the bytes: all of a small array, and of a larger one 512 a byte. An array
 * that has fewer ones is better coded by its gaps.
 */
enum {
	RANGE_FREE_BITS = 1 << 18,
	RANGE_MAX_BITS_EACH = 512,
};

uint32_t scd__range_probability(const struct scd__shape *shape)
{
	uint64_t zeros = shape->nbits - shape->nones;
	uint64_t rest = shape->nones < zeros ? shape->nones : zeros;
	uint32_t p = 0;

	/* Long division of rest * 2^32, which may have 71 bits, by nbits. */
	for (int i = 0; i < 32; i++) {
		rest <<= 1;
		p <<= 1;
		if (rest >= shape->nbits) {
			rest -= shape->nbits;
			p |= 1;
		}
	}
	return p ? p : 1;
}

/* What turns the array's bytes into ones where a set bit is the rare value. */
static uint8_t range_rare_mask(const struct scd__shape *shape)
{
	return shape->nones > shape->nbits - shape->nones ? 0xff : 0;
}

/* Of bytes that are fewer than the array's. */
static bool range_is_within_work(const struct scd__shape *shape, uint64_t len)
{
	return shape->nbits <= RANGE_FREE_BITS + RANGE_MAX_BITS_EACH * len;
}

/* The payload is as long as the entropy, but for 0.01 % and 2 bytes. */
static bool range_suits(const struct scd__shape *shape)
{
	const double most = 1.01 * scd__coder_entropy(shape) + 64;

	return shape->nones > 0 && range_is_within_work(shape, (uint64_t)most);
}

static bool range_fits(const struct scd__shape *shape, uint64_t len)
{
	return shape->nones > 0 && len < scd__array_bytes(shape->nbits) &&
	       range_is_within_work(shape, len);
}

struct encoder {
	uint64_t low;
	uint64_t range;
	uint8_t *start;
	uint8_t *at;
	uint8_t *end;
	int error;
};

static void range_carry(uint8_t *at)
{
	while (++*--at == 0)
		;
}

static inline void range_shift_out(struct encoder *e)
{
	if (e->at == e->end)
		e->error = SCD_ESPACE;
	else
		*e->at++ = (uint8_t)(e->low >> 56);
	e->low <<= 8;
}

static inline void range_encode_frequent(struct encoder *e, uint64_t lower)
{
	e->range = lower;
	if (lower < range_min) { /* lower is half of range or more */
		e->range <<= 8;
		range_shift_out(e);
	}
}

static inline void range_encode_rare(struct encoder *e, uint64_t lower,
				     uint64_t upper)
{
	e->range = upper;
	e->low += lower;
	if (e->low < lower && !e->error)
		range_carry(e->at);
	while (e->range < range_min) {
		e->range <<= 8;
		range_shift_out(e);
	}
}

static inline void range_encode_bits(struct encoder *e, uint32_t p,
				     unsigned rare, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		uint64_t upper = (e->range >> 32) * p;
		uint64_t lower = e->range - upper;

		if (rare >> i & 1)
			range_encode_rare(e, lower, upper);
		else
			range_encode_frequent(e, lower);
	}
}

/*
 * End with the number in the interval that ends in most zero bytes, and leave
 * those away: the decoder reads zeros past the end. As range is at least 2^56
 * there is a multiple of 2^56 in it; one of 2^64 is better still.
 */
static void range_finish(struct encoder *e)
{
	uint64_t last = e->low + (e->range - 1);
	bool wrapped = last < e->low;

	if (wrapped && !e->error)
		range_carry(e->at);
	if (!wrapped && e->low) {
		e->low = last;
		range_shift_out(e);
	}
	while (e->at > e->start && e->at[-1] == 0)
		e->at--;
}

static int range_encode(const struct scd__shape *shape, const uint8_t *bits,
			struct scd__writer *out,
			const struct scd__coder_work *work)
{
	const uint32_t p = scd__range_probability(shape);
	const uint8_t mask = range_rare_mask(shape);
	const uint64_t whole = shape->nbits / 8;
	struct encoder e = {
		.range = range_full,
		.start = out->at,
		.at = out->at,
		.end = out->end,
		.error = out->error,
	};

	(void)work;
	for (uint64_t i = 0; i < whole && !e.error; i++)
		range_encode_bits(&e, p, bits[i] ^ mask, 8);
	if (shape->nbits % 8)
		range_encode_bits(&e, p, bits[whole] ^ mask,
				  (unsigned)(shape->nbits % 8));
	range_finish(&e);
	out->error = e.error;
	if (!e.error)
		out->at = e.at;
	return e.error;
}

struct decoder {
	uint64_t code; /* the input, minus the encoder's low */
	uint64_t range;
	const uint8_t *at;
	const uint8_t *end;
};

static inline void range_shift_in(struct decoder *d)
{
	d->code <<= 8;
	if (d->at != d->end)
		d->code |= *d->at++;
}

static inline void range_decode_frequent(struct decoder *d, uint64_t lower)
{
	d->range = lower;
	if (lower < range_min) { /* lower is half of range or more */
		d->range <<= 8;
		range_shift_in(d);
	}
}

static inline void range_decode_rare(struct decoder *d, uint64_t lower,
				     uint64_t upper)
{
	d->code -= lower;
	d->range = upper;
	while (d->range < range_min) {
		d->range <<= 8;
		range_shift_in(d);
	}
}

static inline uint8_t range_decode_bits(struct decoder *d, uint32_t p,
					unsigned count)
{
	unsigned rare = 0;

	for (unsigned i = 0; i < count; i++) {
		uint64_t upper = (d->range >> 32) * p;
		uint64_t lower = d->range - upper;

		if (d->code < lower) {
			range_decode_frequent(d, lower);
		} else {
			range_decode_rare(d, lower, upper);
			rare |= 1u << i;
		}
	}
	return (uint8_t)rare;
}

/* The array's bytes from the decoder. */
static void range_decode_array(struct decoder *d,
			       const struct scd__shape *shape, uint8_t *bits)
{
	const uint32_t p = scd__range_probability(shape);
	const uint8_t mask = range_rare_mask(shape);
	const uint64_t whole = shape->nbits / 8;
	const unsigned tail = (unsigned)(shape->nbits % 8);

	for (uint64_t i = 0; i < whole; i++)
		bits[i] = range_decode_bits(d, p, 8) ^ mask;
	if (tail) {
		bits[whole] = range_decode_bits(d, p, tail) ^ mask;
		bits[whole] &= (uint8_t)((1u << tail) - 1);
	}
}

static int range_decode(const struct scd__shape *shape, struct scd__reader *in,
			uint8_t *bits, const struct scd__coder_work *work)
{
	struct decoder d = {
		.range = range_full,
		.at = in->at,
		.end = in->end,
	};

	(void)work;
	if (in->at != in->end && in->end[-1] == 0)
		return SCD_EFORMAT; /* not as an encoder ends */
	for (int i = 0; i < 8; i++)
		range_shift_in(&d);
	if (d.code >= d.range)
		return SCD_EFORMAT; /* outside of the first interval */
	range_decode_array(&d, shape, bits);
	if (scd__count_ones(bits, (size_t)scd__array_bytes(shape->nbits)) !=
	    shape->nones)
		return SCD_EFORMAT;
	if (d.at != d.end)
		return SCD_EFORMAT; /* bytes that no encoder writes */
	in->at = in->end;
	return SCD_OK;
}

const struct scd__coding scd__coding_range = {
	.id = SCD_CODING_RANGE,
	.suits = range_suits,
	.fits = range_fits,
	.encode = range_encode,
	.decode = range_decode,
};
