/*
 * Bodies on disk, by blocks: what a file of one must be.
 */
#ifndef DIGESTD_DISK_DISK_BODY_H
#define DIGESTD_DISK_DISK_BODY_H

#include <stddef.h>
#include <stdint.h>

/* Bodies are checked by blocks of so many bytes; the last one is shorter. */
enum { DISK_BLOCK_BYTES = 65536 };

/* A body in a file. */
struct disk_body {
	uint64_t id;  /* the object's number: names its file, seeds checksums */
	uint64_t len; /* [bytes] */
	const uint8_t *sums; /* of its blocks, 8 bytes each, little-endian */
};

/* The checksum of a block (XXH3, 64 bits), by its number from 0: a block that
 * is right elsewhere is wrong here. */
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

#endif
