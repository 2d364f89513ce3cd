/*
 * Bytes on their way through.
 */
#include "digestd/proxy/buffer.h"

#include <assert.h>
#include <errno.h>

#include "digestd/os/body_memory.h"

enum { BUFFER_MIN = 4096 };

static int buffer_grow(struct buffer *b, size_t need)
{
	size_t cap = b->cap ? b->cap : BUFFER_MIN;
	char *data;

	while (cap < need)
		cap *= 2;
	data = body_memory_resize(b->data, b->len, cap);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->cap = cap;
	return 0;
}

static void buffer_set_data(struct buffer *b, char *data, size_t size)
{
	if (!data)
		return;
	b->data = data;
	b->cap = size;
}

void buffer_fit(struct buffer *b, size_t size)
{
	assert(b->taken <= b->len && b->len <= b->cap);
	if (size >= b->len && size)
		buffer_set_data(b, body_memory_resize(b->data, b->len, size),
				size);
}

void buffer_fit_body(struct buffer *b, size_t size)
{
	assert(b->taken <= b->len && b->len <= b->cap);
	if (size == b->cap && size <= BODY_MEMORY_SMALL)
		return; /* it fits, and is where it is to be */
	if (size >= b->len && size)
		buffer_set_data(b, body_memory_fit(b->data, b->len, size),
				size);
}

int buffer_append(struct buffer *b, const void *data, size_t len)
{
	assert(b->taken <= b->len && b->len <= b->cap);
	if (len > b->cap - b->len && buffer_grow(b, b->len + len))
		return -ENOMEM;
	body_memory_copy(b->data + b->len, data, len);
	b->len += len;
	return 0;
}

size_t buffer_left(const struct buffer *b)
{
	assert(b->taken <= b->len);
	return b->len - b->taken;
}

size_t buffer_take(struct buffer *b, void *out, size_t cap)
{
	size_t n = buffer_left(b) < cap ? buffer_left(b) : cap;

	if (n)
		body_memory_copy(out, b->data + b->taken, n);
	b->taken += n;
	return n;
}

void buffer_compact(struct buffer *b)
{
	if (!b->taken)
		return;
	body_memory_copy(b->data, b->data + b->taken, buffer_left(b));
	b->len -= b->taken;
	b->taken = 0;
}

void buffer_free(struct buffer *b)
{
	body_memory_free(b->data);
	*b = (struct buffer){ 0 };
}
