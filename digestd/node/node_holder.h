/*
 * A peer that holds what is wanted, and has it stale: it says with its 504
 * whether that may be used while the origin fails. When the origin has failed,
 * or is known to, it is asked for it, once, and only then.
 */
#ifndef DIGESTD_NODE_NODE_HOLDER_H
#define DIGESTD_NODE_NODE_HOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/http/cachestatus.h"
#include "digestd/http/fetch_result.h"
#include "digestd/mesh/origin_set.h"

enum { NODE_HOLDER_WAIT_MS = 1000 };

enum node_holder_state {
	NODE_HOLDER_NONE,
	NODE_HOLDER_KNOWN,
	NODE_HOLDER_DUE, /* it is to be asked next */
	NODE_HOLDER_ASKED,
};

struct node_holder {
	enum node_holder_state state;
	enum cachestatus_usable usable; /* by its word */
	enum cachestatus_usable need;	/* by what the origin does */
	unsigned status; /* what the client is told if nothing comes of it; 0:
			    the origin has not been asked */
};

/* A peer has said 504, and this of its copy. Returns whether it is the one to
 * ask from now on: of those whose copies may be served in most cases, the
 * first. */
bool node_holder_heard(struct node_holder *h, enum cachestatus_usable usable);

/* What a copy must be good for, by an origin's status, how a fetch from it has
 * failed, or what is known of it; CACHESTATUS_USABLE_NO: nothing has failed
 * that a copy could make up for. */
enum cachestatus_usable node_holder_need_of_status(unsigned status);
enum cachestatus_usable node_holder_need_of_failure(enum fetch_result result);
enum cachestatus_usable
node_holder_need_of_condition(enum origin_condition condition);

/* Whether there is one whose copy is good for that. */
bool node_holder_may_ask(const struct node_holder *h,
			 enum cachestatus_usable need);

/* How long it is waited for, if it would have so long by its distance: at least
 * NODE_HOLDER_WAIT_MS, as there is nobody else to be asked in its place. */
int64_t node_holder_wait_ms(int64_t distance_ms);

/* It may: it is asked next. */
void node_holder_take(struct node_holder *h, enum cachestatus_usable need,
		      unsigned status);

#endif
