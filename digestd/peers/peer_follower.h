/*
 * Following peers: fetches their digests over HTTP, keeps the copies, and
 * tells whether each of them may be asked. On the service loop.
 */
#ifndef DIGESTD_PEERS_PEER_FOLLOWER_H
#define DIGESTD_PEERS_PEER_FOLLOWER_H

#include <stddef.h>
#include <stdint.h>

#include "codec/digest.h"
#include "digestd/mesh/following.h"
#include "digestd/mesh/peerset.h"
#include "digestd/peers/digest_request.h"
#include "digestd/peers/peer_kind.h"
#include "digestd/peers/token.h"
#include "digestd/peers/upstream.h"

struct fetcher;
struct peer_follower;
struct peer_note;
struct loop;
struct tls_client;
struct troubles;

/* Counters of one peer; one row each. name, what it counts. */
/* clang-format off */
#define PEER_FOLLOWER_COUNTERS(X) \
	X(full_received,        "full digests received") \
	X(full_received_bytes,  "bytes of full digests received") \
	X(delta_received,       "deltas received") \
	X(delta_received_bytes, "bytes of deltas received") \
	X(unchanged,            "digest fetches that brought nothing new") \
	X(unfit,                "digests that could not be used") \
	X(fetch_failed,         "digest fetches that failed") \
	X(put_off,              "digest fetches that waited as this peer's had cost too much") \
	X(remote_hits,          "objects that this peer delivered") \
	X(remote_hit_bytes,     "body bytes of objects that this peer delivered") \
	X(lookups,              "URIs that this peer's digest was looked up for") \
	X(false_hits,           "objects that this peer's digest promised in vain") \
	X(stale_hits,           "objects that this peer had, but not fresh enough") \
	X(variant_misses,       "objects that this peer had in other variants only") \
	X(query_failed,         "object requests to this peer that failed") \
	X(wrong,                "objects of this peer that differed from the origin's")
/* clang-format on */

struct peer_follower_counters {
#define X(name, help) uint64_t name;
	PEER_FOLLOWER_COUNTERS(X)
#undef X
};

enum { PEER_INTRODUCTION_BYTES = 600 }; /* of a name and a URL */

struct peer_follower_settings {
	struct following_policy policy;
	struct scd_limits limits;
	/* To decode large digests with, from the decoder's thread; borrowed,
	 * from the start on. Null: none but that. */
	const struct scd_threads *threads;
	char token[TOKEN_BYTES];
	char hash_name[TOKEN_BYTES]; /* of the secret that makes keys */
	int64_t wait_s;     /* Prefer: wait */
	int64_t timeout_ms; /* of a fetch, beyond the wait */
	int64_t connect_ms;
	struct tls_client *tls; /* borrowed; null: see fetch_request */
	enum digest_subject subject; /* of the digests that are followed */

	/* A digest of this instance is the node's own: a list of peers names
	 * it, too. on_itself(arg, url), with the arg of changed(), is told, and
	 * may take that peer off the list. 0 and null: it is not known. */
	uint64_t instance;
	void (*on_itself)(void *arg, const char *url);
	/* A peer says that it drains: on_drain(arg, url, id), the id being that
	 * of views. Null: nobody wants to know. */
	void (*on_drain)(void *arg, const char *url, uint32_t id);
	/* Its digest is in place, the first one of an instance: on_met(), as
	 * before. */
	void (*on_met)(void *arg, const char *url, uint32_t id);
	/* A note of invalidations has come in a stream, or of an
	 * acknowledgement: on_note(arg, note); such a stream has ended:
	 * on_stream_end(arg, url). Null: notes are not taken. */
	void (*on_note)(void *arg, const struct peer_note *note);
	void (*on_stream_end)(void *arg, const char *url);
	/* A peer is put into quarantine for what it has sent. */
	void (*on_lie)(void *arg, const char *name, uint64_t instance);
	struct troubles *troubles; /* borrowed; null: not told */
	/* Who hears of lists of peers; set null: nobody. */
	struct peer_table_watcher watcher;
	bool leases; /* whether this node asks for leases; see DIGEST_NODE */
	/* This node's name and location, copied at the start; null: it is at
	 * none that is known. Of peers elsewhere, their digests of this node's
	 * sector are followed, see mesh/sector.h. */
	const char *node, *location;
	/* How it introduces itself where it has no digest yet; empty: it does
	 * not. See PROTOCOL.md. */
	char introduction[PEER_INTRODUCTION_BYTES];
};

