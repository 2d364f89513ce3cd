/*
 * The coding of gaps by one coder: from an array to its gaps and back. The
 * coder itself is gap_coder.h.
 */
#include "codec/coder/gaps.h"

#include <string.h>

#include "codec/coder/bits.h"
#include "codec/coder/gap_coder.h"
#include "codec/error.h"

enum { MIN_BYTES = 8192 }; /* of an array: below, range is shorter */

static bool gaps_gaps_suits(const struct scd__shape *shape)
{
	return scd__gap_suits(shape) &&
	       scd__array_bytes(shape->nbits) >= MIN_BYTES;
}

static bool gaps_gaps_fits(const struct scd__shape *shape, uint64_t len)
{
	return scd__gap_suits(shape) && len >= sizeof(uint32_t) &&
	       len % 2 == 0 && len < scd__array_bytes(shape->nbits);
}

/* Code all gaps, the last one first. */
static void gaps_put_array(struct scd__gap_encoder *e,
			   const struct scd__shape *shape, const uint8_t *bits)
{
	size_t end = (size_t)scd__array_bytes(shape->nbits);
	uint64_t before = 0; /* the one found before */
	bool found = false;

	while (end > 0 && !e->error) {
		const size_t n = end % 8 ? end % 8 : 8;
		uint64_t word;

		end -= n;
		for (word = scd__load_bits(bits + end, n); word;) {
			unsigned top = 63 - (unsigned)__builtin_clzll(word);
			uint64_t at = 8 * (uint64_t)end + top;

			word ^= UINT64_C(1) << top;
			if (found)
				scd__gap_put(e, before - at - 1);
			before = at;
			found = true;
		}
	}
	if (found && !e->error)
		scd__gap_put(e, before);
}

static int gaps_gaps_encode(const struct scd__shape *shape, const uint8_t *bits,
			    struct scd__writer *out,
			    const struct scd__coder_work *work)
{
	struct scd__gap_model model;
	struct scd__gap_encoder e = {
		.state = 0,
		.at = out->end,
		.floor = out->at + sizeof(e.state),
	};
	size_t len;

	(void)work;
	if (!scd__gap_suits(shape) || out->error ||
	    scd__writer_left(out) < sizeof(e.state))
		return SCD_ESPACE;
	scd__gap_model(shape, &model);
	scd__gap_encoder_use(&e, &model);
	gaps_put_array(&e, shape, bits);
	if (e.error)
		return e.error;
	len = (size_t)(out->end - e.at);
	scd__write_u32(out, e.state);
	memmove(out->at, e.at, len);
	out->at += len;
	return SCD_OK;
}

static int gaps_get_array(struct scd__gap_decoder *d,
			  const struct scd__shape *shape, uint8_t *bits)
{
	uint64_t at = 0; /* the first place that may have the next one */

	memset(bits, 0, (size_t)scd__array_bytes(shape->nbits));
	for (uint64_t i = 0; i < shape->nones; i++) {
		uint64_t gap = scd__gap_get(d, shape->nbits);

		if (gap >= shape->nbits - at)
			return SCD_EFORMAT;
		at += gap;
		bits[at >> 3] |= (uint8_t)(1u << (at & 7));
		at++;
	}
	return SCD_OK;
}

static int gaps_gaps_decode(const struct scd__shape *shape,
			    struct scd__reader *in, uint8_t *bits,
			    const struct scd__coder_work *work)
{
	struct scd__gap_model model;
	struct scd__gap_decoder d;
	int error;

	(void)work;
	if (!gaps_gaps_fits(shape, scd__reader_left(in)))
		return SCD_EFORMAT;
	d.state = scd__read_u32(in);
	d.at = in->at;
	d.end = in->end;
	scd__gap_model(shape, &model);
	scd__gap_decoder_use(&d, &model);
	error = gaps_get_array(&d, shape, bits);
	if (error)
		return error;
	if (!scd__gap_decoder_is_done(&d))
		return SCD_EFORMAT;
	in->at = in->end;
	return SCD_OK;
}

const struct scd__coding scd__coding_gaps = {
	.id = SCD_CODING_GAPS,
	.suits = gaps_gaps_suits,
	.fits = gaps_gaps_fits,
	.encode = gaps_gaps_encode,
	.decode = gaps_gaps_decode,
};
