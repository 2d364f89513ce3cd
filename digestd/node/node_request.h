/*
 * A request: a client's side, from its header to the last byte of the reply.
 *
 * A closed machine like node_fill.h, with which it has the events in common:
 * what it waits for is a read from the disk, its own fill, or that of another
 * request for the same. One action a step.
 */
#ifndef DIGESTD_NODE_NODE_REQUEST_H
#define DIGESTD_NODE_NODE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/http/cachestatus.h"
#include "digestd/node/node_event.h"

struct cachecontrol;
struct fields;
struct freshness;

enum node_request_state {
	NODE_READING,   /* what is stored for it is being looked up */
	NODE_WAITING,   /* for a fill, until that has an answer */
	NODE_FOLLOWING, /* the reply has begun, and the fill has not ended */
	NODE_SENDING,   /* the reply is what is here already */
	NODE_CLOSED,    /* there is no client; calls may yet come */
	NODE_REQUEST_STATES,
};

/* What is stored for a request. */
enum node_found {
	NODE_FOUND_NONE,
	NODE_FOUND_STALE, /* to be asked about */
	NODE_FOUND_WHILE_REVALIDATE, /* usable, while it is asked about */
	NODE_FOUND_FRESH,
};

/* A response for the same key, stored or on its way to another request. All
 * pointers are borrowed. */
struct node_stored {
	const struct freshness *freshness;
	const struct cachecontrol *cc; /* of the request */
	int64_t now_s;
};

/* What a stored one is to the request, which it is a variant for. */
enum node_found node_request_found(const struct node_stored *stored);

/* Why somebody is asked about it: it has gone stale, or the request wants it
 * newer. */
enum cachestatus_fwd node_request_why_asked(const struct node_stored *stored);

/* When a stale one may be served: for as long as it says itself, or for
 * on_disconnect_s where it says nothing. A peer that asks for it is told so. */
enum cachestatus_usable
node_request_usable(const struct node_stored *stored, unsigned on_disconnect_s);

/* Whether one that another request fetches answers this one, too: as it came,
 * and for requests with the same fields, as far as it was chosen by them. */
bool node_request_can_follow(const struct node_stored *shown,
			     const struct fields *selecting,
			     const struct fields *request);

struct node_request {
	enum node_request_state state;
	bool from_peer; /* gets what is stored, here or beside this node, and
			   nothing else */
	bool alone;	/* has waited for another's fill once: does not again */
	bool reading;	/* READ will come */
	bool waiting;	/* HEAD or END of another's fill will come */
};

struct node_request_input {
	enum node_event event;
	enum node_found found; /* READ */
	bool damaged;	       /* READ when sending, before the reply began */
	bool only_if_cached;   /* READ: nobody may be asked for it */
	bool no_memory;	       /* READ: to ask anybody */
	bool shareable;	       /* READ: one fill may answer several of these */
	bool waits;	       /* READ: from a peer that may wait for a fill */
	bool beside;	       /* READ: from a peer; the cache beside this node
				  is to be asked */
	bool own;	       /* HEAD, MORE, END: of its own fill */
	bool usable;	       /* HEAD of another's; TIMER: what is stored */
};

enum node_request_action {
	NODE_DO_NOTHING,
	NODE_DO_REPLY_STORED,
	NODE_DO_REPLY_STORED_AND_RENEW,
	NODE_DO_REPLY_STALE, /* what is to be asked about; who is asked goes on
				alone */
	NODE_DO_REPLY_NOT_HERE,	      /* 504: to a peer */
	NODE_DO_REPLY_ONLY_IF_CACHED, /* 504 */
	NODE_DO_REPLY_BUSY,	      /* 503 */
	NODE_DO_FIND, /* look up again what is stored */
	NODE_DO_JOIN, /* another's fill, or lead; then node_request_joined() */
	NODE_DO_ASK,  /* fill */
	NODE_DO_FOLLOW, /* reply with what another's fill shows */
	NODE_DO_SEND,	/* what has been read */
	NODE_DO_WAKE,	/* there is more to send */
	NODE_DO_WAKE_LAST, /* the same, and nobody waits for its own body any
			      more, see node_request_drops_upload() */
	NODE_DO_UPLOAD, /* the fill's affair */
	NODE_DO_LEAVE,	/* tell the fill; free, when nothing is under way */
	NODE_DO_END,	/* free, when nothing is under way */
};

/* One step. The pair of q->state and in->event must be in the table. */
enum node_request_action node_request_step(struct node_request *q,
					   const struct node_request_input *in);

/* An answer is given at the door, without looking anything up. */
void node_request_refuse(struct node_request *q);

/* What NODE_DO_JOIN has led to. */
enum node_joined {
	NODE_JOINED_LEADS,
	NODE_JOINED_WAITS,
	NODE_JOINED_STORED, /* another worker has stored it: READ comes next */
	NODE_JOINED_NOTHING, /* from a peer: there is nothing to be joined */
};

/* What to do next. */
enum node_request_action node_request_joined(struct node_request *q,
					     enum node_joined joined);

/* Whether what comes of its own body is thrown away: its fill, which took it,
 * has ended. */
bool node_request_drops_upload(const struct node_request *q);

/* Whether the client is gone, and no call will come. */
bool node_request_is_over(const struct node_request *q);

/* Whether a pair is in the table; the name of a state. */
bool node_request_handles(enum node_request_state state, enum node_event event);
const char *node_request_state_name(enum node_request_state state);

#endif
