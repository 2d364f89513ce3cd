/*
 * The number of hedges.
 */
#include "digestd/node/node_hedge.h"

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
