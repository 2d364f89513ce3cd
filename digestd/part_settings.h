/*
 * From the configuration to what each part wants to be told.
 */
#ifndef DIGESTD_PART_SETTINGS_H
#define DIGESTD_PART_SETTINGS_H

#include "digestd/cache/admitter.h"
#include "digestd/mesh/catalog.h"
#include "digestd/mesh/list_history.h"
#include "digestd/mesh/resize.h"
#include "digestd/peers/copier.h"
#include "digestd/peers/peer_follower.h"
#include "digestd/peers/placer.h"
#include "digestd/peers/teller.h"
#include "digestd/peers/sharing.h"
#include "digestd/proxy/origin_group.h"
#include "digestd/proxy/origin_watch.h"
#include "digestd/proxy/worker.h"
#include "digestd/peers/table_share.h"
#include "digestd/sidecar/sidecar.h"

struct config;
struct node_status;

/*
 * What the workers are told; its strings are the configuration's, its list of
 * origins is released with part_settings_free(). Returns 0 or -ENOMEM.
 */
int part_settings_of_workers(const struct config *c,
			     struct worker_settings *out);

/*
 * How much memory the process may have. Where the configuration names no limit
 * it is twice cache_size, what may wait for the disk, 128 MiB, and what digests
 * and tables take now, about.
 */
uint64_t part_settings_memory_limit(const struct config *c,
				    const struct node_status *now);

/* When origins are taken out, and how they are watched; its strings are the
 * configuration's. */
struct origin_policy part_settings_of_origins(const struct config *c);
struct origin_watch_settings part_settings_of_watching(const struct config *c);

void part_settings_free(struct worker_settings *s);

/*
 * How many connections each listener of each thread may take, where the process
 * may have so many open files: no more than the configuration says, nor than
 * there are descriptors for, after what all else needs is set aside.
 */
unsigned part_settings_connections(const struct config *c, uint64_t files);

/* How many descriptors have to be left at least, when all that a node opens at
 * its start is open: for peers, a client and its upstream a thread, and
 * some. */
unsigned part_settings_files_left(const struct config *c);

/* And how many the admin listener may. */
unsigned part_settings_admin_connections(uint64_t files);

/* How objects are copied from peers, as they drain, or as this node starts. */
struct copier_settings part_settings_of_copier(const struct config *c);

/* Where its control socket is: as configured, or else in the folder that the
 * service manager has made for it. False: there is to be none. */
enum { PART_SETTINGS_CONTROL_BYTES = 4096 };
bool part_settings_control(const struct config *c,
			   char path[PART_SETTINGS_CONTROL_BYTES]);

/* The token that it presents to peers; empty without a key, if it was. */
void part_settings_token(const struct config *c, char out[TOKEN_BYTES]);

/* The secret that keys are hashed with. */
void part_settings_hash_secret(const struct config *c, uint8_t secret[16]);

/* The name of that secret, by which nodes see whether they have the same. */
void part_settings_hash_name(const struct config *c, char out[TOKEN_BYTES]);

/*
 * The sizes that the catalog's filter may have, and the one that it has at
 * first: powers of two within filter_min and filter_max.
 */
struct resize_policy part_settings_of_filter(const struct config *c);

/* Whether the node's digest is published as a list, and what that is made for.
 */
bool part_settings_has_lists(const struct config *c);
struct list_shape part_settings_of_list(const struct config *c);
uint64_t part_settings_first_bits(const struct config *c);

/* Into how many shards the cache goes: one for a single worker. */
unsigned part_settings_shards(const struct config *c);

/* What is worth keeping; texts are the configuration's. */
struct admitter_settings part_settings_of_admission(const struct config *c);

/* Which node keeps what. */
struct placer_settings part_settings_of_placement(const struct config *c);

/* Whether the cache has tiers, as one placement wants. */
bool part_settings_has_tiers(const struct config *c);

/* Whether leases are on, which that placement has, too. */
bool part_settings_has_leases(const struct config *c);

/* The shared memory of what was seen; but for the instance. */
struct sharing_settings part_settings_of_sharing(const struct config *c);

/* What the publisher, the follower and its two machines are told. */
struct publish_policy part_settings_of_publishing(const struct config *c);
struct peer_follower_settings
part_settings_of_following(const struct config *c);

/*
 * How a node with this peer port introduces itself to others: empty where it
 * has no peer listener, or where members come from the configuration alone.
 */
void part_settings_introduction(const struct config *c, unsigned port,
				char text[PEER_INTRODUCTION_BYTES]);

/* The cache beside this node, if there is one: borrows from the
 * configuration. */
struct sidecar_settings part_settings_of_sidecar(const struct config *c);

/* A table for modules of proxies; path null: none. */
struct table_share_settings part_settings_of_share(const struct config *c);

/* Who is told of purges: borrows from the configuration; no fetcher yet. */
struct teller_settings part_settings_of_telling(const struct config *c);

/* Whether purges are strict, see mesh/serving_lease.h. */
bool part_settings_is_strict(const struct config *c);

#endif
