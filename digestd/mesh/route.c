/*
 * Routing one request.
 */
#include "digestd/mesh/route.h"

/* Not yet measured: neither near nor far. */
static const double unknown_rtt_ms = 10;

/* Whatever is nearer is as near as this: the rest is chance. */
static const double near_ms = DISTANCE_NEAR_MS;

/*
 * The expected time until an answer helps: a false positive costs a round trip
 * for nothing, so a peer's time counts 1 / (1 - fp) times. In hundredths of
 * near_ms, so that peers which are alike are equal.
 */
static unsigned route_cost(const struct peerset_peer *p,
			   const struct distance *d)
{
	double rtt_ms = p->rtt_ms > 0 ? p->rtt_ms : unknown_rtt_ms;
	double fp = p->digest->fp < 0.99 ? p->digest->fp : 0.99;

	if (distance_median_ms(d)) /* this worker's own, and of late */
		rtt_ms = (double)distance_median_ms(d);
	else if (p->rtt_ms <= 0 && p->trip_ms)
		rtt_ms = (double)p->trip_ms;
	if (rtt_ms < near_ms)
		rtt_ms = near_ms;
	/* of two that are as near, the one at this location */
	return (unsigned)(rtt_ms / (1 - fp) / near_ms * 100) +
	       peerset_is_elsewhere(p);
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

static struct distance *route_distance(const struct route *r,
				       const struct route_policy *policy,
				       uint32_t peer)
{
	uint32_t id = peerset_at(r->view, peer)->id;

	return policy->peers ? distance_table_find(policy->peers, id) : NULL;
}

/* Whether a peer is left out. One that is half open is no way for a request
 * anyway. */
static bool route_passes_over(struct route *r,
			      const struct route_policy *policy, uint32_t peer,
			      struct distance *d)
{
	if (distance_pays(d, policy->origin) ||
	    peerset_at(r->view, peer)->half_open)
		return false;
	r->too_far++;
	if (distance_pass_over(d, r->started_ms)) {
		r->measures = true;
		r->measured = peer;
	}
	return true;
}

void route_init(struct route *r, struct peerset *view,
		const struct peerset_keys *keys,
		const struct route_policy *policy, int64_t now_ms)
{
	struct route_candidate best[ROUTE_MAX_PEERS];
	uint32_t found[PEERSET_MAX_PEERS];
	uint64_t key_lo = keys->own->lo;
	size_t nfound;

	*r = (struct route){ .view = view, .started_ms = now_ms };
	if (!view)
		return;
	nfound = peerset_lookup(view, keys, found, PEERSET_MAX_PEERS);
	if (policy->spread)
		key_lo = route_spread(key_lo, policy->spread);
	for (size_t i = 0; i < nfound; i++) {
		const struct peerset_peer *p = peerset_at(view, found[i]);
		struct distance *d = route_distance(r, policy, found[i]);
		const struct route_candidate c = {
			found[i], route_cost(p, d),
			route_weight(key_lo, p->name_hash)};

		if (!route_passes_over(r, policy, found[i], d))
			route_rank(best, &r->npeers, &c);
	}
	for (unsigned i = 0; i < r->npeers; i++)
		r->peers[i] = best[i].peer;
}

static struct route_step route_probe(const struct route_policy *policy,
				     uint32_t peer)
{
	return (struct route_step){
		.probe = true,
		.peer = peer,
		.timeout_ms = policy->peer_ms ? policy->peer_ms :
						DISTANCE_PROBE_MS,
	};
}

/* What the next peer may take; the budget grows with the farthest. */
static int64_t route_timeout_ms(struct route *r,
				const struct route_policy *policy,
				uint32_t peer, int64_t now_ms)
{
	int64_t ms = policy->peer_ms, budget_ms = policy->budget_ms, left_ms;

	if (!ms)
		ms = distance_timeout_ms(route_distance(r, policy, peer),
					 peerset_at(r->view, peer)->trip_ms,
					 policy->origin);
	if (!budget_ms)
		budget_ms = distance_budget_ms(ms);
	if (budget_ms > r->budget_ms)
		r->budget_ms = budget_ms;
	left_ms = r->started_ms + r->budget_ms - now_ms;
	return left_ms < ms ? left_ms : ms;
}

struct route_step route_next(struct route *r,
			     const struct route_policy *policy, int64_t now_ms)
{
	if (r->measures && policy->tries) {
		r->measures = false;
		return route_probe(policy, r->measured);
	}
	while (r->next < r->npeers && r->tried < policy->tries) {
		uint32_t peer = r->peers[r->next++];
		int64_t ms = route_timeout_ms(r, policy, peer, now_ms);

		if (ms <= 0)
			break;
		if (!peerset_at(r->view, peer)->half_open) {
			r->tried++;
			return (struct route_step){ .peer = peer,
						    .timeout_ms = ms };
		}
		if (peerset_claim_probe(r->view, peer, now_ms))
			return route_probe(policy, peer);
	}
	return (struct route_step){ .origin = true };
}

unsigned route_candidates(const struct route *r)
{
	return r->npeers;
}

unsigned route_too_far(const struct route *r)
{
	return r->too_far;
}
