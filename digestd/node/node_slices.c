/*
 * The machine of a reply in slices: a function a pair of state and event, and
 * the table of them.
 */
#include "digestd/node/node_slices.h"

#include <assert.h>
#include <stddef.h>

void node_slices_init(struct node_slices *s, bool may_fetch)
{
	*s = (struct node_slices){ .may_fetch = may_fetch,
				   .ahead = NODE_SLICES_AHEAD };
}

static enum node_slices_action node_slices_go(struct node_slices *s,
					      enum node_slices_state state,
					      enum node_slices_action action)
{
	s->state = state;
	return action;
}

static enum node_slices_action node_slices_break(struct node_slices *s)
{
	return node_slices_go(s, NODE_SLICES_BROKEN, NODE_SLICES_FAIL);
}

/* It is not in the store. */
static enum node_slices_action node_slices_fetch(struct node_slices *s)
{
	if (!s->may_fetch || s->tries == NODE_SLICES_TRIES ||
	    s->joins == NODE_SLICES_JOINS)
		return node_slices_break(s);
	return node_slices_go(s, NODE_SLICES_BETWEEN, NODE_SLICES_FETCH);
}

static enum node_slices_action node_slices_pause(struct node_slices *s)
{
	if (s->pauses == NODE_SLICES_PAUSES)
		return node_slices_break(s);
	s->pauses++;
	s->tries = s->joins = 0;
	return node_slices_go(s, NODE_SLICES_PAUSED, NODE_SLICES_PAUSE);
}

/* There is no memory to store it. That may come back, or else the slice goes
 * past the store, as what is not known does then. */
static enum node_slices_action node_slices_starve(struct node_slices *s)
{
	if (s->pauses < NODE_SLICES_PATIENCE)
		return node_slices_pause(s);
	if (s->tries == NODE_SLICES_TRIES)
		return node_slices_break(s);
	return node_slices_go(s, NODE_SLICES_BETWEEN, NODE_SLICES_PASS);
}

/* Reads ahead less, or again as much as before. */
static void node_slices_adapt(struct node_slices *s, bool gone)
{
	if (gone) {
		s->ahead = 1;
		s->found = 0;
	} else if (s->found < NODE_SLICES_AHEAD) {
		s->found++;
	} else {
		s->ahead = NODE_SLICES_AHEAD;
	}
}

static enum node_slices_action
node_slices_on_found(struct node_slices *s, const struct node_slices_input *in)
{
	node_slices_adapt(s, in->gone);
	switch (in->place) {
	case NODE_SLICES_IN_MEMORY:
		return node_slices_go(s, NODE_SLICES_HERE, NODE_SLICES_SEND);
	case NODE_SLICES_ON_DISK:
		return node_slices_go(s, NODE_SLICES_READING, NODE_SLICES_WAIT);
	case NODE_SLICES_NOWHERE:
		break;
	}
	return node_slices_fetch(s);
}

static enum node_slices_action
node_slices_on_fetched(struct node_slices *s,
		       const struct node_slices_input *in)
{
	switch (in->flight) {
	case NODE_SLICES_JOINED:
		s->joins++;
		break;
	case NODE_SLICES_LEADS:
		s->tries++;
		break;
	case NODE_SLICES_STORED:
		s->joins++;
		return NODE_SLICES_LOOK;
	case NODE_SLICES_NO_MEMORY:
		return node_slices_starve(s);
	case NODE_SLICES_PASSES:
		s->tries++;
		return node_slices_go(s, NODE_SLICES_PASSING, NODE_SLICES_SEND);
	case NODE_SLICES_NO_WINDOW:
		return node_slices_pause(s);
	}
	return node_slices_go(s, NODE_SLICES_FOLLOWING, NODE_SLICES_SEND);
}

static enum node_slices_action
node_slices_on_read(struct node_slices *s, const struct node_slices_input *in)
{
	if (in->failed)
		return node_slices_fetch(s);
	return node_slices_go(s, NODE_SLICES_HERE, NODE_SLICES_SEND);
}

