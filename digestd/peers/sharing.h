/*
 * The shared memory of what was seen: what this node was asked for, published
 * as a digest of its own, and its peers' digests of the same, followed. On the
 * service loop; the set itself is for all workers.
 */
#ifndef DIGESTD_PEERS_SHARING_H
#define DIGESTD_PEERS_SHARING_H

#include <stddef.h>
#include <stdint.h>

#include "digestd/peers/digest_api.h"
#include "digestd/peers/peer_follower.h"
#include "digestd/peers/publisher.h"
#include "digestd/peers/seen.h"

struct fetcher;
struct loop;
struct peerset;
struct sharing;

struct sharing_settings {
	struct seen_settings seen;
	struct publisher_settings publishing; /* its source is set here */
	struct peer_follower_settings following; /* its subject is set here */
	int64_t wait_s;
};

/* Makes the set and its resource, which nobody can ask for yet. Returns 0,
 * -EINVAL, -ENOMEM. */
int sharing_new(const struct sharing_settings *settings, struct sharing **out);

/*
 * Begins to publish and to follow. changed(arg) is called whenever
 * sharing_view() is another one. `loop` and `fetcher` are borrowed. Returns 0
 * or -ENOMEM.
 */
struct sharing_start {
	struct loop *loop;
	struct fetcher *fetcher;
	const struct upstream *places;
	size_t nplaces;
	void (*changed)(void *arg);
	void *arg;
};
int sharing_start(struct sharing *s, const struct sharing_start *how);

/* Ends publishing and following; before the fetcher and the loop go. */
void sharing_stop(struct sharing *s);

/* *s becomes null; null is allowed. When no worker runs any more. */
void sharing_free(struct sharing **s);

/* A new list of peers, and new settings. Returns 0 or -ENOMEM. */
int sharing_set(struct sharing *s, const struct sharing_settings *settings,
		const struct upstream *places, size_t nplaces);

/* Parts of it. */
struct seen *sharing_seen(const struct sharing *s);
struct digest_api *sharing_api(const struct sharing *s);

struct sharing_stats {
	struct catalog_stats seen;	  /* by this node */
	struct publisher_stats published; /* of that */
	struct digest_api_counters sent;
	const struct peer_follower *follow; /* of peers; null: none */
};

/* How things stand. */
void sharing_stats(struct sharing *s, struct sharing_stats *out);

/* What peers were asked for, with one user more; null: no memory. */
struct peerset *sharing_view(struct sharing *s);

#endif
