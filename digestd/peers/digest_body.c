/*
 * Digests on their way in.
 */
#include "digestd/peers/digest_body.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/peers/peer_kind.h"

enum { FIRST_BYTES = 4096 };

static int digest_body_append(struct digest_body *b, const uint8_t *bytes,
			      size_t len)
{
	size_t cap = b->cap ? b->cap : FIRST_BYTES;
	uint8_t *larger;

	while (cap < b->len + len)
		cap *= 2;
	if (cap > b->cap) {
		larger = realloc(b->bytes, cap);
		if (!larger)
			return SCD_ENOMEM;
		b->bytes = larger;
		b->cap = cap;
	}
	memcpy(b->bytes + b->len, bytes, len);
	b->len += len;
	return SCD_OK;
}

int digest_body_add(struct digest_body *b, const struct digest_expected *e,
		    const void *bytes, size_t len)
{
	const uint8_t *from = bytes;
	int error = SCD_OK;

	assert(e->kind && e->limits && (bytes || !len));
	assert(b->len <= b->cap);
	if (!b->most && e->kind->bound)
		b->most = e->kind->bound(e);
	if (!b->most && len) {
		size_t left = e->kind->header_bytes - b->len;
		size_t n = len < left ? len : left;

		error = digest_body_append(b, from, n);
		if (error || n < left)
			return error;
		error = e->kind->judge(e, b->bytes, &b->most);
		from += n;
		len -= n;
	}
	if (!error && len > b->most - b->len)
		error = SCD_EFORMAT;
	return error || !len ? error : digest_body_append(b, from, len);
}

int digest_body_split(struct digest_body *b, size_t n, struct digest_body *out)
{
	struct digest_body rest = { .most = b->most };
	int error = SCD_OK;

	assert(n <= b->len);
	if (n < b->len)
		error = digest_body_append(&rest, b->bytes + n, b->len - n);
	if (error)
		return error;
	*out = *b;
	out->len = n;
	*b = rest;
	return SCD_OK;
}

void digest_body_free(struct digest_body *b)
{
	free(b->bytes);
	*b = (struct digest_body){0};
}
