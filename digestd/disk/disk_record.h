/*
 * What the disk tier's index knows of an object: all of a stored response but
 * its body, of which it has length and checksum.
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

/* The body that a record is about. */
struct disk_body {
	uint64_t id;  /* the object's number: names its file, seeds checksums */
	uint64_t len; /* [bytes] */
	uint64_t sum; /* see disk_sum() */
};

/* The checksum of an object's bytes: XXH3, 64 bits. */
uint64_t disk_sum(uint64_t id, const void *bytes, size_t len);

/*
 * The record of a response, to be freed; its body's bytes are not looked at.
 * Returns 0, -ENOMEM, or -E2BIG: a field of it has no place in a record.
 */
int disk_record_write(const struct cached *c, const struct disk_body *body,
		      uint8_t **bytes, size_t *len);

/* Whether the bytes are a whole record of that object, by its checksum. */
bool disk_record_is_good(uint64_t id, const uint8_t *bytes, size_t len);

/*
 * Reads a record: body->id is the caller's to set, the rest becomes known.
 * *out is a response without a body, with one user. Returns 0, -EBADMSG (it is
 * damaged, or of another version), -ENOMEM.
 */
int disk_record_read(const uint8_t *bytes, size_t len, struct disk_body *body,
		     struct cached **out);

#endif
