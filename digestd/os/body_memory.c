/*
 * The memory of bodies. The arena is made when the first body needs it.
 */
#include "digestd/os/body_memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/os/arena.h"

/* Addresses for so many times the machine's memory: most of what is in use in a
 * segment may have gone, and its memory, but not its addresses. */
enum { BODY_MEMORY_ADDRESSES = 4 };

static pthread_once_t body_memory_once = PTHREAD_ONCE_INIT;
static struct arena *body_memory_arena; /* null: not yet, or it was refused */
static uint64_t body_memory_outside;	/* bodies that had no room in it */

static void body_memory_start(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	struct arena *a = NULL;

	if (pages > 0 && size > 0)
		(void)arena_new(&a, (size_t)pages * (size_t)size *
					    BODY_MEMORY_ADDRESSES);
	__atomic_store_n(&body_memory_arena, a, __ATOMIC_RELEASE);
}

static struct arena *body_memory_get(void)
{
	return __atomic_load_n(&body_memory_arena, __ATOMIC_ACQUIRE);
}

bool body_memory_is_in_file(const char *bytes)
{
	struct arena *a = body_memory_get();

	return a && arena_has(a, bytes);
}

/* An extent; null: it is to be the allocator's. */
static char *body_memory_take(size_t size)
{
	struct arena *a;
	char *bytes;

	if (size <= BODY_MEMORY_SMALL)
		return NULL;
	pthread_once(&body_memory_once, body_memory_start);
	a = body_memory_get();
	bytes = a ? arena_take(a, size) : NULL;
	if (!bytes)
		__atomic_fetch_add(&body_memory_outside, 1, __ATOMIC_RELAXED);
	return bytes;
}

static char *body_memory_move(char *bytes, size_t len, char *to)
{
	if (!to)
		return NULL;
	if (len)
		memcpy(to, bytes, len);
	body_memory_free(bytes);
	return to;
}

char *body_memory_resize(char *bytes, size_t len, size_t size)
{
	if (!body_memory_is_in_file(bytes))
		return realloc(bytes, size);
	if (arena_resize(body_memory_get(), bytes, size))
		return bytes;
	return body_memory_move(bytes, len, malloc(size));
}

char *body_memory_fit(char *bytes, size_t len, size_t size)
{
	char *to = NULL;

	if (!body_memory_is_in_file(bytes))
		to = body_memory_take(size);
	if (!to)
		return body_memory_resize(bytes, len, size);
	return body_memory_move(bytes, len, to);
}

void body_memory_copy(char *to, const char *from, size_t len)
{
	memmove(to, from, len);
}

void body_memory_seal(const char *bytes)
{
	if (body_memory_is_in_file(bytes))
		arena_seal(body_memory_get(), bytes);
}

void body_memory_free(char *bytes)
{
	if (body_memory_is_in_file(bytes))
		arena_drop(body_memory_get(), bytes);
	else
		free(bytes);
}

ssize_t body_memory_send(int fd, const char *bytes, size_t len)
{
	return arena_send(body_memory_get(), fd, bytes, len);
}

void body_memory_stats(struct body_memory_stats *out)
{
	struct arena *a = body_memory_get();
	struct arena_stats stats = {0};

	if (a)
		arena_stats(a, &stats);
	*out = (struct body_memory_stats){
		.held = stats.held,
		.bodies = stats.bodies,
		.dirty = stats.dirty,
		.moved = stats.moved,
		.refused = stats.refused + __atomic_load_n(&body_memory_outside,
							   __ATOMIC_RELAXED),
	};
}
