/*
 * What the files of the follower share.
 */
#ifndef DIGESTD_PEERS_PEER_FOLLOWER_INSIDE_H
#define DIGESTD_PEERS_PEER_FOLLOWER_INSIDE_H

#include <stdbool.h>

#include "digestd/http/httpdate.h"
#include "digestd/os/loop.h"
#include "digestd/peers/digest_body.h"
#include "digestd/peers/digest_decoder.h"
#include "digestd/peers/peer_follower.h"

struct fetch;

/* A fetch under way, and then what it has brought while it is decoded. */
struct update {
	struct fetch *fetch;
	unsigned status;
	char modified[HTTPDATE_LEN + 1]; /* Last-Modified; empty: none */
	bool foreign; /* its keys were made by another secret */
	struct digest_node says;
	uint64_t suspects[DIGEST_SUSPECTS_MAX]; /* instances that it names */
	size_t nsuspects;
	struct digest_body body;
	struct digest_job *job;
};

struct peer {
	struct peer_follower *follow;
	uint32_t id;
	const struct peer_kind *kind;
	char *name, *url, *digest_url;
	struct following following;
	struct peer_digest *digest;
	struct digest_node says; /* of itself, last */
	int64_t suspect_until_ms; /* others have named it */
	int64_t handed_ms; /* when it drained last, as others were told */
	char modified[HTTPDATE_LEN + 1]; /* of the digest */
	struct following_policy policy;
	struct loop_timer timer;
	int64_t due_ms; /* of the timer; INT64_MAX: it is not set */
	struct update update;
	struct peer_follower_counters counters;
	int64_t since_ms;  /* when it became a peer */
	char reported[96]; /* its trouble, as it was logged; or empty */
};

struct peer_follower {
	struct loop *loop;
	struct fetcher *fetcher;
	struct digest_decoder *decoder;
	struct peer_follower_settings settings;
	struct peer **peers;
	size_t npeers;
	uint32_t next_id;
	struct peerset *view; /* the last one made */
	void (*changed)(void *arg);
	void *arg;
};

/* An answer has come from a peer: logs where it has another word for leases
 * than before, and than this node. */
void peer_follower_log_leases(const struct peer *p);

#endif
