/*
 * A node: the cache, the workers, and the service loop with all that is not on
 * the way of a request (publishing, following, the admin listener).
 */
#ifndef DIGESTD_SERVICE_H
#define DIGESTD_SERVICE_H

#include <stdbool.h>

#include "digestd/os/listen_given.h"

struct config;
struct node_status;
struct scd_key;
struct service;

/* How its process was started. */
struct service_process {
	char *const *argv; /* starts one that replaces it; null: nothing does */
	struct listen_given given; /* sockets; they become the service's */
	int predecessor; /* the channel of the process that this one replaces,
			    which becomes the service's; -1: none */
};

/*
 * Makes a node from a configuration, which becomes its own also when this
 * fails, opens its listeners, and starts its workers. What goes wrong is
 * logged. `process` is null where nobody replaces it. Returns 0 or a negative
 * errno.
 */
int service_new(struct config *config, const char *config_path,
		const struct service_process *process, struct service **out);

/*
 * Runs the node in the calling thread until SIGTERM or SIGINT, which must be
 * blocked (service_block_signals()): then requests under way may end; a second
 * signal ends at once. SIGHUP reloads the configuration. SIGUSR2 starts another
 * process, which takes over, and ends this one then.
 * Returns 0 or a negative errno.
 */
int service_run(struct service *s);

/* How a service stands, as its admin listener tells it; from its own thread.
 * What *out points to lives until the service is reloaded or freed. */
void service_status(void *service, struct node_status *out);

/* Whether the store in memory has a response for a request with this key and
 * without any fields. */
bool service_holds(struct service *s, const struct scd_key *key);

/* Drops all that is stored here under a key, as a purge would, and tells nobody
 * of it. */
void service_drop(struct service *s, const struct scd_key *key);

/* What the digests of peers take [bytes]. */
size_t service_peer_bytes(const struct service *s);

/* Frees everything; *s becomes null. */
void service_free(struct service **s);

/* Blocks the signals that service_run() handles, and ignores those that stand
 * for an error of a write. Before there are threads. */
void service_block_signals(void);

#endif
