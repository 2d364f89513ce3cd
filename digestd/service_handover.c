/*
 * One process of a node takes over from another (handover.h), and sockets that
 * a service manager has opened.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "digestd/admin/control.h"
#include "digestd/cache/admission_keeper.h"
#include "digestd/cache/cache.h"
#include "digestd/config/configuration.h"
#include "digestd/os/handover_purges.h"
#include "digestd/os/listen.h"
#include "digestd/os/log.h"
#include "digestd/os/notify.h"
#include "digestd/peers/digest_api.h"
#include "digestd/peers/sharing.h"
#include "digestd/peers/table_share.h"
#include "digestd/proxy/worker.h"
#include "digestd/server/server.h"
#include "digestd/service_inside.h"
#include "digestd/sidecar/sidecar.h"

/* The old process writes what waits for its disk within this time. */
enum { DISK_WAIT_MS = 60000 };

/* Sockets that were given */

unsigned service_workers(const struct service *s)
{
	struct listen_given given = s->handover.given;
	const struct listen_how how = {
		.address = s->config->listen_data,
		.given = &given,
		.listener = "data",
	};
	unsigned wanted = (unsigned)s->config->threads, sockets;

	sockets = s->handover.predecessor < 0 ? 0 : listen_count_given(&how);
	if (sockets > wanted)
		log_write(LOG_INFO, "handover", "threads: %u, as many as "
			  "before the hand-over: each socket needs one; a "
			  "restart takes the %u that are configured", sockets,
			  wanted);
	return sockets > wanted ? sockets : wanted;
}

static const char *service_name_given(struct service *s, const char *listener,
				      const char *address)
{
	const struct listen_how how = {
		.address = address,
		.given = &s->handover.given,
		.listener = listener,
	};

	return listen_name_given(&how);
}

/* Names of sockets, while they are there. */
static void service_keep_names(struct service *s)
{
	const struct config *c = s->config;
	struct service_handover *h = &s->handover;

	h->data_name = service_name_given(s, "data", c->listen_data);
	h->peer_name = service_name_given(s, "peer", c->listen_peer);
	h->admin_name = service_name_given(s, "admin", c->listen_admin);
}

static int service_open_path(struct service *s, const char *listener,
			     const char *address, struct listen_path *out)
{
	int err = listen_path_open(address, listener, &s->handover.given, out);

	if (err)
		log_write(LOG_ERROR, "service", "listen_%s: %s: %s", listener,
			  address, strerror(-err));
	return err;
}

int service_open_paths(struct service *s)
{
	struct service_handover *h = &s->handover;
	int err = service_open_path(s, "data", s->config->listen_data,
				    &h->data_path);

	if (!err)
		err = service_open_path(s, "admin", s->config->listen_admin,
					&h->admin_path);
	return err;
}

int service_check_given(struct service *s)
{
	const struct listen_given_socket *left =
		listen_given_unused(&s->handover.given);
	bool fatal = left && s->handover.predecessor < 0;
	char label[LISTEN_LABEL_BYTES];

	if (left)
		listen_label(left->fd, label);
	if (fatal)
		log_write(LOG_ERROR, "service", "socket \"%s\" of the service "
			  "manager, on %s, is for no listener: name it "
			  "data, peer or admin (FileDescriptorName=), or set "
			  "listen_data, listen_peer or listen_admin to its "
			  "address", left->name, label);
	else if (left)
		log_write(LOG_WARNING, "handover", "%s is not listened on "
			  "any more: it is no listener's of this configuration",
			  label);
	service_keep_names(s);
	listen_given_free(&s->handover.given);
	return fatal ? -EINVAL : 0;
}

/* The new process */

int service_take_disk(struct service *s)
{
	struct handover_message m = { .kind = HANDOVER_DISK };
	int channel = s->handover.predecessor, err;

	if (channel < 0)
		return 0;
	err = handover_send(channel, &m);
	if (!err)
		err = handover_purges_new(channel, DISK_WAIT_MS,
					  &s->handover.purges);
	if (err == -EPIPE) /* it has ended: what it had is free */
		return 0;
	if (err)
		log_write(LOG_ERROR, "handover", "the old process does not "
			  "leave the disk: %s", strerror(-err));
	return err;
}

