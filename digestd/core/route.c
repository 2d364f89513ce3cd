/*
 * Routing one request.
 */
#include "digestd/core/route.h"

/* Not yet measured: neither near nor far. */
static const double unknown_rtt_ms = 10;

/*
 * The expected time until an answer helps: a false positive costs a round trip
 * for nothing, so a peer's time counts 1 / (1 - fp) times.
 */
static double cost(const struct peerset_peer *p)
{
	double rtt_ms = p->rtt_ms > 0 ? p->rtt_ms : unknown_rtt_ms;
	double fp = p->digest->fp < 0.99 ? p->digest->fp : 0.99;

	return rtt_ms / (1 - fp);
}

/* By insertion: there are few. */
static void rank(struct route *r, const struct peerset *view)
{
	for (unsigned i = 1; i < r->npeers; i++) {
		uint32_t peer = r->peers[i];
		double peer_cost = cost(peerset_at(view, peer));
		unsigned at = i;

		while (at && cost(peerset_at(view, r->peers[at - 1])) >
				     peer_cost) {
			r->peers[at] = r->peers[at - 1];
			at--;
		}
		r->peers[at] = peer;
	}
}

void route_init(struct route *r, const struct peerset *view,
		const struct scd_key *key, const struct route_policy *policy,
		int64_t now_ms)
{
	*r = (struct route){ .deadline_ms = now_ms + policy->budget_ms };
	if (!view)
		return;
	r->npeers = (unsigned)peerset_lookup(view, key, r->peers,
					     ROUTE_MAX_PEERS);
	rank(r, view);
}

struct route_step route_next(struct route *r,
			     const struct route_policy *policy, int64_t now_ms)
{
	int64_t left_ms = r->deadline_ms - now_ms;

	if (r->next == r->npeers || r->tried == policy->tries || left_ms <= 0)
		return (struct route_step){ .origin = true };
	r->tried++;
	return (struct route_step){
		.peer = r->peers[r->next++],
		.timeout_ms = left_ms < policy->peer_ms ? left_ms :
							  policy->peer_ms,
	};
}

unsigned route_candidates(const struct route *r)
{
	return r->npeers;
}
