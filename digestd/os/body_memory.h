/*
 * The memory in which bodies are kept, on their way through a request and in
 * the store: the allocator's; and of what is stored, above 32 KiB, an arena's
 * (arena.h), which sockets take without copying it. It is an edge of its own so
 * that a simulator, in which a body is nothing but a length, can have another:
 * what is kept here is only read by what sends it.
 */
#ifndef DIGESTD_OS_BODY_MEMORY_H
#define DIGESTD_OS_BODY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What is larger, and to be stored, goes into the arena if that has room. */
enum { BODY_MEMORY_SMALL = 32768 };

/*
 * Makes room for `size` (> 0) bytes, as realloc() does: `bytes` is null or from
 * here, and is moved with its first `len` bytes (<= size). Null: no memory, and
 * `bytes` stays as it is.
 */
char *body_memory_resize(char *bytes, size_t len, size_t size);

/* The same for a body that is to be stored, whose size is known: it comes to
 * where it will stay, and all of its memory is there at once. */
char *body_memory_fit(char *bytes, size_t len, size_t size);

/* Copies bytes into such memory, out of it, or within it; they may overlap. */
void body_memory_copy(char *to, const char *from, size_t len);

/* Nobody writes to it any more, until it is freed. Null is allowed. */
void body_memory_seal(const char *bytes);

/* Frees it; it may be memory of malloc() too, or null. */
void body_memory_free(char *bytes);

/* Whether it can be sent without copying it. */
bool body_memory_is_in_file(const char *bytes);

/* Sends `len` bytes that are in a file, and sealed, to a socket that does not
 * block. Returns how many it has taken, or -errno. */
ssize_t body_memory_send(int fd, const char *bytes, size_t len);

/* The bodies that are not in the allocator's memory [bytes]. */
struct body_memory_stats {
	uint64_t held;    /* what the kernel has for them */
	uint64_t bodies;  /* of this, with the ends of their last pages */
	uint64_t dirty;   /* of the rest, what clients may still receive */
	uint64_t moved;   /* times that 2 MiB were copied to have less */
	uint64_t refused; /* times that there was no room, or no huge page */
};
void body_memory_stats(struct body_memory_stats *out);

#endif
