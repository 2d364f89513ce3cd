/*
 * How many slow questions to peers may be hedged: the origin is asked beside
 * the peer, and the earlier answer counts.
 *
 * A hedge costs the origin a request. When all peers are slow, as all are busy,
 * one for each question would make them busier: so there are few, a share of
 * the questions, and NODE_HEDGE_BURST at once.
 *
 * Source: Dean and Barroso, "The Tail at Scale", CACM 56(2), 2013.
 */
#ifndef DIGESTD_NODE_NODE_HEDGE_H
#define DIGESTD_NODE_NODE_HEDGE_H

#include <stdbool.h>

/* As many questions as a peer that hangs may get until its breaker opens. */
enum { NODE_HEDGE_BURST = 16 };

/* All zero: there has been no hedge. */
struct node_hedges {
	unsigned spent; /* in hundredths of a hedge, not yet earned back */
};

/* A peer has been asked; of a hundred of these so many may be hedged. */
void node_hedges_asked(struct node_hedges *h, unsigned percent);

/* Whether one more may be; it counts then. */
bool node_hedges_take(struct node_hedges *h);

#endif
