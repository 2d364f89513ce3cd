/*
 * What the node tells of itself, gathered from all its parts.
 */
#include <string.h>

#include "digestd/cache/admitter.h"
#include "digestd/cache/cache.h"
#include "digestd/config/configuration.h"
#include "digestd/os/access_log.h"
#include "digestd/os/listen.h"
#include "digestd/peers/digest_api.h"
#include "digestd/peers/publisher.h"
#include "digestd/peers/serving_desk.h"
#include "digestd/peers/sharing.h"
#include "digestd/proxy/worker.h"
#include "digestd/server/server.h"
#include "digestd/service.h"
#include "digestd/service_inside.h"
#include "digestd/tls/tls.h"

void service_count(const struct service *s, struct worker_counters *sum)
{
	*sum = (struct worker_counters){ 0 };
	for (unsigned i = 0; i < s->nworkers; i++)
		worker_count(s->workers[i], sum);
	if (s->admin)
		server_refusals(s->admin, sum->refusals);
}

static void service_add_certificate(struct node_status *to, const char *use,
				    const struct tls *tls)
{
	if (!tls)
		return;
	to->certificates[to->ncertificates++] =
		(struct node_certificate){ use, tls_expires_s(tls) };
}

static void service_note_listener(struct service *s, const char *name, int fd)
{
	struct node_listener *l = &s->listeners[s->nlisteners];

	_Static_assert(sizeof(l->address) >= LISTEN_LABEL_BYTES, "room");
	if (fd < 0)
		return;
	l->name = name;
	listen_address(fd, l->address);
	s->nlisteners++;
}

void service_note_listeners(struct service *s)
{
	service_note_listener(s, "data", worker_data_socket(s->workers[0]));
	service_note_listener(s, "peer", worker_peer_socket(s->workers[0]));
	if (s->admin)
		service_note_listener(s, "admin", server_socket(s->admin));
}

void service_status(void *arg, struct node_status *out)
{
	struct service *s = arg;

	service_take_outcomes(s);
	*out = (struct node_status){
		.node = s->config->node,
		.instance = s->instance,
		.ready = service_wants_clients(s),
		.drained = s->drained,
		.now_ms = loop_now_ms(s->loop),
		.started_s = s->started_s,
		.uptime_s = (loop_now_ms(s->loop) - s->started_ms) / 1000,
		.threads = s->nworkers,
		.publishes = s->publisher,
		.follow = s->follow,
		.origins = s->origins,
		.troubles = s->troubles,
		.names = s->names,
		.reloads = s->reloads,
	};
	memcpy(out->listeners, s->listeners, sizeof(s->listeners));
	out->nlisteners = s->nlisteners;
	service_add_certificate(out, "data", s->config->tls_data);
	service_add_certificate(out, "peer", s->config->tls_peer);
	service_add_certificate(out, "admin", s->config->tls_admin);
	if (s->admin)
		out->tls_admin_failed = server_tls_failures(s->admin);
	service_count(s, &out->counters);
	for (unsigned i = 0; i < s->nworkers; i++)
		worker_measure(s->workers[i], &out->figures);
	access_log_count(s->access_log, &out->access_log);
	teller_count(s->teller, &out->telling);
	out->teller = s->teller;
	out->serves = serving_desk_may_serve(s->serving);
	cache_stats(s->cache, &out->store, &out->catalog);
	service_sidecar_status(s, out);
	out->has_disk = cache_disk_stats(s->cache, &out->disk_store,
					 &out->disk);
	admitter_stats(s->admitter, &out->admission);
	out->shares = s->sharing;
	if (s->sharing)
		sharing_stats(s->sharing, &out->sharing);
	offers_count(s->offers, &out->offers);
	if (s->copier)
		copier_count(s->copier, &out->copies);
	out->has_members = s->members && s->config->members;
	if (out->has_members)
		members_count(s->members, &out->members);
	if (!s->publisher)
		return;
	publisher_stats(s->publisher, &out->publisher);
	digest_api_count(s->api, &out->digests);
}