/* One peer, for metrics and status. Pointers live until the next change. */
struct peer_follower_status {
	uint32_t id; /* that of views */
	const char *name, *url;
	const struct peer_digest *digest; /* null: none */
	bool usable; /* it may be asked for objects, or at least probed */
	bool gone;   /* nobody is found there */
	struct digest_node says; /* of itself */
	/* Of a peer at another location: this node's sector, which is all that
	 * its digest is of. Count 0: it is at this one. */
	struct sector sector;
	bool suspect; /* another peer doubts what it sends */
	bool held; /* in quarantine by an operator's word */
	const char *kind;
	enum peer_health_state health;
	double rtt_ms;
	int64_t confirmed_ms; /* see following_confirmed_ms() */
	struct peer_follower_counters counters;
};

/*
 * Makes a follower of these peers and starts to fetch. changed(arg) is called
 * whenever the view (peer_follower_view()) is another one. `loop` and `fetcher`
 * are borrowed, the rest is copied. Returns 0 or a negative errno.
 */
int peer_follower_new(struct loop *loop, struct fetcher *fetcher,
		      const struct peer_follower_settings *settings,
		      const struct upstream *places, size_t n,
		      void (*changed)(void *arg), void *arg,
		      struct peer_follower **out);

void peer_follower_free(struct peer_follower **f);

/*
 * Takes a new list of peers; those whose kind has no such digest are left out.
 * Those that stay (name, url and kind) keep their digest, health and counters.
 * Returns 0 or -ENOMEM, and then nothing has changed.
 */
int peer_follower_set_peers(struct peer_follower *f,
			    const struct upstream *places, size_t n);

/* Takes new times and limits; they count from the next fetch on. */
void peer_follower_set(struct peer_follower *f,
		       const struct peer_follower_settings *settings);

/* A new view of the peers as they stand, with one user; null: no memory. */
struct peerset *peer_follower_view(struct peer_follower *f);

/* What came of asking the peer with this id (peerset_peer.id) for an object. */
void peer_follower_outcome(struct peer_follower *f, uint32_t id,
			   enum peer_outcome outcome, double rtt_ms,
			   uint64_t body_bytes);

/* The digests were consulted for so many more keys. */
void peer_follower_lookups(struct peer_follower *f, uint64_t lookups);

/* Whether a stream is read of the peer with this URL, in this life of it. */
bool peer_follower_reads(const struct peer_follower *f, const char *url,
			 uint64_t instance);

/* Whether there is no peer whose digest is still to be waited for before this
 * node begins its work, see following_has_settled(). */
bool peer_follower_has_settled(const struct peer_follower *f);

/* Somebody has said that it is the peer of this name: if it could not be
 * reached last time, it is asked again now. */
void peer_follower_wake(struct peer_follower *f, const char *name);

/*
 * An operator has the peers of this name left alone until he says otherwise
 * (hold), or asked again, whatever had put them into quarantine. Returns 0,
 * -EALREADY if they are so, -ENOENT if there is no such peer.
 */
int peer_follower_hold(struct peer_follower *f, const char *name, bool hold);

/* When the digest of the peer of this name was last known to be current, or
 * else when it became a peer; of none, now. [loop_now_ms()] */
int64_t peer_follower_seen_ms(const struct peer_follower *f, const char *name);

/* Bytes of memory that digests take: each array, the next one, and its part of
 * the index; all lists and their table. */
size_t peer_follower_memory(const struct peer_follower *f);

/* The peers one by one, i < count, for metrics and status. */
size_t peer_follower_count(const struct peer_follower *f);
void peer_follower_status(const struct peer_follower *f, size_t i,
			  struct peer_follower_status *out);

#endif
