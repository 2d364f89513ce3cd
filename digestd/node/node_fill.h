/*
 * A fill: a response under way from a peer or an origin, from the question to
 * its last byte.
 *
 * A closed machine without I/O and without a clock. The edge (proxy/) turns
 * what happens into an input, node_fill_step() answers with a set of actions,
 * and the edge carries them out in the order in which enum node_fill_action
 * lists them. Which pairs of a state and an event there are stands in one
 * table, in node_fill.c; any other pair is a fault of the edge, and asserted.
 *
 * A fill that renews what is stored, probes a peer, copies what it has, or
 * fetches slices has no client; one that hedges another gets that one's when
 * the origin is the first. One that begins an object in slices answers its
 * client with the head; from then on that follows slices (node_slices.h), as
 * all others do, and no client's pace is the fill's. Where there is no memory
 * to store slices, a reply has them pass: it is the fill's client then.
 *
 * Bytes stay outside: a fill counts them. Its source sends against a credit in
 * bytes: at 0 it waits, until the client has taken enough of what is here.
 */
#ifndef DIGESTD_NODE_NODE_FILL_H
#define DIGESTD_NODE_NODE_FILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/node/node_event.h"

enum node_fill_state {
	NODE_LANDED,         /* nothing is under way: not yet, or no more */
	NODE_ASK_PEER,       /* until the header is here */
	NODE_COLLECT_PEER,   /* nobody has seen a byte: it may be given up */
	NODE_SHOW_PEER,      /* sent on as it comes */
	NODE_REJOIN,         /* an origin repeats what a peer has sent */
	NODE_ASK_ORIGIN,
	NODE_COLLECT_ORIGIN,
	NODE_SHOW_ORIGIN,
	NODE_CUT,            /* stored in slices as it comes */
	NODE_FILL_STATES,
};

/* Whether the response goes into the store. */
enum node_keep {
	NODE_KEEP_NO,
	NODE_KEEP_MAYBE, /* it could: admission is to be asked */
	NODE_KEEP_YES,
};

enum node_purpose {
	NODE_FOR_CLIENT,
	NODE_FOR_RENEWAL, /* of what is stored */
	NODE_FOR_PROBE,   /* of a half-open peer */
	NODE_FOR_SLICES,  /* of a large object, whose head is here */
	NODE_FOR_PASSING, /* of them, past the store, as memory is short */
	NODE_FOR_HEDGE,   /* beside a slow peer; then for its client */
	NODE_FOR_COPY,	  /* of what a peer has, for the store alone */
};

enum node_result {
	NODE_UNDER_WAY,
	NODE_WHOLE,
	NODE_BROKEN,
};

/* What the header of a response comes to. */
enum node_head {
	NODE_HEAD_USABLE,    /* for this request; when rejoining: the same */
	NODE_HEAD_UNUSABLE,  /* a peer's; when rejoining: another */
	NODE_HEAD_CONFIRMS,  /* a 304 about what is stored; a peer's, too */
	NODE_HEAD_ELSEWHERE, /* it answers what this node has made of the
				question, a 304 about something else for one:
				the client's own is to be asked */
	NODE_HEAD_STALE,     /* an error: what is stored may be used instead */
	NODE_HEAD_NOMEM,     /* there is no memory to hold it */
	NODE_HEAD_SLICES,    /* it is to be stored in slices */
	NODE_HEAD_CHANGED,   /* for slices: of another version */
	NODE_HEAD_RETRY,     /* an origin's error: another is asked instead */
};

enum {
	/* a body up to this is collected before the reply begins: one that
	 * breaks off can still be had elsewhere, the reply is copied less */
	NODE_COLLECT_BYTES = 65536,
	NODE_COLLECT_PEER_BYTES = 262144, /* peers break off more often */
	NODE_SMALL_BODY = 4096, /* needs no memory but its request's */
	NODE_WATCH_BYTES = 1024, /* a peer that sends less in its time, pace_ms,
				    stands still */
	NODE_DELAY_MS = 20, /* a small body of an origin that is not stored may
			       come so late; then it flows as it comes */
	NODE_PROBE_BYTES = 262144, /* who sends so much in time, answers */
	/* what is fetched to its end when its client has left: */
	NODE_ALONE_BYTES = 1 << 20,
	NODE_ALONE_UNKNOWN = 262144, /* so far, of an unknown length */
};

