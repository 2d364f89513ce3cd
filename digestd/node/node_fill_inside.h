/*
 * Inside the machine of a fill.
 */
#ifndef DIGESTD_NODE_NODE_FILL_INSIDE_H
#define DIGESTD_NODE_NODE_FILL_INSIDE_H

#include "digestd/node/node_fill.h"

/* Parts of steps, in node_fill.c. */

/* These actions, and no more. */
struct node_fill_step node_fill_do(uint32_t actions);

/* The fill is over. */
struct node_fill_step node_fill_end(struct node_fill *f, uint32_t actions);

/* Whether its state is one of those with a peer. */
bool node_fill_is_from_peer(const struct node_fill *f);

/* A peer has some time from then on. */
uint32_t node_fill_watch(struct node_fill *f, int64_t from_ms);

/* What is held against a peer. */
uint32_t node_fill_blame(const struct node_fill_input *in);

/* Its event TIMER while it waits for a peer's header, in node_hedge.c. */
struct node_fill_step node_fill_on_slow_peer(struct node_fill *f,
					     const struct node_fill_input *in);

/* Asks another origin, whoever waits for it; and the event TIMER while it
 * waits for an origin's header; in node_retry.c. */
struct node_fill_step node_fill_retry(struct node_fill *f);
struct node_fill_step
node_fill_on_slow_origin(struct node_fill *f, const struct node_fill_input *in);

/* Slices, in node_fill_cut.c. */

/* The header of what is cut has come. */
struct node_fill_step node_fill_cut(struct node_fill *f,
				    const struct node_fill_input *in);

/* Its events: bytes, an end, a failure, the timer, and that the client has
 * left. */
struct node_fill_step node_fill_on_cut(struct node_fill *f,
				       const struct node_fill_input *in);
struct node_fill_step node_fill_on_cut_end(struct node_fill *f,
					   const struct node_fill_input *in);
struct node_fill_step node_fill_on_cut_broken(struct node_fill *f,
					      const struct node_fill_input *in);
struct node_fill_step node_fill_on_cut_pace(struct node_fill *f,
					    const struct node_fill_input *in);
struct node_fill_step node_fill_on_cut_left(struct node_fill *f,
					    const struct node_fill_input *in);

#endif
