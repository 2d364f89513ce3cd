/*
 * Inside an arena (arena.h). There is one lock; what takes long (new segments,
 * and copying them) is done without it, and nobody finds room in such a segment
 * meanwhile. All functions here are called with the lock.
 */
#ifndef DIGESTD_OS_ARENA_INSIDE_H
#define DIGESTD_OS_ARENA_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "digestd/os/arena.h"
#include "digestd/os/arena_file.h"

enum {
	SCAN = 1024,      /* segments that are looked at for one extent */
	DIRTY_SHARE = 16, /* of what is held; see arena.h */
	WASTE_SHARE = 8,
	SPARE_PAGES = 2 * PAGE_BITS, /* that may be wasted in any case */
	FULL_PAGES = PAGE_BITS - PAGE_BITS / 16, /* worth a huge page */
	INVALID_MANY = 4,   /* see arena_wants_huge() */
	INVALID_EACH = 64,
};

/* In `senders`, beside their number: it is being copied. */
static const unsigned ARENA_MOVES = 1u << 31;

enum arena_state {
	ARENA_EMPTY,   /* has no memory */
	ARENA_OPENING, /* gets some */
	ARENA_SMALL,   /* pages of 4 KiB, those in use */
	ARENA_HUGE,    /* one page */
};

struct arena_segment {
	struct page_bits used;   /* by extents */
	struct page_bits begins; /* of these, where one begins */
	struct page_bits open;   /* of these, not sealed */
	struct page_bits sent;   /* have been in a socket; set by any thread */
	atomic_uint senders;     /* now, and ARENA_MOVES */
	uint16_t live;           /* pages in use */
	uint16_t writers;        /* extents that are not sealed */
	uint8_t place;           /* where its pages are */
	uint8_t state;           /* an enum arena_state */
	bool mapped;
};

/* What is looked at to find room: all 0 where none can be. */
struct arena_room {
	struct page_runs clean;
	uint16_t dirty;
};

struct arena {
	struct arena_file file;
	pthread_mutex_t lock;
	size_t top;  /* segments that have been used; the rest is empty */
	size_t hint; /* where the last extent was found */
	uint64_t held, live, dirty; /* pages */
	uint64_t moved;
	uint64_t refused; /* atomic, as the next: used without the lock, too */
	unsigned invalid; /* times in a row that huge pages were none at all */
	bool moves; /* a segment is being copied: one at a time */
	struct arena_room *rooms;
	struct arena_segment *segments;
};

/* A part of a range of pages, in one segment. */
struct arena_part {
	struct arena_segment *s;
	size_t number;
	unsigned first, n;
};

/* Pages and addresses; what a size needs. */
size_t arena_page_of(const struct arena *a, const char *at);
char *arena_address(const struct arena *a, size_t page);
size_t arena_count_pages(size_t size);

/* Which pages are whose, in arena_pages.c. */

/* The first part of a range of pages. */
struct arena_part arena_part_at(struct arena *a, size_t page, size_t end);

/* Pages that may not be written to: in extents, or sent. */
struct page_bits arena_busy(const struct arena_segment *s);

/* The end of the extent that begins with a page; whether it is open, and its
 * end as one that is. */
size_t arena_end_of(struct arena *a, size_t page);
bool arena_is_open(const struct arena *a, size_t page);
void arena_close(struct arena *a, size_t page, size_t end);

/* Changes the number of extents that may be written to in segments, which keeps
 * these where they are. */
void arena_count_writer(struct arena *a, size_t page, size_t end, int change);

/* Pages become part of an extent, or of none. */
void arena_use(struct arena *a, size_t page, size_t end);
void arena_unuse(struct arena *a, size_t page, size_t end);

/* Begins an extent, which is open; ends one. */
void arena_begin(struct arena *a, size_t page, size_t end);
void arena_end(struct arena *a, size_t page, size_t end);

/* Finds n consecutive clean pages: in segments that are there; or at the end of
 * one of these and in empty ones behind it. */
bool arena_find(struct arena *a, size_t n, size_t *page);
bool arena_find_empty(const struct arena *a, size_t n, size_t *page);

/* Notes what room a segment has after it has changed; gives its memory back if
 * it is not needed. */
void arena_note_room(struct arena *a, size_t number);
void arena_settle(struct arena *a, size_t number);

/* Whether it is being copied. */
bool arena_is_moving(const struct arena_segment *s);

/* Changes what memory it has, which is counted. */
void arena_set_state(struct arena *a, struct arena_segment *s,
		     enum arena_state state);

/* Memory for segments, in arena_segments.c. Each releases the lock for as long
 * as that takes. */

/* An extent for which segments get memory; false: there is none. */
bool arena_grow(struct arena *a, size_t n, size_t *page);

/* Makes dirty pages clean if there are too many, else gives back what is in no
 * body if that is too much: of one segment. */
void arena_tidy(struct arena *a);

/* Makes a segment of small pages a huge one, if it is full. */
void arena_thicken(struct arena *a, size_t number);

#endif
