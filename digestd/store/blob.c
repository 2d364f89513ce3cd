/*
 * Counted immutable bytes.
 */
#include "digestd/store/blob.h"

#include <assert.h>
#include <stdlib.h>

struct blob *blob_take(uint8_t *bytes, size_t len)
{
	struct blob *b = malloc(sizeof(*b));

	if (!b) {
		free(bytes);
		return NULL;
	}
	atomic_init(&b->users, 1);
	b->len = len;
	b->bytes = bytes;
	return b;
}

struct blob *blob_ref(struct blob *b)
{
	unsigned users = atomic_fetch_add_explicit(&b->users, 1,
						   memory_order_relaxed);

	assert(users);
	return b;
}

void blob_unref(struct blob *b)
{
	if (!b || atomic_fetch_sub_explicit(&b->users, 1,
					    memory_order_acq_rel) != 1)
		return;
	free(b->bytes);
	free(b);
}
