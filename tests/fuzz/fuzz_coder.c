/*
 * Any bytes as a payload, and as an array. The first four say how many bits
 * and how many ones; the rest is decoded by each coding, and what decodes must
 * have the shape; then the rest is an array, which every coding must
 * round-trip.
 */
#include <string.h>

#include "codec/coder/coder.h"
#include "codec/error.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_BITS = 1024, MAX_BYTES = MAX_BITS / 8 };

static uint64_t ones(const uint8_t *bits, uint64_t nbits)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < nbits; i++)
		n += bits[i / 8] >> i % 8 & 1;
	return n;
}

static void try_decode(const struct scd__shape *shape, const uint8_t *data,
		       size_t len)
{
	const struct scd__coding *coding;
	uint8_t bits[MAX_BYTES];

	for (unsigned id = 0; (coding = scd__coding_find(id)); id++) {
		struct scd__reader r = scd__reader(data, len);

		if (coding->decode(shape, &r, bits, NULL) != SCD_OK)
			continue;
		fuzz_must(ones(bits, shape->nbits) == shape->nones);
		if (shape->nbits % 8)
			fuzz_must(bits[shape->nbits / 8] >> shape->nbits % 8 ==
				  0);
	}
}

static void try_encode(uint64_t nbits, const uint8_t *data, size_t len)
{
	struct scd__shape shape = {.nbits = nbits};
	const size_t bytes = (size_t)scd__array_bytes(nbits);
	uint8_t bits[MAX_BYTES] = {0}, back[MAX_BYTES], out[MAX_BYTES];
	struct scd__writer w = scd__writer(out, bytes);
	struct scd__reader r;
	enum scd_coding id;

	memcpy(bits, data, len < bytes ? len : bytes);
	if (nbits % 8)
		bits[bytes - 1] &= (uint8_t)((1u << nbits % 8) - 1);
	shape.nones = ones(bits, nbits);
	fuzz_must(scd__coder_encode(&shape, bits, &w, NULL, &id) == SCD_OK);
	fuzz_must(scd__coding_find(id)->fits(&shape, scd__writer_len(&w)));
	r = scd__reader(out, scd__writer_len(&w));
	fuzz_must(scd__coding_find(id)->decode(&shape, &r, back, NULL) ==
		  SCD_OK);
	fuzz_must(memcmp(bits, back, bytes) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct scd__shape shape;

	if (len < 4)
		return 0;
	shape.nbits = (data[0] | (unsigned)data[1] << 8) % MAX_BITS + 1;
	shape.nones = (data[2] | (unsigned)data[3] << 8) % (shape.nbits + 1);
	try_decode(&shape, data + 4, len - 4);
	try_encode(shape.nbits, data + 4, len - 4);
	return 0;
}
