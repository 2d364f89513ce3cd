/*
 * The memory in which bodies are kept, on their way through a request and in
 * the store. It is an edge of its own so that a simulator, in which a body is
 * nothing but a length, can have another: what is kept here is only read by
 * what sends it.
 */
#ifndef DIGESTD_OS_BODY_MEMORY_H
#define DIGESTD_OS_BODY_MEMORY_H

#include <stddef.h>

/*
 * Makes room for `size` (> 0) bytes, as realloc() does: `bytes` is null or from
 * here, and is moved. Null: no memory, and `bytes` stays as it is.
 */
char *body_memory_resize(char *bytes, size_t size);

/* Copies bytes into such memory, out of it, or within it; they may overlap. */
void body_memory_copy(char *to, const char *from, size_t len);

/* Frees it; it may be memory of malloc() too, or null. */
void body_memory_free(char *bytes);

#endif
