/*
 * What comes from peers, or goes to them, as a node begins and ends: when it is
 * ready, what it copies, and what it hands over.
 */
#include <inttypes.h>
#include <stdio.h>

#include "digestd/cache/cache.h"
#include "digestd/config/configuration.h"
#include "digestd/os/log.h"
#include "digestd/part_settings.h"
#include "digestd/peers/digest_api.h"
#include "digestd/peers/squid_digest.h"
#include "digestd/proxy/worker.h"
#include "digestd/server/server.h"
#include "digestd/service_inside.h"

/* Ready */

static bool service_has_read_members(const struct service *s)
{
	struct members_stats members;

	if (!s->members || !s->config->members)
		return true;
	members_count(s->members, &members);
	return members.readings;
}

/* Whether there is nothing more to wait for. */
static bool service_is_ready(const struct service *s)
{
	return service_has_read_members(s) &&
	       cache_has_caught_up(s->cache) &&
	       (!s->follow || peer_follower_has_settled(s->follow));
}

void service_look_ready(struct service *s)
{
	int64_t waited_ms;
	bool ready;

	if (!s->started || s->ready)
		return;
	waited_ms = loop_now_ms(s->loop) - s->started_ms;
	ready = service_is_ready(s);
	if (!ready && waited_ms < s->config->ready_wait_ms)
		return;
	s->ready = true;
	if (s->follow && peer_follower_count(s->follow))
		log_write(LOG_INFO, "service", "ready after %" PRId64 " ms%s",
			  waited_ms, ready ? "" : ", without some of the "
			  "digests of peers");
}

bool service_wants_clients(const struct service *s)
{
	return s->ready && !s->drained && node_drain_is_serving(&s->drain);
}

void service_show_ready(struct service *s)
{
	atomic_store(&s->shown_ready, service_wants_clients(s));
}

/* Resources of the peer listener */

static void service_on_resource(void *arg, struct exchange *x)
{
	struct service *s = arg;

	if (squid_digest_is_meant(x))
		squid_digest_on_request(s->squid, x);
	else if (offers_are_asked_for(x))
		offers_on_request(s->offers, x);
	else
		digest_api_handler.on_request(s->api, x);
}

static void service_on_resource_done(void *arg, struct exchange *x,
				     enum exchange_end end)
{
	const struct service *s = arg;

	if (squid_digest_is_meant(x))
		squid_digest_on_done(x);
	else
		digest_api_handler.on_done(s->api, x, end);
}

const struct server_handler service_resources = {
	.on_request = service_on_resource,
	.on_done = service_on_resource_done,
};

int service_start_offers(struct service *s)
{
	return offers_new(s->loop, s->cache, &s->offers);
}

void service_hand_over(struct service *s, void (*over)(void *arg))
{
	struct peerset *view = s->follow ? peer_follower_view(s->follow) : NULL;

	if (s->copier)
		copier_stop(s->copier);
	offers_hand_over(s->offers, s->publisher ? view : NULL,
			 (uint64_t)s->config->handover_bytes, over, s);
	peerset_unref(view);
}

/* A peer has sent what the origin has not: what came from there goes, and the
 * others hear that it is suspected. */
void service_on_lie(void *service, const char *name, uint64_t instance)
{
	struct service *s = service;
	const int64_t now_ms = loop_now_ms(s->loop);

	log_write(LOG_WARNING, "service", "peer %s: has sent wrong responses: "
		  "it is left alone, and what came from there is purged here",
		  name);
	purge_source(&s->purger, name);
	digest_api_suspect(s->api, instance, now_ms,
			   now_ms + s->config->quarantine_ms);
}

/* Copies */

static void service_copy(void *arg, struct peer_copy *copy)
{
	struct service *s = arg;

	s->copies_to = (s->copies_to + 1) % s->nworkers;
	worker_copy(s->workers[s->copies_to], copy);
}

int service_start_copier(struct service *s)
{
	const struct copier_settings settings =
		part_settings_of_copier(s->config);

	if (!s->config->nkeys)
		return 0;
	return copier_new(s->loop, s->fetcher, &settings, service_copy, s,
			  &s->copier);
}

void service_on_drain(void *service, const char *url, uint32_t peer)
{
	struct service *s = service;
	char path[64];
	const struct copier_order order = {
		.url = url,
		.path = path,
		.peer = peer,
		.bytes = (uint64_t)s->config->handover_bytes,
		.again = true,
	};

	snprintf(path, sizeof(path), "/scd/v1/handover/%016" PRIx64,
		 s->instance);
	if (order.bytes && s->copier && node_drain_is_serving(&s->drain))
		copier_begin(s->copier, &order);
}

void service_on_met(void *service, const char *url, uint32_t peer)
{
	enum { WARM_FOR_MS = 60000 }; /* who comes later, has less than this */
	struct service *s = service;
	uint64_t npeers = s->config->npeers ? s->config->npeers : 1;
	char path[64];
	const struct copier_order order = {
		.url = url,
		.path = path,
		.peer = peer,
		.bytes = (uint64_t)s->config->warm_bytes / npeers,
	};

	snprintf(path, sizeof(path), "/scd/v1/hottest/%" PRIu64, order.bytes);
	if (order.bytes && s->copier && node_drain_is_serving(&s->drain) &&
	    loop_now_ms(s->loop) - s->started_ms < WARM_FOR_MS)
		copier_begin(s->copier, &order);
}
