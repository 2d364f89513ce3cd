/*
 * What a response drops from the store, as node/node_keep.h decides it: what is
 * stored for its target, and for what it names, after an unsafe request; and
 * who hears of that.
 */
#include <stdlib.h>

#include "digestd/http/conditional.h"
#include "digestd/node/node_keep.h"
#include "digestd/peers/teller.h"
#include "digestd/proxy/fill.h"
#include "digestd/proxy/request.h"

/* What was invalidated. */
struct fill_dropped {
	bool any;     /* that was here */
	bool failed;  /* there was no memory to find out what to drop */
	uint64_t seq; /* the number by which peers are told; 0: they are not */
};

/* The response to this request is newer than what it invalidates. */
static void fill_invalidate_uri(struct fill *f, const char *uri,
				struct fill_dropped *dropped)
{
	struct teller *teller = f->worker->shared.teller;
	struct cache *cache = f->worker->shared.cache;
	uint64_t *asked, seq = 0;
	struct scd_key key;
	bool own, any;

	if (question_stored_key(f->q, uri, &key)) {
		dropped->failed = true;
		return;
	}
	own = key.lo == f->q->key.lo && key.hi == f->q->key.hi;
	asked = own ? &f->purges : NULL;
	any = teller && teller_tells(teller) ?
		      cache_invalidate(cache, &key, asked,
				       worker_now_s(f->worker), &seq) :
		      cache_drop(cache, &key, asked, worker_now_s(f->worker));
	worker_add(&f->worker->counters.invalidated, any);
	dropped->any |= any;
	if (seq > dropped->seq)
		dropped->seq = seq;
}

/* The reply to an unsafe request waits until peers have heard of it. One to
 * HEAD, which has only found a new version, acknowledges nothing. */
static void fill_invalidate_tell(struct fill *f,
				 const struct fill_dropped *dropped)
{
	bool waits = f->client && f->q->unsafe;

	if (waits && dropped->failed)
		request_purge_fail(f->client);
	if (waits && (dropped->any || dropped->seq))
		request_purge_tell(f->client, dropped->seq);
	else if (dropped->seq)
		teller_wake(f->worker->shared.teller);
}

/* What the fields of the response name. */
static void fill_invalidate_named(struct fill *f,
				  struct fill_dropped *dropped)
{
	static const char *const names[] = { "Location", "Content-Location" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *reference = fields_get(&f->response, names[i]);
		char *uri;

		if (reference &&
		    !target_same_origin(&f->q->target, reference, &uri)) {
			fill_invalidate_uri(f, uri, dropped);
			free(uri);
		}
	}
}

/* Whether what has come is the header of what was asked about. */
static bool fill_invalidate_is_described(const struct fill *f)
{
	struct fields stored;
	bool same;

	if (!f->q->head || !f->stale || cached_fields(f->stale, &stored))
		return false;
	same = conditional_describes(&f->response, &stored);
	fields_free(&stored);
	return same;
}

void fill_invalidate(struct fill *f)
{
	const struct node_keep_change change = {
		.status = f->status,
		.unsafe = f->q->unsafe,
		.head = f->q->head,
		.validating = f->validating,
		.same = fill_invalidate_is_described(f),
	};
	unsigned drop = node_keep_invalidates(&change);
	struct fill_dropped dropped = { .seq = 0 };

	if (f->cut) /* it is another version now */
		cache_drop(f->worker->shared.cache, &f->q->key, NULL,
			   worker_now_s(f->worker));
	if (drop & NODE_DROP_TARGET)
		fill_invalidate_uri(f, f->q->target.uri, &dropped);
	if (drop & NODE_DROP_NAMED)
		fill_invalidate_named(f, &dropped);
	fill_invalidate_tell(f, &dropped);
}
