/*
 * The digests of sectors (mesh/sector_digest.h), made when they are asked for.
 */
#include "codec/error.h"
#include "digestd/mesh/sector_digest.h"
#include "digestd/peers/digest_api_inside.h"

/* The generation of this instance that who asks has; 0: none. */
static uint64_t digest_api_sector_base(const struct digest_ask *ask,
				       uint64_t instance)
{
	for (unsigned i = 0; ask->takes_frames && i < ask->ntags; i++) {
		if (ask->tags[i].instance == instance && ask->tags[i].list)
			return ask->tags[i].generation;
	}
	return 0;
}

/* What a sector is at the current instance. SCD_EINVAL: lists are not
 * published; SCD_EBASE: nothing is, yet. */
static int digest_api_make_sector(struct digest_api *api,
				  const struct digest_request *r,
				  struct sector_digest *out)
{
	struct publication *p = digest_api_current(api);
	int error = p ? SCD_EINVAL : SCD_EBASE;

	pthread_mutex_lock(&api->sector_lock);
	if (p && api->make_sector)
		error = api->make_sector(
			api->sector_arg, &r->sector,
			digest_api_sector_base(&r->ask, p->instance), out);
	pthread_mutex_unlock(&api->sector_lock);
	publication_unref(p);
	return error;
}

static int digest_api_sector_fields(struct digest_api *api,
				    const struct exchange *x,
				    const struct sector_digest *d,
				    struct fields *f)
{
	const struct digest_tag tag = { d->instance, d->generation, true };
	const struct digest_tag base = { d->instance, d->from, true };
	char etag[DIGEST_ETAG_BYTES + 1];

	digest_tag_write(&base, etag);
	return digest_api_tagged_fields(api, x, &tag, f) ||
	       (d->blob && digest_api_add_type(true, f)) ||
	       (d->blob && d->from &&
		(fields_add(f, "IM", DIGEST_IM_FRAMES) ||
		 fields_add(f, "Delta-Base", etag)));
}

static void digest_api_count_sector(struct digest_api *api,
				    const struct sector_digest *d)
{
	struct digest_api_counters *n = &api->counters;
	const uint64_t len = d->blob ? d->blob->len : 0;

	if (!d->blob) {
		peers_digest_api_count(&n->not_modified, 1);
		return;
	}
	peers_digest_api_count(d->from ? &n->delta_sent : &n->full_sent, 1);
	peers_digest_api_count(d->from ? &n->delta_sent_bytes
				       : &n->full_sent_bytes, len);
}

void digest_api_send_sector(struct digest_api *api, struct exchange *x,
			    const struct digest_request *r)
{
	struct sector_digest d;
	struct fields f;
	int error = digest_api_make_sector(api, r, &d);

	if (error) {
		exchange_reply_error(x, error == SCD_EINVAL ? 404 : 503, NULL);
		return;
	}
	if (digest_api_sector_fields(api, x, &d, &f)) {
		blob_unref(d.blob);
		exchange_abort(x);
	} else {
		digest_api_count_sector(api, &d);
		if (d.blob)
			digest_api_send_blob(x, d.from ? 226 : 200, &f,
					     d.blob);
		else
			exchange_reply_copy(x, 304, &f, "", 0);
	}
	fields_free(&f);
}

void digest_api_make_sectors(struct digest_api *api, digest_sector_maker *make,
			     void *arg)
{
	pthread_mutex_lock(&api->sector_lock);
	api->make_sector = make;
	api->sector_arg = arg;
	pthread_mutex_unlock(&api->sector_lock);
}
