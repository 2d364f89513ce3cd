/*
 * How long digests are, from the numbers that decide it: nothing is coded.
 *
 * libscd's coders take what the positions of so many random ones are worth,
 * their entropy, and next to nothing more, so a length follows from how many
 * ones there are among how many places. It is within 0.5 % and 6 bytes of what
 * libscd makes (tests/protocol/test_digest_sizes.c), at some 50 ns; making it
 * takes time in proportion to the array, or to the change of a list.
 */
#ifndef CACHESIM_PROTOCOL_DIGEST_SIZES_H
#define CACHESIM_PROTOCOL_DIGEST_SIZES_H

#include <stdint.h>

/* Bytes of a full digest, or an XOR delta, of which the coded array has nbits
 * bits (> 0), and of them so many ones. */
uint64_t digest_size_of_array(uint64_t nbits, uint64_t nones);

/* The bits that a conditional delta tells. */
struct digest_flips {
	uint64_t nbits, nones; /* of the base */
	uint64_t ncleared, nset;
};
uint64_t digest_size_of_conditional(const struct digest_flips *flips);

/* Bytes of the full digest of a list of n fingerprints of width bits. */
uint64_t digest_size_of_list(unsigned width, uint64_t n);

/* What a frame does to a list, to make it the next generation. */
struct digest_change {
	unsigned width;
	uint64_t n; /* entries before */
	uint64_t nremoved, nadded;
	uint64_t generation; /* after */
};
uint64_t digest_size_of_frame(const struct digest_change *change);

#endif
