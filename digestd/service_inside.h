/*
 * What the files of the service share.
 */
#ifndef DIGESTD_SERVICE_INSIDE_H
#define DIGESTD_SERVICE_INSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/admin/admin.h"
#include "digestd/admin/admit_api.h"
#include "digestd/node/node_drain.h"
#include "digestd/os/loop.h"
#include "digestd/peers/copier.h"
#include "digestd/peers/members.h"
#include "digestd/peers/offers.h"
#include "digestd/peers/peer_follower.h"
#include "digestd/peers/purge.h"
#include "digestd/peers/teller.h"

struct config;
struct sockaddr;

struct service {
	struct config *config;
	const char *config_path;
	struct loop *loop;
	struct cache *cache;
	struct admitter *admitter;
	struct admission_keeper *keeper; /* null: no file */
	struct collapses *collapses;
	struct origin_faults *faults;
	struct access_log *access_log;
	struct placer *placer;
	struct lease_desk *leases;
	struct sharing *sharing;     /* null: nothing seen is shared */
	struct digest_api *api;
	struct publisher *publisher; /* null: nobody may ask for digests */
	struct fetcher *fetcher;
	struct offers *offers;	      /* lists for peers */
	struct copier *copier;	      /* of what peers hand over; null: no
					 cluster key */
	unsigned copies_to;	      /* the worker of the next one */
	struct members *members;      /* null: no cluster key */
	struct peer_follower *follow; /* the same */
	struct admin admin_source;
	struct purger purger;
	struct teller *teller; /* of purges */
	struct serving_desk *serving; /* of strict ones; else null */
	struct renewer *renewer;      /* the same */
	struct admit_api admit;
	struct server *admin;
	struct worker **workers;
	struct loop_call *emptied; /* one for each of them */
	unsigned nworkers;
	uint64_t instance;
	uint64_t lookups;            /* told to the follower so far */
	int64_t started_s, started_ms;
	bool started;
	bool ready; /* it has been, once */
	struct node_drain drain;
	struct loop_timer drain_timer;
	int signals;
	struct loop_watch watch;
	struct loop_timer tick;
	int64_t followed_ms; /* when admission and memory did last */
	uint64_t refused;    /* requests without memory, as last logged */
	int64_t refused_ms;  /* when */
};

/* Opens the access log of a configuration, anew if it is open. Returns 0 or a
 * negative errno, and then the old one goes on. */
int service_open_access_log(struct service *s, const struct config *c);

/* What peers hand over, in service_copies.c. */

/* Makes what it takes, before and after there is a fetcher. Returns 0 or
 * -ENOMEM. */
int service_start_offers(struct service *s);
int service_start_copier(struct service *s);

/* How requests of peers for resources are served; arg is the service. */
extern const struct server_handler service_resources;

/* Peers' events, see struct peer_follower_settings. */
void service_on_drain(void *service, const char *url, uint32_t peer);
void service_on_met(void *service, const char *url, uint32_t peer);

/* The same: a peer has sent what the origin has not. */
void service_on_lie(void *service, const char *name, uint64_t instance);

/* Says that the node is ready, once it is. */
void service_look_ready(struct service *s);

/* Begins to hand over; the drain hears of its end. */
void service_hand_over(struct service *s, void (*over)(void *arg));

/* Reads the configuration again, and hands it to all parts. */
void service_reload(struct service *s);

/*
 * Who the peers are: makes the list, of the configuration's at first, and has
 * it kept. From then on config->peers is that list. Nothing happens without a
 * cluster key. Returns 0 or a negative errno.
 */
int service_start_members(struct service *s);

/* Gives another configuration, which is to be applied, the list of peers that
 * comes of it. Returns 0 or -ENOMEM. */
int service_set_members(struct service *s, struct config *c);

/* Hands a configuration's list of peers to all parts. Returns 0 or -ENOMEM. */
int service_apply_peers(struct service *s, const struct config *c);

/* How digests are followed, with what this node says of itself. */
struct peer_follower_settings service_following(struct service *s,
						const struct config *c);

/* A node introduces itself, see digest_api_on_introduction(). */
void service_on_introduction(void *service, const char *text,
			     const struct sockaddr *from);

#endif
