/*
 * Routing one request.
 */
#include "digestd/mesh/route.h"

/* Not yet measured: neither near nor far. */
static const double unknown_rtt_ms = 10;

/* Whatever is nearer is as near as this: the rest is chance. */
static const double near_ms = 5;

/*
 * The expected time until an answer helps: a false positive costs a round trip
 * for nothing, so a peer's time counts 1 / (1 - fp) times. In hundredths of
 * near_ms, so that peers which are alike are equal.
 */
static unsigned route_cost(const struct peerset_peer *p)
{
	double rtt_ms = p->rtt_ms > 0 ? p->rtt_ms : unknown_rtt_ms;
	double fp = p->digest->fp < 0.99 ? p->digest->fp : 0.99;

	if (rtt_ms < near_ms)
		rtt_ms = near_ms;
	return (unsigned)(rtt_ms / (1 - fp) / near_ms * 100);
}

struct route_candidate {
	uint32_t peer;
	unsigned cost;
	uint64_t weight;
};

static bool route_is_better(const struct route_candidate *a,
			    const struct route_candidate *b)
{
	return a->cost != b->cost ? a->cost < b->cost : a->weight > b->weight;
}

/* Puts a peer in its place among the best; the worst falls off a full list. */
static void route_rank(struct route_candidate *best, unsigned *n,
		       const struct route_candidate *c)
{
	unsigned at = *n;

	while (at && route_is_better(c, &best[at - 1]))
		at--;
	if (at == ROUTE_MAX_PEERS)
		return;
	if (*n < ROUTE_MAX_PEERS)
		++*n;
	for (unsigned i = *n - 1; i > at; i--)
		best[i] = best[i - 1];
	best[at] = *c;
}

void route_init(struct route *r, struct peerset *view,
		const struct peerset_keys *keys,
		const struct route_policy *policy, int64_t now_ms)
{
	struct route_candidate best[ROUTE_MAX_PEERS];
	uint32_t found[PEERSET_MAX_PEERS];
	size_t nfound;

	*r = (struct route){ .view = view,
			     .deadline_ms = now_ms + policy->budget_ms };
	if (!view)
		return;
	nfound = peerset_lookup(view, keys, found, PEERSET_MAX_PEERS);
	for (size_t i = 0; i < nfound; i++) {
		const struct peerset_peer *p = peerset_at(view, found[i]);
		const struct route_candidate c = {
			found[i], route_cost(p),
			route_weight(keys->own->lo, p->name_hash)
		};

		route_rank(best, &r->npeers, &c);
	}
	for (unsigned i = 0; i < r->npeers; i++)
		r->peers[i] = best[i].peer;
}

struct route_step route_next(struct route *r,
			     const struct route_policy *policy, int64_t now_ms)
{
	int64_t left_ms = r->deadline_ms - now_ms;

	while (r->next < r->npeers && r->tried < policy->tries && left_ms > 0) {
		uint32_t peer = r->peers[r->next++];
		bool probe = peerset_at(r->view, peer)->half_open;

		if (probe && !peerset_claim_probe(r->view, peer, now_ms))
			continue;
		r->tried += !probe;
		return (struct route_step){
			.probe = probe,
			.peer = peer,
			.timeout_ms = probe || left_ms > policy->peer_ms ?
				policy->peer_ms : left_ms,
		};
	}
	return (struct route_step){ .origin = true };
}

unsigned route_candidates(const struct route *r)
{
	return r->npeers;
}
