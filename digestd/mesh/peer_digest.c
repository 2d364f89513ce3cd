/*
 * Digests received.
 */
#include "digestd/mesh/peer_digest.h"

#include <assert.h>
#include <stdlib.h>

#include "codec/delta.h"

struct peer_digest *peer_digest_take(struct scd_bloom *bloom)
{
	struct peer_digest *d = calloc(1, sizeof(*d));

	if (!d) {
		scd_bloom_free(bloom);
		return NULL;
	}
	atomic_init(&d->users, 1);
	d->bloom = *bloom;
	d->fp = scd_bloom_fp(bloom);
	*bloom = (struct scd_bloom){ 0 };
	return d;
}

struct peer_digest *peer_digest_ref(struct peer_digest *d)
{
	unsigned users = atomic_fetch_add_explicit(&d->users, 1,
						   memory_order_relaxed);

	assert(users);
	return d;
}

void peer_digest_unref(struct peer_digest *d)
{
	if (!d || atomic_fetch_sub_explicit(&d->users, 1,
					    memory_order_acq_rel) != 1)
		return;
	scd_bloom_free(&d->bloom);
	free(d);
}

int peer_digest_take_as(struct scd_bloom *bloom,
			const struct scd_digest_info *info,
			struct peer_digest **out)
{
	struct peer_digest *d = peer_digest_take(bloom);

	if (!d)
		return SCD_ENOMEM;
	d->instance = info->instance;
	d->generation = info->generation;
	d->nkeys = info->nkeys;
	*out = d;
	return SCD_OK;
}

static int peer_digest_decode(const struct peer_digest_bytes *in,
			      struct scd_digest_info *info,
			      struct scd_bloom *bloom)
{
	struct scd_base base = { 0 };

	if (!in->base)
		return scd_digest_decode(in->at, in->len, in->limits, info,
					 bloom);
	base.bloom = &in->base->bloom;
	base.instance = in->base->instance;
	base.generation = in->base->generation;
	return scd_delta_apply(in->at, in->len, in->limits, &base, info, bloom);
}

int peer_digest_read(const struct peer_digest_bytes *in,
		     struct scd_digest_info *info, struct peer_digest **out)
{
	struct scd_bloom bloom;
	int error = peer_digest_decode(in, info, &bloom);

	return error ? error : peer_digest_take_as(&bloom, info, out);
}
