/*
 * What the targets of codings 2 to 5 share. An input is
 *
 *     u8 mode; u16 bits of the array less 1; and by the mode's lowest bit (the
 *     next three are by how many bits to the right the u16 goes)
 *     raw:    u16 ones; the payload
 *     coded:  u8 how it is coded; u8 damages, of a u16 place and a u8 each;
 *             what an array is made of, which is coded and then damaged
 *
 * so that mutation meets good payloads, and those with a single fault. Every
 * engine and the slow decoder (tests/codec/slow.h) are given the same bytes:
 * they must agree on whether it is an array, and which.
 */
#ifndef TEST_FUZZ_CODING_H
#define TEST_FUZZ_CODING_H

#include <string.h>

#include "codec/coder/bits.h"
#include "codec/coder/dense.h"
#include "codec/error.h"
#include "codec/coder/sparse.h"
#include "tests/codec/slow.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/fuzz.h"

enum { CODING_MAX_BITS = 1 << 16, CODING_MAX_BYTES = CODING_MAX_BITS / 8 };

/* One decoder's verdict is that of the slow one, and so is its array. */
static inline void coding_must_agree(int error, const uint8_t *bits,
				     bool good, const uint8_t *expected,
				     uint64_t nbits)
{
	fuzz_must(error == (good ? SCD_OK : SCD_EFORMAT));
	if (good)
		fuzz_must(memcmp(bits, expected,
				 (size_t)scd__array_bytes(nbits)) == 0);
}

/* What was added up while decoding is what is there. */
static inline void coding_sum_must_agree(struct scd__checksum *sum,
					 const struct scd__shape *shape)
{
	const uint8_t *end = sum->first + scd__array_bytes(shape->nbits);
	struct scd__checksum again;

	scd__checksum_begin(&again, sum->first, sum->seed);
	fuzz_must(scd__checksum_finish(sum, end) ==
		  scd__checksum_finish(&again, end));
	fuzz_must(sum->ones == again.ones);
}

/* Threads, as far as order goes: the last task is done first. */
static inline int coding_run_backwards(void *pool,
				       void (*task)(void *arg, size_t i),
				       void *arg, size_t ntasks)
{
	(void)pool;
	while (ntasks > 0)
		task(arg, --ntasks);
	return 0;
}

static const struct scd_threads coding_backwards = {
	.run = coding_run_backwards,
};

static inline void coding_engines(enum scd_coding coding,
				  const struct scd__shape *shape,
				  const struct fuzz_bytes *payload, bool good,
				  const uint8_t *expected)
{
	uint8_t bits[CODING_MAX_BYTES];

	for (size_t i = 0; coding == SCD_CODING_DENSE &&
			   i < scd__dense_nengines; i++) {
		struct scd__reader r = scd__reader(payload->at, payload->left);
		struct scd__checksum sum;
		const struct scd__coder_work work = {
			.sum = &sum,
			.threads = payload->left % 2 ? &coding_backwards : NULL,
		};

		if (!scd__dense_engines[i]->available())
			continue;
		scd__checksum_begin(&sum, bits, 0);
		coding_must_agree(
			scd__dense_decode(scd__dense_engines[i], shape, &r,
					  bits, &work),
			bits, good, expected, shape->nbits);
		if (good)
			coding_sum_must_agree(&sum, shape);
	}
	for (size_t i = 0; coding == SCD_CODING_SPARSE &&
			   i < scd__sparse_nengines; i++) {
		struct scd__reader r = scd__reader(payload->at, payload->left);
		const struct scd__coder_work work = {
			.threads = payload->left % 2 ? &coding_backwards : NULL,
		};

		if (!scd__sparse_engines[i]->available())
			continue;
		coding_must_agree(scd__sparse_decode(scd__sparse_engines[i],
						     shape, &r, bits, &work),
				  bits, good, expected, shape->nbits);
	}
}

/*
 * Decode a payload of coding 2 to 5 in all ways; at most CODING_MAX_BITS.
 * Lengths that no header can say are not tried.
 */
static inline void coding_decode(enum scd_coding coding,
				 const struct scd__shape *shape,
				 const struct fuzz_bytes *payload)
{
	const struct scd__coding *c = scd__coding_find(coding);
	struct scd__reader r = scd__reader(payload->at, payload->left);
	uint8_t bits[CODING_MAX_BYTES], expected[CODING_MAX_BYTES];
	bool good;

	if (!c->fits(shape, payload->left))
		return;
	good = slow_decode(coding, shape, payload->at, payload->left,
			   expected);
	if (coding == SCD_CODING_DENSE || coding == SCD_CODING_SPARSE) {
		coding_engines(coding, shape, payload, good, expected);
		return;
	}
	coding_must_agree(c->decode(shape, &r, bits, NULL), bits, good,
			  expected, shape->nbits);
}

