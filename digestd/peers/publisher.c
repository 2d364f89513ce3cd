/*
 * The publisher.
 */
#include "digestd/peers/publisher.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "codec/error.h"
#include "digestd/cache/cache.h"
#include "digestd/mesh/generations.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/peers/digest_api.h"

enum {
	TICK_MS = 20, /* between two looks at a catalog that changes */
	PART_MS = 1,  /* between two parts of a rebuild, or slices of a copy */
	RETRY_MS = 60000, /* after there was no memory for a filter */
	FULL_PERCENT = 1, /* false positives from which a filter is too small */
};

/*
 * How a change of the catalog, in a worker's thread, gets to the loop. It may
 * be on its way when the publisher goes, and goes itself when it has arrived.
 */
struct publisher_wake {
	struct loop *loop;
	struct loop_call call;
	struct publisher *publisher; /* the loop's; null: it is gone */
	atomic_bool posted;
};

struct publisher {
	struct loop *loop;
	struct digest_api *api;
	struct publisher_settings settings;
	struct generations *generations;
	struct loop_timer tick;
	int64_t ticked_ms; /* the last one */
	struct publisher_wake *wake;
	struct publisher_stats stats;
	struct resize resize;
	uint64_t old_nbits; /* 0: no rebuild is under way */
	int64_t rebuild_ms; /* no new one before */
	bool copying;       /* a snapshot is under way; no rebuild goes on */
	int64_t copy_ms;    /* no new one before */
	bool warned;        /* that the filter is too small */
};

static struct catalog *publisher_lock_cache(void *arg)
{
	return cache_lock(arg);
}

static void publisher_unlock_cache(void *arg)
{
	cache_unlock(arg);
}

static int publisher_rebuild_cache(void *arg, uint64_t nbits)
{
	return cache_rebuild(arg, nbits);
}

static bool publisher_rebuild_cache_part(void *arg)
{
	return cache_rebuild_part(arg);
}

struct publisher_source publisher_of_cache(struct cache *cache)
{
	return (struct publisher_source){
		cache, publisher_lock_cache, publisher_unlock_cache,
		publisher_rebuild_cache, publisher_rebuild_cache_part};
}

static double publisher_clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Once, when the filter may not become as large as the objects need it. */
static void publisher_warn_when_full(struct publisher *p,
				     const struct catalog_stats *c)
{
	if (c->fp * 100 < FULL_PERCENT || p->warned ||
	    c->nbits < p->settings.resizing.max_bits ||
	    !resize_is_crowded(&p->settings.resizing, c))
		return;
	p->warned = true;
	log_write(LOG_WARNING, "publisher",
		  "%" PRIu64 " objects are too many for a digest of %" PRIu64
		  " bits (%.1f %% false positives): raise %s",
		  c->nkeys, c->nbits, c->fp * 100,
		  p->settings.resizing.min_bits == c->nbits ?
			  "expected_objects" :
			  "filter_max");
}

static struct catalog *publisher_lock(const struct publisher *p)
{
	return p->settings.source.lock(p->settings.source.arg);
}

static void publisher_unlock(const struct publisher *p)
{
	p->settings.source.unlock(p->settings.source.arg);
}

static void publisher_catalog_now(struct publisher *p,
				  struct catalog_stats *out)
{
	catalog_stats(publisher_lock(p), out);
	publisher_unlock(p);
}

/* Begins to move the catalog to another size, if it should have one. */
static void publisher_begin_rebuild(struct publisher *p)
{
	int64_t now_ms = loop_now_ms(p->loop);
	struct catalog_stats now;
	uint64_t wanted;

	publisher_catalog_now(p, &now);
	wanted = resize_wanted(&p->resize, &p->settings.resizing, &now, now_ms);
	if (wanted == now.nbits || now_ms < p->rebuild_ms)
		return;
	if (p->settings.source.rebuild(p->settings.source.arg, wanted)) {
		p->rebuild_ms = now_ms + RETRY_MS;
		log_write(LOG_ERROR, "publisher", "no memory for a digest of "
			  "%" PRIu64 " bits", wanted);
		return;
	}
	p->old_nbits = now.nbits;
}

