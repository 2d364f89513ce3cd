/*
 * What a fill does in NODE_CUT, where what comes is stored in slices; and how
 * it begins to pass them.
 */
#include <assert.h>

#include "digestd/node/node_fill_inside.h"

/* What comes is sent as it comes, and not stored. */
static struct node_fill_step node_fill_pass(struct node_fill *f)
{
	assert(f->client && !node_fill_is_from_peer(f));
	f->state = NODE_SHOW_ORIGIN;
	return node_fill_do(NODE_TAKE_WINDOW);
}

/* What comes is stored in slices, or passes. */
struct node_fill_step node_fill_cut(struct node_fill *f,
				    const struct node_fill_input *in)
{
	bool peer = node_fill_is_from_peer(f);
	uint32_t actions = NODE_STORE;

	assert(f->purpose == NODE_FOR_CLIENT || node_fill_is_for_slices(f));
	f->keep = NODE_KEEP_NO;
	if (f->purpose == NODE_FOR_PASSING)
		return node_fill_pass(f);
	if (f->client)
		actions |= NODE_REPLY_STORED | (peer ? 0 : NODE_COUNT_MISS);
	if (peer)
		actions |= node_fill_watch(f, in->now_ms);
	f->state = NODE_CUT;
	f->peer_cut = peer;
	f->cut_hit = false;
	return node_fill_do(actions);
}

/* A peer's first: its header alone was no hit. */
static uint32_t node_fill_count_slice(struct node_fill *f)
{
	bool first = f->peer_cut && !f->cut_hit;

	f->cut_hit = true;
	return NODE_STORE_SLICE | (first ? NODE_RECORD_HIT : 0);
}

struct node_fill_step node_fill_on_cut(struct node_fill *f,
				       const struct node_fill_input *in)
{
	if (!in->room)
		return node_fill_end(f, NODE_STOP | NODE_LAND);
	f->received += in->len;
	f->received_ms = in->now_ms;
	return node_fill_do(NODE_TAKE |
			    (in->completes ? node_fill_count_slice(f) : 0));
}

/* The response has ended, or enough of it has come. */
struct node_fill_step node_fill_on_cut_end(struct node_fill *f,
					   const struct node_fill_input *in)
{
	(void)in;
	return node_fill_end(f, NODE_STOP | NODE_LAND);
}

struct node_fill_step node_fill_on_cut_broken(struct node_fill *f,
					      const struct node_fill_input *in)
{
	const uint32_t blame = node_fill_is_from_peer(f) && !in->no_memory
				       ? node_fill_blame(in)
				       : 0;

	return node_fill_end(f, blame | NODE_STOP | NODE_LAND);
}

/* A peer that stands still: who follows asks for the rest elsewhere. */
struct node_fill_step node_fill_on_cut_pace(struct node_fill *f,
					    const struct node_fill_input *in)
{
	assert(f->peer_cut); /* nobody else is timed */
	if (f->received - f->watched >= NODE_WATCH_BYTES)
		return node_fill_do(node_fill_watch(f, f->received_ms));
	return node_fill_on_cut_broken(f, in);
}

/* Others may follow: the edge lets go of slices that nobody does. */
struct node_fill_step node_fill_on_cut_left(struct node_fill *f,
					    const struct node_fill_input *in)
{
	(void)in;
	f->client = false;
	return node_fill_do(0);
}
