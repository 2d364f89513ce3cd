/*
 * Draining.
 */
#include "digestd/node/node_drain.h"

static enum node_drain_action node_drain_end(struct node_drain *d)
{
	d->state = NODE_DRAIN_OVER;
	return NODE_DRAIN_END;
}

static enum node_drain_action
node_drain_on_asked(struct node_drain *d, const struct node_drain_input *in)
{
	switch (d->state) {
	case NODE_DRAIN_SERVING:
		d->state = NODE_DRAIN_DRAINING;
		d->until_ms = in->now_ms + in->drain_ms;
		return NODE_DRAIN_BEGIN;
	case NODE_DRAIN_DRAINING: /* who asks again does not want to wait */
		return node_drain_end(d);
	case NODE_DRAIN_OVER:
		break;
	}
	return NODE_DRAIN_GO_ON;
}

enum node_drain_action node_drain_step(struct node_drain *d,
				       const struct node_drain_input *in)
{
	switch (in->event) {
	case NODE_DRAIN_ASKED:
		return node_drain_on_asked(d, in);
	case NODE_DRAIN_LOOKED:
		break;
	}
	if (d->state != NODE_DRAIN_DRAINING ||
	    (!in->nothing_left && in->now_ms < d->until_ms))
		return NODE_DRAIN_GO_ON;
	return node_drain_end(d);
}

bool node_drain_is_serving(const struct node_drain *d)
{
	return d->state == NODE_DRAIN_SERVING;
}
