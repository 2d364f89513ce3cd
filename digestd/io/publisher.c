/*
 * The publisher.
 */
#include "digestd/io/publisher.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "codec/error.h"
#include "digestd/core/generations.h"
#include "digestd/io/cache.h"
#include "digestd/io/digest_api.h"
#include "digestd/io/log.h"
#include "digestd/io/loop.h"

enum {
	TICK_MS = 20, /* how often the catalog is looked at */
	FULL_PERCENT = 1, /* false positives from which a filter is too small */
};

struct publisher {
	struct loop *loop;
	struct cache *cache;
	struct digest_api *api;
	struct publisher_settings settings;
	struct generations *generations;
	struct loop_timer tick;
	struct publisher_stats stats;
	bool warned; /* that the filter is too small */
};

static double clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Once, when the store holds more objects than the filter was made for. */
static void warn_when_full(struct publisher *p, const struct catalog_stats *c)
{
	if (c->fp * 100 < FULL_PERCENT || p->warned)
		return;
	p->warned = true;
	log_write(LOG_WARNING, "publisher",
		  "%" PRIu64 " objects are too many for a digest of %" PRIu64
		  " bits (%.1f %% false positives): raise expected_objects",
		  c->nkeys, c->nbits, c->fp * 100);
}

/* Takes a snapshot if one is due. Returns whether it did. */
static bool take_snapshot(struct publisher *p, struct catalog_snapshot *out)
{
	int64_t now_ms = loop_now_ms(p->loop);
	struct catalog *catalog = cache_lock(p->cache);
	struct catalog_stats stats;
	bool taken = catalog_due(catalog, &p->settings.policy, now_ms) &&
		     catalog_snapshot(catalog, now_ms, out) == SCD_OK;

	catalog_stats(catalog, &stats);
	cache_unlock(p->cache);
	if (taken)
		warn_when_full(p, &stats);
	return taken;
}

static void note(struct publisher *p, const struct publication *publication,
		 uint64_t array_bytes, double encode_ms)
{
	p->stats = (struct publisher_stats){
		.generation = publication->generation,
		.full_bytes = publication->full->len,
		.delta_bytes = publication->ndeltas ?
				       publication->deltas[0].blob->len :
				       0,
		.array_bytes = array_bytes,
		.published_ms = loop_now_ms(p->loop),
		.encode_ms = encode_ms,
	};
	log_write(LOG_DEBUG, "publisher",
		  "generation %" PRIu64 ": full %" PRIu64 " bytes, delta %"
		  PRIu64 " bytes, %.1f ms", p->stats.generation,
		  p->stats.full_bytes, p->stats.delta_bytes, encode_ms);
}

static void tick(void *arg)
{
	struct publisher *p = arg;
	struct publication *publication;
	struct catalog_snapshot snapshot;

	if (take_snapshot(p, &snapshot)) {
		uint64_t array_bytes = scd_bloom_bytes(&snapshot.bloom);
		double start_ms = clock_ms();
		int error = generations_publish(p->generations, &snapshot,
						&publication);

		if (error) {
			log_write(LOG_ERROR, "publisher", "%s",
				  scd_strerror(error));
		} else {
			note(p, publication, array_bytes,
			     clock_ms() - start_ms);
			digest_api_publish(p->api, publication);
		}
	}
	loop_timer_set(p->loop, &p->tick, loop_now_ms(p->loop) + TICK_MS, tick,
		       p);
}

int publisher_new(struct loop *loop, struct cache *cache,
		  struct digest_api *api,
		  const struct publisher_settings *settings,
		  struct publisher **out)
{
	struct publisher *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->loop = loop;
	p->cache = cache;
	p->api = api;
	p->settings = *settings;
	if (generations_new(&p->generations, settings->instance,
			    settings->keep)) {
		free(p);
		return -ENOMEM;
	}
	loop_timer_set(loop, &p->tick, loop_now_ms(loop), tick, p);
	*out = p;
	return 0;
}

void publisher_free(struct publisher **p)
{
	if (!*p)
		return;
	loop_timer_clear((*p)->loop, &(*p)->tick);
	generations_free(&(*p)->generations);
	free(*p);
	*p = NULL;
}

void publisher_set_policy(struct publisher *p,
			  const struct publish_policy *policy)
{
	p->settings.policy = *policy;
}

void publisher_stats(const struct publisher *p, struct publisher_stats *out)
{
	*out = p->stats;
}
