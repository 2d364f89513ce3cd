/*
 * A stored response and its users, in any thread.
 */
#include "digestd/disk/cached.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/http/packed.h"
#include "digestd/http/slices.h"
#include "digestd/http/tags.h"
#include "digestd/os/body_memory.h"
#include "digestd/os/memory.h"

enum {
	HEAD_BYTES = offsetof(struct cached, tail),
	STATUS_MAX = 1023, /* three digits, in 10 bits */
	PACKED_BYTES = 1024, /* most lists are packed in one pass */
	LINE_BYTES = 64,
	PREFETCH_BYTES = 2048, /* the processor goes on by itself */
};

_Static_assert(HEAD_BYTES <= 72, "each object has one");

/* Bytes of the tail before the text. */
static size_t cached_extra_bytes(bool for_disk, bool varies)
{
	return (for_disk ? sizeof(struct cached_disk) : 0) +
	       (varies ? sizeof(struct fields) : 0);
}

static char *cached_text_of(const struct cached *c)
{
	return (char *)(uintptr_t)c->tail +
	       cached_extra_bytes(c->for_disk, c->varies);
}

/* The fields that select it, if it varies. */
static struct fields *cached_selecting_of(const struct cached *c)
{
	return (struct fields *)((uintptr_t)c->tail +
				 cached_extra_bytes(c->for_disk, false));
}

/* Room for one, with nothing in it but what says how it is laid out. */
static struct cached *cached_make(const struct cached_head *head,
				  size_t text_len)
{
	bool varies = fields_count(head->selecting);
	size_t size = HEAD_BYTES + cached_extra_bytes(head->for_disk, varies);
	struct cached *c;

	if (text_len > CACHED_TEXT_MAX)
		return NULL;
	c = malloc(size + text_len);
	if (!c)
		return NULL;
	memset(c, 0, size);
	c->for_disk = head->for_disk;
	c->varies = varies;
	c->text_len = (uint32_t)text_len & CACHED_TEXT_MAX;
	return c;
}

/* What is not its text. Frees it, and returns null, without memory. */
static struct cached *cached_set_head(struct cached *c,
				      const struct cached_head *head)
{
	if (c->varies) {
		if (fields_copy(head->selecting, cached_selecting_of(c))) {
			free(c);
			return NULL;
		}
		fields_fit(cached_selecting_of(c));
	}
	c->freshness = *head->freshness;
	c->refs = 1;
	c->status = head->status & STATUS_MAX;
	return c;
}

/* What follows the URI, of a text that is good; *len is of that. */
static const char *cached_text_fields(const char *text, size_t *len)
{
	const size_t uri_size = strlen(text) + 1;

	*len -= uri_size;
	return text + uri_size;
}

enum cached_origin cached_text_origin(const char *text, size_t len)
{
	const char *line = cached_text_fields(text, &len), *next;

	if (packed_begins_with(line, len, slices_field)) {
		/* a byte, and two texts: that line is before */
		next = line + 1 + strlen(slices_field) + 1;
		next += strlen(next) + 1;
		len -= (size_t)(next - line);
		line = next;
	}
	if (packed_begins_with(line, len, tags_source_field))
		return CACHED_FROM_PEER;
	return packed_begins_with(line, len, tags_from_field)
		       ? CACHED_BY_PEER : CACHED_FROM_ORIGIN;
}

/* Whether it is the head of a large object, and where it came from, now that
 * its text is there. */
static void cached_find_record(struct cached *c)
{
	const char *text = cached_text_of(c);
	const enum cached_origin from = cached_text_origin(text, c->text_len);
	size_t len = c->text_len;
	const char *fields = cached_text_fields(text, &len);

	c->sliced = packed_begins_with(fields, len, slices_field);
	c->from_peer = from != CACHED_FROM_ORIGIN;
	c->unvouched = from == CACHED_FROM_PEER;
}

struct cached *cached_new(const struct cached_head *head)
{
	size_t uri_size = strlen(head->uri) + 1;
	char packed[PACKED_BYTES];
	size_t size = packed_write(head->fields, packed, sizeof(packed));
	struct cached *c = cached_make(head, uri_size + size);

	c = c ? cached_set_head(c, head) : NULL;
	if (!c)
		return NULL;
	memcpy(cached_text_of(c), head->uri, uri_size);
	if (size <= sizeof(packed))
		memcpy(cached_text_of(c) + uri_size, packed, size);
	else
		packed_write(head->fields, cached_text_of(c) + uri_size, size);
	cached_find_record(c);
	return c;
}

bool cached_text_is_good(const char *text, size_t len)
{
	const char *nul = memchr(text, 0, len);

	return nul && packed_is_good(nul + 1, len - (size_t)(nul + 1 - text));
}

