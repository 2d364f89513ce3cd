/*
 * A stored response and its users, in any thread.
 */
#include "digestd/disk/cached.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/core/packed.h"

/* What all have that are for any request. */
static const struct fields nothing;

enum { HEAD_BYTES = offsetof(struct cached, text) };

/* A copy of a list that stays as it is; null without memory. */
static const struct fields *keep(const struct fields *f)
{
	struct fields *copy;

	if (!fields_count(f))
		return &nothing;
	copy = malloc(sizeof(*copy));
	if (copy && !fields_copy(f, copy)) {
		fields_fit(copy);
		return copy;
	}
	free(copy);
	return NULL;
}

static void give_up(const struct fields *kept)
{
	struct fields *f = (struct fields *)(uintptr_t)kept;

	if (kept == &nothing)
		return;
	fields_free(f);
	free(f);
}

struct cached *cached_new(const struct cached_head *head)
{
	size_t uri_size = strlen(head->uri) + 1;
	size_t text_len = uri_size + packed_size(head->fields);
	const struct fields *selecting = keep(head->selecting);
	struct cached *c;

	if (!selecting)
		return NULL;
	c = text_len > UINT32_MAX ? NULL : malloc(HEAD_BYTES + text_len);
	if (!c) {
		give_up(selecting);
		return NULL;
	}
	memset(c, 0, HEAD_BYTES);
	c->freshness = *head->freshness;
	c->selecting = selecting;
	c->body_fd = -1;
	c->refs = 1;
	c->text_len = (uint32_t)text_len;
	c->status = (uint16_t)head->status;
	memcpy(c->text, head->uri, uri_size);
	packed_write(head->fields, c->text + uri_size);
	return c;
}

size_t cached_memory(const struct cached *c)
{
	return HEAD_BYTES + c->text_len + fields_fitted(c->selecting);
}

size_t cached_memory_of(const char *uri, const struct fields *fields)
{
	return HEAD_BYTES + strlen(uri) + 1 + packed_size(fields);
}

const char *cached_uri(const struct cached *c)
{
	return c->text;
}

int cached_fields(const struct cached *c, struct fields *f)
{
	size_t uri_size = strlen(c->text) + 1;

	return packed_open(c->text + uri_size, c->text_len - uri_size, f);
}

struct cached *cached_ref(struct cached *c)
{
	__atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
	return c;
}

void cached_unref(struct cached **c)
{
	struct cached *gone = *c;

	*c = NULL;
	if (!gone || __atomic_sub_fetch(&gone->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (gone->body_of)
		cached_unref(&gone->body_of);
	else if (gone->body_fd >= 0)
		close(gone->body_fd);
	else
		free(gone->body);
	give_up(gone->selecting);
	free(gone);
}
