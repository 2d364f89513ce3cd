/*
 * What a node tells about itself: gathered by the service, written as
 * Prometheus metrics and as JSON.
 */
#ifndef DIGESTD_ADMIN_NODE_STATUS_H
#define DIGESTD_ADMIN_NODE_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "digestd/cache/admitter.h"
#include "digestd/mesh/catalog.h"
#include "digestd/store/store.h"
#include "digestd/disk/disk.h"
#include "digestd/os/access_log.h"
#include "digestd/os/troubles.h"
#include "digestd/peers/copier.h"
#include "digestd/peers/digest_api.h"
#include "digestd/peers/members.h"
#include "digestd/peers/offers.h"
#include "digestd/peers/peer_follower.h"
#include "digestd/peers/publisher.h"
#include "digestd/peers/sharing.h"
#include "digestd/peers/squid_digest.h"
#include "digestd/peers/table_share.h"
#include "digestd/peers/teller.h"
#include "digestd/proxy/origin_group.h"
#include "digestd/proxy/worker.h"
#include "digestd/proxy/worker_figures.h"
#include "digestd/sidecar/sidecar.h"

/* A certificate in use. */
struct node_certificate {
	const char *use;
	int64_t expires_s; /* since 1970 */
};

enum {
	NODE_CERTIFICATES_MAX = 3,
	NODE_LISTENERS_MAX = 3,
	NODE_ADDRESS_BYTES = 128, /* of a listener, with the NUL */
};

/* Readings of the configuration since the start, which is the first one. */
struct node_reloads {
	uint64_t done, failed;
	bool last_failed;
	int64_t last_done_s; /* since 1970 */
};

/* Where it listens. */
struct node_listener {
	const char *name; /* "data", "peer" or "admin" */
	char address[NODE_ADDRESS_BYTES];
};

struct node_status {
	const char *node;
	uint64_t instance;
	bool ready;
	bool drained;       /* by an operator */
	int64_t now_ms;     /* on the service loop's clock */
	int64_t started_s;  /* since 1970 */
	int64_t uptime_s;
	unsigned threads;
	struct node_listener listeners[NODE_LISTENERS_MAX];
	size_t nlisteners;
	struct worker_counters counters; /* sums of all workers */
	struct worker_figures figures;
	struct node_certificate certificates[NODE_CERTIFICATES_MAX];
	size_t ncertificates;
	uint64_t tls_admin_failed;
	struct access_log_counters access_log;
	struct teller_counters telling; /* of purges */
	const struct teller *teller; /* who counts those; null: nobody */
	bool serves; /* what is stored, see peers/serving_desk.h */
	struct store_stats store;
	bool has_disk;      /* there is a disk tier: the next two count */
	struct store_stats disk_store;
	struct disk_counters disk;
	struct admitter_stats admission;
	bool shares;        /* what was seen: the next one counts */
	struct sharing_stats sharing;
	struct catalog_stats catalog; /* of what is published */
	bool has_squid;     /* there may be Squids: the next one counts */
	struct squid_digest_stats squid;
	bool has_sidecar;   /* a cache beside it: the next one counts */
	struct sidecar_stats sidecar;
	bool has_share;     /* a table for modules: the next one counts */
	struct table_share_stats share;
	bool publishes;     /* there is a peer listener: the next two count */
	struct publisher_stats publisher;
	struct digest_api_counters digests;
	bool has_members;   /* peers are those of a list: the next one counts */
	struct members_stats members;
	struct offers_counters offers;
	struct copier_counters copies;
	const struct peer_follower *follow; /* null: no peers */
	struct origins *origins; /* null: none are known */
	struct troubles *troubles; /* null: none are counted */
	const struct upstream_names *names; /* of the figures; null: none */
	struct node_reloads reloads;
};

/* Writes the text format 0.0.4 of Prometheus. */
void node_status_metrics(const struct node_status *s, FILE *to);

/* The same as JSON, to be released with free(); null: no memory. */
char *node_status_json(const struct node_status *s);

/* The same as an object; what there was no memory for is missing. */
struct json_t *node_status_object(const struct node_status *s);

/* Lists all metrics that a node can have, a line each: name, type, help. */
void node_status_list_metrics(FILE *to);

#endif
