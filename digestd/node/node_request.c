/*
 * The machine of a request: a function a pair of state and event, and the table
 * of them.
 */
#include "digestd/node/node_request.h"

#include <assert.h>
#include <stddef.h>

#include "digestd/http/freshness.h"
#include "digestd/http/vary.h"

/* What is here */

enum node_found node_request_found(const struct node_stored *stored)
{
	switch (freshness_reuse(stored->freshness, stored->cc,
				stored->now_s)) {
	case REUSE_FRESH:
	case REUSE_STALE:
		return NODE_FOUND_FRESH;
	case REUSE_RENEW:
		return NODE_FOUND_WHILE_REVALIDATE;
	case REUSE_VALIDATE:
		break;
	}
	return NODE_FOUND_STALE;
}

enum cachestatus_fwd node_request_why_asked(const struct node_stored *stored)
{
	return freshness_left(stored->freshness, stored->now_s) <= 0 ?
		       CACHESTATUS_STALE : CACHESTATUS_REQUEST;
}

enum cachestatus_usable
node_request_usable(const struct node_stored *stored, unsigned on_disconnect_s)
{
	if (freshness_on_error(stored->freshness, 0, stored->now_s))
		return CACHESTATUS_USABLE_ON_ERROR;
	return freshness_on_error(stored->freshness, on_disconnect_s,
				  stored->now_s)
		       ? CACHESTATUS_USABLE_ON_DISCONNECT
		       : CACHESTATUS_USABLE_NO;
}

bool node_request_can_follow(const struct node_stored *shown,
			     const struct fields *selecting,
			     const struct fields *request)
{
	return vary_match(selecting, request) &&
	       freshness_reuse(shown->freshness, shown->cc, shown->now_s) ==
		       REUSE_FRESH;
}

/* Parts of steps */

static enum node_request_action
node_request_answer(struct node_request *q, enum node_request_action action)
{
	q->state = NODE_SENDING;
	return action;
}

/* Nothing that is stored answers it. */
static enum node_request_action
node_request_miss(struct node_request *q, const struct node_request_input *in)
{
	if (q->from_peer && in->beside && !in->no_memory) {
		q->state = NODE_WAITING;
		return NODE_DO_ASK;
	}
	if (q->from_peer && (!in->waits || q->alone))
		return node_request_answer(q, NODE_DO_REPLY_NOT_HERE);
	if (q->from_peer) {
		q->state = NODE_WAITING;
		return NODE_DO_JOIN;
	}
	if (in->only_if_cached)
		return node_request_answer(q, NODE_DO_REPLY_ONLY_IF_CACHED);
	if (in->no_memory)
		return node_request_answer(q, NODE_DO_REPLY_BUSY);
	q->state = NODE_WAITING;
	return in->shareable && !q->alone ? NODE_DO_JOIN : NODE_DO_ASK;
}

static enum node_request_action
node_request_on_found(struct node_request *q,
		      const struct node_request_input *in)
{
	q->reading = false;
	switch (in->found) {
	case NODE_FOUND_FRESH:
		return node_request_answer(q, NODE_DO_REPLY_STORED);
	case NODE_FOUND_WHILE_REVALIDATE:
		if (q->from_peer)
			break; /* it can ask the origin itself */
		return node_request_answer(
			q, in->only_if_cached ? NODE_DO_REPLY_STORED :
					NODE_DO_REPLY_STORED_AND_RENEW);
	case NODE_FOUND_NONE:
	case NODE_FOUND_STALE:
		break;
	}
	return node_request_miss(q, in);
}

enum node_request_action node_request_joined(struct node_request *q,
					     enum node_joined joined)
{
	assert(q->state == NODE_WAITING && !q->alone && !q->waiting);
	switch (joined) {
	case NODE_JOINED_LEADS:
		break;
	case NODE_JOINED_WAITS:
		q->waiting = true;
		return NODE_DO_NOTHING;
	case NODE_JOINED_STORED:
		q->state = NODE_READING;
		return NODE_DO_NOTHING;
	case NODE_JOINED_NOTHING:
		assert(q->from_peer);
		return node_request_answer(q, NODE_DO_REPLY_NOT_HERE);
	}
	return NODE_DO_ASK;
}

