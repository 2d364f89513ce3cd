/*
 * The memory file of an arena: segments of 2 MiB, each at an address that
 * stays, in one huge page where the kernel has one. arena.h says what they are
 * for; here is what the system does with their pages.
 *
 * A segment has two places in the file, and its pages are in one of them. What
 * is in use can be copied to the other one, which then takes its address: who
 * reads there sees the same bytes before and after, and what sockets still have
 * of the old pages is theirs.
 */
#ifndef DIGESTD_OS_ARENA_FILE_H
#define DIGESTD_OS_ARENA_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "digestd/os/page_bits.h"

enum {
	ARENA_PAGE_BYTES = 4096,
	ARENA_SEGMENT_BYTES = PAGE_BITS * ARENA_PAGE_BYTES,
};

struct arena_file {
	int fd;
	size_t n;       /* segments that there are addresses for */
	char *base;     /* of the first one */
	void *reserved; /* what was mapped for them */
	size_t reserved_bytes;
};

/* A file of n segments, which have no memory yet. Returns 0 or -errno. */
int arena_file_open(struct arena_file *f, size_t n);
void arena_file_close(struct arena_file *f);

/* Where the pages of a segment are: its number, and the place, 0 or 1. */
struct arena_place {
	size_t number;
	unsigned place;
};

/* The first byte of its pages. */
off_t arena_file_offset(const struct arena_file *f, struct arena_place at);

/* Makes the place the one at the segment's address. Returns 0 or -errno. */
int arena_file_map(const struct arena_file *f, struct arena_place at);

/* Makes what is at its address one huge page. Returns 0 or -errno; -EINVAL:
 * this kernel cannot do that. */
int arena_file_collapse(const struct arena_file *f, size_t number);

/*
 * Makes a place that has no memory a huge page, at an address beside all
 * segments, of which there is one. Returns 0; or as arena_file_collapse(), and
 * then it has none again.
 */
int arena_file_open_huge(const struct arena_file *f, struct arena_place at);

/*
 * Copies the pages with these bits from the segment's address to the place
 * `to`, and makes that the one at its address. It was opened as a huge page, or
 * has no memory. Returns 0, or -errno, and then that has none again.
 */
int arena_file_copy(const struct arena_file *f, struct arena_place to,
		    const struct page_bits *pages, bool huge);

/* Gives pages of a place back. What sockets have of them stays as it is, if
 * they are not part of a huge page, or are all of it. */
void arena_file_punch(const struct arena_file *f, struct arena_place at,
		      unsigned first, unsigned n);

#endif