static void publisher_go_on_rebuilding(struct publisher *p)
{
	struct catalog_stats now;

	if (!p->settings.source.rebuild_part(p->settings.source.arg))
		return;
	publisher_catalog_now(p, &now);
	log_write(LOG_INFO, "publisher", "the digest has %s from %" PRIu64
		  " to %" PRIu64 " bits for %" PRIu64 " objects",
		  now.nbits > p->old_nbits ? "grown" : "shrunk", p->old_nbits,
		  now.nbits, now.nkeys);
	p->old_nbits = 0;
	p->warned = false;
}

/* An empty filter for a snapshot. Its pages are touched here: under the lock
 * that would take longer than the copy. Returns 0 or SCD_ENOMEM. */
static int publisher_make_copy(const struct catalog_stats *shape,
			       struct scd_bloom *copy)
{
	int error = scd_bloom_init(copy, shape->nbits, shape->nhash);

	if (!error)
		scd_bloom_clear(copy);
	return error;
}

/* Begins a snapshot if one is due. */
static void publisher_begin_snapshot(struct publisher *p)
{
	int64_t now_ms = loop_now_ms(p->loop);
	struct catalog *catalog = publisher_lock(p);
	bool due = catalog_due(catalog, &p->settings.policy, now_ms);
	struct catalog_stats stats;
	struct scd_bloom copy;

	catalog_stats(catalog, &stats);
	publisher_unlock(p);
	if (!due || now_ms < p->copy_ms)
		return;
	p->copying = publisher_make_copy(&stats, &copy) == SCD_OK;
	if (!p->copying) {
		p->copy_ms = now_ms + RETRY_MS;
		log_write(LOG_ERROR, "publisher", "no memory for a snapshot of "
			  "%" PRIu64 " bits", stats.nbits);
		return;
	}
	catalog_snapshot_begin(publisher_lock(p), &copy);
	publisher_unlock(p);
	publisher_warn_when_full(p, &stats);
}

/* Bytes of the delta from the generation before; 0: there is none. */
static uint64_t
publisher_last_delta_bytes(const struct publication *publication)
{
	static const struct delta_forms any = { true, true };

	if (publication->ndeltas == 0)
		return 0;
	return publication_smallest(&publication->deltas[0], any)->len;
}

static void publisher_note(struct publisher *p,
			   const struct publication *publication,
			   uint64_t array_bytes, double encode_ms)
{
	p->stats = (struct publisher_stats){
		.generation = publication->generation,
		.full_bytes = publication->full->len,
		.delta_bytes = publisher_last_delta_bytes(publication),
		.array_bytes = array_bytes,
		.published_ms = loop_now_ms(p->loop),
		.encode_ms = encode_ms,
	};
	log_write(LOG_DEBUG, "publisher",
		  "generation %" PRIu64 ": full %" PRIu64 " bytes, delta %"
		  PRIu64 " bytes, %.1f ms", p->stats.generation,
		  p->stats.full_bytes, p->stats.delta_bytes, encode_ms);
}

static void publisher_publish(struct publisher *p,
			      struct catalog_snapshot *snapshot)
{
	uint64_t array_bytes = scd_bloom_bytes(&snapshot->bloom);
	double start_ms = publisher_clock_ms();
	struct publication *publication;
	int error = generations_publish(p->generations, snapshot, &publication);

	if (error) {
		log_write(LOG_ERROR, "publisher", "%s", scd_strerror(error));
		return;
	}
	publisher_note(p, publication, array_bytes,
		       publisher_clock_ms() - start_ms);
	digest_api_publish(p->api, publication);
}

/* Copies one slice more of the snapshot; publishes it after the last. */
static void publisher_go_on_copying(struct publisher *p)
{
	struct catalog_snapshot snapshot;
	bool last = catalog_snapshot_slice(publisher_lock(p),
					   loop_now_ms(p->loop), &snapshot);

	publisher_unlock(p);
	if (!last)
		return;
	p->copying = false;
	publisher_publish(p, &snapshot);
}

static void publisher_tick(void *arg);

