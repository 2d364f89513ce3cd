/*
 * What is hedged, and how much of it.
 */
#include "digestd/node/node_hedge.h"

#include "digestd/node/node_fill_inside.h"

enum { HUNDREDTHS = 100 };

void node_hedges_asked(struct node_hedges *h, unsigned percent)
{
	h->spent -= percent < h->spent ? percent : h->spent;
}

bool node_hedges_take(struct node_hedges *h)
{
	if (h->spent + HUNDREDTHS > NODE_HEDGE_BURST * HUNDREDTHS)
		return false;
	h->spent += HUNDREDTHS;
	return true;
}

/* What a peer is asked for a client, an origin may be, too. */
struct node_fill_step node_fill_on_slow_peer(struct node_fill *f,
					     const struct node_fill_input *in)
{
	struct node_fill_step step = node_fill_do(0);

	(void)in;
	if (f->client && f->purpose == NODE_FOR_CLIENT)
		step.then = NODE_THEN_HEDGE;
	return step;
}