static void service_purge_too(void *arg, const struct invalidation *of)
{
	struct service *s = arg;

	cache_purge_now(s->cache, of, loop_steady_s(s->loop));
}

/* Purges what the old process has purged. Returns -EAGAIN: that is all so far;
 * or another negative errno: no more will come. */
static int service_hear_predecessor(struct service *s)
{
	struct handover_message m;
	int err;

	while (!(err = handover_receive(s->handover.predecessor, &m))) {
		if (m.kind == HANDOVER_PURGE)
			service_purge_too(s, &m.of);
	}
	return err;
}

static void service_leave_predecessor(struct service *s)
{
	if (s->handover.predecessor < 0)
		return;
	loop_unwatch(s->loop, &s->handover.watch);
	close(s->handover.predecessor);
	s->handover.predecessor = -1;
}

static void service_on_predecessor(void *arg, unsigned events)
{
	struct service *s = arg;

	(void)events;
	if (service_hear_predecessor(s) != -EAGAIN)
		service_leave_predecessor(s);
}

int service_catch_up_purges(struct service *s)
{
	int err;

	if (s->handover.predecessor < 0)
		return 0;
	err = handover_purges_end(&s->handover.purges, service_purge_too, s);
	if (err && err != -EPIPE) /* it would serve what was purged */
		return err;
	if (err || service_hear_predecessor(s) != -EAGAIN) {
		service_leave_predecessor(s);
		return 0;
	}
	return loop_watch(s->loop, &s->handover.watch, s->handover.predecessor,
			  LOOP_READ, service_on_predecessor, s);
}

void service_say_it_serves(struct service *s)
{
	const struct handover_message m = { .kind = HANDOVER_SERVES };

	if (s->handover.predecessor >= 0 &&
	    !handover_send(s->handover.predecessor, &m))
		log_write(LOG_INFO, "handover", "taken over");
}

/* The old process */

/* In any thread, with a lock of the cache. Who has got no answer waits: the
 * successor may have the object still. */
static void service_on_purge(void *arg, const struct invalidation *of)
{
	struct service *s = arg;
	const struct handover_message m = { HANDOVER_PURGE, *of };

	s->handover.told = true;
	(void)handover_send(s->handover.successor.channel, &m);
}

/* What only one process can have: the disk, and the paths of the control
 * socket, the feed and the table for modules. */
static void service_retire(struct service *s)
{
	const struct handover_message m = { .kind = HANDOVER_DISK };

	s->handover.retired = true;
	cache_on_purge(s->cache, service_on_purge, s);
	admission_keeper_free(&s->keeper);
	cache_retire_disk(s->cache);
	control_free(&s->control);
	if (s->sidecar)
		sidecar_close_feed(s->sidecar);
	if (s->share)
		table_share_retire(s->share);
	(void)handover_send(s->handover.successor.channel, &m);
}

/* It is the main process now. */
static void service_yield(struct service *s)
{
	log_write(LOG_INFO, "handover", "process %ld has taken over",
		  (long)s->handover.successor.pid);
	notify_main_pid(s->handover.successor.pid);
	s->handover.yields = true;
	service_ask_to_drain(s);
}

static void service_lose_successor(struct service *s)
{
	struct service_handover *h = &s->handover;

	loop_unwatch(s->loop, &h->watch);
	if (h->yields) /* it has ended, and this one does */
		return;
	if (h->retired && s->config->disk_path)
		cache_give_up_disk(s->cache, s->config->disk_path, h->told);
	cache_on_purge(s->cache, NULL, NULL);
	close(h->successor.channel);
	kill(h->successor.pid, SIGKILL); /* if it has not */
	waitpid(h->successor.pid, NULL, 0);
	h->successor = (struct handover_successor){ 0, -1 };
	if (!s->config->disk_path && !s->config->admission_file)
		h->retired = false; /* it has lost nothing */
	if (!s->control)
		(void)service_start_control(s); /* the log says why not */
	if (s->sidecar)
		(void)sidecar_open_feed(s->sidecar);
	if (s->share)
		table_share_resume(s->share);
	log_write(LOG_ERROR, "handover", "the new process has ended, and this "
		  "one goes on%s; its messages are above",
		  h->retired ? ", without its disk: restart it" : "");
}

