/*
 * The coder: a bit array, of which the size and the number of ones are known
 * on both sides, to a payload and back. There are several codings, for small
 * arrays and large, sparse and dense ones; each is a row of one table, and the
 * encoder takes the one that suits the shape.
 *
 * Bit i of an array is bit i & 7 of byte i >> 3; the spare bits of the last
 * byte are zero, which every decoder enforces.
 *
 * A decoder that is given damaged bytes either fails or gives some array with
 * canonical spare bits; that it is the right one, with the announced number of
 * ones, only counting and a checksum can tell.
 */
#ifndef SCD_CODER_H
#define SCD_CODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/coder/checksum.h"
#include "codec/cursor.h"
#include "codec/digest.h"
#include "codec/threads.h"

/* What both sides know beforehand: nbits >= 1, nones <= nbits. */
struct scd__shape {
	uint64_t nbits;
	uint64_t nones;
};

/* How to work. All zero: by the fastest engine, alone, nothing is added up. */
struct scd__coder_work {
	const char *limit; /* of engines (engine.h) */

	/* Has begun with the array, of which whole stripes are added, all or
	 * some; undefined after an error in decoding. Null: none. */
	struct scd__checksum *sum;

	const struct scd_threads *threads; /* to work with; null: none */
};

/* A way of coding. */
struct scd__coding {
	enum scd_coding id;

	/* Is it worth trying for such an array? */
	bool (*suits)(const struct scd__shape *shape);

	/* May an array of this shape have a payload of len bytes? */
	bool (*fits)(const struct scd__shape *shape, uint64_t len);

	/* Append the payload, as work says; null: as if it were all zero.
	 * SCD_ESPACE: it does not fit; SCD_ENOMEM; the errors of threads. */
	int (*encode)(const struct scd__shape *shape, const uint8_t *bits,
		      struct scd__writer *out,
		      const struct scd__coder_work *work);

	/*
	 * Decode all that is left in the reader, as work says; null: as if it
	 * were all zero. bits has room for the array.
	 * SCD_EFORMAT: these bytes are not such an array's; bits is undefined,
	 * as it is after the errors of threads.
	 */
	int (*decode)(const struct scd__shape *shape, struct scd__reader *in,
		      uint8_t *bits, const struct scd__coder_work *work);
};

/* The coding with an id as found on the wire; null: unknown. */
const struct scd__coding *scd__coding_find(unsigned id);

/*
 * May a payload of len bytes be an array's of this shape? As the coding says,
 * and no shorter than its entropy, but for 2 % and some bytes, so that
 * rounding does not matter.
 */
bool scd__coder_believes(const struct scd__coding *coding,
			 const struct scd__shape *shape, uint64_t len);

/* The entropy of an array of random bits of this shape, in bytes. */
double scd__coder_entropy(const struct scd__shape *shape);

/* The bytes of an array, which is also the longest payload. */
static inline uint64_t scd__array_bytes(uint64_t nbits)
{
	return nbits / 8 + (nbits % 8 != 0);
}

/*
 * Append the payload of an array: the shortest, but for 0.1 % where a faster
 * coding takes that much. *id says how it is coded. What lies behind it, to
 * the end of the room, may be overwritten. scd__array_bytes() of room are
 * always enough. SCD_ESPACE: they were not there; SCD_ENOMEM: of more ones than
 * zeros a copy is needed; the errors of work->threads. Then *out is as it was.
 * work may be null.
 */
int scd__coder_encode(const struct scd__shape *shape, const uint8_t *bits,
		      struct scd__writer *out,
		      const struct scd__coder_work *work, enum scd_coding *id);

#endif
