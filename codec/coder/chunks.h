/*
 * Arrays in chunks, each coded by itself: what codings 3 and 5 have in common
 * (docs/FORMAT.md), and how threads share the work. The bytes are the same with
 * any number of threads, or none.
 */
#ifndef SCD_CHUNKS_H
#define SCD_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

#include "codec/coder/checksum.h"
#include "codec/coder/coder.h"
#include "codec/cursor.h"

/* A chunk that is decoded. */
struct scd__chunk {
	struct scd__reader in; /* its code */
	uint8_t *bytes;        /* room for it */
	size_t len;
	uint64_t nbits; /* len * 8, but for spare bits of the array's last one*/
	struct scd__checksum *sum; /* as that of scd__dense_decoding, or null */
};

/* How the chunks of an array are coded. */
struct scd__chunk_coder {
	/* Of bytes in a chunk that a decoder takes; 32 bytes and more. */
	unsigned min_log, max_log;

	/* Appends the code of a chunk. What lies behind it, to the end of the
	 * room, may be overwritten. SCD_ESPACE. */
	int (*encode)(const void *model, const uint8_t *bytes, size_t len,
		      struct scd__writer *out);

	/* Decodes all of c->in. SCD_EFORMAT; spare bits are not looked at. */
	int (*decode)(const void *model, struct scd__chunk *c);

	const void *model;

	/* In bytes, what the code of a chunk takes at most if the array has no
	 * pattern, for threads to write next to each other; 0: the chunk. */
	size_t room;
};

/*
 * Append an array in chunks of 2^log bytes: the payload of such a coding.
 * work: null, or with work->threads and work->sum, which is completed.
 * SCD_ESPACE; the errors of threads.
 */
int scd__chunks_encode(const struct scd__chunk_coder *coder, unsigned log,
		       const struct scd__shape *shape, const uint8_t *bits,
		       struct scd__writer *out,
		       const struct scd__coder_work *work);

/*
 * Decode such a payload, all that is left of in, and look at spare bits.
 * SCD_EFORMAT; the errors of threads.
 */
int scd__chunks_decode(const struct scd__chunk_coder *coder,
		       const struct scd__shape *shape, struct scd__reader *in,
		       uint8_t *bits, const struct scd__coder_work *work);

/* The ones of an array of len bytes, in *ones. The errors of threads. */
int scd__chunks_count_ones(const uint8_t *bytes, size_t len,
			   const struct scd_threads *threads, uint64_t *ones);

#endif
