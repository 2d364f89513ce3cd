/*
 * The service's list of peers, on its way from who keeps it to who uses it.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/config/configuration.h"
#include "digestd/os/address.h"
#include "digestd/os/log.h"
#include "digestd/part_settings.h"
#include "digestd/peers/members.h"
#include "digestd/peers/publisher.h"
#include "digestd/peers/renewer.h"
#include "digestd/peers/sharing.h"
#include "digestd/proxy/worker.h"
#include "digestd/service_inside.h"
#include "digestd/tool/crew.h"

enum { MAX_DECODERS = 4 };

/* Gives a configuration the list as it is now. */
static int service_take_members(struct service *s, struct config *c)
{
	struct member_list list = { .n = 0 };

	if (member_list_copy(&list, members_list(s->members)))
		return -ENOMEM;
	upstreams_free(c->peers, c->npeers);
	c->peers = list.at;
	c->npeers = list.n;
	return 0;
}

int service_apply_peers(struct service *s, const struct config *c)
{
	struct publish_policy publishing = part_settings_of_publishing(c);
	struct resize_policy resizing = part_settings_of_filter(c);
	struct sharing_settings sharing = part_settings_of_sharing(c);
	struct teller_settings telling = service_telling(s, c);
	int err = 0;

	if (s->follow)
		err = peer_follower_set_peers(s->follow, c->peers, c->npeers);
	if (!err && s->sharing && s->follow)
		err = sharing_set(s->sharing, &sharing, c->peers, c->npeers);
	if (s->publisher)
		publisher_set(s->publisher, &publishing, &resizing);
	if (!err)
		err = teller_set(s->teller, &telling);
	if (!err && s->renewer)
		err = renewer_set(s->renewer, &telling);
	return err;
}

static void service_on_members(void *arg)
{
	struct service *s = arg;

	if (service_take_members(s, s->config) ||
	    service_apply_peers(s, s->config))
		log_write(LOG_ERROR, "members", "out of memory");
}

static int64_t service_on_seen_ms(void *arg, const char *name)
{
	struct service *s = arg;

	return s->follow ? peer_follower_seen_ms(s->follow, name) :
			   loop_now_ms(s->loop);
}

static struct members_settings service_members_settings(const struct config *c)
{
	return (struct members_settings){
		.node = c->node,
		.source = c->members,
		.interval_ms = c->members_ms,
		.https = c->tls_peer,
		.configured = { c->peers, c->npeers },
	};
}

int service_start_members(struct service *s)
{
	const struct members_settings settings =
		service_members_settings(s->config);
	const struct members_events events = { service_on_members,
					       service_on_seen_ms, s };
	int err;

	if (!s->config->nkeys)
		return 0;
	err = members_new(s->loop, &settings, &events, &s->members);
	return err ? err : service_take_members(s, s->config);
}

int service_set_members(struct service *s, struct config *c)
{
	const struct members_settings settings = service_members_settings(c);
	int err;

	if (!s->members)
		return 0;
	err = members_set(s->members, &settings);
	return err ? err : service_take_members(s, c);
}

/* This node, that is, which the list has by another name. */
static void service_on_itself(void *arg, const char *url)
{
	struct service *s = arg;

	members_is_itself(s->members, url);
}

/*
 * What decodes a large digest: for some milliseconds, as many threads as serve
 * clients. Set once, as a decoder may look at it during a reload.
 */
static const struct scd_threads *service_decoders(struct service *s)
{
	if (s->nworkers < 2)
		return NULL;
	if (!s->decoders.run) {
		s->ndecoders = s->nworkers < MAX_DECODERS ? s->nworkers :
							    MAX_DECODERS;
		s->decoders = (struct scd_threads){ .run = crew_run,
						    .pool = &s->ndecoders };
	}
	return &s->decoders;
}

struct peer_follower_settings service_following(struct service *s,
						const struct config *c)
{
	struct peer_follower_settings settings = part_settings_of_following(c);

	settings.instance = s->instance;
	settings.threads = service_decoders(s);
	settings.on_itself = service_on_itself;
	settings.on_drain = service_on_drain;
	settings.on_lie = service_on_lie;
	settings.on_met = service_on_met;
	if (c->purge_peers) {
		settings.on_note = service_on_note;
		settings.on_stream_end = service_on_stream_end;
	}
	settings.troubles = s->troubles;
	if (s->share)
		settings.watcher = table_share_watcher(s->share);
	part_settings_introduction(c, worker_peer_port(s->workers[0]),
				   settings.introduction);
	return settings;
}

/* Introductions come in workers' threads */

struct introduction {
	struct loop_call call;
	struct service *service;
	char from[ADDRESS_TEXT_BYTES];
	char text[];
};

/* A peer that was away is back, as it says who it is. */
static void service_wake_peer(struct service *s, const char *text)
{
	char name[PEER_INTRODUCTION_BYTES];
	size_t len = strcspn(text, " ");

	if (!s->follow || len >= sizeof(name))
		return;
	memcpy(name, text, len);
	name[len] = '\0';
	peer_follower_wake(s->follow, name);
}

static void service_on_introduction_here(void *arg)
{
	struct introduction *i = arg;

	service_wake_peer(i->service, i->text);
	members_introduce(i->service->members, i->text, i->from);
	free(i);
}

void service_on_introduction(void *service, const char *text,
			     const struct sockaddr *from)
{
	struct service *s = service;
	size_t len = strlen(text);
	struct introduction *i = malloc(sizeof(*i) + len + 1);

	if (!i)
		return; /* it will do so again */
	*i = (struct introduction){ .service = s };
	i->call.run = service_on_introduction_here;
	i->call.arg = i;
	memcpy(i->text, text, len + 1);
	if (address_text(from, i->from))
		loop_post(s->loop, &i->call);
	else
		free(i);
}
