/*
 * What is kept in memory of an object on disk: where it is, and which requests
 * it is for. There are as many as the disk has room for, so each is small: 64
 * bytes, of which 32 are the store's, as of an object in memory. Those that
 * vary have what selects them behind.
 */
#ifndef DIGESTD_DISK_DISK_ENTRY_H
#define DIGESTD_DISK_DISK_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/disk/disk_place.h"
#include "digestd/http/fields.h"
#include "digestd/store/store.h"

struct cached;
struct disk_where;
struct disk_writing;

enum { DISK_ID_BITS = 48 };

/* An object on disk, or on its way there. The owner's. */
struct disk_entry {
	struct store_entry entry; /* first: the store hands out these */
	union {
		struct disk_place place; /* of its record */
		struct disk_writing *writing; /* if it is pending */
	};
	union {
		struct cached *memory; /* the same in memory; no user */
		struct disk_entry *next; /* the disk's, once it is removed */
	};
	uint64_t id : DISK_ID_BITS;
	uint64_t pending : 1; /* it is being written */
	uint64_t checked : 1; /* its file, since the start */
	uint64_t varies : 1;
	uint64_t early : 1; /* it was there at the start */
	uint64_t copy : 1; /* as struct cached has it; not on disk */
	uint64_t unvouched : 1; /* as struct cached has it */
	uint64_t used : 1; /* of a start: it was in use before, disk_used.h */
	uint32_t units;	 /* of its record, see segment_record.h */
	uint32_t blocks; /* of the file that its body has, DISK_FILE_BLOCK
			    bytes; 0: it has none */
	struct fields selecting[]; /* one if it varies */
};

enum { DISK_FILE_BLOCK = 4096 }; /* in which a file takes room */

/* One that is for requests with these fields, which are copied (null: for any);
 * see vary_select(). Null without memory. */
struct disk_entry *disk_entry_new(uint64_t id, const struct fields *selecting);

/* Sets what a response, with its body, will take. */
void disk_entry_measure(struct disk_entry *e, const struct cached *c);

/* What it takes of the disk [bytes]; of its file. */
size_t disk_entry_weight(const struct disk_entry *e);
int64_t disk_entry_file_bytes(const struct disk_entry *e);

/* Where it is on disk. */
struct disk_where disk_entry_where(const struct disk_entry *e);

/* The fields that it is for. */
const struct fields *disk_entry_selecting(const struct disk_entry *e);

/* What is being written; null: it is on disk. */
struct cached *disk_entry_pending(const struct disk_entry *e);

/* Frees it; its response is the owner's. Null is allowed. */
void disk_entry_free(struct disk_entry *e);

#endif
