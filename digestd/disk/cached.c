/*
 * A stored response and its users, in any thread.
 */
#include "digestd/disk/cached.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/core/packed.h"

/* What all have that are for any request. */
static const struct fields nothing;

enum {
	HEAD_BYTES = offsetof(struct cached, text),
	STATUS_MAX = 1023, /* three digits, in 10 bits */
};

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
	c = text_len > CACHED_TEXT_MAX ? NULL : malloc(HEAD_BYTES + text_len);
	if (!c) {
		give_up(selecting);
		return NULL;
	}
	memset(c, 0, HEAD_BYTES);
	c->freshness = *head->freshness;
	c->selecting = selecting;
	c->refs = 1;
	c->text_len = (uint32_t)text_len & CACHED_TEXT_MAX;
	c->status = head->status & STATUS_MAX;
	memcpy(c->text, head->uri, uri_size);
	packed_write(head->fields, c->text + uri_size);
	return c;
}

static void set_body(struct cached *c, enum cached_body is, uint64_t len)
{
	assert(len <= CACHED_BODY_MAX);
	c->body_is = is & 3;
	c->body_len = len & CACHED_BODY_MAX;
}

void cached_set_body(struct cached *c, char *bytes, uint64_t len)
{
	c->body.own = bytes;
	set_body(c, CACHED_BODY_OWN, len);
}

void cached_set_file(struct cached *c, int fd, uint64_t len)
{
	c->body.file = fd;
	set_body(c, CACHED_BODY_FILE, len);
}

/* The one that a body belongs to. */
static const struct cached *holder(const struct cached *c)
{
	return c->body_is == CACHED_BODY_SHARED ? c->body.shared : c;
}

void cached_share_body(struct cached *c, struct cached *of)
{
	if (of->body_is == CACHED_BODY_SHARED)
		of = of->body.shared;
	c->body.shared = cached_ref(of);
	set_body(c, CACHED_BODY_SHARED, of->body_len);
}

const char *cached_body(const struct cached *c)
{
	c = holder(c);
	return c->body_is == CACHED_BODY_OWN ? c->body.own : NULL;
}

int cached_file(const struct cached *c)
{
	c = holder(c);
	return c->body_is == CACHED_BODY_FILE ? c->body.file : -1;
}

const struct cached *cached_shares(const struct cached *c)
{
	return c->body_is == CACHED_BODY_SHARED ? c->body.shared : NULL;
}

size_t cached_memory(const struct cached *c)
{
	return HEAD_BYTES + c->text_len + fields_fitted(c->selecting);
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

static void free_body(struct cached *c)
{
	switch ((enum cached_body)c->body_is) {
	case CACHED_BODY_OWN:
		free(c->body.own);
		break;
	case CACHED_BODY_FILE:
		close(c->body.file);
		break;
	case CACHED_BODY_SHARED:
		cached_unref(&c->body.shared);
		break;
	}
}

void cached_unref(struct cached **c)
{
	struct cached *gone = *c;

	*c = NULL;
	if (!gone || __atomic_sub_fetch(&gone->refs, 1, __ATOMIC_ACQ_REL))
		return;
	free_body(gone);
	give_up(gone->selecting);
	free(gone);
}
