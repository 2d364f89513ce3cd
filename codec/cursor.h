/*
 * Byte cursors: the one way through which untrusted bytes are read and
 * encoded ones written. Numbers are little-endian, whatever the processor;
 * "be" ones are big-endian, for the formats of others.
 *
 * A cursor remembers its first error. After it, reads give zeros, writes do
 * nothing and neither moves: so read or write all the fields, then look at
 * .error once.
 */
#ifndef SCD_CURSOR_H
#define SCD_CURSOR_H

#include <stddef.h>
#include <stdint.h>

struct scd__reader {
	const uint8_t *at;
	const uint8_t *end;
	int error; /* 0 or SCD_ETRUNC */
};

struct scd__writer {
	uint8_t *start;
	uint8_t *at;
	uint8_t *end;
	int error; /* 0 or SCD_ESPACE */
};

/*
 * A reader of len bytes, which it borrows; of none if bytes is null, as
 * scd__read_bytes() gives it where it fails.
 */
struct scd__reader scd__reader(const uint8_t *bytes, size_t len);

/* Bytes that have not been read. */
size_t scd__reader_left(const struct scd__reader *r);

/* The next 1, 2, 4, 8 bytes as a number. SCD_ETRUNC: zero. */
uint8_t scd__read_u8(struct scd__reader *r);
uint16_t scd__read_u16(struct scd__reader *r);
uint32_t scd__read_u32(struct scd__reader *r);
uint64_t scd__read_u64(struct scd__reader *r);

/* The next 2 bytes, 4 bytes as a big-endian number. SCD_ETRUNC: zero. */
uint16_t scd__read_be16(struct scd__reader *r);
uint32_t scd__read_be32(struct scd__reader *r);

/* The next len bytes, borrowed from the input. SCD_ETRUNC: null. */
const uint8_t *scd__read_bytes(struct scd__reader *r, size_t len);

/* A writer into cap bytes, which it borrows. */
struct scd__writer scd__writer(uint8_t *bytes, size_t cap);

/* Bytes that have been written. */
size_t scd__writer_len(const struct scd__writer *w);

/* Bytes that could be written still. */
size_t scd__writer_left(const struct scd__writer *w);

/*
 * Append a number in 1, 2, 4, 8 bytes; len bytes; len zero bytes. Past the
 * end: SCD_ESPACE.
 */
void scd__write_u8(struct scd__writer *w, uint8_t value);
void scd__write_u16(struct scd__writer *w, uint16_t value);
void scd__write_u32(struct scd__writer *w, uint32_t value);
void scd__write_u64(struct scd__writer *w, uint64_t value);
void scd__write_bytes(struct scd__writer *w, const uint8_t *bytes, size_t len);
void scd__write_zeros(struct scd__writer *w, size_t len);

/* Append a big-endian number in 2 bytes, in 4 bytes. */
void scd__write_be16(struct scd__writer *w, uint16_t value);
void scd__write_be32(struct scd__writer *w, uint32_t value);

#endif
