/*
 * The exact directory: a summary is the list of the objects' MD5 hashes, 16
 * bytes each, an update the list of those that came or went.
 *
 * A row of a view is an object.
 */
#include <string.h>

#include "cachesim/protocol/flips.h"
#include "cachesim/protocol/rows.h"

enum { HASH_BYTES = 16 };

struct directory {
	struct protocol_state base;
	struct flip_views views;
	uint64_t listed[PROTOCOL_MAX_PROXIES]; /* objects, as published */
};

static int directory_init(struct protocol_state *s)
{
	return flip_views_init(&((struct directory *)s)->views, &s->config,
			       s->config.nobjects);
}

static void directory_release(struct protocol_state *s)
{
	flip_views_free(&((struct directory *)s)->views);
}

static uint64_t directory_candidates(struct protocol_state *s, unsigned view,
				     uint32_t object, unsigned word)
{
	return masks_get(&((struct directory *)s)->views.view[view], object, 0,
			 word);
}

static void directory_prefetch(struct protocol_state *s, unsigned view,
			       uint32_t object)
{
	masks_prefetch(&((struct directory *)s)->views.view[view], object);
}

static int directory_publish(struct protocol_state *s, unsigned proxy,
			     const struct protocol_changes *c,
			     struct protocol_publication **out)
{
	struct directory *d = (struct directory *)s;
	struct flips *f = flips_new(proxy, NULL, c->nadded + c->nremoved);

	if (!f)
		return SCD_ENOMEM;
	if (c->nadded)
		memcpy(f->at, c->added, c->nadded * sizeof(f->at[0]));
	if (c->nremoved)
		memcpy(f->at + c->nadded, c->removed,
		       c->nremoved * sizeof(f->at[0]));
	d->listed[proxy] += c->nadded - c->nremoved;
	f->base.wire = f->n * HASH_BYTES;
	f->base.whole = d->listed[proxy] * HASH_BYTES;
	f->base.raw[0] = f->base.whole;
	f->base.raw[1] = f->base.wire;
	*out = &f->base;
	return 0;
}

static int directory_deliver(struct protocol_state *s, unsigned view,
			     struct protocol_publication *p)
{
	flips_deliver(&((struct directory *)s)->views.view[view], p);
	return 0;
}

static int directory_unpack(struct protocol_state *s,
			    const struct protocol_publication *head,
			    const uint8_t *in, size_t len,
			    struct protocol_publication **out)
{
	((struct directory *)s)->listed[head->proxy] = head->whole / HASH_BYTES;
	return flips_unpack(s, head, in, len, out);
}

static void directory_memory(const struct protocol_state *s, unsigned proxy,
			     uint64_t *peers, uint64_t *own)
{
	const struct directory *d = (const struct directory *)s;

	*peers = *own = 0;
	for (unsigned i = 0; i < s->config.nproxies; i++)
		*(i == proxy ? own : peers) += d->listed[i] * HASH_BYTES;
}

const struct protocol protocol_directory = {
	.name = "directory",
	.about = "the exact list of the peers' objects",
	.way = PROTOCOL_SUMMARY,
	.by_query = true,
	.sizes = {.query = 70, .reply = 70, .fetch = 600, .update = 20},
	.size = sizeof(struct directory),
	.init = directory_init,
	.release = directory_release,
	.candidates = directory_candidates,
	.prefetch = directory_prefetch,
	.publish = directory_publish,
	.deliver = directory_deliver,
	.pack = flips_pack,
	.unpack = directory_unpack,
	.discard = flips_discard,
	.memory = directory_memory,
};