void node_request_refuse(struct node_request *q)
{
	assert(q->state == NODE_READING && !q->reading);
	q->state = NODE_SENDING;
}

/* A fill has the header of its response. */
static enum node_request_action
node_request_on_head(struct node_request *q,
		     const struct node_request_input *in)
{
	if (!in->own) {
		q->waiting = false;
		q->alone = true;
	}
	if (!in->own && !in->usable && q->from_peer)
		return node_request_answer(q, NODE_DO_REPLY_NOT_HERE);
	if (!in->own && !in->usable)
		return NODE_DO_ASK;
	q->state = NODE_FOLLOWING;
	return in->own ? NODE_DO_NOTHING : NODE_DO_FOLLOW;
}

/* A fill has ended, before anything of it could be used: what is its own has
 * an answer then. */
static enum node_request_action
node_request_on_end(struct node_request *q, const struct node_request_input *in)
{
	if (in->own)
		return node_request_answer(q, NODE_DO_NOTHING);
	q->waiting = false;
	q->alone = true;
	q->state = NODE_READING;
	return NODE_DO_FIND;
}

static enum node_request_action
node_request_on_error(struct node_request *q,
		      const struct node_request_input *in)
{
	(void)in;
	return node_request_answer(q, NODE_DO_NOTHING);
}

/* It has waited for long enough, and left the fill that is not its own. */
static enum node_request_action
node_request_on_late(struct node_request *q,
		     const struct node_request_input *in)
{
	if (!in->usable || q->from_peer)
		return NODE_DO_NOTHING;
	q->waiting = false;
	return node_request_answer(q, NODE_DO_REPLY_STALE);
}

static enum node_request_action
node_request_on_more(struct node_request *q,
		     const struct node_request_input *in)
{
	(void)q;
	(void)in;
	return NODE_DO_WAKE;
}

/* Of its own fill, whole or not: what is here is the rest. */
static enum node_request_action
node_request_on_rest(struct node_request *q,
		     const struct node_request_input *in)
{
	(void)in;
	return node_request_answer(q, NODE_DO_WAKE_LAST);
}

/* Of a body on disk. */
static enum node_request_action
node_request_on_block(struct node_request *q,
		      const struct node_request_input *in)
{
	q->reading = false;
	return in->damaged ? node_request_miss(q, in) : NODE_DO_SEND;
}

static enum node_request_action
node_request_on_left(struct node_request *q,
		     const struct node_request_input *in)
{
	(void)in;
	q->state = NODE_CLOSED;
	return NODE_DO_LEAVE;
}

static enum node_request_action
node_request_on_up(struct node_request *q, const struct node_request_input *in)
{
	(void)q;
	(void)in;
	return NODE_DO_UPLOAD;
}

/* Calls that come when the client has left. */

static enum node_request_action
node_request_on_read_late(struct node_request *q,
			  const struct node_request_input *in)
{
	(void)in;
	q->reading = false;
	return NODE_DO_END;
}

static enum node_request_action
node_request_on_fill_late(struct node_request *q,
			  const struct node_request_input *in)
{
	(void)in;
	q->waiting = false;
	return NODE_DO_END;
}

static enum node_request_action
node_request_on_more_late(struct node_request *q,
			  const struct node_request_input *in)
{
	(void)q;
	(void)in;
	return NODE_DO_END;
}

/* The table */

typedef enum node_request_action
node_request_handler(struct node_request *q, const struct node_request_input *);

/* Why there is nothing to be done: */
#define IMPOSSIBLE NULL
/* READ: only one read is under way, of who looks up or sends. HEAD, MORE, END,
 * BROKE: a fill is joined or asked for in WAITING, tells its request its header
 * once, and no more after its end. TIMER: nothing is waited for by the clock
 * but an answer. ROOM: the fill's. LEFT: once. UP: a request with a body goes
 * to its origin at once; and when its fill has ended, the rest of its body is
 * thrown away. */