struct cached *cached_new_from(const struct cached_head *head, const char *text,
			       size_t len)
{
	struct cached *c;

	assert(cached_text_is_good(text, len));
	c = cached_make(head, len);
	c = c ? cached_set_head(c, head) : NULL;
	if (!c)
		return NULL;
	memcpy(cached_text_of(c), text, len);
	cached_find_record(c);
	return c;
}

const char *cached_text(const struct cached *c, size_t *len)
{
	*len = c->text_len;
	return cached_text_of(c);
}

static void disk_cached_set_body(struct cached *c, enum cached_body is,
				 uint64_t len)
{
	assert(len <= CACHED_BODY_MAX);
	c->body_is = is & 3;
	c->body_len = len & CACHED_BODY_MAX;
}

/* What the ledger has of one with a body of its own in memory. */
static int64_t cached_counted_bytes(const struct cached *c)
{
	return (int64_t)(cached_memory(c) + c->body_len);
}

void cached_set_body(struct cached *c, char *bytes, uint64_t len)
{
	assert(c->body_is == CACHED_BODY_OWN && !c->body.own);
	assert(len <= CACHED_BODY_MAX);
	body_memory_seal(bytes);
	c->body.own = bytes;
	disk_cached_set_body(c, CACHED_BODY_OWN, len);
	if (bytes)
		memory_count_object(cached_counted_bytes(c));
}

void cached_set_file(struct cached *c, struct cached_file *file, uint64_t len)
{
	assert(c->body_is == CACHED_BODY_OWN && !c->body.own);
	assert(file->fd >= 0);
	c->body.file = file;
	disk_cached_set_body(c, CACHED_BODY_FILE, len);
}

struct cached *cached_shares(const struct cached *c)
{
	return c->body_is == CACHED_BODY_SHARED ? c->body.shared : NULL;
}

void cached_share_body(struct cached *c, struct cached *of)
{
	struct cached *shared = cached_shares(of);

	assert(c != of);
	assert(c->body_is == CACHED_BODY_OWN && !c->body.own);
	c->body.shared = cached_ref(shared ? shared : of);
	disk_cached_set_body(c, CACHED_BODY_SHARED, of->body_len);
}

/* The one that a body belongs to. */
static const struct cached *cached_holder(const struct cached *c)
{
	const struct cached *shared = cached_shares(c);

	return shared ? shared : c;
}

const char *cached_body(const struct cached *c)
{
	c = cached_holder(c);
	return c->body_is == CACHED_BODY_OWN ? c->body.own : NULL;
}

void cached_prefetch_body(const struct cached *c)
{
	uint64_t len = c->body_len < PREFETCH_BYTES ? c->body_len :
						      PREFETCH_BYTES;

	if (c->body_is != CACHED_BODY_OWN || !c->body.own)
		return;
	/* by twos: half of what this costs is its loop */
	for (uint64_t i = 0; i < len; i += 2 * LINE_BYTES) {
		__builtin_prefetch(c->body.own + i);
		__builtin_prefetch(c->body.own + i + LINE_BYTES);
	}
}

const struct cached_file *cached_file(const struct cached *c)
{
	c = cached_holder(c);
	return c->body_is == CACHED_BODY_FILE ? c->body.file : NULL;
}

size_t cached_memory(const struct cached *c)
{
	return HEAD_BYTES + cached_extra_bytes(c->for_disk, c->varies) +
	       c->text_len + fields_fitted(cached_selecting(c));
}

const char *cached_uri(const struct cached *c)
{
	return cached_text_of(c);
}

const struct fields *cached_selecting(const struct cached *c)
{
	return c->varies ? cached_selecting_of(c) : &fields_none;
}

struct cached_disk *cached_disk(struct cached *c)
{
	return c->for_disk ? (struct cached_disk *)(uintptr_t)c->tail : NULL;
}

const char *cached_packed(const struct cached *c, size_t *len)
{
	const char *text = cached_text_of(c);
	const size_t uri_size = strlen(text) + 1;

	*len = c->text_len - uri_size;
	return text + uri_size;
}

int cached_fields(const struct cached *c, struct fields *f)
{
	size_t len;
	const char *packed = cached_packed(c, &len);

	return packed_open(packed, len, f);
}

struct cached *cached_ref(struct cached *c)
{
	unsigned before = __atomic_fetch_add(&c->refs, 1, __ATOMIC_RELAXED);

	assert(before);
	return c;
}

static void cached_free_body(struct cached *c)
{
	switch ((enum cached_body)c->body_is) {
	case CACHED_BODY_OWN:
		if (c->body.own)
			memory_count_object(-cached_counted_bytes(c));
		body_memory_free(c->body.own);
		break;
	case CACHED_BODY_FILE:
		close(c->body.file->fd);
		free(c->body.file);
		break;
	case CACHED_BODY_SHARED:
		cached_unref(&c->body.shared);
		break;
	}
}

void cached_release(struct cached *c)
{
	if (__atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL))
		return;
	cached_free_body(c);
	if (c->varies)
		fields_free(cached_selecting_of(c));
	free(c);
}
