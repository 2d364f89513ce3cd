/*
 * Telling peers of this node's purges, and asking them for theirs.
 *
 * What the node has numbered goes to each peer in order, as one message at a
 * time with all that the peer has not acknowledged, in the stream that the peer
 * reads or by a request; a peer that does not answer is told again later, of
 * all it has missed. A node that starts asks its peers for what they know
 * first.
 *
 * Members may come and go. One that comes is told all that is in the log. What
 * one that goes has not acknowledged stays above the floor for an hour, and it
 * is told of that if it comes back within it: until then it may hold old
 * copies, and others must name what it lacks.
 *
 * A peer that restarts after it has acknowledged a purge has forgotten it, and
 * could take an older copy from a peer that was not told yet. So an
 * acknowledgement counts for a time only, and then is asked for again, and who
 * has another instance is told again what it may lack; and a node that starts
 * keeps nothing that comes from peers until it has heard from all of them, or
 * for a longer time (`unheard_ms`), when no older acknowledgement of its counts
 * any more. So a peer that is dead does not hold it up.
 *
 * A teller lives on the service loop. Others wait for acknowledgements from
 * their own loops.
 */
#ifndef DIGESTD_PEERS_TELLER_H
#define DIGESTD_PEERS_TELLER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/os/loop.h"

struct cache;
struct peer_note;
struct serving_desk;
struct teller;
struct tls_client;
struct upstream;

/* Counters; one row each. name, what it counts. */
/* clang-format off */
#define TELLER_COUNTERS(X) \
	X(told,     "messages of purges that peers have acknowledged") \
	X(streamed, "messages of purges that were sent in streams") \
	X(failed,   "times that a peer stopped acknowledging purges") \
	X(replayed, "peers whose purges were fetched when the node started")
/* clang-format on */

/*
 * The streams between this node and its peers (mesh/digest_stream.h). send()
 * has a note read by the peer of its instance; false: the peer reads no stream
 * of this node, or, if that is a note of invalidations, this node reads none of
 * the peer's, in which they could be acknowledged. Null: there are none.
 */
struct teller_streams {
	bool (*send)(void *arg, const struct peer_note *note);
	void *arg;
};

/* Who is told, and how; all but the token and the secret is borrowed. */
struct teller_settings {
	const struct upstream *peers;
	size_t npeers; /* 0: nobody is told */
	char token[33];
	uint8_t secret[16];  /* of the hash */
	unsigned timeout_ms; /* for a sign of a peer, which may take longer to
				answer while it gives some */
	unsigned start_ms;   /* for all answers when the node starts */
	unsigned unheard_ms; /* for those of which it hears nothing, see above;
				acknowledgements count for 3/4 of that */
	unsigned new_ms; /* so long a peer that comes may be unknown to some
			    others, see invalidation_log_hold_floors() */
	bool numbers; /* what is purged is numbered also while there are no
			 peers: who comes, by a reload, say, is told of it */
	bool awaits;  /* peers will come, and it waits for the first to */
	struct tls_client *tls;
	struct serving_desk *desk; /* purges are strict; null: they are not */
	struct teller_streams streams;
	const char *disk_path; /* of lives.h; null: there is no disk */
};

/*
 * Returns 0 or -ENOMEM. It asks the peers at once, and has the cache serve
 * nothing from disk, and peers nothing, until they have answered or have failed
 * to, start_ms at most.
 */
int teller_new(struct loop *loop, struct cache *cache,
	       const struct teller_settings *settings, struct teller **out);

/* Other peers, or others of their settings. Returns 0 or -ENOMEM, and then they
 * are those of before. */
int teller_set(struct teller *t, const struct teller_settings *settings);

/* From now on it does nothing, and calls nobody; null is allowed. */
void teller_stop(struct teller *t);

/* Frees it, and who waits, when its loop has had a turn since the last call of
 * teller_wait() or teller_wake(). *t becomes null; null is allowed. */
void teller_free(struct teller **t);

/* Whether what is purged is to be numbered; from any thread. */
bool teller_tells(const struct teller *t);

/* Whether nobody has to acknowledge purges, so that who has numbered one need
 * not wait: there are no peers, and no leases to serve. Who comes later is told
 * all that is in the log. From any thread. */
bool teller_is_alone(const struct teller *t);

/* Who waits until peers have applied a number. Zero but for the first five. */
struct teller_wait {
	uint64_t seq;
	unsigned timeout_ms;
	struct loop *loop; /* of who waits */
	void (*done)(void *arg, struct teller_wait *w); /* there; frees w */
	void *arg;
	json_t *answers; /* then: {"n2": 3, "n3": null}, null for a peer that
			    has not; to be released */
	bool refused;	 /* it is not final: too few have it, or too many that
			    may serve have not; only of strict purges */
	struct loop_call call;
	struct teller *teller;
	int64_t closed_ms; /* when the leases of others have run out */
	int64_t due_ms, patient_ms; /* for peers that failed before */
	struct teller_wait *next, **link;
};

/*
 * Waits for the peers that there are; w is of malloc(), and lent until done().
 * From any thread.
 */
void teller_wait(struct teller *t, struct teller_wait *w);

/* How many peers have acknowledged a number; on its loop. */
unsigned teller_count_told(const struct teller *t, uint64_t seq);

/* Tells peers of what is new; nobody waits for it. From any thread. */
void teller_wake(struct teller *t);

/* A note has come from a peer, of invalidations or of an acknowledgement; the
 * stream of the peer with this URL has ended. On its loop. */
void teller_on_note(struct teller *t, const struct peer_note *note);
void teller_on_stream_end(struct teller *t, const char *url);

struct teller_counters {
#define X(name, text) uint64_t name;
	TELLER_COUNTERS(X)
#undef X
};

/* What a peer has acknowledged. */
struct teller_peer_status {
	const char *name;
	uint64_t acknowledged; /* all up to this number */
	uint64_t lacking;      /* so many numbers more there are */
	int64_t lacking_ms;    /* for so long it lacks some */
	bool failing; /* it did not answer last time */
};

/* All on its loop: the i-th peer of so many that are told. */
void teller_count(const struct teller *t, struct teller_counters *out);
size_t teller_peers(const struct teller *t);
void teller_peer_status(const struct teller *t, size_t i,
			struct teller_peer_status *out);

#endif
