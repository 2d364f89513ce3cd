/*
 * Digests for fuzz targets. Mutation seldom meets a checksum, and a digest of
 * some coding seldom comes of it by chance; so the targets of digests have a
 * mutator of their own, which
 *
 *   - changes the payload, a field of the header, or anything,
 *   - puts right the length and the checksums, mostly,
 *   - or makes a new digest out of the bytes, of any coding.
 *
 * Who includes this says how with its struct fuzz_frame.
 */
#ifndef TEST_FUZZ_FRAME_H
#define TEST_FUZZ_FRAME_H

#include <stdlib.h>
#include <string.h>

#include "codec/bloom.h"
#include "codec/cursor.h"
#include "codec/wire/frame.h"
#include "tests/fuzz/coding.h"

enum {
	FRAME_BASE_GENERATION = 6,
	FRAME_INSTANCE = 1,
};

/* Small arrays: a run takes microseconds, and every path is there. */
static const struct scd_limits fuzz_limits = {
	.max_bits = 1 << 12,
	.max_hash = SCD_DIGEST_MAX_HASH,
	.max_fp_ppm = 1000000,
};

/* What there is to a kind of digest. */
struct fuzz_frame {
	/* Put right what depends on the payload; the rest of it is. */
	void (*repair)(uint8_t *in, size_t len);

	/* A new digest from some bytes, to be freed. */
	size_t (*make)(struct fuzz_bytes *b, uint8_t **out);
};

static inline void fuzz_put_u64(uint8_t *at, uint64_t value)
{
	struct scd__writer w = scd__writer(at, 8);

	scd__write_u64(&w, value);
}

/* A header's own checksum. */
static inline void fuzz_sum(uint8_t *in)
{
	fuzz_put_u64(in + 88, scd__frame_checksum(in));
}

/*
 * The base that a delta is for, by its shape: empty, full, or with ones in
 * some places. To be freed.
 */
static inline struct scd_bloom fuzz_base(const struct scd_digest_info *shape)
{
	struct scd_bloom base;
	uint64_t step;

	fuzz_must(scd_bloom_init(&base, shape->nbits, shape->nhash) == SCD_OK);
	base.hashing = shape->hashing;
	step = shape->nbits % 8 == 0 ? shape->nbits : shape->nbits % 8;
	for (uint64_t i = shape->nbits % 3; i < shape->nbits; i += step)
		base.bits[i / 8] |= (uint8_t)(1u << i % 8);
	return base;
}

/* The shape of a new filter: up to most bits. */
static inline struct scd_digest_info fuzz_shape(struct fuzz_bytes *b,
						unsigned most)
{
	struct scd_digest_info info = {
		.nbits = fuzz_take_u16(b) % most + 1,
		.nhash = fuzz_take(b) % SCD_DIGEST_MAX_HASH + 1,
		.instance = FRAME_INSTANCE,
		.generation = FRAME_BASE_GENERATION + 1,
	};

	if (info.nbits % 32 == 0) {
		info.hashing = SCD_HASHING_SQUID;
		info.nhash = SCD_SQUID_HASH;
	}
	return info;
}

/*
 * Code an array by a coding that the bytes choose; the frame is info's, whose
 * ncoded and coding are set here. The length, at *out bytes to be freed.
 */
static inline size_t fuzz_code(struct fuzz_bytes *b,
			       struct scd_digest_info *info,
			       const uint8_t *bits, uint8_t **out)
{
	const size_t len = (size_t)scd__array_bytes(info->nbits);
	const unsigned coding = fuzz_take(b) % SCD_CODING_PARTS;
	const unsigned how = fuzz_take(b);
	struct scd__shape shape = {info->nbits, scd__count_ones(bits, len)};
	struct scd__writer w;
	size_t out_len;

	info->ncoded = shape.nones;
	fuzz_must(scd__frame_begin(SLOW_ROOM(CODING_MAX_BYTES), &w) == SCD_OK);
	if (coding > SCD_CODING_STORED &&
	    scd__coding_find(coding)->fits(&shape, 4)) {
		info->coding = (enum scd_coding)coding;
		w.at += coding_encode(info->coding, how, &shape, bits, w.at);
	} else {
		fuzz_must(scd__coder_encode(&shape, bits, &w, NULL,
					    &info->coding) == SCD_OK);
	}
	scd__frame_finish(info, &w, out, &out_len);
	return out_len;
}

/* Its length, version and checksum; then what the kind says. */
static inline void fuzz_repair(const struct fuzz_frame *frame, uint8_t *in,
			       size_t len)
{
	if (len < SCD_DIGEST_HEADER_BYTES)
		return;
	memcpy(in, "SCD\1", 4);
	fuzz_put_u64(in + 80, len - SCD_DIGEST_HEADER_BYTES);
	frame->repair(in, len);
	fuzz_sum(in);
}

/* Change one of a header's fields. */
static inline void fuzz_change_field(uint8_t *in, unsigned which)
{
	static const struct {
		uint8_t at, len;
	} fields[] = {
		{4, 1}, {5, 1}, {6, 1}, {7, 1}, {8, 2}, {16, 8}, {24, 2},
		{32, 8}, {40, 8}, {48, 8}, {56, 8}, {64, 8}, {72, 2},
	};

	which %= sizeof(fields) / sizeof(fields[0]);
	fuzz_mutate(in + fields[which].at, fields[which].len,
		    fields[which].len);
}

static inline size_t fuzz_make(const struct fuzz_frame *frame, uint8_t *data,
			       size_t len, size_t max)
{
	const size_t head = len > SCD_DIGEST_HEADER_BYTES
				    ? SCD_DIGEST_HEADER_BYTES
				    : 0;
	struct fuzz_bytes b = {data + head, len - head};
	uint8_t *made;
	size_t made_len = frame->make(&b, &made);

	if (made_len <= max) {
		memcpy(data, made, made_len);
		len = made_len;
	}
	free(made);
	return len;
}

/* LLVMFuzzerCustomMutator() of a target. */
static inline size_t fuzz_mutate_frame(const struct fuzz_frame *frame,
				       uint8_t *data, size_t len, size_t max,
				       unsigned seed)
{
	const size_t head = SCD_DIGEST_HEADER_BYTES;

	if (seed % 8 == 0) {
		len = fuzz_mutate(data, len, max);
		return fuzz_make(frame, data, len, max);
	}
	if (len < head || max < head || seed % 8 == 1)
		len = fuzz_mutate(data, len, max);
	else if (seed % 8 == 2)
		fuzz_change_field(data, seed >> 8);
	else
		len = head + fuzz_mutate(data + head, len - head, max - head);
	if ((seed >> 16) % 16)
		fuzz_repair(frame, data, len);
	return len;
}

#endif
