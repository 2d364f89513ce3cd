/*
 * Server names: a summary is the list of the servers of which a proxy has
 * some object, 16 bytes each; an update the list of those that came or went.
 * Small, and wrong about most objects.
 *
 * A row of a view is a server.
 * Source: Fan et al., "Summary Cache", 2000, section V-B.
 */
#include "cachesim/protocol/flips.h"
#include "cachesim/protocol/rows.h"

enum { HASH_BYTES = 16 };

/* One proxy's list. */
struct list {
	uint32_t *objects; /* of each server, that the proxy has */
	uint8_t *told;     /* of each server: it is on the list */
	uint64_t n;        /* servers on the list */
};

struct servernames {
	struct protocol_state base;
	struct flip_views views;
	struct list list[PROTOCOL_MAX_PROXIES];
};

static int servernames_init(struct protocol_state *s)
{
	struct servernames *n = (struct servernames *)s;
	size_t servers = s->config.nservers + (size_t)1;

	for (unsigned i = 0; i < s->config.nproxies; i++) {
		struct list *l = &n->list[i];

		l->objects = calloc(servers, sizeof(l->objects[0]));
		l->told = calloc(servers, 1);
		if (!l->objects || !l->told)
			return SCD_ENOMEM;
	}
	return flip_views_init(&n->views, &s->config, servers);
}

static void servernames_release(struct protocol_state *s)
{
	struct servernames *n = (struct servernames *)s;

	for (unsigned i = 0; i < s->config.nproxies; i++) {
		free(n->list[i].objects);
		free(n->list[i].told);
	}
	flip_views_free(&n->views);
}

static uint64_t servernames_candidates(struct protocol_state *s, unsigned view,
				       uint32_t object, unsigned word)
{
	const struct servernames *n = (const struct servernames *)s;

	return masks_get(&n->views.view[view], s->config.server[object], 0,
			 word);
}

/* Puts the servers of some objects on the list that are to be there, and takes
 * off those that are not; those where that changed something are added to f. */
static void servernames_update(struct list *l, const uint32_t *server,
			       const struct protocol_changes *c,
			       struct flips *f)
{
	for (size_t i = 0; i < c->nadded + c->nremoved; i++) {
		uint32_t o = i < c->nadded ? c->added[i]
					   : c->removed[i - c->nadded];
		bool has = l->objects[server[o]] > 0;

		if (has == l->told[server[o]])
			continue;
		l->told[server[o]] = has;
		l->n += has ? 1 : UINT64_MAX;
		f->at[f->n++] = server[o];
	}
}

static int servernames_publish(struct protocol_state *s, unsigned proxy,
			       const struct protocol_changes *c,
			       struct protocol_publication **out)
{
	struct list *l = &((struct servernames *)s)->list[proxy];
	struct flips *f = flips_new(proxy, NULL, c->nadded + c->nremoved);

	*out = NULL;
	if (!f)
		return SCD_ENOMEM;
	f->n = 0;
	for (size_t i = 0; i < c->nadded; i++)
		l->objects[s->config.server[c->added[i]]]++;
	for (size_t i = 0; i < c->nremoved; i++)
		l->objects[s->config.server[c->removed[i]]]--;
	servernames_update(l, s->config.server, c, f);
	if (f->n == 0) {
		free(f);
		return 0;
	}
	f->base.changes = f->n;
	f->base.wire = f->n * HASH_BYTES;
	f->base.whole = l->n * HASH_BYTES;
	f->base.raw[0] = f->base.whole;
	f->base.raw[1] = f->base.wire;
	*out = &f->base;
	return 0;
}

static int servernames_deliver(struct protocol_state *s, unsigned view,
			       struct protocol_publication *p)
{
	flips_deliver(&((struct servernames *)s)->views.view[view], p);
	return 0;
}

static int servernames_unpack(struct protocol_state *s,
			      const struct protocol_publication *head,
			      const uint8_t *in, size_t len,
			      struct protocol_publication **out)
{
	struct list *l = &((struct servernames *)s)->list[head->proxy];

	l->n = head->whole / HASH_BYTES;
	return flips_unpack(s, head, in, len, out);
}

static void servernames_memory(const struct protocol_state *s, unsigned proxy,
			       uint64_t *peers, uint64_t *own)
{
	const struct servernames *n = (const struct servernames *)s;

	*peers = *own = 0;
	for (unsigned i = 0; i < s->config.nproxies; i++)
		*(i == proxy ? own : peers) += n->list[i].n * HASH_BYTES;
}

const struct protocol protocol_servernames = {
	.name = "servernames",
	.about = "the servers of which the peers have objects",
	.way = PROTOCOL_SUMMARY,
	.servers = true,
	.by_query = true,
	.sizes = {.query = 70, .reply = 70, .fetch = 600, .update = 20},
	.size = sizeof(struct servernames),
	.init = servernames_init,
	.release = servernames_release,
	.candidates = servernames_candidates,
	.publish = servernames_publish,
	.deliver = servernames_deliver,
	.pack = flips_pack,
	.unpack = servernames_unpack,
	.discard = flips_discard,
	.memory = servernames_memory,
};
