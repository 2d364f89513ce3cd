/*
 * The way to an origin.
 */
#include "digestd/node/node_lease.h"

static enum node_lease_do node_lease_end(struct node_lease *l)
{
	l->state = NODE_LEASE_OVER;
	return NODE_LEASE_TO_ORIGIN;
}

static enum node_lease_do node_lease_go(struct node_lease *l,
					enum node_lease_state state,
					enum node_lease_do step)
{
	l->state = state;
	return step;
}

/* To who has it, unless that is who had it not. */
static enum node_lease_do node_lease_follow(struct node_lease *l,
					    const struct lease_answer *told,
					    uint64_t self,
					    enum node_lease_state state)
{
	if (told->word != LEASE_ELSEWHERE || told->holder == self ||
	    told->holder == l->holder)
		return node_lease_end(l);
	l->holder = told->holder;
	return node_lease_go(l, state, NODE_LEASE_ASK_HOLDER);
}

enum node_lease_do node_lease_next(struct node_lease *l,
				   const struct lease_answer *told,
				   uint64_t self, struct lease_wish *wish)
{
	*wish = (struct lease_wish){.waits = true};
	switch (l->state) {
	case NODE_LEASE_BEGIN:
		wish->who = self;
		return node_lease_go(l, NODE_LEASE_ASKED_OWNER,
				     NODE_LEASE_ASK_OWNER);
	case NODE_LEASE_ASKED_OWNER:
		return node_lease_follow(l, told, self,
					 NODE_LEASE_ASKED_HOLDER);
	case NODE_LEASE_ASKED_HOLDER:
		if (told->word == LEASE_ALONE)
			break;
		wish->who = self;
		wish->not = l->holder;
		return node_lease_go(l, NODE_LEASE_ASKED_AGAIN,
				     NODE_LEASE_ASK_OWNER);
	case NODE_LEASE_ASKED_AGAIN:
		return node_lease_follow(l, told, self, NODE_LEASE_ASKED_LAST);
	case NODE_LEASE_ASKED_LAST:
	case NODE_LEASE_OVER:
	case NODE_LEASE_STATES:
		break;
	}
	return node_lease_end(l);
}

bool node_lease_is_worth(struct node_lease_worth *w)
{
	if (w->vain < NODE_LEASE_PATIENCE)
		return true;
	w->skipped = (w->skipped + 1) % NODE_LEASE_SAMPLE;
	return !w->skipped;
}

void node_lease_was_worth(struct node_lease_worth *w, bool found)
{
	if (found)
		w->vain = 0;
	else if (w->vain < NODE_LEASE_PATIENCE)
		w->vain++;
}
