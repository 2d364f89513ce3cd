/*
 * Asking a peer for a stale copy.
 */
#include "digestd/node/node_holder.h"

#include <assert.h>

#include "digestd/node/node_answer.h"

bool node_holder_heard(struct node_holder *h, enum cachestatus_usable usable)
{
	if (h->state > NODE_HOLDER_KNOWN || usable <= h->usable)
		return false;
	h->state = NODE_HOLDER_KNOWN;
	h->usable = usable;
	return true;
}

enum cachestatus_usable node_holder_need_of_status(unsigned status)
{
	return node_answer_is_failure(status) ? CACHESTATUS_USABLE_ON_ERROR
					      : CACHESTATUS_USABLE_NO;
}

enum cachestatus_usable node_holder_need_of_failure(enum fetch_result result)
{
	if (result == FETCH_COMPLETE || result == FETCH_NOMEM) /* here */
		return CACHESTATUS_USABLE_NO;
	return node_answer_is_disconnect(result)
		       ? CACHESTATUS_USABLE_ON_DISCONNECT
		       : CACHESTATUS_USABLE_ON_ERROR;
}

enum cachestatus_usable
node_holder_need_of_condition(enum origin_condition condition)
{
	switch (condition) {
	case ORIGIN_SERVES:
		break;
	case ORIGIN_FAILS:
		return CACHESTATUS_USABLE_ON_ERROR;
	case ORIGIN_SILENT:
		return CACHESTATUS_USABLE_ON_DISCONNECT;
	}
	return CACHESTATUS_USABLE_NO;
}

bool node_holder_may_ask(const struct node_holder *h,
			 enum cachestatus_usable need)
{
	return h->state == NODE_HOLDER_KNOWN &&
	       need != CACHESTATUS_USABLE_NO && h->usable >= need;
}

int64_t node_holder_wait_ms(int64_t distance_ms)
{
	return distance_ms > NODE_HOLDER_WAIT_MS ? distance_ms :
						   NODE_HOLDER_WAIT_MS;
}

void node_holder_take(struct node_holder *h, enum cachestatus_usable need,
		      unsigned status)
{
	assert(node_holder_may_ask(h, need));
	h->state = NODE_HOLDER_DUE;
	h->need = need;
	h->status = status;
}