/* Make an array of what is left. */
static inline void coding_array(enum scd_coding coding, struct fuzz_bytes *b,
				struct scd__shape *shape, uint8_t *bits)
{
	const size_t len = (size_t)scd__array_bytes(shape->nbits);
	const bool sparse = coding == SCD_CODING_GAPS ||
			    coding == SCD_CODING_SPARSE;

	memset(bits, 0, len);
	if (!sparse) {
		memcpy(bits, b->at, b->left < len ? b->left : len);
		if (shape->nbits % 8)
			bits[len - 1] &= (uint8_t)((1u << shape->nbits % 8) -
						   1);
	} else {
		/* Each byte the gap before a one, again and again. */
		for (uint64_t at = 0, i = 0; b->left; i++, at++) {
			at += b->at[i % b->left];
			if (at >= shape->nbits)
				break;
			bits[at / 8] |= (uint8_t)(1u << at % 8);
		}
	}
	shape->nones = scd__count_ones(bits, len);
}

static inline size_t coding_encode(enum scd_coding coding, unsigned how,
				   const struct scd__shape *shape,
				   const uint8_t *bits, uint8_t *out)
{
	const struct slow_choice choice = {
		.chunk_log = 16 + how % 2,
		.lanes_log = coding == SCD_CODING_DENSE ? 2 + how / 2 % 6
							: 4 + how / 2 % 3,
		.nclasses = 2 + how / 12 % 7,
	};
	struct scd__writer w =
		scd__writer(out, SLOW_ROOM((size_t)CODING_MAX_BYTES));

	if (coding == SCD_CODING_DENSE)
		return slow_encode_dense(
			&choice, bits, (size_t)scd__array_bytes(shape->nbits),
			out);
	if (coding == SCD_CODING_SPARSE)
		return slow_encode_sparse(&choice, shape, bits, out);
	if (scd__coding_find(coding)->encode(shape, bits, &w, NULL))
		return 0;
	return scd__writer_len(&w);
}

static inline void coding_coded(enum scd_coding coding, struct fuzz_bytes *b,
				struct scd__shape *shape)
{
	uint8_t out[SLOW_ROOM(CODING_MAX_BYTES)], bits[CODING_MAX_BYTES];
	const unsigned how = fuzz_take(b), ndamages = fuzz_take(b) % 4;
	struct fuzz_bytes damages = *b, payload;

	for (unsigned i = 0; i < 3 * ndamages; i++)
		fuzz_take(b);
	/* A run is as long as its input; not of sparse, which need room. */
	if ((coding == SCD_CODING_RANGE || coding == SCD_CODING_DENSE) &&
	    shape->nbits > 8 * (uint64_t)b->left + 1)
		shape->nbits = 8 * (uint64_t)b->left + 1;
	coding_array(coding, b, shape, bits);
	if (!scd__coding_find(coding)->fits(shape, 4))
		return;
	payload.left = coding_encode(coding, how, shape, bits, out);
	if (payload.left == 0)
		return;
	for (unsigned i = 0; i < ndamages; i++) {
		const unsigned at = fuzz_take_u16(&damages);

		out[at % payload.left] ^= (uint8_t)fuzz_take(&damages);
	}
	/* Of its own size, so that a byte too far is found. */
	payload.at = memcpy(fuzz_allocate(payload.left), out, payload.left);
	coding_decode(coding, shape, &payload);
	free((void *)(uintptr_t)payload.at);
}

/* The whole target. */
static inline int coding_input(enum scd_coding coding, const uint8_t *data,
			       size_t len)
{
	struct fuzz_bytes b = {data, len};
	const unsigned mode = fuzz_take(&b);
	struct scd__shape shape = {
		.nbits = (fuzz_take_u16(&b) >> mode / 2 % 8) + 1};

	if (mode % 2) {
		coding_coded(coding, &b, &shape);
		return 0;
	}
	shape.nones = fuzz_take_u16(&b) % (shape.nbits + 1);
	coding_decode(coding, &shape, &b);
	return 0;
}

#endif
