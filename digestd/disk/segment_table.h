/*
 * What is in a segment, so that its records need not be read: a table, which is
 * made while the segment is written and stands at its end once it is sealed.
 *
 * An object is 32 bytes; those that vary, or have a body in a file, have some
 * more behind the others. The table ends with a checksum of all of it: a
 * damaged one is not used, and the records themselves are looked through.
 */
#ifndef DIGESTD_DISK_SEGMENT_TABLE_H
#define DIGESTD_DISK_SEGMENT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/key.h"
#include "digestd/disk/disk_place.h"

struct fields;

/* An object. */
struct segment_entry {
	struct scd_key key;
	uint64_t id;
	uint32_t at;	/* where its record begins [units] */
	uint32_t units; /* of its record */
	uint64_t file_bytes; /* of a body in a file; 0: it is in the record */
	bool unvouched; /* as struct cached has it */
	const uint8_t *selecting; /* see segment_record.h */
	uint32_t selecting_len;
};

struct segment_table {
	uint8_t *entries, *extras;
	struct disk_place *removals;
	size_t nentries, nremovals, extras_len;
	size_t entries_cap, removals_cap, extras_cap;
	uint64_t secret; /* which the keys are of: any number that tells */
};

enum {
	SEGMENT_ENTRY_BYTES = 32,
	SEGMENT_FOOT_BYTES = 48, /* the end of a table: as much tells how long
				    it is */
};

/* Both allocate: 0 or -ENOMEM. The first copies what selects the entry. */
int segment_table_add(struct segment_table *t, const struct segment_entry *e);
int segment_table_add_removal(struct segment_table *t, struct disk_place place);

/* The bytes of the table. */
size_t segment_table_bytes(const struct segment_table *t);

/* Writes it, so many bytes. */
void segment_table_write(const struct segment_table *t, uint64_t seed,
			 uint8_t *to);

/* The bytes of the table whose end this is, SEGMENT_FOOT_BYTES; 0: none. */
size_t segment_table_measure(const uint8_t *foot);

/* Reads a table into an empty one. 0, -EBADMSG, -ENOMEM. */
int segment_table_read(struct segment_table *t, const uint8_t *bytes,
		       size_t len, uint64_t seed);

/* Leaves out the object whose record begins there, if there is one. */
void segment_table_drop(struct segment_table *t, uint32_t at);

/* Calls back for each object, in the order of their places, until that returns
 * other than 0, which is returned. */
int segment_table_each(const struct segment_table *t,
		       int (*each)(void *arg, const struct segment_entry *e),
		       void *arg);

/* Frees what it has; it is empty then. */
void segment_table_free(struct segment_table *t);

#endif
