/*
 * Bytes on their way through a request.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/proxy/request.h"

enum { BUFFER_MIN = 4096 };

static int buffer_grow(struct buffer *b, size_t need)
{
	size_t cap = b->cap ? b->cap : BUFFER_MIN;
	char *data;

	while (cap < need)
		cap *= 2;
	data = realloc(b->data, cap);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->cap = cap;
	return 0;
}

void buffer_fit(struct buffer *b, size_t size)
{
	char *data = size >= b->len && size ? realloc(b->data, size) : NULL;

	if (!data)
		return;
	b->data = data;
	b->cap = size;
}

int buffer_append(struct buffer *b, const void *data, size_t len)
{
	if (len > b->cap - b->len && buffer_grow(b, b->len + len))
		return -ENOMEM;
	memcpy(b->data + b->len, data, len);
	b->len += len;
	return 0;
}

size_t buffer_left(const struct buffer *b)
{
	return b->len - b->taken;
}

size_t buffer_take(struct buffer *b, void *out, size_t cap)
{
	size_t n = buffer_left(b) < cap ? buffer_left(b) : cap;

	if (n)
		memcpy(out, b->data + b->taken, n);
	b->taken += n;
	return n;
}

void buffer_compact(struct buffer *b)
{
	if (!b->taken)
		return;
	memmove(b->data, b->data + b->taken, buffer_left(b));
	b->len -= b->taken;
	b->taken = 0;
}

void buffer_free(struct buffer *b)
{
	free(b->data);
	*b = (struct buffer){ 0 };
}
