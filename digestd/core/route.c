/*
 * Routing one request.
 */
#include "digestd/core/route.h"

/* Not yet measured: neither near nor far. */
static const double unknown_rtt_ms = 10;

/* Whatever is nearer is as near as this: the rest is chance. */
static const double near_ms = 5;

/*
 * The expected time until an answer helps: a false positive costs a round trip
 * for nothing, so a peer's time counts 1 / (1 - fp) times. In hundredths of
 * near_ms, so that peers which are alike stay in the order of the view.
 */
static unsigned cost(const struct peerset_peer *p)
{
	double rtt_ms = p->rtt_ms > 0 ? p->rtt_ms : unknown_rtt_ms;
	double fp = p->digest->fp < 0.99 ? p->digest->fp : 0.99;

	if (rtt_ms < near_ms)
		rtt_ms = near_ms;
	return (unsigned)(rtt_ms / (1 - fp) / near_ms * 100);
}

/* Puts a peer in its place among the best; the worst falls off a full list. */
static void rank(struct route *r, const struct peerset *view, uint32_t peer)
{
	unsigned peer_cost = cost(peerset_at(view, peer));
	unsigned at = r->npeers;

	while (at && cost(peerset_at(view, r->peers[at - 1])) > peer_cost)
		at--;
	if (at == ROUTE_MAX_PEERS)
		return;
	if (r->npeers < ROUTE_MAX_PEERS)
		r->npeers++;
	for (unsigned i = r->npeers - 1; i > at; i--)
		r->peers[i] = r->peers[i - 1];
	r->peers[at] = peer;
}

void route_init(struct route *r, struct peerset *view,
		const struct scd_key *key, const struct route_policy *policy,
		int64_t now_ms)
{
	uint32_t found[PEERSET_MAX_PEERS];
	size_t nfound;

	*r = (struct route){ .view = view,
			     .deadline_ms = now_ms + policy->budget_ms };
	if (!view)
		return;
	nfound = peerset_lookup(view, key, found, PEERSET_MAX_PEERS);
	for (size_t i = 0; i < nfound; i++)
		rank(r, view, found[i]);
}

struct route_step route_next(struct route *r,
			     const struct route_policy *policy, int64_t now_ms)
{
	int64_t left_ms = r->deadline_ms - now_ms;

	while (r->next < r->npeers && r->tried < policy->tries && left_ms > 0) {
		uint32_t peer = r->peers[r->next++];
		bool probe = peerset_at(r->view, peer)->trial;

		if (probe && !peerset_try(r->view, peer, now_ms))
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
