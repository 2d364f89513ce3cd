/*
 * Two open-addressing tables with linear probing; the keys are hashes already.
 */
#include "cachesim/trace/stats.h"

#include <stdlib.h>

#include "cachesim/trace/cacheable.h"

enum { FIRST_SLOTS = 1024 };

struct slot {
	uint64_t key, size, count; /* count 0: empty */
};

struct table {
	struct slot *slot;
	size_t slots, used; /* slots is a power of two */
};

struct trace_stats {
	struct table objects, clients;
	uint64_t uncacheable_bytes;
	struct trace_totals totals; /* what is counted as requests come */
};

static struct slot *stats_find(const struct table *t, uint64_t key)
{
	/* keys of integer traces are not scattered: multiply first */
	size_t at = (size_t)((key * 0x9e3779b97f4a7c15u) >> 17);

	while (t->slot[at & (t->slots - 1)].count &&
	       t->slot[at & (t->slots - 1)].key != key)
		at++;
	return &t->slot[at & (t->slots - 1)];
}

static int stats_grow(struct table *t)
{
	struct table next = { NULL, t->slots ? t->slots * 2 : FIRST_SLOTS,
			      t->used };

	next.slot = calloc(next.slots, sizeof(*next.slot));
	if (!next.slot)
		return TRACE_ENOMEM;
	for (size_t i = 0; i < t->slots; i++)
		if (t->slot[i].count)
			*stats_find(&next, t->slot[i].key) = t->slot[i];
	free(t->slot);
	*t = next;
	return 0;
}

/* Has room for one key more. */
static int stats_reserve(struct table *t)
{
	return 4 * (t->used + 1) > 3 * t->slots ? stats_grow(t) : 0;
}

static void stats_count(struct table *t, uint64_t key, uint64_t size)
{
	struct slot *s = stats_find(t, key);

	if (s->count == 0)
		t->used++;
	s->key = key;
	s->count++;
	if (size > s->size)
		s->size = size;
}

int trace_stats_new(struct trace_stats **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : TRACE_ENOMEM;
}

int trace_stats_add(struct trace_stats *s, const struct trace_request *req)
{
	struct trace_totals *t = &s->totals;
	const bool stays = trace_cacheable_class(req->method, req->status) ==
			   TRACE_CACHEABLE;

	if (stats_reserve(&s->objects) || stats_reserve(&s->clients))
		return TRACE_ENOMEM;
	if (stays)
		stats_count(&s->objects, req->key, req->size);
	if (req->client)
		stats_count(&s->clients, req->client, 0);
	t->uncacheable += !stays;
	s->uncacheable_bytes += stays ? 0 : req->size;
	if (t->requests == 0 || req->time_ms < t->first_ms)
		t->first_ms = req->time_ms;
	if (t->requests == 0 || req->time_ms > t->last_ms)
		t->last_ms = req->time_ms;
	t->requests++;
	t->bytes += req->size;
	return 0;
}

void trace_stats_totals(const struct trace_stats *s, struct trace_totals *out)
{
	uint64_t missed;

	*out = s->totals;
	out->objects = s->objects.used;
	out->clients = s->clients.used;
	for (size_t i = 0; i < s->objects.slots; i++) {
		out->unique_bytes += s->objects.slot[i].size;
		out->one_hit += s->objects.slot[i].count == 1;
	}
	if (out->requests)
		out->hit_ratio = 1 - (double)(out->objects + out->uncacheable) /
					     (double)out->requests;
	missed = out->unique_bytes + s->uncacheable_bytes;
	if (out->bytes > missed)
		out->byte_hit_ratio =
			1 - (double)missed / (double)out->bytes;
}

void trace_stats_free(struct trace_stats **s)
{
	if (!*s)
		return;
	free((*s)->objects.slot);
	free((*s)->clients.slot);
	free(*s);
	*s = NULL;
}
