/*
 * What the files of the follower share.
 */
#ifndef DIGESTD_PEERS_PEER_FOLLOWER_INSIDE_H
#define DIGESTD_PEERS_PEER_FOLLOWER_INSIDE_H

#include <stdbool.h>

#include "digestd/http/httpdate.h"
#include "digestd/http/trouble.h"
#include "digestd/os/loop.h"
#include "digestd/peers/digest_body.h"
#include "digestd/peers/digest_decoder.h"
#include "digestd/peers/peer_follower.h"

struct fetch;
struct fetch_done;
struct fields;

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
	bool streams;  /* the body is a stream of frames */
	bool paused;   /* and more of them wait to be taken */
	size_t whole;  /* bytes of body that are whole frames */
	int64_t notes_since_ms; /* of it, what was no frame, */
	size_t notes_bytes;
	unsigned nsays; /* ... and notes on itself and others */
};

struct peer {
	struct peer_follower *follow;
	uint32_t id;
	const struct peer_kind *kind;
	char *name, *url, *digest_url;
	struct sector sector; /* of its digest; count 0: it is here */
	struct sector owns;   /* of one that is here, if others are not */
	struct following following;
	struct peer_digest *digest;
	struct peer_slot slot;      /* for its list; no table: none */
	struct digest_job *removal; /* of that */
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
	int64_t trip_ms;   /* the shortest round trip to it; 0: not known */
	bool troubled; /* its last fetch has failed */
};

struct peer_follower {
	struct loop *loop;
	struct fetcher *fetcher;
	struct digest_decoder *decoder;
	struct peer_table *table; /* of all lists; null: none is taken */
	struct peer_table *sectors; /* of those from elsewhere; the same */
	char *node, *location; /* null: unknown */
	struct peer_follower_settings settings;
	struct peer **peers;
	size_t npeers, nelsewhere;
	uint32_t next_id;
	struct peerset *view; /* the last one made */
	void (*changed)(void *arg);
	void *arg;
};

/* A fetch has brought nothing that can be used, or something. */
void peer_follower_report(struct peer *p, enum trouble trouble,
			  const char *detail);
void peer_follower_report_well(struct peer *p);

/* Why a digest is refused, by the code of who has read it. */
const char *peer_follower_reason(const struct peer *p, int error);
enum trouble peer_follower_trouble_of(const struct peer *p, int error);

/* Why an answer is not whole. */
enum trouble peer_follower_fetch_fault(const struct fetch_done *done);

/* Compares the clock of a peer with the one here, by an answer's fields. */
void peer_follower_look_at_clock(const struct peer *p,
				 const struct fields *fields);

/* What the digest of a peer is of: of one that is elsewhere, this node's sector
 * among all that are here; count 0: it is here. */
struct sector peer_follower_sector(const struct peer_follower *f,
				   const struct upstream *place,
				   const struct upstream *places, size_t n);

/* Finds which sectors are whose of those that are here, and how many are not,
 * with the list of peers as it is now. */
void peer_follower_divide(struct peer_follower *f,
			  const struct upstream *places, size_t n);

/* Gives a peer a place for its list, if there is one: if not, it is asked for
 * an array. And takes the place away, with the list. */
void peer_follower_seat(struct peer *p);
void peer_follower_unseat(struct peer *p);

/* Something has happened of which there is no more to say. */
void peer_follower_handle(struct peer *p, enum following_event_kind kind);

/* What a body is judged by. */
struct digest_expected peer_follower_expected_of(const struct peer *p);

/* How a peer's health stands. */
enum peer_health_state peer_follower_health_of(const struct peer *p);

/* Something has happened: what follows, and does it. */
struct following_actions
peer_follower_step(struct peer *p, const struct following_event *event);
void peer_follower_act(struct peer *p, const struct following_actions *actions);

/* What came cannot be used, by an SCD_ code. The update is over. */
void peer_follower_refuse(struct peer *p, int error);

/* Takes what a whole answer about the digest says of the peer, and of others.
 */
void peer_follower_take_node(struct peer *p);

/* Whether an answer is a stream, by its header. */
bool peer_follower_is_stream(unsigned status, const struct fields *fields);

/* A stream begins; more of it comes, taken if true; what is whole of it goes to
 * the decoder; that has done its work, and may be given more. */
void peer_follower_begin_stream(struct peer *p, struct fetch *fetch);
bool peer_follower_take_stream(struct peer *p, const void *data, size_t len);
int peer_follower_split_stream(struct peer *p, struct digest_body *out);
void peer_follower_go_on(struct peer *p);

/* An answer has come from a peer: logs where it has another word for leases
 * than before, and than this node. */
void peer_follower_log_leases(const struct peer *p);

#endif
