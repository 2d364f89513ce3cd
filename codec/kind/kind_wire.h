/*
 * The wire of those kinds that have no format of their own: 32 bytes of
 * header, then the body. Numbers are little-endian.
 *
 *      0  3 bytes  "SCK"
 *      3  u8       letter of the kind
 *      4  u8       parameter of the kind
 *      5  3 bytes  0
 *      8  u64      keys, as they were counted
 *     16  u64      size: bits, or values that a key may have
 *     24  u64      XXH64 of all the other bytes
 *
 * It is for comparisons and simulations; what nodes exchange is FORMAT.md's.
 */
#ifndef SCD_KIND_WIRE_H
#define SCD_KIND_WIRE_H

#include <stddef.h>
#include <stdint.h>

enum { SCD__KIND_HEADER_BYTES = 32 };

struct scd__kind_header {
	uint8_t letter;
	uint8_t parameter;
	uint64_t nkeys;
	uint64_t size;
};

/*
 * A new buffer for a header and a body of body_len bytes; the body is the
 * caller's to fill, then scd__kind_wire_seal() writes the header. Null: no
 * memory.
 */
uint8_t *scd__kind_wire_new(size_t body_len);

/* Writes the header, with its checksum, before a body that is there. */
void scd__kind_wire_seal(uint8_t *wire, size_t body_len,
			 const struct scd__kind_header *header);

/*
 * Reads and verifies what a kind with header->letter has sent; the rest of
 * *header is set on success. SCD_ETRUNC: shorter than a header. SCD_EFORMAT:
 * not of this kind. SCD_ECHECKSUM.
 */
int scd__kind_wire_open(const uint8_t *in, size_t len,
			struct scd__kind_header *header);

#endif
