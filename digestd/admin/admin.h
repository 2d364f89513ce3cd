/*
 * The admin listener: the status page (/ and /status), /status.json, /metrics,
 * /healthz, /readyz and /v1/admit; and PURGE.
 */
#ifndef DIGESTD_ADMIN_ADMIN_H
#define DIGESTD_ADMIN_ADMIN_H

#include "digestd/admin/admit_api.h"
#include "digestd/admin/node_status.h"
#include "digestd/peers/purge.h"
#include "digestd/server/server.h"

struct sidecar;

/* Where the status comes from, who purges, who admits, and what knows of the
 * cache beside this node (null: there is none). */
struct admin {
	void (*gather)(void *arg, struct node_status *out);
	void *arg;
	struct purger *purger;
	struct admit_api *admit;
	const struct sidecar *sidecar;
};

/* How requests are served; arg is the struct admin. */
extern const struct server_handler admin_handler;

#endif