static enum node_slices_action
node_slices_on_taken(struct node_slices *s, const struct node_slices_input *in)
{
	if (in->more)
		return node_slices_go(s, NODE_SLICES_READING,
				      NODE_SLICES_READ_ON);
	s->tries = s->joins = 0;
	/* only what was stored shows that there is memory again */
	if (s->state == NODE_SLICES_FOLLOWING)
		s->pauses = 0;
	else if (s->pauses > NODE_SLICES_PATIENCE)
		s->pauses = NODE_SLICES_PATIENCE;
	return node_slices_go(s, NODE_SLICES_BETWEEN, NODE_SLICES_LOOK);
}

/* Another version, a failure, or memory was short. */
static enum node_slices_action
node_slices_on_ended(struct node_slices *s, const struct node_slices_input *in)
{
	if (in->no_memory)
		return node_slices_starve(s);
	return node_slices_go(s, NODE_SLICES_BETWEEN, NODE_SLICES_LOOK);
}

static enum node_slices_action
node_slices_on_timer(struct node_slices *s, const struct node_slices_input *in)
{
	(void)in;
	return node_slices_go(s, NODE_SLICES_BETWEEN, NODE_SLICES_LOOK);
}

static enum node_slices_action
node_slices_on_left(struct node_slices *s, const struct node_slices_input *in)
{
	(void)in;
	return node_slices_go(s, NODE_SLICES_CLOSED, NODE_SLICES_CLOSE);
}

/* What comes when the client has left. */
static enum node_slices_action
node_slices_on_late(struct node_slices *s, const struct node_slices_input *in)
{
	(void)s;
	(void)in;
	return NODE_SLICES_CLOSE;
}

/* The table */

typedef enum node_slices_action
node_slices_handler(struct node_slices *s, const struct node_slices_input *);

/* Why there is nothing to be done: */
#define IMPOSSIBLE NULL
/* FOUND, FETCHED: what LOOK and FETCH lead to, at once. READ: one read is under
 * way in READING, and else none. TAKEN, ENDED: of what is at hand. TIMER: set
 * in PAUSED only. LEFT: once. */

