/*
 * What lies in the segments of the disk tier: records, one behind the other,
 * each at a multiple of SEGMENT_UNIT bytes. A record is an object, with its
 * body or, where that is large, with the checksums of a body in a file of its
 * own; or a list of records that are not to be found any more.
 *
 * A record begins with a magic number and its length, and has a checksum of all
 * that follows, so that one that was torn or damaged is never taken for whole,
 * and those of a segment without a table can be found. The checksum's seed is
 * the folder's secret: what looks like a record in somebody's body is none. A
 * record does not know where it lies: it can be copied. Numbers are little-
 * endian; the fields are those of packed.h. docs/DISK.md has the layout.
 *
 * Costs: the checksum, some 10 GB/s, and a copy.
 */
#ifndef DIGESTD_DISK_SEGMENT_RECORD_H
#define DIGESTD_DISK_SEGMENT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/disk/disk_place.h"
#include "digestd/http/freshness.h"

struct cached;

enum {
	SEGMENT_UNIT = 16, /* to a multiple of which a record is padded */
	SEGMENT_BODY_MAX = 65536, /* larger bodies have a file of their own */
};

enum segment_kind { SEGMENT_OBJECT = 1, SEGMENT_REMOVALS = 2 };

/* A record as it was read; the pointers are into its bytes. */
struct segment_record {
	enum segment_kind kind;
	size_t bytes; /* that it takes, with its padding */
	bool in_file; /* the body is, and sums are those of its blocks */
	uint64_t id;
	uint64_t body_len;
	unsigned status;
	struct freshness freshness;
	const uint8_t *selecting; /* see segment_selecting_read() */
	size_t selecting_len;
	const char *text; /* see cached_text() */
	size_t text_len;
	const uint8_t *body; /* if it is not in a file */
	const uint8_t *sums;
	const uint8_t *removals; /* places, see segment_removal() */
	size_t nremovals;
};

/* The bytes of the record of a response, whose body is in a file or not. */
size_t segment_record_bytes(const struct cached *c, bool in_file);

/* Writes the record: as many bytes as segment_record_bytes() said. `sums` are
 * of the blocks of a body in a file; null: the body is in memory, and written
 * as well. */
void segment_record_write(const struct cached *c, uint64_t id,
			  const uint8_t *sums, uint64_t seed, uint8_t *to);

/*
 * Reads the record that begins there; what follows it does not matter. Returns
 * 0 or -EBADMSG: there is none, or it is damaged.
 */
int segment_record_read(const uint8_t *bytes, size_t len, uint64_t seed,
			struct segment_record *out);

/* The bytes that a record says it takes, of which these are the first; 0: it is
 * none. */
size_t segment_record_measure(const uint8_t *bytes, size_t len);

/* Makes the response of a record, with one user and without its body. Returns
 * 0, -ENOMEM, or -EBADMSG: what has written it was wrong. */
int segment_record_response(const struct segment_record *r,
			    struct cached **out);

/* The bytes of a record of so many removals. */
size_t segment_removals_bytes(size_t n);

/* Writes it. */
void segment_removals_write(const struct disk_place *places, size_t n,
			    uint64_t seed, uint8_t *to);

/* One of those that a record has. */
struct disk_place segment_removal(const struct segment_record *r, size_t i);

/*
 * Calls back for each good record in the bytes of a segment, with the place
 * where it begins [units]. Returns the end of the last one [bytes]. What is not
 * a record is passed over: one that is damaged costs no other.
 */
size_t segment_scan(const uint8_t *bytes, size_t len, uint64_t seed,
		    void (*each)(void *arg, uint32_t at,
				 const struct segment_record *r),
		    void *arg);

/* Fields that select a response, as bytes; and back, to be freed by
 * fields_free() (0, -ENOMEM, -EBADMSG). */
struct fields;
size_t segment_selecting_bytes(const struct fields *f);
void segment_selecting_write(const struct fields *f, uint8_t *to);
int segment_selecting_read(const uint8_t *bytes, size_t len,
			   struct fields *out);

#endif
