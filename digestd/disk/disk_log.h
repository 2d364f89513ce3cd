/*
 * The log of the disk tier: segments, of which one is open to be written. What
 * is appended goes to a buffer first, then to the segment by one call; a full
 * segment gets its table, is synced, and is never written again.
 *
 * Of one thread: the writer's, or who opens the disk.
 *
 * A segment begins with a head: the folder's seed of all checksums, three
 * times, so that a flipped bit in it does not matter.
 */
#ifndef DIGESTD_DISK_DISK_LOG_H
#define DIGESTD_DISK_DISK_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/disk/disk_files.h"
#include "digestd/disk/disk_place.h"
#include "digestd/disk/segment_space.h"
#include "digestd/disk/segment_table.h"

struct disk_log {
	struct disk_files *files; /* borrowed */
	uint8_t secret[16];	  /* of the keys */
	uint64_t seed;		  /* of the checksums; 0: not known yet */
	uint64_t max_bytes;	  /* of all segments and files */
	uint64_t file_bytes;	  /* of bodies in files */
	struct segment_space space;
	uint32_t last_number;
	uint32_t number; /* of the open segment; 0: none is */
	int fd;		 /* its */
	uint64_t at;	 /* up to which it is written */
	uint8_t *buffer; /* what comes then */
	size_t len, cap;
	struct segment_table table; /* of both */
	size_t written_entries, written_removals, written_extras; /* of it */
};

enum {
	DISK_LOG_BUFFER = 1 << 20,
	DISK_LOG_HEAD_BYTES = 32, /* of a segment */
};

/* An empty one, in a folder that is open; the secret is copied. */
void disk_log_init(struct disk_log *log, struct disk_files *files,
		   const uint8_t secret[16], uint64_t max_bytes);

/* Seals what is open, and frees; what is in the buffer is not written. */
void disk_log_close(struct disk_log *log);

/* Learns the seed from a segment that is there, if it is not known, or makes
 * one up. Returns 0 or a negative errno. */
int disk_log_find_seed(struct disk_log *log, const uint64_t *numbers, size_t n);

/*
 * What is in a segment: its table, or what its records say where it has none
 * that is good. *end is where its records end if so, else 0. Returns 0, or a
 * negative errno: -EBADMSG, it is not of this folder.
 */
int disk_log_read_table(const struct disk_log *log, uint32_t number,
			struct segment_table *t, uint64_t *end);

/* The length of a segment's file; 0: it cannot be known. */
uint64_t disk_log_file_bytes(const struct disk_log *log, uint32_t number);

/* Gives a segment without a table one, behind its records. Returns the bytes
 * of its file by now, or 0: it has not been done. */
uint64_t disk_log_repair(const struct disk_log *log, uint32_t number,
			 const struct segment_table *t, uint64_t end);

/* Whether a record fits into the buffer with what is there; into the segment,
 * of which there has to be one. */
bool disk_log_fits_buffer(const struct disk_log *log, size_t bytes);
bool disk_log_fits_segment(const struct disk_log *log, size_t bytes);

/* Opens the next segment. 0 or a negative errno. */
int disk_log_open_segment(struct disk_log *log);

/* Writes its table, if that can be, syncs and closes it; the buffer is empty.
 * *table, to be freed, gets what is in it; null is allowed. An error: that may
 * not outlive a power failure. */
int disk_log_seal(struct disk_log *log, struct segment_table *table);

/* Room for a record behind what is there, of a segment that is open; null: no
 * memory. *place is where it will be. */
uint8_t *disk_log_reserve(struct disk_log *log, size_t bytes,
			  struct disk_place *place);

/* It has been filled: with an object, whose `at` and `units` are set here; or
 * with removals. 0 or -ENOMEM: then it is not there. */
int disk_log_add(struct disk_log *log, struct segment_entry *e, size_t bytes);
int disk_log_add_removals(struct disk_log *log, const struct disk_place *places,
			  size_t n, size_t bytes);

/* Writes the buffer. An error takes all that is in it back. */
int disk_log_flush(struct disk_log *log);

/* Empties the buffer without that. */
void disk_log_take_back(struct disk_log *log);

/* Has all that is written outlive a power failure. */
int disk_log_sync(const struct disk_log *log);

/* A record of an object is wanted from now on, or not any more: so many units
 * in a segment, and bytes of a file. */
void disk_log_count(struct disk_log *log, struct disk_place place,
		    uint32_t units, int64_t file_bytes, bool wanted);

/* Whether there has to be more room before so many bytes are written. */
bool disk_log_wants_room(const struct disk_log *log, uint64_t bytes);

/* Removes a segment, whatever is in it, also the open one. 0 or a negative
 * errno: it is still there. */
int disk_log_remove_segment(struct disk_log *log, uint32_t number);

#endif
