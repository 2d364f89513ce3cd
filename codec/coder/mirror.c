/*
 * Mirrored codings. A payload is byte for byte that of the complement, so the
 * engines are used as they are. A decoder turns its array over in place; an
 * encoder, which must not touch what it codes, does so in a copy.
 */
#include "codec/coder/mirror.h"

#include <stdlib.h>
#include <string.h>

#include "codec/coder/bits.h"
#include "codec/coder/dense.h"
#include "codec/error.h"
#include "codec/coder/gaps.h"
#include "codec/coder/sparse.h"

static struct scd__shape mirror_shape(const struct scd__shape *shape)
{
	return (struct scd__shape){shape->nbits, shape->nbits - shape->nones};
}

/* All bits the other way round, but for the spare ones. */
static void mirror_flip(uint8_t *to, const uint8_t *from, uint64_t nbits)
{
	const size_t len = (size_t)scd__array_bytes(nbits);
	size_t i = 0;

	for (; i + 8 <= len; i += 8)
		scd__store_bits(to + i, ~scd__load_bits(from + i, 8), 8);
	for (; i < len; i++)
		to[i] = (uint8_t)~from[i];
	if (nbits % 8)
		to[len - 1] &= (uint8_t)((1u << nbits % 8) - 1);
}

/* More ones than zeros, and not nothing but ones. */
static bool mirror_is_meant(const struct scd__shape *shape)
{
	return shape->nones > shape->nbits - shape->nones &&
	       shape->nones < shape->nbits;
}

static bool mirror_suits(const struct scd__coding *plain,
			 const struct scd__shape *shape)
{
	const struct scd__shape other = mirror_shape(shape);

	return mirror_is_meant(shape) && plain->suits(&other);
}

static bool mirror_fits(const struct scd__coding *plain,
			const struct scd__shape *shape, uint64_t len)
{
	const struct scd__shape other = mirror_shape(shape);

	return mirror_is_meant(shape) && plain->fits(&other, len);
}

/* Adds nothing up: what is coded is the other way round. */
static struct scd__coder_work mirror_work(const struct scd__coder_work *work)
{
	struct scd__coder_work same = {0};

	if (work)
		same = *work;
	same.sum = NULL;
	return same;
}

static int mirror_encode(const struct scd__coding *plain,
			 const struct scd__shape *shape, const uint8_t *bits,
			 struct scd__writer *out,
			 const struct scd__coder_work *work)
{
	const struct scd__coder_work same = mirror_work(work);
	const struct scd__shape other = mirror_shape(shape);
	uint8_t *copy = malloc((size_t)scd__array_bytes(shape->nbits));
	int error;

	if (!copy)
		return SCD_ENOMEM;
	mirror_flip(copy, bits, shape->nbits);
	error = plain->encode(&other, copy, out, &same);
	free(copy);
	return error;
}

static int mirror_decode(const struct scd__coding *plain,
			 const struct scd__shape *shape, struct scd__reader *in,
			 uint8_t *bits, const struct scd__coder_work *work)
{
	const struct scd__coder_work same = mirror_work(work);
	const struct scd__shape other = mirror_shape(shape);
	int error = plain->decode(&other, in, bits, &same);

	if (!error)
		mirror_flip(bits, bits, shape->nbits);
	return error;
}

/* A mirrored coding of a plain one. */
#define MIRRORED(name)                                                         \
	static bool mirror_##name##_suits(const struct scd__shape *shape)      \
	{                                                                      \
		return mirror_suits(&scd__coding_##name, shape);               \
	}                                                                      \
	static bool mirror_##name##_fits(const struct scd__shape *shape,       \
					 uint64_t len)                         \
	{                                                                      \
		return mirror_fits(&scd__coding_##name, shape, len);           \
	}                                                                      \
	static int mirror_##name##_encode(const struct scd__shape *shape,      \
					  const uint8_t *bits,                 \
					  struct scd__writer *out,             \
					  const struct scd__coder_work *work)  \
	{                                                                      \
		return mirror_encode(&scd__coding_##name, shape, bits, out,    \
				     work);                                    \
	}                                                                      \
	static int mirror_##name##_decode(                                     \
		const struct scd__shape *shape, struct scd__reader *in,        \
		uint8_t *bits, const struct scd__coder_work *work)             \
	{                                                                      \
		return mirror_decode(&scd__coding_##name, shape, in, bits,     \
				     work);                                    \
	}

MIRRORED(dense)
MIRRORED(gaps)
MIRRORED(sparse)

const struct scd__coding scd__coding_mirrored_dense = {
	.id = SCD_CODING_MIRRORED_DENSE,
	.suits = mirror_dense_suits,
	.fits = mirror_dense_fits,
	.encode = mirror_dense_encode,
	.decode = mirror_dense_decode,
};

const struct scd__coding scd__coding_mirrored_gaps = {
	.id = SCD_CODING_MIRRORED_GAPS,
	.suits = mirror_gaps_suits,
	.fits = mirror_gaps_fits,
	.encode = mirror_gaps_encode,
	.decode = mirror_gaps_decode,
};

const struct scd__coding scd__coding_mirrored_sparse = {
	.id = SCD_CODING_MIRRORED_SPARSE,
	.suits = mirror_sparse_suits,
	.fits = mirror_sparse_fits,
	.encode = mirror_sparse_encode,
	.decode = mirror_sparse_decode,
};