/*
 * Facts are set by the edge with the question or the header, and only read by
 * the machine; the rest is the machine's.
 */
struct node_fill {
	enum node_fill_state state;
	enum node_keep keep; /* NO or MAYBE with the header */
	enum node_result result;

	/* facts of the question */
	enum node_purpose purpose;
	bool get;    /* by the method */
	bool unsafe; /* has changed something at the origin */
	uint64_t max_bytes; /* what is longer is not kept */
	int64_t pace_ms;    /* of peers */

	/* facts of the header */
	bool bodiless;    /* no bytes come, whatever the length */
	bool strong_tag;  /* equal tags: equal bytes */
	int64_t body_len; /* -1: not said */

	bool client;     /* is there still */
	bool taken_over; /* an origin goes on for a peer; happens once */
	bool peer_cut;	 /* NODE_CUT: what comes is a peer's, */
	bool cut_hit;	 /* and a slice of it is whole: it counts as a hit */
	uint64_t credit; /* what the source may send [bytes] */
	uint64_t received; /* of the body [bytes] */
	int64_t received_ms, asked_ms;
	uint64_t watched;  /* of them, when the peer was looked at last */
	int64_t due_ms;	   /* TIMER */
	uint64_t cut;      /* what a peer had sent when it broke off */
	uint64_t rejoined; /* of that, what the origin has repeated */
	size_t skip;	   /* of the bytes that come next: repeated, too */
};

/* What happens, with the facts that belong to it. */
struct node_fill_input {
	enum node_event event;
	int64_t now_ms;
	enum node_head head; /* HEAD */
	size_t len;	     /* MORE: bytes that have come */
	bool room;	     /* MORE: memory for node_fill_need() was there, or
				for the slice */
	bool completes;	     /* MORE: the slice; no bytes are of two */
	bool same;	     /* MORE when rejoining: as the peer has sent */
	bool wanted;	     /* MORE, LEFT of what is kept: others wait for it,
				or it goes on alone; LEFT before the header:
				others wait for it */
	uint64_t waiting;    /* MORE, ROOM: what the client has yet to take */
	uint64_t window;     /* MORE, ROOM: and what of that may be here */
	bool by_close;	     /* END: the body had no length of its own */
	bool renews;	     /* LEFT: the client has got what is stored instead,
				which the response is to renew */
	bool stale_usable;   /* BROKE: what is stored may be used instead */
	bool no_memory;	     /* BROKE: for what a step was to do */
	bool own_fault;	     /* BROKE: the source is not to blame */
	unsigned status;     /* BROKE: what the client is told */
	bool retry;	     /* BROKE, TIMER, of an origin: another one may be
				asked for the same */
	bool too_large;	     /* UP: more than a request may have */
};

