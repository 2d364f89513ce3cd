/*
 * The table of codings, the choice among them, and the two that do not
 * compress: nothing at all for an array without ones, and the bytes as they
 * are, which bounds every payload.
 */
#include "codec/coder/coder.h"

#include <math.h>
#include <string.h>

#include "codec/coder/bits.h"
#include "codec/coder/dense.h"
#include "codec/error.h"
#include "codec/coder/gaps.h"
#include "codec/coder/mirror.h"
#include "codec/coder/range_coder.h"
#include "codec/coder/sparse.h"

static bool coder_any_suits(const struct scd__shape *shape)
{
	(void)shape;
	return true;
}

static bool coder_empty_fits(const struct scd__shape *shape, uint64_t len)
{
	return shape->nones == 0 && len == 0;
}

static int coder_empty_encode(const struct scd__shape *shape,
			      const uint8_t *bits, struct scd__writer *out,
			      const struct scd__coder_work *work)
{
	(void)shape;
	(void)bits;
	(void)work;
	return out->error;
}

static int coder_empty_decode(const struct scd__shape *shape,
			      struct scd__reader *in, uint8_t *bits,
			      const struct scd__coder_work *work)
{
	(void)work;
	if (!coder_empty_fits(shape, scd__reader_left(in)))
		return SCD_EFORMAT;
	memset(bits, 0, (size_t)scd__array_bytes(shape->nbits));
	return SCD_OK;
}

static bool coder_stored_fits(const struct scd__shape *shape, uint64_t len)
{
	return shape->nones > 0 && len == scd__array_bytes(shape->nbits);
}

static int coder_stored_encode(const struct scd__shape *shape,
			       const uint8_t *bits, struct scd__writer *out,
			       const struct scd__coder_work *work)
{
	(void)work;
	scd__write_bytes(out, bits, (size_t)scd__array_bytes(shape->nbits));
	return out->error;
}

static int coder_stored_decode(const struct scd__shape *shape,
			       struct scd__reader *in, uint8_t *bits,
			       const struct scd__coder_work *work)
{
	size_t len = scd__reader_left(in);
	unsigned tail = (unsigned)(shape->nbits % 8);

	(void)work;
	if (!coder_stored_fits(shape, len))
		return SCD_EFORMAT;
	memcpy(bits, scd__read_bytes(in, len), len);
	if (tail && bits[len - 1] >> tail)
		return SCD_EFORMAT;
	return scd__count_ones(bits, len) == shape->nones ? SCD_OK
							 : SCD_EFORMAT;
}

static const struct scd__coding coding_empty = {
	.id = SCD_CODING_EMPTY,
	.suits = coder_any_suits,
	.fits = coder_empty_fits,
	.encode = coder_empty_encode,
	.decode = coder_empty_decode,
};

static const struct scd__coding coding_stored = {
	.id = SCD_CODING_STORED,
	.suits = coder_any_suits,
	.fits = coder_stored_fits,
	.encode = coder_stored_encode,
	.decode = coder_stored_decode,
};

/*
 * In the order in which an encoder tries those that suit an array: the first
 * that fits, wins. One that is fast comes before one that is short by a few
 * bytes more, and suits only where those do not matter.
 */
static const struct scd__coding *const codings[] = {
	&coding_empty,
	&scd__coding_sparse,
	&scd__coding_gaps,
	&scd__coding_dense,
	&scd__coding_mirrored_sparse,
	&scd__coding_mirrored_gaps,
	&scd__coding_mirrored_dense,
	&scd__coding_range,
	&coding_stored,
};

enum { NCODINGS = sizeof(codings) / sizeof(codings[0]) };

const struct scd__coding *scd__coding_find(unsigned id)
{
	for (size_t i = 0; i < NCODINGS; i++) {
		if ((unsigned)codings[i]->id == id)
			return codings[i];
	}
	return NULL;
}

double scd__coder_entropy(const struct scd__shape *shape)
{
	double p = (double)shape->nones / (double)shape->nbits;

	if (shape->nones == 0 || shape->nones == shape->nbits)
		return 0;
	return -(double)shape->nbits *
	       (p * log2(p) + (1 - p) * log2(1 - p)) / 8;
}

bool scd__coder_believes(const struct scd__coding *coding,
			 const struct scd__shape *shape, uint64_t len)
{
	return coding->fits(shape, len) &&
	       (double)len >= 0.98 * scd__coder_entropy(shape) - 64;
}

/*
 * An array that has a pattern may come out shorter than one of as many ones
 * at random, and then a reader would take it for a fraud. It has no need of a
 * coding that sees patterns: the range coder sees none.
 */
static bool coder_is_plausible(const struct scd__shape *shape, size_t len)
{
	return (double)len >= 0.99 * scd__coder_entropy(shape) - 32;
}

/*
 * Is there nothing to gain: 0.05 % at most? Between 0.4868 and 0.5132 ones a
 * bit; a small array is tried all the same, as it costs nothing.
 */
static bool coder_is_incompressible(const struct scd__shape *shape)
{
	const uint64_t half = shape->nbits / 2;
	const uint64_t off = shape->nones > half ? shape->nones - half
						 : half - shape->nones;

	return shape->nbits > 32768 && off < shape->nbits / 2048 * 27;
}

int scd__coder_encode(const struct scd__shape *shape, const uint8_t *bits,
		      struct scd__writer *out,
		      const struct scd__coder_work *work, enum scd_coding *id)
{
	for (size_t i = 0; i < NCODINGS; i++) {
		struct scd__writer w =
			scd__writer(out->at, scd__writer_left(out));
		int error;

		if (!codings[i]->suits(shape) ||
		    (coder_is_incompressible(shape) &&
		     codings[i]->id != SCD_CODING_STORED))
			continue;
		error = codings[i]->encode(shape, bits, &w, work);
		if (error == SCD_ESPACE)
			continue;
		if (error)
			return error;
		if (!codings[i]->fits(shape, scd__writer_len(&w)) ||
		    !coder_is_plausible(shape, scd__writer_len(&w)))
			continue;
		out->at = w.at;
		*id = codings[i]->id;
		return SCD_OK;
	}
	return SCD_ESPACE;
}
