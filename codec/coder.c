/*
 * The table of codings, the choice among them, and the two that do not
 * compress: nothing at all for an array without ones, and the bytes as they
 * are, which bounds every payload.
 */
#include "codec/coder.h"

#include <string.h>

#include "codec/error.h"
#include "codec/range.h"

static bool empty_fits(const struct scd__shape *shape, uint64_t len)
{
	return shape->nones == 0 && len == 0;
}

static int empty_encode(const struct scd__shape *shape, const uint8_t *bits,
			struct scd__writer *out)
{
	(void)shape;
	(void)bits;
	return out->error;
}

static int empty_decode(const struct scd__shape *shape, struct scd__reader *in,
			uint8_t *bits)
{
	if (!empty_fits(shape, scd__reader_left(in)))
		return SCD_EFORMAT;
	memset(bits, 0, (size_t)scd__array_bytes(shape->nbits));
	return SCD_OK;
}

static bool stored_fits(const struct scd__shape *shape, uint64_t len)
{
	return shape->nones > 0 && len == scd__array_bytes(shape->nbits);
}

static int stored_encode(const struct scd__shape *shape, const uint8_t *bits,
			 struct scd__writer *out)
{
	scd__write_bytes(out, bits, (size_t)scd__array_bytes(shape->nbits));
	return out->error;
}

static int stored_decode(const struct scd__shape *shape, struct scd__reader *in,
			 uint8_t *bits)
{
	size_t len = scd__reader_left(in);
	unsigned tail = (unsigned)(shape->nbits % 8);
	uint64_t nones = 0;

	if (!stored_fits(shape, len))
		return SCD_EFORMAT;
	memcpy(bits, scd__read_bytes(in, len), len);
	if (tail && bits[len - 1] >> tail)
		return SCD_EFORMAT;
	for (size_t i = 0; i < len; i++)
		nones += (unsigned)__builtin_popcount(bits[i]);
	return nones == shape->nones ? SCD_OK : SCD_EFORMAT;
}

static const struct scd__coding coding_empty = {
	.id = SCD_CODING_EMPTY,
	.fits = empty_fits,
	.encode = empty_encode,
	.decode = empty_decode,
};

static const struct scd__coding coding_stored = {
	.id = SCD_CODING_STORED,
	.fits = stored_fits,
	.encode = stored_encode,
	.decode = stored_decode,
};

/* In the order in which an encoder tries them: the first that fits, wins. */
static const struct scd__coding *const codings[] = {
	&coding_empty,
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

int scd__coder_encode(const struct scd__shape *shape, const uint8_t *bits,
		      struct scd__writer *out, enum scd_coding *id)
{
	for (size_t i = 0; i < NCODINGS; i++) {
		struct scd__writer w =
			scd__writer(out->at, (size_t)(out->end - out->at));

		if (codings[i]->encode(shape, bits, &w) != SCD_OK)
			continue;
		if (!codings[i]->fits(shape, scd__writer_len(&w)))
			continue;
		out->at = w.at;
		*id = codings[i]->id;
		return SCD_OK;
	}
	return SCD_ESPACE;
}
