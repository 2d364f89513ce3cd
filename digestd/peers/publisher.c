/*
 * The publisher.
 */
#include "digestd/peers/publisher.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
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
	struct publication_schedule schedule;
	struct loop_timer timer;
	struct publisher_wake *wake;
	struct publisher_stats stats;
	struct catalog_snapshot snapshot; /* between its copy and publishing */
	pthread_mutex_t lists_lock; /* workers make sectors of them */
	struct list_history *lists; /* null: arrays are published */
	bool changes_only;  /* the snapshot under way is without an array */
	bool no_array;      /* the last publication was */
	uint64_t old_nbits; /* before the rebuild under way */
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
	    c->nbits < p->settings.policy.resize.max_bits ||
	    !resize_is_crowded(&p->settings.policy.resize, c))
		return;
	p->warned = true;
	log_write(LOG_WARNING, "publisher",
		  "%" PRIu64 " objects are too many for a digest of %" PRIu64
		  " bits (%.1f %% false positives): raise %s",
		  c->nkeys, c->nbits, c->fp * 100,
		  p->settings.policy.resize.min_bits == c->nbits ?
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

/* Begins to move the catalog to another size. */
static enum publication_event_kind
publisher_begin_rebuild(struct publisher *p, uint64_t nbits,
			const struct catalog_stats *now)
{
	if (p->settings.source.rebuild(p->settings.source.arg, nbits)) {
		log_write(LOG_ERROR, "publisher",
			  "no memory for a digest of %" PRIu64 " bits", nbits);
		return PUBLICATION_FAILED;
	}
	p->old_nbits = now->nbits;
	return PUBLICATION_DONE;
}

static enum publication_event_kind publisher_drop_filter(struct publisher *p)
{
	struct scd_counting *filter = catalog_drop_filter(publisher_lock(p));

	publisher_unlock(p);
	scd_counting_free(&filter);
	return PUBLICATION_DONE;
}

static enum publication_event_kind
publisher_rebuild_part(struct publisher *p)
{
	struct catalog_stats now;

	if (!p->settings.source.rebuild_part(p->settings.source.arg))
		return PUBLICATION_MORE;
	catalog_stats(publisher_lock(p), &now);
	publisher_unlock(p);
	p->warned = false;
	if (!p->old_nbits) {
		log_write(LOG_INFO, "publisher", "a peer asks for an array: "
			  "there is one of %" PRIu64 " bits, for %" PRIu64
			  " objects", now.nbits, now.nkeys);
		return PUBLICATION_DONE;
	}
	log_write(LOG_INFO, "publisher", "the digest has %s from %" PRIu64
		  " to %" PRIu64 " bits for %" PRIu64 " objects",
		  now.nbits > p->old_nbits ? "grown" : "shrunk", p->old_nbits,
		  now.nbits, now.nkeys);
	return PUBLICATION_DONE;
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

/* Whether an array is to be published. */
static bool publisher_wants_array(const struct publisher *p)
{
	return !p->lists ||
	       digest_api_array_wanted(p->api, loop_now_ms(p->loop) -
						       p->settings.array_ms);
}

static enum publication_event_kind
publisher_begin_copy(struct publisher *p, const struct catalog_stats *now)
{
	struct scd_bloom copy;

	p->changes_only = !publisher_wants_array(p) || !now->nbits;
	if (p->changes_only)
		return PUBLICATION_DONE;
	if (publisher_make_copy(now, &copy)) {
		log_write(LOG_ERROR, "publisher", "no memory for a snapshot of "
			  "%" PRIu64 " bits", now->nbits);
		return PUBLICATION_FAILED;
	}
	catalog_snapshot_begin(publisher_lock(p), &copy);
	publisher_unlock(p);
	publisher_warn_when_full(p, now);
	return PUBLICATION_DONE;
}

static enum publication_event_kind publisher_copy_slice(struct publisher *p)
{
	struct catalog *catalog = publisher_lock(p);
	int64_t now_ms = loop_now_ms(p->loop);
	bool last = true;

	if (p->changes_only)
		catalog_snapshot_changes(catalog, now_ms, &p->snapshot);
	else
		last = catalog_snapshot_slice(catalog, now_ms, &p->snapshot);
	publisher_unlock(p);
	return last ? PUBLICATION_DONE : PUBLICATION_MORE;
}

/* Bytes of the delta from the generation before; 0: there is none. */
static uint64_t
publisher_last_delta_bytes(const struct publication *publication)
{
	static const struct delta_forms any = { true, true };
	const struct list_publication *list = publication->list;

	if (list)
		return list->nsteps ? list->steps[list->nsteps - 1].frame->len
				    : 0;
	if (publication->ndeltas == 0)
		return 0;
	return publication_smallest(&publication->deltas[0], any)->len;
}

static void publisher_note(struct publisher *p,
			   const struct publication *publication,
			   uint64_t array_bytes, double array_fp,
			   double encode_ms)
{
	const struct list_publication *list = publication->list;

	p->stats = (struct publisher_stats){
		.generation = publication->generation,
		.width = list ? list->width : 0,
		.full_bytes = (list ? list->full : publication->full)->len,
		.delta_bytes = publisher_last_delta_bytes(publication),
		.array_bytes = array_bytes,
		.list_bytes = p->lists ? list_history_memory(p->lists) : 0,
		.fp = list ? ldexp((double)list->nkeys, -(int)list->width)
			   : array_fp,
		.published_ms = loop_now_ms(p->loop),
		.encode_ms = encode_ms,
	};
	log_write(LOG_DEBUG, "publisher",
		  "generation %" PRIu64 ": full %" PRIu64 " bytes, delta %"
		  PRIu64 " bytes, %.1f ms", p->stats.generation,
		  p->stats.full_bytes, p->stats.delta_bytes, encode_ms);
}

/* The list of a snapshot; null: there is none, or it could not be made. */
static struct list_publication *publisher_make_list(struct publisher *p)
{
	struct list_publication *list;
	int error;

	if (!p->lists)
		return NULL;
	pthread_mutex_lock(&p->lists_lock);
	error = list_history_publish(p->lists, &p->snapshot, &list);
	pthread_mutex_unlock(&p->lists_lock);
	if (!error)
		return list;
	log_write(LOG_ERROR, "publisher", "cannot publish a list: %s%s",
		  scd_strerror(error), list_history_is_lost(p->lists)
					       ? "; from now on, arrays"
					       : "");
	if (list_history_is_lost(p->lists)) {
		pthread_mutex_lock(&p->lists_lock);
		list_history_free(&p->lists);
		pthread_mutex_unlock(&p->lists_lock);
	}
	return NULL;
}

/* In a worker's thread. */
static int publisher_make_sector(void *arg, const struct sector *s,
				 uint64_t from, struct sector_digest *out)
{
	struct publisher *p = arg;
	int error = SCD_EINVAL;

	pthread_mutex_lock(&p->lists_lock);
	if (p->lists)
		error = list_history_sector(p->lists, s, from, out);
	pthread_mutex_unlock(&p->lists_lock);
	return error;
}

/* What a snapshot comes to. Returns 0 or an SCD_ error. */
static int publisher_make(struct publisher *p, struct publication **out)
{
	struct list_publication *list = publisher_make_list(p);
	int error = !list && p->changes_only
			    ? SCD_ENOMEM
			    : generations_publish(p->generations, &p->snapshot,
						  out);

	catalog_snapshot_free(&p->snapshot);
	if (error)
		list_publication_free(list);
	else
		(*out)->list = list;
	return error;
}

static enum publication_event_kind publisher_publish(struct publisher *p)
{
	uint64_t array_bytes = scd_bloom_bytes(&p->snapshot.bloom);
	double array_fp = p->snapshot.fp;
	double start_ms = publisher_clock_ms();
	struct publication *publication;
	int error = publisher_make(p, &publication);

	p->no_array = error ? p->changes_only : !publication->full;
	if (error) {
		log_write(LOG_ERROR, "publisher", "%s", scd_strerror(error));
		return PUBLICATION_FAILED;
	}
	publisher_note(p, publication, array_bytes, array_fp,
		       publisher_clock_ms() - start_ms);
	digest_api_publish(p->api, publication);
	return PUBLICATION_DONE;
}

/* Does a task, other than to wait, and says what came of it. */
static enum publication_event_kind
publisher_do(struct publisher *p, const struct publication_task *task,
	     const struct catalog_stats *now)
{
	switch (task->kind) {
	case PUBLICATION_DROP_FILTER:
		return publisher_drop_filter(p);
	case PUBLICATION_BEGIN_REBUILD:
		return publisher_begin_rebuild(p, task->nbits, now);
	case PUBLICATION_REBUILD_PART:
		return publisher_rebuild_part(p);
	case PUBLICATION_BEGIN_COPY:
		return publisher_begin_copy(p, now);
	case PUBLICATION_COPY_SLICE:
		return publisher_copy_slice(p);
	case PUBLICATION_PUBLISH:
		return publisher_publish(p);
	case PUBLICATION_WAIT:
		break;
	}
	return PUBLICATION_DUE;
}

static void publisher_on_timer(void *arg);

/* Under the catalog's lock, in any thread. */
static void publisher_post_change(void *arg)
{
	struct publisher_wake *wake = arg;

	if (!atomic_exchange(&wake->posted, true))
		loop_post(wake->loop, &wake->call);
}

static void publisher_set_timer(struct publisher *p, int64_t due_ms)
{
	if (due_ms == INT64_MAX)
		loop_timer_clear(p->loop, &p->timer);
	else
		loop_timer_set(p->loop, &p->timer, due_ms, publisher_on_timer,
			       p);
}

static void publisher_wait(struct publisher *p,
			   const struct publication_task *task)
{
	catalog_notify(publisher_lock(p), task->changes,
		       task->changes < UINT64_MAX ? publisher_post_change
						  : NULL,
		       p->wake);
	publisher_unlock(p);
	publisher_set_timer(p, task->due_ms);
}

static struct publication_task
publisher_step(struct publisher *p, const struct publication_event *event)
{
	return publication_schedule_step(&p->schedule, &p->settings.policy,
					 event, loop_now_ms(p->loop));
}

/* What has happened, with the catalog as it is now. */
static struct publication_event
publisher_event(const struct publisher *p, enum publication_event_kind kind)
{
	struct publication_event event = {
		.kind = kind,
		.arrays = publisher_wants_array(p),
	};
	const struct catalog *catalog = publisher_lock(p);

	catalog_stats(catalog, &event.catalog);
	event.catalog_due_ms =
		catalog_due_ms(catalog, &p->settings.policy.publish);
	publisher_unlock(p);
	if (p->no_array && event.arrays && event.catalog.nbits)
		event.catalog_due_ms = INT64_MIN;
	return event;
}

static void publisher_on_timer(void *arg)
{
	struct publisher *p = arg;
	struct publication_event event = publisher_event(p, PUBLICATION_DUE);
	struct publication_task task = publisher_step(p, &event);

	while (task.kind != PUBLICATION_WAIT) {
		event = publisher_event(
			p, publisher_do(p, &task, &event.catalog));
		task = publisher_step(p, &event);
	}
	publisher_wait(p, &task);
}

/* A change has come, or a wish for an array. */
static void publisher_take_change(void *arg)
{
	const struct publication_event event = {.kind = PUBLICATION_CHANGED};
	struct publisher_wake *wake = arg;
	struct publisher *p = wake->publisher;

	if (!p) {
		free(wake);
		return;
	}
	atomic_store(&wake->posted, false);
	if (p->no_array && publisher_wants_array(p))
		publisher_set_timer(p, loop_now_ms(p->loop));
	else
		publisher_set_timer(p, publisher_step(p, &event).due_ms);
}

int publisher_new(struct loop *loop, struct digest_api *api,
		  const struct publisher_settings *settings,
		  struct publisher **out)
{
	struct publisher *p = calloc(1, sizeof(*p));

	assert(loop && api && settings->instance && settings->keep);
	assert(settings->source.lock && settings->source.unlock);
	/* a source can be rebuilt, or it cannot */
	assert(!settings->source.rebuild == !settings->source.rebuild_part);
	if (!p)
		return -ENOMEM;
	p->loop = loop;
	p->api = api;
	p->settings = *settings;
	p->settings.policy.resizable = settings->source.rebuild;
	p->wake = calloc(1, sizeof(*p->wake));
	if (!p->wake || generations_new(&p->generations, settings->instance,
					settings->keep)) {
		free(p->wake);
		free(p);
		return -ENOMEM;
	}
	if (settings->lists && list_history_new(&p->lists, settings->instance,
						&settings->list)) {
		generations_free(&p->generations);
		free(p->wake);
		free(p);
		return -ENOMEM;
	}
	pthread_mutex_init(&p->lists_lock, NULL);
	p->wake->loop = loop;
	p->wake->publisher = p;
	p->wake->call = (struct loop_call){.run = publisher_take_change,
					   .arg = p->wake};
	digest_api_on_wanted(api, publisher_post_change, p->wake);
	digest_api_make_sectors(api, publisher_make_sector, p);
	publisher_set_timer(p, publication_schedule_init(&p->schedule,
							 loop_now_ms(loop))
				       .due_ms);
	*out = p;
	return 0;
}

void publisher_free(struct publisher **p)
{
	if (!*p)
		return;
	loop_timer_clear((*p)->loop, &(*p)->timer);
	digest_api_on_wanted((*p)->api, NULL, NULL);
	digest_api_make_sectors((*p)->api, NULL, NULL);
	catalog_notify(publisher_lock(*p), 0, NULL, NULL);
	publisher_unlock(*p);
	(*p)->wake->publisher = NULL;
	if (!atomic_load(&(*p)->wake->posted))
		free((*p)->wake);
	generations_free(&(*p)->generations);
	list_history_free(&(*p)->lists);
	pthread_mutex_destroy(&(*p)->lists_lock);
	catalog_snapshot_free(&(*p)->snapshot);
	free(*p);
	*p = NULL;
}

void publisher_set(struct publisher *p, const struct publish_policy *publish,
		   const struct resize_policy *resize)
{
	assert(p->generations);
	assert(publish->share >= 0 && publish->min_ms <= publish->max_ms);
	p->settings.policy.publish = *publish;
	p->settings.policy.resize = *resize;
	publisher_set_timer(p, loop_now_ms(p->loop));
}

void publisher_stats(const struct publisher *p, struct publisher_stats *out)
{
	*out = p->stats;
}