/* What the edge does then, in this order. */
enum node_fill_action {
	NODE_RECORD_HIT = 1 << 0,     /* of the peer that was asked */
	NODE_RECORD_VERDICT = 1 << 1, /* what its header comes to */
	NODE_RECORD_ERROR = 1 << 2,
	NODE_COUNT_MISS = 1 << 3,
	NODE_COUNT_GIVEN_UP = 1 << 4,
	NODE_DROP_STALE = 1 << 5,  /* forget what was asked about */
	NODE_INVALIDATE = 1 << 6,  /* what an unsafe method may have changed */
	NODE_ADMIT = 1 << 7,	   /* ask, then node_fill_admitted() */
	NODE_PASS = 1 << 8,	   /* forget what would have been stored */
	NODE_STORE = 1 << 9,	   /* and hand it to who has joined; what is
				      cut: its head */
	NODE_TAKE_WINDOW = 1 << 10, /* the memory that a stream needs */
	NODE_CONFIRM = 1 << 11, /* renew what is stored, reply with it */
	NODE_REPLY_STORED = 1 << 12,
	NODE_REPLY_WHOLE = 1 << 13, /* with what was collected */
	NODE_REPLY_STALE = 1 << 14,
	NODE_REPLY_ERROR = 1 << 15, /* of `status`, with `why` */
	NODE_REPLY_BUSY = 1 << 16,
	NODE_SHARE = 1 << 17, /* the body, with who waits for it */
	NODE_REPLY_STREAM = 1 << 18,
	NODE_STOP = 1 << 19,   /* cancel the fetch, and the timer */
	NODE_LAND = 1 << 20,   /* with nothing for who has joined */
	NODE_FORGET = 1 << 21, /* cancel, and drop all that has come */
	NODE_CLEAR_TIMER = 1 << 22,
	NODE_SET_TIMER = 1 << 23, /* to due_ms */
	NODE_TAKE = 1 << 24,   /* append the bytes that have come */
	NODE_REFUSE = 1 << 25, /* or not: they come again */
	NODE_STORE_SLICE = 1 << 26, /* which those bytes complete */
	NODE_WAKE = 1 << 27,   /* the client has something to read */
	NODE_RESUME = 1 << 28, /* the source may send again */
	NODE_UPLOAD = 1 << 29, /* there is more to send to the source */
	NODE_AGAIN = 1 << 30,  /* the same event, in the new state */
};

/* And last, one of these. */
enum node_fill_then {
	NODE_THEN_NOTHING,
	NODE_THEN_TAKE_OVER, /* ask the origin for the same */
	NODE_THEN_HEDGE,     /* ask the origin beside the peer */
	NODE_THEN_NEXT,	     /* ask the next source */
	NODE_THEN_END,	     /* nothing is under way */
};

struct node_fill_step {
	uint32_t actions; /* of enum node_fill_action */
	enum node_fill_then then;
	unsigned status;
	const char *why;
};

/* A source is being asked: ASK_PEER or ASK_ORIGIN, from LANDED on. It is the
 * edge that waits for the header, as long as may be. */
void node_fill_ask(struct node_fill *f, enum node_fill_state state,
		   int64_t now_ms);

/* One step. The pair of f->state and in->event must be in the table. */
struct node_fill_step node_fill_step(struct node_fill *f,
				     const struct node_fill_input *in);

/* What NODE_ADMIT has led to. */
struct node_fill_admission {
	int64_t now_ms;
	bool keep;
	bool room;	/* memory for node_fill_need_whole() was there */
	bool busy;	/* too little is left to let a stream begin */
	bool receiving; /* the client's own body is still coming in, */
	bool agrees;	/* which this response does not make useless, */
	int64_t early_bytes; /* and so long a reply goes out meanwhile */
};

/* The second half of a HEAD: how the body is taken. */
struct node_fill_step node_fill_admitted(struct node_fill *f,
					 const struct node_fill_admission *in);

/* What must be there to hold the whole body, as far as its length is known
 * [bytes]; 0: it passes through. */
uint64_t node_fill_need_whole(const struct node_fill *f,
			      const struct node_fill_admission *in);

/* The same once len bytes more have come. */
uint64_t node_fill_need(const struct node_fill *f, size_t len);

/* How many of len bytes the peer has sent before, see REJOIN; and whether they
 * have to be held against what it has sent, which is still here then. */
size_t node_fill_repeated(const struct node_fill *f, size_t len);
bool node_fill_compares(const struct node_fill *f);

/* Whether a response that is kept is fetched to its end though nobody waits for
 * it any more: it is small, or nearly done, and nobody else is short of memory
 * (node_memory_is_short()). */
bool node_fill_goes_on_alone(const struct node_fill *f, bool memory_is_short);

/* Whether it asks for slices of an object whose head is here. */
bool node_fill_is_for_slices(const struct node_fill *f);

/* Whether it waits for a header. */
bool node_fill_asks(const struct node_fill *f);

/* Whether what comes is shown as it comes, and is not kept then. */
bool node_fill_passes(const struct node_fill *f);

/* Whether a pair is in the table; the name of a state. */
bool node_fill_handles(enum node_fill_state state, enum node_event event);
const char *node_fill_state_name(enum node_fill_state state);

#endif
