/*
 * The admin listener: /metrics, /status.json, /healthz and /readyz; and PURGE.
 */
#ifndef DIGESTD_IO_ADMIN_H
#define DIGESTD_IO_ADMIN_H

#include "digestd/io/node_status.h"
#include "digestd/io/purge.h"
#include "digestd/io/server.h"

/* Where the status comes from, and who purges. */
struct admin {
	void (*gather)(void *arg, struct node_status *out);
	void *arg;
	struct purger *purger;
};

/* How requests are served; arg is the struct admin. */
extern const struct server_handler admin_handler;

#endif
