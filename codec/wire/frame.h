/*
 * Frames: the bytes of a digest or delta, header and payload, without any
 * judgement of what they mean: that is digest.c's and delta.c's.
 */
#ifndef SCD_FRAME_H
#define SCD_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/coder/checksum.h"
#include "codec/coder/coder.h"
#include "codec/cursor.h"
#include "codec/digest.h"

/* The checksum of bytes that are no array, under a seed of their own. */
uint64_t scd__bytes_checksum(const uint8_t *bytes, size_t len, uint64_t seed);

/* The checksum of an array of nbits bits, spare bits zero. */
uint64_t scd__array_checksum(const uint8_t *bits, uint64_t nbits);

/* The same, and the number of ones: one pass for both. */
uint64_t scd__array_sum(const uint8_t *bits, uint64_t nbits, uint64_t *ones);

/* The same checksum, begun: nothing is added yet. */
void scd__array_sum_begin(struct scd__checksum *sum, const uint8_t *bits);

/* The checksum that belongs into a header's last field. */
uint64_t scd__frame_checksum(const uint8_t header[SCD_DIGEST_HEADER_BYTES]);

/*
 * Read the header at the start of in and check what needs no knowledge of
 * its meaning. *out is set on success only.
 * SCD_ETRUNC; SCD_EFORMAT: no magic; SCD_EVERSION: version, kind, coding or
 * hashing unknown; SCD_ECHECKSUM: the header's own.
 */
int scd__frame_header(const uint8_t *in, size_t len,
		      struct scd_digest_info *out);

/*
 * Make a frame whose payload is written by the caller: begin with room for a
 * payload of cap bytes, write it, then finish (out becomes the caller's, and
 * payload_bytes is set) or drop it. SCD_ENOMEM: nothing was begun.
 */
int scd__frame_begin(size_t cap, struct scd__writer *payload);
void scd__frame_finish(const struct scd_digest_info *info,
		       struct scd__writer *payload, uint8_t **out,
		       size_t *out_len);
void scd__frame_drop(struct scd__writer *payload);

/*
 * Code the array that a header describes (nbits, of which ncoded are ones)
 * and put header and payload into one new buffer. coding and payload_bytes
 * are set here; and checksum, if work has a sum, begun with the array. work may
 * be null. SCD_ENOMEM and the errors of work->threads leave everything as it
 * was.
 */
int scd__frame_make(const struct scd_digest_info *info, const uint8_t *bits,
		    const struct scd__coder_work *work, uint8_t **out,
		    size_t *out_len);

/*
 * Would so much memory [bytes] be more than the limits allow for a message of
 * this length?
 */
bool scd__digest_expands(const struct scd_digest_info *info, uint64_t memory,
			 const struct scd_limits *limits);

/* The payload of a frame whose header has been parsed. */
struct scd__reader scd__frame_reader(const uint8_t *in,
				     const struct scd_digest_info *info);

/*
 * Decode the payload of a full digest or XOR delta. bits has room for the
 * array. SCD_EFORMAT: bits is undefined.
 */
int scd__frame_payload(const uint8_t *in, const struct scd_digest_info *info,
		       uint8_t *bits);

/*
 * The same, and hold the array against the ones and the checksum that the
 * header announces, SCD_ECHECKSUM: while it decodes, where the coding can.
 * limit: of engines (engine.h), or null; threads: null, or to work with, with
 * their errors.
 */
int scd__frame_verified(const uint8_t *in, const struct scd_digest_info *info,
			uint8_t *bits, const char *limit,
			const struct scd_threads *threads);

#endif
