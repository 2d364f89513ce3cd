/*
 * Draining.
 */
#include "digestd/node/node_drain.h"

#include <assert.h>

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
		assert(in->workers);
		d->state = NODE_DRAIN_HANDING;
		d->due_ms = in->now_ms + in->drain_ms;
		d->left = in->workers;
		return NODE_DRAIN_BEGIN;
	case NODE_DRAIN_HANDING:
	case NODE_DRAIN_DRAINING: /* who asks again does not want to wait */
		return node_drain_end(d);
	case NODE_DRAIN_OVER:
		break;
	}
	return NODE_DRAIN_GO_ON;
}

static enum node_drain_action node_drain_on_handed(struct node_drain *d)
{
	assert(d->state == NODE_DRAIN_HANDING || d->state == NODE_DRAIN_OVER);
	if (d->state == NODE_DRAIN_OVER)
		return NODE_DRAIN_GO_ON;
	d->state = NODE_DRAIN_DRAINING;
	return NODE_DRAIN_PART;
}

static enum node_drain_action node_drain_on_empty(struct node_drain *d)
{
	assert(d->state == NODE_DRAIN_DRAINING || d->state == NODE_DRAIN_OVER);
	assert(d->left);
	d->left--;
	if (d->state == NODE_DRAIN_OVER || d->left)
		return NODE_DRAIN_GO_ON;
	return node_drain_end(d);
}

static enum node_drain_action node_drain_on_late(struct node_drain *d)
{
	assert(d->state != NODE_DRAIN_SERVING);
	return d->state == NODE_DRAIN_OVER ? NODE_DRAIN_GO_ON :
					     node_drain_end(d);
}

enum node_drain_action node_drain_step(struct node_drain *d,
				       const struct node_drain_input *in)
{
	switch (in->event) {
	case NODE_DRAIN_ASKED:
		return node_drain_on_asked(d, in);
	case NODE_DRAIN_HANDED:
		return node_drain_on_handed(d);
	case NODE_DRAIN_EMPTY:
		return node_drain_on_empty(d);
	case NODE_DRAIN_LATE:
		return node_drain_on_late(d);
	}
	return NODE_DRAIN_GO_ON;
}

bool node_drain_is_serving(const struct node_drain *d)
{
	return d->state == NODE_DRAIN_SERVING;
}
