/*
 * Parts: several arrays in one payload, each with a coding of its own. What
 * the arrays are, and how many, is said by the kind of digest.
 * docs/FORMAT.md, "Coding 6, parts".
 */
#ifndef SCD_PARTS_H
#define SCD_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "codec/coder/coder.h"
#include "codec/cursor.h"

enum { SCD__VARINT_BYTES = 9 }; /* at most */

/*
 * Append a number below 2^63 in groups of 7 bits, and read one. SCD_ESPACE;
 * SCD_EFORMAT: too long, or longer than need be; SCD_ETRUNC.
 */
void scd__write_varint(struct scd__writer *w, uint64_t value);
uint64_t scd__read_varint(struct scd__reader *r);

/*
 * Append the payload of an array; *id says how it is coded. nbits may be 0.
 * SCD_ESPACE: not with the bytes of the array, and a dozen more, of room.
 */
int scd__part_encode(const struct scd__shape *shape, const uint8_t *bits,
		     struct scd__writer *out, enum scd_coding *id);

/*
 * Decode a part that is all of in. bits has room for the array. SCD_EFORMAT:
 * unknown coding, implausible length, broken rules, another number of ones.
 */
int scd__part_decode(unsigned id, const struct scd__shape *shape,
		     struct scd__reader *in, uint8_t *bits);

#endif
