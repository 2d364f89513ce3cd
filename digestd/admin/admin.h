/*
 * The admin listener: /metrics, /status.json, /healthz, /readyz and /v1/admit;
 * and PURGE.
 */
#ifndef DIGESTD_ADMIN_ADMIN_H
#define DIGESTD_ADMIN_ADMIN_H

#include "digestd/admin/admit_api.h"
#include "digestd/admin/node_status.h"
#include "digestd/peers/purge.h"
#include "digestd/server/server.h"

/* Where the status comes from, who purges, and who admits. */
struct admin {
	void (*gather)(void *arg, struct node_status *out);
	void *arg;
	struct purger *purger;
	struct admit_api *admit;
};

/* How requests are served; arg is the struct admin. */
extern const struct server_handler admin_handler;

#endif