static void service_on_successor(void *arg, unsigned events)
{
	struct service *s = arg;
	struct handover_message m;
	int err;

	(void)events;
	while (!(err = handover_receive(s->handover.successor.channel, &m))) {
		if (m.kind == HANDOVER_DISK && !s->handover.retired)
			service_retire(s);
		else if (m.kind == HANDOVER_SERVES && !s->handover.yields)
			service_yield(s);
	}
	if (err != -EAGAIN)
		service_lose_successor(s);
}

static void service_add_socket(struct handover_socket *sockets, unsigned *n,
			       int fd, const char *name)
{
	if (fd >= 0)
		sockets[(*n)++] = (struct handover_socket){ fd, name };
}

static int service_start_successor(struct service *s)
{
	const struct service_handover *h = &s->handover;
	struct handover_socket *sockets =
		calloc(2 * s->nworkers + 1, sizeof(*sockets));
	unsigned n = 0;
	int err = -ENOMEM;

	if (!sockets)
		return err;
	for (unsigned i = 0; i < s->nworkers; i++) {
		service_add_socket(sockets, &n,
				   worker_data_socket(s->workers[i]),
				   h->data_name);
		service_add_socket(sockets, &n,
				   worker_peer_socket(s->workers[i]),
				   h->peer_name);
	}
	if (s->admin)
		service_add_socket(sockets, &n, server_socket(s->admin),
				   h->admin_name);
	err = handover_start(h->argv, sockets, n,
			     &s->handover.successor);
	free(sockets);
	return err;
}

/* Why none can be started now; null: it can. */
static const char *service_handover_fault(const struct service *s)
{
	if (!node_drain_is_serving(&s->drain))
		return "this process is ending";
	if (s->handover.successor.channel >= 0)
		return "one is under way";
	if (s->handover.predecessor >= 0)
		return "the process before this one has not ended yet";
	if (s->handover.retired)
		return "this process has no disk any more: restart it";
	return s->handover.argv ? NULL : "the program's name is not known";
}

void service_begin_handover(struct service *s)
{
	const char *fault = service_handover_fault(s);
	struct service_handover *h = &s->handover;
	int err;

	if (fault) {
		log_write(LOG_ERROR, "handover", "not now: %s", fault);
		return;
	}
	err = service_start_successor(s);
	if (err) {
		h->successor.channel = -1;
		log_write(LOG_ERROR, "handover", "%s: %s", h->argv[0],
			  strerror(-err));
		return;
	}
	log_write(LOG_INFO, "handover", "process %ld is to take over",
		  (long)h->successor.pid);
	if (loop_watch(s->loop, &h->watch, h->successor.channel, LOOP_READ,
		       service_on_successor, s))
		service_lose_successor(s);
}

static void service_on_admin_drained(void *arg)
{
	(void)arg; /* the workers' connections are waited for, not these */
}

void service_drain_after_handover(struct service *s)
{
	for (unsigned i = 0; i < s->nworkers; i++)
		worker_hand_over(s->workers[i], s->loop, &s->emptied[i]);
	if (s->admin)
		server_hand_over(s->admin, service_on_admin_drained, NULL);
	digest_api_hand_over(s->api);
	if (s->sharing)
		digest_api_hand_over(sharing_api(s->sharing));
	/* what the successor purges would stay here */
	cache_limit(s->cache, 0, (uint64_t)s->config->disk_size,
		    (unsigned)s->config->vary_limit);
}

void service_handover_free(struct service *s)
{
	if (s->cache)
		cache_on_purge(s->cache, NULL, NULL);
	if (s->loop)
		loop_unwatch(s->loop, &s->handover.watch);
	if (s->handover.successor.channel >= 0)
		close(s->handover.successor.channel);
	(void)handover_purges_end(&s->handover.purges, NULL, NULL);
	if (s->handover.predecessor >= 0)
		close(s->handover.predecessor);
	listen_given_free(&s->handover.given);
	listen_path_close(&s->handover.data_path);
	listen_path_close(&s->handover.admin_path);
}
