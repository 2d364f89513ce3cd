/*
 * Segments of a memory file. Their places are the first and the second half of
 * the file: of segment i, 2 MiB * i and 2 MiB * (n + i). Neighbours that are in
 * the same half are one mapping for the kernel, which has 65,530 a process.
 */
#include "config.h"

#include "digestd/os/arena_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1; the headers may be older */
#endif

/* To the thread sanitizer, which has these, a mapping is a write. It is none
 * here: who reads there reads the same bytes before and after. */
extern void AnnotateIgnoreWritesBegin(const char *file, int line)
	__attribute__((weak));
extern void AnnotateIgnoreWritesEnd(const char *file, int line)
	__attribute__((weak));

/* Reserves addresses, which take no memory; of one segment more than there
 * are, and for alignment. */
static int arena_file_reserve(struct arena_file *f)
{
	size_t bytes = (f->n + 2) * ARENA_SEGMENT_BYTES;
	void *at = mmap(NULL, bytes, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return -errno;
	f->reserved = at;
	f->reserved_bytes = bytes;
	f->base = (char *)at +
		  (-(uintptr_t)at & ((uintptr_t)ARENA_SEGMENT_BYTES - 1));
	return 0;
}

int arena_file_open(struct arena_file *f, size_t n)
{
	int err;

	*f = (struct arena_file){.fd = -1, .n = n};
	err = arena_file_reserve(f);
	if (err)
		return err;
	f->fd = memfd_create("bodies", MFD_CLOEXEC);
	if (f->fd >= 0 &&
	    !ftruncate(f->fd, (off_t)(2 * n * ARENA_SEGMENT_BYTES)))
		return 0;
	err = -errno;
	arena_file_close(f);
	return err;
}

void arena_file_close(struct arena_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	if (f->reserved)
		munmap(f->reserved, f->reserved_bytes);
	*f = (struct arena_file){.fd = -1};
}

static char *arena_file_address(const struct arena_file *f, size_t number)
{
	assert(number < f->n);
	return f->base + number * ARENA_SEGMENT_BYTES;
}

off_t arena_file_offset(const struct arena_file *f, struct arena_place at)
{
	assert(at.number < f->n && at.place < 2);
	return (off_t)((at.place * f->n + at.number) * ARENA_SEGMENT_BYTES);
}

static int arena_file_map_at(const struct arena_file *f, char *address,
			     struct arena_place at)
{
	void *mapped =
		mmap(address, ARENA_SEGMENT_BYTES, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_FIXED | MAP_NORESERVE, f->fd,
		     arena_file_offset(f, at));

	return mapped == MAP_FAILED ? -errno : 0;
}

int arena_file_map(const struct arena_file *f, struct arena_place at)
{
	int err;

	if (AnnotateIgnoreWritesBegin)
		AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
	err = arena_file_map_at(f, arena_file_address(f, at.number), at);
	if (AnnotateIgnoreWritesEnd)
		AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
	return err;
}

static int arena_file_collapse_at(char *address)
{
	(void)*(volatile char *)address; /* without any page it fails */
	return madvise(address, ARENA_SEGMENT_BYTES, MADV_COLLAPSE) ? -errno
								    : 0;
}

int arena_file_collapse(const struct arena_file *f, size_t number)
{
	return arena_file_collapse_at(arena_file_address(f, number));
}

/* Behind the last segment: what is being copied to is there for so long. */
static char *arena_file_scratch(const struct arena_file *f)
{
	return f->base + f->n * ARENA_SEGMENT_BYTES;
}

static void arena_file_clear_scratch(const struct arena_file *f)
{
	(void)mmap(arena_file_scratch(f), ARENA_SEGMENT_BYTES, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
		   0);
}

int arena_file_open_huge(const struct arena_file *f, struct arena_place at)
{
	char *scratch = arena_file_scratch(f);
	int err = arena_file_map_at(f, scratch, at);

	if (!err)
		err = arena_file_collapse_at(scratch);
	if (err) {
		arena_file_clear_scratch(f);
		arena_file_punch(f, at, 0, PAGE_BITS);
	}
	return err;
}

/* Writes to small pages, which come with it. */
static int arena_file_write(int fd, const char *bytes, size_t len, off_t at)
{
	while (len) {
		ssize_t n = pwrite(fd, bytes, len, at);

		if (n < 0)
			return -errno;
		bytes += n;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int arena_file_copy(const struct arena_file *f, struct arena_place to,
		    const struct page_bits *pages, bool huge)
{
	const char *base = arena_file_address(f, to.number);
	off_t offset = arena_file_offset(f, to);
	unsigned from = page_bits_next(pages, 0, true);
	int err = 0;

	while (from < PAGE_BITS && !err) {
		unsigned end = page_bits_next(pages, from, false);
		size_t at = (size_t)from * ARENA_PAGE_BYTES;
		size_t len = (size_t)(end - from) * ARENA_PAGE_BYTES;

		if (huge)
			memcpy(arena_file_scratch(f) + at, base + at, len);
		else
			err = arena_file_write(f->fd, base + at, len,
					       offset + (off_t)at);
		from = page_bits_next(pages, end, true);
	}
	if (!err)
		err = arena_file_map(f, to);
	if (huge)
		arena_file_clear_scratch(f);
	if (err)
		arena_file_punch(f, to, 0, PAGE_BITS);
	return err;
}

void arena_file_punch(const struct arena_file *f, struct arena_place at,
		      unsigned first, unsigned n)
{
	assert(n && first + n <= PAGE_BITS);
	(void)fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			arena_file_offset(f, at) +
				(off_t)first * ARENA_PAGE_BYTES,
			(off_t)n * ARENA_PAGE_BYTES);
}
