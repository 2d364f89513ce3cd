/*
 * What the disk tier's index knows of an object: all of a stored response but
 * its body, of which it has the length, and a checksum of each block.
 *
 * Numbers are little-endian (codec/cursor.h). A record ends with the checksum
 * of all before it, seeded with the object's number: one that was damaged, or
 * that stands under another number, is refused.
 */
#ifndef DIGESTD_DISK_DISK_RECORD_H
#define DIGESTD_DISK_DISK_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cached;

/* Bodies are checked by blocks of so many bytes; the last one is shorter. */
enum { DISK_BLOCK_BYTES = 65536 };

/* The body that a record is about. */
struct disk_body {
	uint64_t id;  /* the object's number: names its file, seeds checksums */
	uint64_t len; /* [bytes] */
	const uint8_t *sums; /* of its blocks, 8 bytes each, little-endian */
};

/* The checksum of an object's bytes: XXH3, 64 bits. */
uint64_t disk_sum(uint64_t id, const void *bytes, size_t len);

/* The same of a block, by its number from 0: a block that is right elsewhere
 * is wrong here. That of block 0 is disk_sum(). */
uint64_t disk_block_sum(uint64_t id, uint64_t block, const void *bytes,
			size_t len);

/* The blocks of a body: at least one, which may be empty. */
uint64_t disk_blocks(uint64_t len);

/* The bytes of one of them. */
size_t disk_block_bytes(uint64_t len, uint64_t block);

/* What the checksum of a block must be. */
uint64_t disk_body_sum(const struct disk_body *body, uint64_t block);

/* The checksums of a body's blocks, as a record has them, to be freed; null
 * without memory. */
uint8_t *disk_body_sums(uint64_t id, const void *bytes, uint64_t len);

/*
 * The record of a response, to be freed; its body's bytes are not looked at.
 * Returns 0, -ENOMEM, or -E2BIG: a field of it has no place in a record.
 */
int disk_record_write(const struct cached *c, const struct disk_body *body,
		      uint8_t **bytes, size_t *len);

/* Whether the bytes are a whole record of that object, by its checksum. */
bool disk_record_is_good(uint64_t id, const uint8_t *bytes, size_t len);

/*
 * Reads a record: body->id is the caller's to set, the rest becomes known, and
 * lies in these bytes. *out is a response without a body, with one user.
 * Records of the version before, which had one checksum of the whole body, are
 * read when that is of one block. Returns 0, -EBADMSG (it is damaged, or of
 * another version), -ENOMEM.
 */
int disk_record_read(const uint8_t *bytes, size_t len, struct disk_body *body,
		     struct cached **out);

#endif
