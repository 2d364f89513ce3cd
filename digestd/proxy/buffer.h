/*
 * Bytes on their way through: appended at the end, taken from the front.
 */
#ifndef DIGESTD_PROXY_BUFFER_H
#define DIGESTD_PROXY_BUFFER_H

#include <stddef.h>

struct buffer {
	char *data;
	size_t len, cap;
	size_t taken; /* of len, by the reader */
};

/* Appends; returns 0 or -ENOMEM. */
int buffer_append(struct buffer *b, const void *data, size_t len);

/* Makes room for exactly `size` bytes in all, if that works and they fit: only
 * saves memory, or moving. The other one is for a body that is to be stored,
 * see body_memory_fit(). */
void buffer_fit(struct buffer *b, size_t size);
void buffer_fit_body(struct buffer *b, size_t size);

/* Takes up to cap bytes from the front; returns their number. */
size_t buffer_take(struct buffer *b, void *out, size_t cap);

/* Bytes not taken yet. */
size_t buffer_left(const struct buffer *b);

/* Forgets what was taken, to make room. */
void buffer_compact(struct buffer *b);

void buffer_free(struct buffer *b);

#endif
