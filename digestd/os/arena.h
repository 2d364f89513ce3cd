/*
 * An arena of bodies: memory that sockets take without copying it (sendfile),
 * in segments of a memory file (arena_file.h). For any number of threads.
 *
 * A body is an extent: consecutive pages of 4 KiB, over the borders of segments
 * if need be. It goes where there is room, from the last one on, so that what
 * comes at one time is together, and as a rule goes together.
 *
 * What sendfile has taken is in sockets' queues for as long as clients like,
 * also in those of the other end on the same machine; nobody can tell when it
 * has left. So pages that have been sent are never written again: when their
 * body has gone they are dirty, and wait until the kernel has taken them back.
 * Of a huge page it takes nothing but the whole: a hole in one is zeroed in
 * place, whoever still has it. Hence:
 *
 * | a segment                        | is                                  |
 * |----------------------------------|-------------------------------------|
 * | without bodies                   | given back, whole; a clean one may  |
 * |                                  | stay for the next body              |
 * | with the most dirty pages, when  | copied to a new huge page, in which |
 * | 1/16 of the arena is dirty       | they are clean                      |
 * | with the fewest bodies, when 1/8 | copied to pages of 4 KiB, which are |
 * | of the arena is in no body       | given back one by one               |
 * | of such, full once more          | made a huge page again              |
 *
 * So it holds 8/7 of its bodies, and two segments. What is being written is not
 * copied: see arena_seal().
 *
 * Where the kernel has no huge pages for memory files (Linux before 6.1), or
 * none left, segments consist of pages of 4 KiB.
 */
#ifndef DIGESTD_OS_ARENA_H
#define DIGESTD_OS_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct arena;

/* One with addresses for so many bytes, and no memory yet. Returns 0 or
 * -errno. */
int arena_new(struct arena **out, size_t max_bytes);

/* Its end, and that of all that is in it. Null is allowed. */
void arena_free(struct arena **arena);

/* An extent for `size` (> 0) bytes, which is open: it may be written to. Null:
 * no room, or no memory. */
char *arena_take(struct arena *a, size_t size);

/* Makes an open extent as long as for `size` (> 0) bytes, where it is; false:
 * something is behind it. */
bool arena_resize(struct arena *a, char *extent, size_t size);

/* Seals an open extent: nobody writes to it any more. */
void arena_seal(struct arena *a, const char *extent);

/* Frees an extent, open or sealed. Nobody reads it any more, but sockets. */
void arena_drop(struct arena *a, char *extent);

/* Whether it is an address in the arena. */
bool arena_has(const struct arena *a, const char *at);

/*
 * Sends bytes of a sealed extent to a socket that does not block, as far as it
 * takes them: without copying them, or copied while their segment is. Returns
 * their number, which may end with a segment, or -errno.
 */
ssize_t arena_send(struct arena *a, int fd, const char *at, size_t len);

struct arena_stats {
	uint64_t held;    /* bytes that the kernel has for it */
	uint64_t bodies;  /* of these, in extents */
	uint64_t dirty;   /* of the rest, not to be used again */
	uint64_t moved;   /* segments that were copied */
	uint64_t refused; /* extents, segments or huge pages that could not be
			     had */
};
void arena_stats(struct arena *a, struct arena_stats *out);

#endif
