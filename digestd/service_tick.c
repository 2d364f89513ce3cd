/*
 * What the service does several times a second, beside what it is called for:
 * it measures memory, frees what nobody holds any more, and tells others what
 * the workers have counted.
 *
 * While nothing happens that is once a second: nodes that are asked for nothing
 * take next to nothing of their machines. The first client that asks for
 * something ends that (struct worker_hooks).
 */
#include "digestd/service.h"

#include <stdatomic.h>
#include <stdio.h>

#include "digestd/cache/admission_keeper.h"
#include "digestd/cache/admitter.h"
#include "digestd/cache/cache.h"
#include "digestd/os/loop.h"
#include "digestd/os/memory.h"
#include "digestd/os/troubles.h"
#include "digestd/part_settings.h"
#include "digestd/proxy/worker.h"
#include "digestd/service_inside.h"

enum {
	TICK_MS = 100,
	TICK_EASY_MS = 400, /* while few ask, and half of the memory is left */
	EASY_REQUESTS = 8, /* a tick */
	TICK_SHORT_MS = 20,   /* while memory is short */
	TICK_DOZING_MS = 1000,
	TICK_QUIET = 5, /* ticks without anything to do, before it dozes */
	FOLLOW_MS = 1000,
	REFUSED_LOG_MS = 10000,
};

static void service_limit_memory(struct service *s)
{
	struct node_status now;

	service_status(s, &now);
	memory_limit(part_settings_memory_limit(s->config, &now));
}

/* Says why requests are refused: nothing else can be seen from outside. */
static void service_warn_of_memory(struct service *s, int64_t now_ms)
{
	struct worker_counters sum;
	char detail[256];

	service_count(s, &sum);
	if (sum.memory_refused == s->refused ||
	    (s->refused && now_ms < s->refused_ms + REFUSED_LOG_MS))
		return;
	snprintf(detail, sizeof(detail), "memory_limit: all of %llu bytes "
		 "was in use; digests, tables and the program take %llu; "
		 "requests refused since the last such line: %llu",
		 (unsigned long long)memory_ledger.limit,
		 (unsigned long long)ledger_used(&memory_ledger, LEDGER_other),
		 (unsigned long long)(sum.memory_refused - s->refused));
	troubles_of_part(s->troubles, TROUBLE_PART_memory, TROUBLE_memory,
			 detail, now_ms);
	s->refused = sum.memory_refused;
	s->refused_ms = now_ms;
}

/* Admission goes by how many objects the cache has room for: those of the
 * disk, if there is one. */
static void service_follow_objects(struct service *s, int64_t now_ms)
{
	struct store_stats held;
	struct catalog_stats catalog;
	struct disk_counters disk;

	if (now_ms < s->followed_ms + FOLLOW_MS ||
	    (s->keeper && admission_keeper_is_busy(s->keeper)))
		return;
	s->followed_ms = now_ms;
	if (!cache_disk_stats(s->cache, &held, &disk))
		cache_stats(s->cache, &held, &catalog);
	admitter_follow(s->admitter, &held);
	service_limit_memory(s);
	service_warn_of_memory(s, now_ms);
}

/* What has happened since the last time. */
enum service_load {
	LOAD_NONE, /* no client has asked for anything, nor is memory used for
		    * more or less than then */
	LOAD_EASY,
	LOAD_BUSY,
};

static enum service_load service_load(struct service *s)
{
	struct service_activity now = {
		.held = ledger_used(&memory_ledger, LEDGER_objects) +
			ledger_used(&memory_ledger, LEDGER_connections) +
			ledger_used(&memory_ledger, LEDGER_requests),
	};
	const struct service_activity last = s->activity;
	const uint64_t limit = memory_ledger.limit;
	struct worker_counters sum;

	service_count(s, &sum);
	now.requests = sum.requests;
	s->activity = now;
	if (now.requests == last.requests && now.held == last.held)
		return LOAD_NONE;
	return now.requests - last.requests < EASY_REQUESTS &&
			       ledger_left(&memory_ledger) > limit / 2 ?
		       LOAD_EASY :
		       LOAD_BUSY;
}

/* What a crowd takes within one tick, no measure has seen: the less is left,
 * the sooner it is measured again. */
static int64_t service_tick_ms(struct service *s)
{
	const enum service_load load = service_load(s);
	int awake = SERVICE_AWAKE;

	if (ledger_left(&memory_ledger) < memory_reserve()) {
		s->quiet_ticks = 0;
		return TICK_SHORT_MS;
	}
	if (load == LOAD_BUSY || !s->ready) {
		s->quiet_ticks = 0;
		return TICK_MS;
	}
	s->quiet_ticks = load ? 0 : s->quiet_ticks + 1;
	if (s->quiet_ticks < TICK_QUIET)
		return TICK_EASY_MS;
	(void)atomic_compare_exchange_strong(&s->dozing, &awake,
					     SERVICE_DOZES);
	return TICK_DOZING_MS;
}

static void service_tick(void *arg)
{
	struct service *s = arg;
	int64_t now_ms = loop_now_ms(s->loop);

	service_take_outcomes(s);
	service_look_ready(s);
	service_show_ready(s);
	service_follow_objects(s, now_ms);
	cache_collect(s->cache);
	memory_measure(now_ms);
	loop_timer_set(s->loop, &s->tick, now_ms + service_tick_ms(s),
		       service_tick, s);
}

static void service_on_stir(void *arg)
{
	struct service *s = arg;
	int stirs = SERVICE_STIRS;

	/* one that was posted before the end runs when workers are gone */
	if (!atomic_compare_exchange_strong(&s->dozing, &stirs, SERVICE_AWAKE))
		return;
	s->quiet_ticks = 0;
	service_tick(s);
}

/* In a worker's thread. */
void service_stir(void *arg)
{
	struct service *s = arg;
	int dozes = SERVICE_DOZES;

	if (atomic_compare_exchange_strong(&s->dozing, &dozes, SERVICE_STIRS))
		loop_post(s->loop, &s->stir);
}

void service_start_ticks(struct service *s)
{
	s->stir = (struct loop_call){ .run = service_on_stir, .arg = s };
	service_limit_memory(s);
	service_tick(s);
}

void service_end_ticks(struct service *s)
{
	atomic_store(&s->dozing, SERVICE_ENDED);
	loop_timer_clear(s->loop, &s->tick);
}
