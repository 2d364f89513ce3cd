/*
 * What the files of the service share.
 */
#ifndef DIGESTD_SERVICE_INSIDE_H
#define DIGESTD_SERVICE_INSIDE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "digestd/node/node_recheck.h"
#include "digestd/admin/admin.h"
#include "digestd/admin/admit_api.h"
#include "digestd/admin/node_status.h"
#include "digestd/node/node_drain.h"
#include "digestd/os/handover.h"
#include "digestd/os/listen_given.h"
#include "digestd/os/listen_path.h"
#include "digestd/os/loop.h"
#include "digestd/peers/copier.h"
#include "digestd/peers/members.h"
#include "digestd/peers/offers.h"
#include "digestd/peers/peer_follower.h"
#include "digestd/peers/publisher.h"
#include "digestd/peers/purge.h"
#include "digestd/peers/teller.h"

struct config;
struct client_rates;
struct control;
struct handover_purges;
struct node_status;
struct origin_watch;
struct origins;
struct service_asked;
struct service_outcomes;
struct sidecar;
struct sockaddr;
struct table_share;
struct target;
struct unstored;
struct worker_outcome;
struct worker_settings;

/* How this process takes over from another, and another from it. */
struct service_handover {
	char *const *argv; /* how the program is started; null: not known */
	struct listen_given given;
	/* of sockets that were given, as listen_name_given() has it */
	const char *data_name, *peer_name, *admin_name;
	struct listen_path data_path, admin_path; /* of UNIX sockets */
	int predecessor; /* the channel; -1: none */
	struct handover_purges *purges; /* what it says; null: it is not read */
	struct handover_successor successor; /* its channel is -1: none */
	struct loop_watch watch; /* of either channel */
	bool retired; /* the successor has the disk */
	atomic_bool told; /* it was told of a purge */
	bool yields;  /* the successor serves */
};

/* Ticks, in service_tick.c. */

enum service_dozing {
	SERVICE_AWAKE,
	SERVICE_DOZES, /* ticks are rare until a worker stirs it, */
	SERVICE_STIRS, /* which one has done */
	SERVICE_ENDED, /* there are no more ticks */
};

struct service_activity {
	uint64_t requests; /* of clients */
	uint64_t held;     /* of memory, for them [bytes] */
};

struct service {
	struct config *config;
	const char *config_path;
	struct loop *loop;
	struct cache *cache;
	struct admitter *admitter;
	struct admission_keeper *keeper; /* null: no file */
	struct collapses *collapses;
	struct upstream_names *names; /* that figures are kept of */
	struct troubles *troubles;
	struct origins *origins;
	struct origin_watch *watcher; /* of them */
	struct node_recheck rechecks;
	struct unstored *unstored;
	struct client_rates *rates;
	struct service_asked *asked; /* null: nobody was */
	struct service_outcomes *outcomes;
	struct access_log *access_log;
	struct placer *placer;
	struct lease_desk *leases;
	struct sharing *sharing;     /* null: nothing seen is shared */
	struct digest_api *api;
	struct sidecar *sidecar;     /* null: no cache beside this node */
	struct publisher *publisher; /* null: nobody may ask for digests */
	struct squid_digest *squid;  /* null: no Squid may */
	struct fetcher *fetcher;
	struct offers *offers;	      /* lists for peers */
	struct copier *copier;	      /* of what peers hand over; null: no
					 cluster key */
	unsigned copies_to;	      /* the worker of the next one */
	struct members *members;      /* null: no cluster key */
	struct peer_follower *follow; /* the same */
	struct table_share *share; /* its lists, for modules; null: none */
	struct admin admin_source;
	struct purger purger;
	struct teller *teller; /* of purges */
	struct serving_desk *serving; /* of strict ones; else null */
	struct renewer *renewer;      /* the same */
	struct admit_api admit;
	struct server *admin;
	struct control *control; /* null: there is no such socket */
	atomic_bool shown_ready; /* to workers: service_wants_clients() */
	bool drained; /* by an operator: load balancers are to pass it by */
	struct worker **workers;
	struct loop_call *emptied; /* one for each of them */
	unsigned nworkers;
	unsigned ndecoders; /* threads that decode a large digest */
	struct scd_threads decoders;
	struct node_listener listeners[NODE_LISTENERS_MAX];
	size_t nlisteners;
	uint64_t instance;
	uint64_t lookups;            /* told to the follower so far */
	int64_t started_s, started_ms;
	bool started;
	bool ready; /* it has been, once */
	struct service_handover handover;
	struct node_reloads reloads;
	struct node_drain drain;
	struct loop_timer drain_timer;
	int signals;
	struct loop_watch watch;
	struct loop_timer tick;
	atomic_int dozing;     /* enum service_dozing */
	struct loop_call stir; /* posted while it is SERVICE_STIRS */
	struct service_activity activity; /* as of the last tick */
	unsigned quiet_ticks; /* in a row */
	int64_t followed_ms; /* when admission and memory did last */
	uint64_t refused;    /* requests without memory, as last logged */
	int64_t refused_ms;  /* when */
};

