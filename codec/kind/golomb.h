/*
 * A set of distinct numbers, sorted, as the gaps between them in Golomb's
 * code with a power of two (Rice's): log2 of the mean gap and about 1.5 bits a
 * number. It stays coded in memory; an entry of 16 bytes for each 64 numbers
 * (2 bits a number) says where to begin, so that a lookup is a binary search
 * among the entries and decodes 32 gaps on average.
 *
 * A gap is what lies between a number and the one before it, not counted both
 * of them; of the first, the number itself. Its code is gap >> rice zeros, a
 * one, the rice low bits, from the least significant bit of the first byte on;
 * what is left of the last byte is zero.
 *
 * Source: Golomb, "Run-length encodings", 1966; Rice and Plaunt, 1971.
 */
#ifndef SCD_GOLOMB_H
#define SCD_GOLOMB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Largest bound, so that no sum of gaps wraps. */
#define SCD__GOLOMB_MAX_BOUND (UINT64_C(1) << 62)

struct scd__golomb_skip; /* the number that a stretch begins with */

/* All zero is an empty object that scd__golomb_free() accepts. */
struct scd__golomb {
	uint64_t bound; /* all numbers are below it */
	uint64_t count; /* of numbers */
	unsigned rice;  /* low bits of a gap that are as they are */
	uint8_t *code;
	size_t len; /* of the code */
	struct scd__golomb_skip *skips;
};

/*
 * Bits a number, coded with the best parameter, when numbers are there with a
 * density (0 < density < 1) at random.
 */
double scd__golomb_bits(double density);

/*
 * Code count numbers, ascending and distinct, below bound. SCD_ENOMEM leaves
 * *g alone.
 */
int scd__golomb_make(const uint64_t *numbers, uint64_t count, uint64_t bound,
		     struct scd__golomb *g);

/*
 * Take a code from outside, of which g says bound, count and rice; it is
 * copied. Any g with a bound of 1..SCD__GOLOMB_MAX_BOUND is checked. On success
 * all of g is set. SCD_EFORMAT: that is no such set's code, nothing is set.
 * SCD_ENOMEM.
 */
int scd__golomb_load(struct scd__golomb *g, const uint8_t *code, size_t len);

/*
 * Bytes of memory that a set takes, beside the structure; found without the
 * code, from what is said of it.
 */
size_t scd__golomb_memory(uint64_t count, size_t len);

/* Whether a number is in the set. */
bool scd__golomb_has(const struct scd__golomb *g, uint64_t number);

void scd__golomb_free(struct scd__golomb *g);

#endif
