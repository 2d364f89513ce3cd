/*
 * Digests for fuzz targets: mutation seldom meets a checksum, so each input
 * is tried as it is, and with those numbers put right that stand in the way.
 */
#ifndef TEST_FUZZ_FRAME_H
#define TEST_FUZZ_FRAME_H

#include <stdlib.h>
#include <string.h>

#include "codec/cursor.h"
#include "codec/frame.h"
#include "tests/fuzz/fuzz.h"

/* Small arrays: a run takes microseconds, and every path is there. */
static const struct scd_limits fuzz_limits = {
	.max_bits = 1 << 13,
	.max_hash = SCD_DIGEST_MAX_HASH,
	.max_fp_ppm = 1000000,
};

static inline void fuzz_put_u64(uint8_t *at, uint64_t value)
{
	struct scd__writer w = scd__writer(at, 8);

	scd__write_u64(&w, value);
}

/* A copy, to be freed, with the length and the header's checksum right. */
static inline uint8_t *fuzz_seal(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	fuzz_must(copy != NULL);
	if (len)
		memcpy(copy, data, len);
	if (len < SCD_DIGEST_HEADER_BYTES)
		return copy;
	fuzz_put_u64(copy + 80, len - SCD_DIGEST_HEADER_BYTES);
	fuzz_put_u64(copy + 88, scd__frame_checksum(copy));
	return copy;
}

#endif