/* clang-format off */
static node_request_handler *const
node_request_table[NODE_REQUEST_STATES][NODE_EVENTS] = {
	[NODE_READING] = {
		[NODE_READ]  = node_request_on_found,
		[NODE_HEAD]  = IMPOSSIBLE,
		[NODE_MORE]  = IMPOSSIBLE,
		[NODE_END]   = IMPOSSIBLE,
		[NODE_BROKE] = IMPOSSIBLE,
		[NODE_TIMER] = IMPOSSIBLE,
		[NODE_ROOM]  = IMPOSSIBLE,
		[NODE_LEFT]  = node_request_on_left,
		[NODE_UP]    = IMPOSSIBLE,
	},
	[NODE_WAITING] = {
		[NODE_READ]  = IMPOSSIBLE,
		[NODE_HEAD]  = node_request_on_head,
		[NODE_MORE]  = IMPOSSIBLE,
		[NODE_END]   = node_request_on_end,
		[NODE_BROKE] = node_request_on_error,
		[NODE_TIMER] = node_request_on_late,
		[NODE_ROOM]  = IMPOSSIBLE,
		[NODE_LEFT]  = node_request_on_left,
		[NODE_UP]    = node_request_on_up,
	},
	[NODE_FOLLOWING] = {
		[NODE_READ]  = IMPOSSIBLE,
		[NODE_HEAD]  = IMPOSSIBLE,
		[NODE_MORE]  = node_request_on_more,
		[NODE_END]   = node_request_on_rest,
		[NODE_BROKE] = node_request_on_rest,
		[NODE_TIMER] = IMPOSSIBLE,
		[NODE_ROOM]  = IMPOSSIBLE,
		[NODE_LEFT]  = node_request_on_left,
		[NODE_UP]    = node_request_on_up,
	},
	[NODE_SENDING] = {
		[NODE_READ]  = node_request_on_block,
		[NODE_HEAD]  = IMPOSSIBLE,
		[NODE_MORE]  = IMPOSSIBLE,
		[NODE_END]   = IMPOSSIBLE,
		[NODE_BROKE] = IMPOSSIBLE,
		[NODE_TIMER] = IMPOSSIBLE,
		[NODE_ROOM]  = IMPOSSIBLE,
		[NODE_LEFT]  = node_request_on_left,
		[NODE_UP]    = IMPOSSIBLE,
	},
	[NODE_CLOSED] = {
		[NODE_READ]  = node_request_on_read_late,
		[NODE_HEAD]  = node_request_on_fill_late,
		[NODE_MORE]  = node_request_on_more_late,
		[NODE_END]   = node_request_on_fill_late,
		[NODE_BROKE] = IMPOSSIBLE,
		[NODE_TIMER] = IMPOSSIBLE,
		[NODE_ROOM]  = IMPOSSIBLE,
		[NODE_LEFT]  = IMPOSSIBLE,
		[NODE_UP]    = IMPOSSIBLE,
	},
};
/* clang-format on */

bool node_request_handles(enum node_request_state state, enum node_event event)
{
	return node_request_table[state][event];
}

enum node_request_action node_request_step(struct node_request *q,
					   const struct node_request_input *in)
{
	assert(q->state < NODE_REQUEST_STATES && in->event < NODE_EVENTS);
	assert(node_request_table[q->state][in->event]);
	return node_request_table[q->state][in->event](q, in);
}

bool node_request_drops_upload(const struct node_request *q)
{
	return q->state == NODE_SENDING;
}

bool node_request_is_over(const struct node_request *q)
{
	return q->state == NODE_CLOSED && !q->reading && !q->waiting;
}

const char *node_request_state_name(enum node_request_state state)
{
	static const char *const names[NODE_REQUEST_STATES] = {
		"READING", "WAITING", "FOLLOWING", "SENDING", "CLOSED",
	};

	return names[state];
}
