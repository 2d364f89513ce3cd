/*
 * Hedges: a peer that is slow to answer is waited for, and the origin is asked
 * beside it, by a fill of its own without a client. The first usable header
 * counts:
 *
 *   the peer's    the hedge ends
 *   the origin's  the hedge gets client and collapse, and goes on as any fill;
 *                 the one that has asked the peer goes on alone to the peer's
 *                 header, for its distance and its health, and ends there
 *
 * Where the peer's answer is of no use, the hedge gets both at once. Where the
 * origin fails, the peer is waited for as if there had been no hedge.
 *
 * A question for a lease is not hedged: each node of a crowd would, whose one
 * fetch makes all of them wait.
 */
#include <assert.h>

#include "digestd/node/node_answer.h"
#include "digestd/proxy/fill.h"
#include "digestd/proxy/request.h"

static void fill_hedge_part(struct fill *f, struct fill *hedge)
{
	assert(f->hedge == hedge && hedge->hedged == f);
	f->hedge = NULL;
	hedge->hedged = NULL;
}

/* It passes on what makes it an answer to somebody. */
static void fill_hedge_pass_on(struct fill *f, struct fill *hedge)
{
	fill_hedge_part(f, hedge);
	hedge->node.purpose = NODE_FOR_CLIENT;
	hedge->client = f->client;
	hedge->node.client = f->client;
	if (f->client)
		f->client->fill = hedge;
	hedge->collapse = f->collapse;
	hedge->weighed = f->weighed;
	hedge->worth = f->worth;
	fill_holder_pass_on(f, hedge);
	f->client = NULL;
	f->node.client = false;
	f->collapse = NULL;
}

/* The machine's timer, which it leaves alone while it waits for a header. */
static void fill_hedge_is_due(void *arg)
{
	struct fill *f = arg;
	const struct node_fill_input in = {
		.event = NODE_TIMER,
		.now_ms = worker_now_ms(f->worker),
	};

	fill_take(f, &in, NULL, 0);
}

void fill_hedge_watch(struct fill *f, unsigned timeout_ms)
{
	struct worker *w = f->worker;
	const struct route_policy policy = fill_distance_policy(f);
	const int64_t ms = distance_hedge_ms(
		distance_table_find(&w->peer_distances, f->peer->id),
		f->peer->trip_ms, policy.origin);

	node_hedges_asked(&w->hedges, f->q->settings->peer_hedges);
	if (!f->q->settings->peer_hedges || !f->client || f->hedge ||
	    f->node.purpose != NODE_FOR_CLIENT || f->lease.asks ||
	    f->holder.state == NODE_HOLDER_ASKED || ms >= timeout_ms)
		return;
	loop_timer_set(w->loop, &f->timer, f->asked_ms + ms, fill_hedge_is_due,
		       f);
}

void fill_hedge_begin(struct fill *f)
{
	struct worker *w = f->worker;
	const struct node_memory memory = worker_memory();
	struct fill *hedge;

	if (node_memory_is_low(&memory) || !node_hedges_take(&w->hedges)) {
		worker_add(&w->counters.hedges_held_back, 1);
		return;
	}
	hedge = fill_new(w, f->q, &f->in);
	if (!hedge)
		return;
	f->hedge = hedge;
	hedge->hedged = f;
	hedge->node.purpose = NODE_FOR_HEDGE;
	hedge->stale = f->stale ? cached_ref(f->stale) : NULL;
	hedge->stale_since = f->stale_since;
	hedge->as_it_is = true;
	collapse_open(f->collapse);
	worker_add(&w->counters.hedges, 1);
	fill_ask_origin(hedge);
}

static void fill_hedge_cancel(struct fill *f)
{
	struct fill *hedge = f->hedge;
	const struct node_fill_input left = {
		.event = NODE_LEFT,
		.now_ms = worker_now_ms(f->worker),
	};

	fill_hedge_part(f, hedge);
	fill_take(hedge, &left, NULL, 0);
}

void fill_hedge_end(struct fill *f)
{
	if (f->hedge)
		fill_hedge_cancel(f);
}

bool fill_hedge_goes_on(struct fill *f)
{
	struct fill *hedge = f->hedge;

	if (!hedge)
		return false;
	fill_hedge_pass_on(f, hedge);
	fill_free_if_over(f);
	return true;
}

bool fill_hedge_answers(struct fill *hedge, unsigned status)
{
	struct fill *f = hedge->hedged;
	struct distance *owes;

	if (node_answer_is_failure(status)) {
		fill_hedge_end(f);
		return false;
	}
	fill_hedge_pass_on(f, hedge);
	hedge->beats = true;
	f->beaten = true;
	f->node.purpose = NODE_FOR_PROBE;
	owes = distance_table_use(&f->worker->peer_distances, f->peer->id);
	if (owes)
		distance_owes(owes);
	worker_add(&f->worker->counters.hedges_won, 1);
	return true;
}

void fill_hedge_forget(struct fill *f)
{
	struct distance *owed;

	fill_hedge_end(f);
	if (f->hedged)
		fill_hedge_part(f->hedged, f);
	if (!f->beaten)
		return;
	owed = distance_table_find(&f->worker->peer_distances, f->peer->id);
	if (owed)
		distance_paid(owed);
}

bool fill_hedge_may_ask(const struct fill *f, const struct peerset_peer *peer)
{
	return !distance_stands_still(
		distance_table_find(&f->worker->peer_distances, peer->id));
}