/* The sum of all workers' counters, in service_status.c. */
void service_count(const struct service *s, struct worker_counters *sum);

/* Opens the access log of a configuration, anew if it is open. Returns 0 or a
 * negative errno, and then the old one goes on. */
int service_open_access_log(struct service *s, const struct config *c);

/* Begins to tick, and ends that. */
void service_start_ticks(struct service *s);
void service_end_ticks(struct service *s);

/* Ends dozing; of any thread. arg: the service. */
void service_stir(void *arg);

/* Has peers told whether leases are on, but for a sidecar. */
void service_say_leases(struct service *s, const struct config *c);

/* A cache beside this node, in service_sidecar.c. */

/* Begins to follow what it holds, if there is one. Returns 0 or a negative
 * errno. */
int service_start_sidecar(struct service *s);

/* What is published as held here: by the node itself, or by that cache. */
struct publisher_source service_holds_source(const struct service *s);

/* Makes the digest of that for Squids, if there may be any. Returns 0 or
 * -ENOMEM. */
int service_start_squid(struct service *s);

/* Makes the file of peers' lists for modules of proxies, if there is to be one.
 * Returns 0 or a negative errno. */
int service_start_share(struct service *s);

/* Adds that cache, and what is for Squids and modules, to a status, if there
 * are any. */
void service_sidecar_status(const struct service *s, struct node_status *out);

/* What came of asking peers, in service_outcomes.c: makes what it waits in
 * (0 or -ENOMEM); adds an outcome, in a worker's thread, arg is the service;
 * passes all that wait to the follower; frees them. */
int service_start_outcomes(struct service *s);
void service_on_outcome(void *arg, const struct worker_outcome *outcome);
void service_take_outcomes(struct service *s);
void service_free_outcomes(struct service *s);

/* Remembers what came of asking a peer; and explains what counts for a target,
 * which becomes the one that is looked up, and what is known of it: null
 * without memory. In service_explain.c. */
void service_note_outcome(struct service *s, const struct worker_outcome *o);
struct json_t *service_explain(struct service *s, struct target *t);

/* Origins, in service_origins.c: makes what knows them, finds those of a
 * configuration for what workers are told of it, and has them watched. Each
 * returns 0 or -ENOMEM. */
int service_start_origins(struct service *s);
int service_find_origins(struct service *s, const struct config *c,
			 struct worker_settings *settings);
int service_watch_origins(struct service *s, const struct config *c);

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

/* Notes where it listens, for the status. In service_status.c. */
void service_note_listeners(struct service *s);

/* Whether load balancers are to send clients; and says so to the workers. */
bool service_wants_clients(const struct service *s);
void service_show_ready(struct service *s);

/* Begins to hand over; the drain hears of its end. */
void service_hand_over(struct service *s, void (*over)(void *arg));

/* Sockets that were given, and processes that replace each other, in
 * service_handover.c. */

/* How many workers there are to be: as many as are configured, and one for each
 * socket of a process before this one. */
unsigned service_workers(const struct service *s);

/* Opens the UNIX sockets of listeners, unless they were given. Returns 0 or a
 * negative errno, which is logged. */
int service_open_paths(struct service *s);

/* Closes sockets that were given. Returns 0, or -EINVAL when the service
 * manager has one that no listener has, which is logged. */
int service_check_given(struct service *s);

/* Waits until the process before this one, if there is one, has left the disk.
 * Returns 0 or a negative errno, which is logged. */
int service_take_disk(struct service *s);

/* Applies what that has purged meanwhile, before there are workers, and then
 * what it purges later. Returns 0 or a negative errno. */
int service_catch_up_purges(struct service *s);

/* Tells it that it may end. */
void service_say_it_serves(struct service *s);

/* Starts a process that replaces this one; if that fails it is logged. */
void service_begin_handover(struct service *s);

/* Begins to drain, as at SIGTERM. */
void service_ask_to_drain(struct service *s);

/* The drain's begin, where another process serves already. */
void service_drain_after_handover(struct service *s);

void service_handover_free(struct service *s);

/*
 * Reads the configuration again, and hands it to all parts. What is wrong, or
 * waits for the next start, goes to the log, and line by line to `told` (null:
 * nobody waits for it). Returns whether there was no error.
 */
bool service_reload(struct service *s, FILE *told);

/* Opens the control socket, if there is to be one; what is wrong is logged.
 * Returns 0 or a negative errno. In service_control.c. */
int service_start_control(struct service *s);

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

/* How peers are told of purges; once it is known whether they are strict. */
struct teller_settings service_telling(struct service *s,
				       const struct config *c);

/* See peer_follower_settings. */
void service_on_note(void *service, const struct peer_note *note);
void service_on_stream_end(void *service, const char *url);

/* A node introduces itself, see digest_api_on_introduction(). */
void service_on_introduction(void *service, const char *text,
			     const struct sockaddr *from);

#endif
