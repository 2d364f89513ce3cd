/*
 * An arena of bodies: extents, and sending them.
 */
#include "digestd/os/arena_inside.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

int arena_new(struct arena **out, size_t max_bytes)
{
	size_t n = max_bytes / ARENA_SEGMENT_BYTES + 1;
	struct arena *a = calloc(1, sizeof(*a));
	int err = -ENOMEM;

	*out = NULL;
	if (!a)
		return err;
	a->rooms = calloc(n, sizeof(*a->rooms));
	a->segments = calloc(n, sizeof(*a->segments));
	if (a->rooms && a->segments)
		err = arena_file_open(&a->file, n);
	if (err) {
		free(a->rooms);
		free(a->segments);
		free(a);
		return err;
	}
	pthread_mutex_init(&a->lock, NULL);
	*out = a;
	return 0;
}

void arena_free(struct arena **arena)
{
	struct arena *a = *arena;

	*arena = NULL;
	if (!a)
		return;
	arena_file_close(&a->file);
	pthread_mutex_destroy(&a->lock);
	free(a->rooms);
	free(a->segments);
	free(a);
}

char *arena_take(struct arena *a, size_t size)
{
	size_t n = arena_count_pages(size), page;
	bool found;

	assert(size);
	if (n > a->file.n * PAGE_BITS)
		return NULL;
	pthread_mutex_lock(&a->lock);
	found = arena_find(a, n, &page);
	if (found)
		arena_begin(a, page, page + n);
	else
		found = arena_grow(a, n, &page);
	if (found)
		a->hint = page / PAGE_BITS;
	pthread_mutex_unlock(&a->lock);
	return found ? arena_address(a, page) : NULL;
}

/* Whether pages are in segments that are there, and in no extent. */
static bool arena_is_clean(struct arena *a, size_t page, size_t end)
{
	while (page < end) {
		struct arena_part part;
		struct page_bits busy;

		if (page / PAGE_BITS >= a->top)
			return false;
		part = arena_part_at(a, page, end);
		busy = arena_busy(part.s);
		if (!a->rooms[part.number].clean.longest ||
		    page_bits_count(&busy, part.first, part.n))
			return false;
		page += part.n;
	}
	return true;
}

bool arena_resize(struct arena *a, char *extent, size_t size)
{
	size_t page = arena_page_of(a, extent), old, end;
	bool fits = true;

	pthread_mutex_lock(&a->lock);
	old = arena_end_of(a, page);
	end = page + arena_count_pages(size);
	assert(arena_is_open(a, page) && end > page);
	arena_count_writer(a, page, old, -1);
	if (end < old)
		arena_unuse(a, end, old);
	else if (end > old && arena_is_clean(a, old, end))
		arena_use(a, old, end);
	else
		fits = end == old;
	arena_count_writer(a, page, fits ? end : old, 1);
	pthread_mutex_unlock(&a->lock);
	return fits;
}

void arena_seal(struct arena *a, const char *extent)
{
	size_t page = arena_page_of(a, extent);

	pthread_mutex_lock(&a->lock);
	arena_close(a, page, arena_end_of(a, page));
	arena_thicken(a, page / PAGE_BITS);
	pthread_mutex_unlock(&a->lock);
}

void arena_drop(struct arena *a, char *extent)
{
	size_t page = arena_page_of(a, extent);

	pthread_mutex_lock(&a->lock);
	arena_end(a, page, arena_end_of(a, page));
	arena_tidy(a);
	pthread_mutex_unlock(&a->lock);
}

bool arena_has(const struct arena *a, const char *at)
{
	return (uintptr_t)at >= (uintptr_t)a->file.base &&
	       (uintptr_t)at - (uintptr_t)a->file.base <
		       a->file.n * ARENA_SEGMENT_BYTES;
}

/* Sends from a segment that is not being moved, and notes which pages. */
static ssize_t arena_send_file(struct arena *a, int fd, const char *at,
			       size_t len)
{
	size_t from = (size_t)(at - a->file.base),
	       in = from % ARENA_SEGMENT_BYTES;
	size_t number = from / ARENA_SEGMENT_BYTES;
	struct arena_segment *s = &a->segments[number];
	off_t offset = arena_file_offset(
		&a->file, (struct arena_place){number, s->place});
	ssize_t n;

	offset += (off_t)in;
	if (len > ARENA_SEGMENT_BYTES - in)
		len = ARENA_SEGMENT_BYTES - in;
	n = sendfile(fd, a->file.fd, &offset, len);
	if (n < 0)
		return -errno;
	if (n && s->state == ARENA_HUGE) {
		unsigned first = (unsigned)(in / ARENA_PAGE_BYTES);
		size_t end = arena_count_pages(in + (size_t)n);

		page_bits_set_shared(&s->sent, first, (unsigned)end - first);
	}
	return n ? n : -EIO;
}

ssize_t arena_send(struct arena *a, int fd, const char *at, size_t len)
{
	struct arena_segment *s =
		&a->segments[arena_page_of(a, at) / PAGE_BITS];
	ssize_t n;

	if (atomic_fetch_add(&s->senders, 1) & ARENA_MOVES) {
		n = send(fd, at, len, MSG_NOSIGNAL);
		if (n < 0)
			n = -errno;
	} else {
		n = arena_send_file(a, fd, at, len);
	}
	atomic_fetch_sub(&s->senders, 1);
	return n;
}

void arena_stats(struct arena *a, struct arena_stats *out)
{
	pthread_mutex_lock(&a->lock);
	*out = (struct arena_stats){
		.held = a->held * ARENA_PAGE_BYTES,
		.bodies = a->live * ARENA_PAGE_BYTES,
		.dirty = a->dirty * ARENA_PAGE_BYTES,
		.moved = a->moved,
		.refused = __atomic_load_n(&a->refused, __ATOMIC_RELAXED),
	};
	pthread_mutex_unlock(&a->lock);
}
