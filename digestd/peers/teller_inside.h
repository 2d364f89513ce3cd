/*
 * The parts of a teller: teller.c has who waits, the start and the list of
 * peers; teller_peer.c what goes to one peer, and comes from it;
 * teller_stream.c what does so in streams.
 */
#ifndef DIGESTD_PEERS_TELLER_INSIDE_H
#define DIGESTD_PEERS_TELLER_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/peers/heard.h"
#include "digestd/peers/serving_desk.h"
#include "digestd/peers/teller.h"

enum {
	/* bytes of {"purged": N, ...}, with all grants */
	TELLER_ANSWER_MAX = 256 + SERVING_GRANTS_MAX * 20,
	TELLER_GONE_MAX = 64,
	TELLER_TOTAL_MS = 600000, /* a walk over all that a peer has on disk */
};

struct fetch;
struct fetcher;
struct lives;
struct teller_hearing;

/* Whose leases a member has renewed, by their instances. */
struct teller_grants {
	bool known; /* else: anybody's */
	size_t n;
	uint64_t to[SERVING_GRANTS_MAX];
};

struct teller_peer {
	struct teller *teller;
	char *name, *url;
	uint64_t told, telling; /* numbers: acknowledged; under way */
	int64_t removed;	/* as the last answer says; -1: none */
	uint64_t life; /* its instance, as that says; 0: it says none */
	int64_t sent_ms, sure_ms; /* when the message under way was sent, and
				     the last that was acknowledged */
	bool logs; /* as its last acknowledgement says: its log is whole */
	struct teller_grants grants; /* and by then it had granted */
	bool confirms; /* that was too long ago: it is asked again */
	bool heard;   /* what it knew at the start; or is being asked: */
	bool asking;
	unsigned failures; /* in a row */
	bool late; /* somebody has waited for it in vain */
	bool logged; /* the log says that it fails */
	bool counted; /* that it does */
	bool listed;	   /* it stays, while the list is being changed */
	int64_t failed_ms, due_ms; /* not before that, after a failure */
	int64_t listed_ms; /* since then it is a peer */
	int64_t behind_ms; /* since then it lacks something; 0: nothing */
	int64_t gone_ms;   /* since then it is no peer any more */
	struct fetch *fetch;
	uint64_t met; /* its instance, as it has said last, also in an answer
			 to a question */
	uint64_t ticket; /* of the message that is under way in a stream, in
			    place of a fetch; 0: none */
	int64_t silent_ms; /* then it has failed, if nothing comes before */
	unsigned waited_ms; /* in vain for a note, of the fetch's time */
	int64_t deaf_ms;   /* until then messages go by requests only */
	unsigned status;
	struct heard *question; /* what has come of its answer */
	uint8_t *message;
	size_t message_len, sent;
	char answer[TELLER_ANSWER_MAX];
	size_t answer_len;
};

struct teller {
	struct loop *loop;
	struct cache *cache;
	struct fetcher *fetcher;
	struct teller_settings settings;
	struct teller_peer **peers;
	size_t npeers;
	struct teller_peer *gone[TELLER_GONE_MAX]; /* the oldest first */
	size_t ngone;
	bool tells, alone; /* changed atomically */
	struct heard_by by;
	struct teller_wait *waits;
	struct loop_timer timer;
	struct loop_call later; /* a turn */
	struct loop_call wake;
	bool woken; /* the call is on its way; changed atomically */
	struct lives *lives; /* null: there is no disk */
	bool met; /* a peer in a life that was known at the start */
	bool stopping, caught_up;
	bool asks_again; /* some peer confirms, and is to be asked for that */
	int64_t start_due_ms;
	uint64_t tickets; /* so far */
	struct teller_hearing *hearing; /* in teller_stream.c */
	struct teller_counters counters;
};

/* Whether, of those that may serve, all have applied what is waited for; in
 * teller_fence.c. */
bool teller_fence_is_closed(const struct teller *t, struct teller_wait *w,
			    int64_t now_ms);

/* Has what is to be done done at the end of the loop's turn: once for all that
 * has come from peers meanwhile, as that looks at all of them. */
void teller_turn_later(struct teller *t);

/* A peer's life is known; `heard`: and all that it knows has been applied. */
void teller_meet(struct teller *t, uint64_t instance, bool heard);

/* A peer that has been told nothing. Null: no memory. */
struct teller_peer *teller_peer_new(struct teller *t,
				    const struct upstream *place);

/* Null is allowed. */
void teller_peer_free(struct teller_peer *p);

/* What is under way with it ends; what it has said already is applied. */
void teller_peer_cease(struct teller_peer *p);

/* Somebody waits for it: after a failure it is tried again soon, however long
 * it has failed; but no sooner than after the first one. */
void teller_peer_hurry(struct teller_peer *p);

/* Whether a message or a question is under way. */
bool teller_peer_is_busy(const struct teller_peer *p);

/* What is under way with it ends: at the next turn it is as if that had not
 * begun. */
void teller_peer_drop(struct teller_peer *p);

/* The message that is under way has an answer. False: it will not do. */
bool teller_peer_take_answer(struct teller_peer *p, const char *text,
			     size_t len);

/* Sends a peer its message in the stream that it reads. False: it goes by a
 * request. */
bool teller_stream_tell(struct teller_peer *p, int64_t now_ms);

/* Drops what was not answered in time. */
void teller_stream_check(struct teller_peer *p, int64_t now_ms);

/* Nothing that is being applied is answered any more. */
void teller_stream_stop(struct teller *t);

/* The next thing for a peer. Returns when it is due [ms]; INT64_MAX: something
 * is under way, or there is nothing to do. */
int64_t teller_peer_next(struct teller_peer *p, int64_t now_ms);

#endif