/* Under the catalog's lock, in any thread. */
static void publisher_post_change(void *arg)
{
	struct publisher_wake *wake = arg;

	if (!atomic_exchange(&wake->posted, true))
		loop_post(wake->loop, &wake->call);
}

static void publisher_take_change(void *arg)
{
	struct publisher_wake *wake = arg;
	struct publisher *p = wake->publisher;

	if (!p) {
		free(wake);
		return;
	}
	atomic_store(&wake->posted, false);
	loop_timer_set(p->loop, &p->tick, p->ticked_ms + TICK_MS,
		       publisher_tick, p);
}

/* Sleeps until something is due, or the catalog changes. */
static void publisher_wait_for_change(struct publisher *p)
{
	const int64_t now_ms = loop_now_ms(p->loop);
	struct catalog *catalog = publisher_lock(p);
	int64_t due_ms = catalog_due_ms(catalog, &p->settings.policy);
	struct catalog_stats stats;
	int64_t resize_ms = INT64_MAX;

	catalog_stats(catalog, &stats);
	catalog_notify(catalog, publisher_post_change, p->wake);
	publisher_unlock(p);
	if (due_ms < p->copy_ms)
		due_ms = p->copy_ms;
	if (p->settings.source.rebuild)
		resize_ms = now_ms < p->rebuild_ms ?
				    p->rebuild_ms :
				    resize_due_ms(&p->resize,
						  &p->settings.resizing,
						  &stats);
	if (due_ms > resize_ms)
		due_ms = resize_ms;
	if (due_ms < now_ms + TICK_MS)
		due_ms = now_ms + TICK_MS;
	if (due_ms == INT64_MAX)
		loop_timer_clear(p->loop, &p->tick);
	else
		loop_timer_set(p->loop, &p->tick, due_ms, publisher_tick, p);
}

static void publisher_tick(void *arg)
{
	struct publisher *p = arg;

	p->ticked_ms = loop_now_ms(p->loop);
	if (!p->copying) {
		if (p->old_nbits)
			publisher_go_on_rebuilding(p);
		else if (p->settings.source.rebuild)
			publisher_begin_rebuild(p);
		publisher_begin_snapshot(p);
	}
	if (p->copying)
		publisher_go_on_copying(p);
	if (p->old_nbits || p->copying)
		loop_timer_set(p->loop, &p->tick, p->ticked_ms + PART_MS,
			       publisher_tick, p);
	else
		publisher_wait_for_change(p);
}

int publisher_new(struct loop *loop, struct digest_api *api,
		  const struct publisher_settings *settings,
		  struct publisher **out)
{
	struct publisher *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->loop = loop;
	p->api = api;
	p->settings = *settings;
	p->wake = calloc(1, sizeof(*p->wake));
	if (!p->wake || generations_new(&p->generations, settings->instance,
					settings->keep)) {
		free(p->wake);
		free(p);
		return -ENOMEM;
	}
	p->wake->loop = loop;
	p->wake->publisher = p;
	p->wake->call = (struct loop_call){.run = publisher_take_change,
					   .arg = p->wake};
	loop_timer_set(loop, &p->tick, loop_now_ms(loop), publisher_tick, p);
	*out = p;
	return 0;
}

void publisher_free(struct publisher **p)
{
	if (!*p)
		return;
	loop_timer_clear((*p)->loop, &(*p)->tick);
	catalog_notify(publisher_lock(*p), NULL, NULL);
	publisher_unlock(*p);
	(*p)->wake->publisher = NULL;
	if (!atomic_load(&(*p)->wake->posted))
		free((*p)->wake);
	generations_free(&(*p)->generations);
	free(*p);
	*p = NULL;
}

void publisher_set(struct publisher *p, const struct publish_policy *policy,
		   const struct resize_policy *resizing)
{
	p->settings.policy = *policy;
	p->settings.resizing = *resizing;
	loop_timer_set(p->loop, &p->tick, loop_now_ms(p->loop), publisher_tick,
		       p);
}

void publisher_stats(const struct publisher *p, struct publisher_stats *out)
{
	*out = p->stats;
}