/* clang-format off */
static node_slices_handler *const
node_slices_table[NODE_SLICES_STATES][NODE_SLICES_EVENTS] = {
	[NODE_SLICES_BETWEEN] = {
		[NODE_SLICES_FOUND]   = node_slices_on_found,
		[NODE_SLICES_FETCHED] = node_slices_on_fetched,
		[NODE_SLICES_READ]    = IMPOSSIBLE,
		[NODE_SLICES_TAKEN]   = IMPOSSIBLE,
		[NODE_SLICES_ENDED]   = IMPOSSIBLE,
		[NODE_SLICES_TIMER]   = IMPOSSIBLE,
		[NODE_SLICES_LEFT]    = node_slices_on_left,
	},
	[NODE_SLICES_READING] = {
		[NODE_SLICES_FOUND]   = IMPOSSIBLE,
		[NODE_SLICES_FETCHED] = IMPOSSIBLE,
		[NODE_SLICES_READ]    = node_slices_on_read,
		[NODE_SLICES_TAKEN]   = IMPOSSIBLE,
		[NODE_SLICES_ENDED]   = IMPOSSIBLE,
		[NODE_SLICES_TIMER]   = IMPOSSIBLE,
		[NODE_SLICES_LEFT]    = node_slices_on_left,
	},
	[NODE_SLICES_HERE] = {
		[NODE_SLICES_FOUND]   = IMPOSSIBLE,
		[NODE_SLICES_FETCHED] = IMPOSSIBLE,
		[NODE_SLICES_READ]    = IMPOSSIBLE,
		[NODE_SLICES_TAKEN]   = node_slices_on_taken,
		[NODE_SLICES_ENDED]   = IMPOSSIBLE,
		[NODE_SLICES_TIMER]   = IMPOSSIBLE,
		[NODE_SLICES_LEFT]    = node_slices_on_left,
	},
	[NODE_SLICES_FOLLOWING] = {
		[NODE_SLICES_FOUND]   = IMPOSSIBLE,
		[NODE_SLICES_FETCHED] = IMPOSSIBLE,
		[NODE_SLICES_READ]    = IMPOSSIBLE,
		[NODE_SLICES_TAKEN]   = node_slices_on_taken,
		[NODE_SLICES_ENDED]   = node_slices_on_ended,
		[NODE_SLICES_TIMER]   = IMPOSSIBLE,
		[NODE_SLICES_LEFT]    = node_slices_on_left,
	},
	[NODE_SLICES_PASSING] = {
		[NODE_SLICES_FOUND]   = IMPOSSIBLE,
		[NODE_SLICES_FETCHED] = IMPOSSIBLE,
		[NODE_SLICES_READ]    = IMPOSSIBLE,
		[NODE_SLICES_TAKEN]   = node_slices_on_taken,
		[NODE_SLICES_ENDED]   = node_slices_on_ended,
		[NODE_SLICES_TIMER]   = IMPOSSIBLE,
		[NODE_SLICES_LEFT]    = node_slices_on_left,
	},
	[NODE_SLICES_PAUSED] = {
		[NODE_SLICES_FOUND]   = IMPOSSIBLE,
		[NODE_SLICES_FETCHED] = IMPOSSIBLE,
		[NODE_SLICES_READ]    = IMPOSSIBLE,
		[NODE_SLICES_TAKEN]   = IMPOSSIBLE,
		[NODE_SLICES_ENDED]   = IMPOSSIBLE,
		[NODE_SLICES_TIMER]   = node_slices_on_timer,
		[NODE_SLICES_LEFT]    = node_slices_on_left,
	},
	[NODE_SLICES_BROKEN] = {
		[NODE_SLICES_FOUND]   = IMPOSSIBLE,
		[NODE_SLICES_FETCHED] = IMPOSSIBLE,
		[NODE_SLICES_READ]    = IMPOSSIBLE,
		[NODE_SLICES_TAKEN]   = IMPOSSIBLE,
		[NODE_SLICES_ENDED]   = IMPOSSIBLE,
		[NODE_SLICES_TIMER]   = IMPOSSIBLE,
		[NODE_SLICES_LEFT]    = node_slices_on_left,
	},
	[NODE_SLICES_CLOSED] = {
		[NODE_SLICES_FOUND]   = IMPOSSIBLE,
		[NODE_SLICES_FETCHED] = IMPOSSIBLE,
		[NODE_SLICES_READ]    = node_slices_on_late,
		[NODE_SLICES_TAKEN]   = IMPOSSIBLE,
		[NODE_SLICES_ENDED]   = node_slices_on_late,
		[NODE_SLICES_TIMER]   = IMPOSSIBLE,
		[NODE_SLICES_LEFT]    = IMPOSSIBLE,
	},
};
/* clang-format on */

bool node_slices_handles(enum node_slices_state state,
			 enum node_slices_event event)
{
	return node_slices_table[state][event];
}

enum node_slices_action node_slices_step(struct node_slices *s,
					 const struct node_slices_input *in)
{
	assert(s->state < NODE_SLICES_STATES && in->event < NODE_SLICES_EVENTS);
	assert(node_slices_table[s->state][in->event]);
	return node_slices_table[s->state][in->event](s, in);
}

const char *node_slices_state_name(enum node_slices_state state)
{
	static const char *const names[NODE_SLICES_STATES] = {
		"BETWEEN", "READING", "HERE",   "FOLLOWING",
		"PASSING", "PAUSED",  "BROKEN", "CLOSED",
	};

	return names[state];
}

const char *node_slices_event_name(enum node_slices_event event)
{
	static const char *const names[NODE_SLICES_EVENTS] = {
		"FOUND", "FETCHED", "READ", "TAKEN", "ENDED", "TIMER", "LEFT",
	};

	return names[event];
}
