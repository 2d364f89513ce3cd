/*
 * What may be repeated.
 */
#include "digestd/node/node_retry.h"

#include "digestd/node/node_fill_inside.h"

bool node_retry_is_safe(const struct node_retry *r)
{
	return !r->sent || (r->safe && !r->body);
}

struct node_fill_step node_fill_retry(struct node_fill *f)
{
	struct node_fill_step step = node_fill_end(f, NODE_FORGET);

	step.then = NODE_THEN_NEXT;
	return step;
}

struct node_fill_step node_fill_on_slow_origin(struct node_fill *f,
					       const struct node_fill_input *in)
{
	return in->retry ? node_fill_retry(f) : node_fill_do(0);
}
