/*
 * Digests received.
 */
#include "digestd/mesh/peer_digest.h"

#include <assert.h>
#include <stdlib.h>

#include "codec/delta.h"

enum {
	LEAST_AGED = 1024, /* entries: fewer are not worth the asking */
	AGED_SHARE = 4,    /* of the entries: when so many have gone */
};

struct peer_digest *peer_digest_take(struct scd_bloom *bloom)
{
	struct peer_digest *d = calloc(1, sizeof(*d));

	if (!d) {
		scd_bloom_free(bloom);
		return NULL;
	}
	atomic_init(&d->users, 1);
	d->bloom = *bloom;
	d->fill = scd_bloom_fill(bloom);
	d->fp = 1; /* scd_bloom_fp() would count the bits once more */
	for (unsigned i = 0; i < bloom->nhash; i++)
		d->fp *= d->fill;
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
	const struct scd_work work = { .threads = in->threads };
	struct scd_base base = { 0 };

	if (!in->base)
		return scd_digest_decode_with(in->at, in->len, in->limits,
					      &work, info, bloom);
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

size_t peer_digest_memory(const struct peer_digest *d)
{
	return d->bloom.bits ? scd_bloom_bytes(&d->bloom) : 0;
}

bool peer_digest_wants_ages(const struct peer_digest *d)
{
	return !d->has_ages && d->nkeys >= LEAST_AGED &&
	       d->gone >= d->nkeys / AGED_SHARE;
}

/* What is known of the list that a slot has, of which so many entries have
 * gone. */
static int peer_digest_of_list(const struct peer_slot *slot, uint64_t gone,
			       struct scd_digest_info *info,
			       struct peer_digest **out)
{
	struct peer_digest *d = calloc(1, sizeof(*d));

	if (!d)
		return SCD_ENOMEM;
	scd_list_info(peer_table_list(slot), info);
	atomic_init(&d->users, 1);
	d->bloom.nbits = info->nbits;
	d->bloom.nhash = info->nhash;
	d->bloom.hashing = info->hashing;
	d->slot = *slot;
	d->instance = info->instance;
	d->generation = info->generation;
	d->nkeys = info->nkeys;
	d->gone = gone;
	d->has_ages = scd_list_has_ages(peer_table_list(slot));
	d->fp = peer_table_fp(slot);
	*out = d;
	return SCD_OK;
}

int peer_digest_read_list(const struct peer_digest_bytes *in,
			  const struct peer_slot *slot,
			  struct scd_digest_info *info,
			  struct peer_digest **out)
{
	struct scd_list *list;
	int error = scd_list_decode(in->at, in->len, in->limits, NULL, &list);

	if (!error)
		error = peer_table_set(slot, list);
	return error ? error : peer_digest_of_list(slot, 0, info, out);
}

/* Applies the first of some frames. *used: its length; *gone grows by the
 * entries that go. */
static int peer_digest_apply_frame(const struct peer_digest_bytes *in,
				   size_t at, size_t *used, uint64_t *gone)
{
	const struct peer_slot *slot = &in->base->slot;
	struct scd_list_change change;
	uint64_t generation;
	int error;

	if (in->at[at] == SCD_LIST_FRAME_AGES)
		return peer_table_set_ages(slot, in->at + at, in->len - at,
					   used);
	error = scd_list_frame_decode(in->at + at, in->len - at, in->limits,
				      peer_table_list(slot), used, &generation,
				      &change);
	if (error)
		return error;
	*gone += change.nremoved;
	error = peer_table_change(slot, &change, generation);
	scd_list_change_free(&change);
	return error;
}

/* Whether the list that is there is still the one of the base. */
static bool peer_digest_is_base(const struct peer_digest *base)
{
	const struct scd_list *list = peer_table_list(&base->slot);
	struct scd_digest_info info;

	if (!list)
		return false;
	scd_list_info(list, &info);
	return info.instance == base->instance &&
	       info.generation == base->generation;
}

int peer_digest_read_frames(const struct peer_digest_bytes *in,
			    struct scd_digest_info *info,
			    struct peer_digest **out)
{
	int error = peer_digest_is_base(in->base) ? SCD_OK : SCD_EBASE;
	uint64_t gone = in->base->gone;
	size_t used;

	if (!error && !in->len)
		error = SCD_ETRUNC;
	for (size_t at = 0; !error && at < in->len; at += used)
		error = peer_digest_apply_frame(in, at, &used, &gone);
	return error ? error
		     : peer_digest_of_list(&in->base->slot, gone, info, out);
}
