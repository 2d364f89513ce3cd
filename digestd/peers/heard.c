/*
 * Messages of purges: read whole, then applied one section after another.
 */
#include "digestd/peers/heard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec/error.h"

enum { HEARD_FIRST_BYTES = 256 };

static void heard_step(void *arg);

struct heard *heard_new(struct heard_by *by,
			void (*done)(void *arg, struct heard *h), void *arg)
{
	struct heard *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->by = by;
	h->done = done;
	h->arg = arg;
	h->step = (struct loop_call){ .run = heard_step, .arg = h };
	h->next = by->under_way;
	h->link = &by->under_way;
	if (h->next)
		h->next->link = &h->next;
	by->under_way = h;
	return h;
}

/* Begins with the oldest message that is whole, if it is its turn. */
static void heard_apply_next(struct heard_by *by)
{
	struct heard *next = NULL;

	if (by->applying || by->stopped)
		return;
	for (struct heard *h = by->under_way; h; h = h->next)
		next = h->queued ? h : next;
	if (!next)
		return;
	next->queued = false;
	by->applying = next;
	loop_defer(by->loop, &next->step);
}

/* All of its sections have been applied, or it is given up. */
static void heard_end_turn(struct heard *h)
{
	if (h->by->applying != h)
		return;
	h->by->applying = NULL;
	heard_apply_next(h->by);
}

void heard_free(struct heard **heard)
{
	struct heard *h = *heard;

	*heard = NULL;
	if (!h)
		return;
	loop_undefer(h->by->loop, &h->step);
	cache_purge_end(h->by->cache, &h->walk);
	*h->link = h->next;
	if (h->next)
		h->next->link = h->link;
	heard_end_turn(h);
	free(h->entries);
	free(h->bytes);
	free(h);
}

int heard_add(struct heard *h, const void *bytes, size_t len)
{
	size_t cap = h->cap ? h->cap : HEARD_FIRST_BYTES;
	uint8_t *more;

	if (len > INVALIDATION_WIRE_MAX - h->len)
		return -E2BIG;
	while (cap < h->len + len)
		cap *= 2;
	if (cap > h->cap) {
		more = realloc(h->bytes, cap);
		if (!more)
			return -ENOMEM;
		h->bytes = more;
		h->cap = cap;
	}
	memcpy(h->bytes + h->len, bytes, len);
	h->len += len;
	return 0;
}

/* Applying */

static uint64_t heard_position(const struct heard *h)
{
	struct invalidation_log *log = cache_purges_lock(h->by->cache);
	uint64_t position = 0;

	for (size_t i = 0; i < invalidation_log_sources(log); i++) {
		const struct invalidation_source s =
			invalidation_log_source(log, i);

		if (s.source == h->section.source)
			position = s.position;
	}
	cache_purges_unlock(h->by->cache);
	return position;
}

/* Those of the section that are new here. If some were lost on the way there
 * is one entry for all of them, and for those that are left. */
static size_t heard_read_entries(struct heard *h)
{
	uint64_t position = heard_position(h);
	bool all = h->section.incomplete && h->section.upto > position;
	size_t n = 0;

	for (uint32_t i = 0; i < h->section.n; i++) {
		const struct invalidation_entry e =
			invalidation_read_entry(&h->message);

		if (e.seq > position && !all)
			h->entries[n++] = e;
	}
	if (all)
		h->entries[n++] = (struct invalidation_entry){
			.of.kind = INVALIDATION_ALL, .seq = h->section.upto
		};
	return n;
}

/* The section has been walked for. */
static void heard_end_section(struct heard *h)
{
	const struct invalidation_position upto = { h->section.source,
						    h->section.upto };
	const struct invalidation_position floor = { h->section.source,
						     h->section.floor };
	struct invalidation_log *log;

	h->removed += h->walk.removed;
	cache_purge_end(h->by->cache, &h->walk);
	log = cache_purges_lock(h->by->cache);
	invalidation_log_hear_floor(log, &floor, upto.seq);
	invalidation_log_reach(log, &upto);
	cache_purges_unlock(h->by->cache);
}

static void heard_on_synced(void *arg)
{
	struct heard *h = arg;

	if (h->arg)
		h->done(h->arg, h);
	heard_free(&h);
}

static void heard_sync(struct heard *h)
{
	h->sync.loop = h->by->loop;
	h->sync.call = (struct loop_call){ .run = heard_on_synced, .arg = h };
	heard_end_turn(h); /* several may be on their way to the disk */
	if (!cache_sync(h->by->cache, &h->sync))
		heard_on_synced(h);
}

/* What this node has numbered itself comes back from peers; it has that. */
static bool heard_is_own(const struct heard *h)
{
	struct invalidation_log *log = cache_purges_lock(h->by->cache);
	bool own = invalidation_log_source(log, 0).source == h->section.source;

	cache_purges_unlock(h->by->cache);
	return own;
}

/* The next section, or the end. */
static void heard_next(struct heard *h)
{
	struct cache_purge purge = { .now_s = loop_steady_s(h->by->loop) };

	for (;;) {
		if (!invalidation_read_section(&h->message, &h->section)) {
			heard_sync(h);
			return;
		}
		purge.n = heard_read_entries(h);
		if (heard_is_own(h))
			continue;
		purge.entries = h->entries;
		purge.source = h->section.source;
		cache_purge_begin(h->by->cache, &purge, &h->walk);
		if (h->walk.walks) {
			h->part = (struct keypart){
				.count = cache_parts(h->by->cache)
			};
			loop_defer(h->by->loop, &h->step);
			return;
		}
		heard_end_section(h);
	}
}

/* A part of a walk. */
static void heard_step(void *arg)
{
	struct heard *h = arg;

	if (!h->walk.walks) {
		heard_next(h);
		return;
	}
	cache_purge_part(h->by->cache, &h->walk, &h->part);
	if (++h->part.number < h->part.count) {
		loop_defer(h->by->loop, &h->step);
		return;
	}
	heard_end_section(h);
	heard_next(h);
}

static uint64_t heard_first(const struct heard *h)
{
	struct invalidation_message m = h->message;
	struct invalidation_section s;

	return invalidation_read_section(&m, &s) ? s.source : 0;
}

int heard_apply(struct heard *h)
{
	int err = h->bytes ? invalidation_read(h->bytes, h->len, h->by->secret,
					       &h->message) :
			     SCD_EFORMAT;

	if (err)
		return err;
	h->entries = calloc(h->len / INVALIDATION_WIRE_ENTRY_BYTES + 1,
			    sizeof(*h->entries));
	if (!h->entries)
		return SCD_ENOMEM;
	h->first = heard_first(h);
	h->queued = true;
	heard_apply_next(h->by); /* done() is never called here */
	return 0;
}

void heard_stop(struct heard_by *by)
{
	by->stopped = true;
	for (struct heard *h = by->under_way; h; h = h->next) {
		loop_undefer(by->loop, &h->step);
		cache_sync_wait(by->cache, &h->sync);
		h->arg = NULL;
	}
	if (by->under_way)
		loop_turn(by->loop, 0); /* their calls */
	while (by->under_way) {
		struct heard *h = by->under_way;

		heard_free(&h);
	}
}
