/*
 * The codings 2 to 5 in the plainest form, from FORMAT.md alone: one symbol
 * after the other, for any lanes and classes. What the library does, and each
 * of its engines, is held against these. They are slow, assert rather than
 * fail for want of memory, and take arrays below 2^31 bits.
 */
#ifndef TEST_CODEC_SLOW_H
#define TEST_CODEC_SLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/coder/coder.h"

/*
 * Decode a payload of the coding (2 to 5). bits has room for the array. False:
 * it breaks a rule, and bits is undefined.
 */
bool slow_decode(enum scd_coding coding, const struct scd__shape *shape,
		 const uint8_t *in, size_t len, uint8_t *bits);

/* How a chunk is to be coded. */
struct slow_choice {
	unsigned chunk_log;
	unsigned lanes_log;
	unsigned nclasses; /* of dense only */
};

/*
 * Code an array with ones, at most half of them (dense) or a bit in 32
 * (sparse). The length of the payload at out, which must have room for it:
 * SLOW_ROOM(len) of an array of len bytes.
 */
size_t slow_encode_dense(const struct slow_choice *choice, const uint8_t *bits,
			 size_t len, uint8_t *out);
size_t slow_encode_sparse(const struct slow_choice *choice,
			  const struct scd__shape *shape, const uint8_t *bits,
			  uint8_t *out);

#define SLOW_ROOM(len) (4 * (len) + 1024 * ((len) / 65536 + 1))

#endif
