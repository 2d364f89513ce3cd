/*
 * Digests on their way in.
 */
#include "digestd/peers/digest_body.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/mesh/peerset.h"

enum { FIRST_BYTES = 4096 };

/* Is it a delta from what is held? What a header does not show is left to
 * scd_delta_apply(). */
static int digest_body_check_base(const struct digest_expected *e,
				  const struct scd_digest_info *info)
{
	const struct peer_digest *base = e->base;

	if (!scd_digest_is_delta(info) || !base)
		return SCD_EBASE;
	if (info->instance != base->instance ||
	    info->base_generation != base->generation ||
	    info->nbits != base->bloom.nbits ||
	    info->nhash != base->bloom.nhash ||
	    info->hashing != base->bloom.hashing)
		return SCD_EBASE;
	return SCD_OK;
}

static int digest_body_judge(struct digest_body *b,
			     const struct digest_expected *e)
{
	struct scd_digest_info info;
	int error = scd_digest_judge(b->bytes, e->limits, &info);

	if (!error && e->delta)
		error = digest_body_check_base(e, &info);
	else if (!error && info.kind != SCD_FULL)
		error = SCD_EBASE;
	else if (!error && info.hashing != SCD_HASHING_DOUBLE)
		error = SCD_EMISMATCH;
	if (!error)
		b->most = SCD_DIGEST_HEADER_BYTES + (size_t)info.payload_bytes;
	return error;
}

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

	assert(e->limits && (bytes || !len));
	assert(b->len <= b->cap);
	if (!b->most && len) {
		size_t left = SCD_DIGEST_HEADER_BYTES - b->len;
		size_t n = len < left ? len : left;

		error = digest_body_append(b, from, n);
		if (error || n < left)
			return error;
		error = digest_body_judge(b, e);
		from += n;
		len -= n;
	}
	if (!error && len > b->most - b->len)
		error = SCD_EFORMAT;
	return error || !len ? error : digest_body_append(b, from, len);
}

void digest_body_free(struct digest_body *b)
{
	free(b->bytes);
	*b = (struct digest_body){0};
}
