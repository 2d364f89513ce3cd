/*
 * Distances: what a fill's fetch has measured of a peer or an origin, and what
 * follows from that for asking peers. The rules are in mesh/distance.h.
 *
 * Each worker measures for itself, as it has connections of its own. Of origins
 * only GET counts: the time that others take has other reasons.
 */
#include <stdio.h>

#include "digestd/peers/lease_desk.h"
#include "digestd/peers/placer.h"
#include "digestd/proxy/fill.h"
#include "digestd/store/eviction_tiers.h"

/* The number of the origin: of its URL, or of the host that a forward proxy
 * connects to. */
static uint64_t fill_distance_hash_origin(const struct fill *f)
{
	char host[300];

	if (!f->q->forward)
		return f->q->upstream ? peerset_hash_name(f->q->upstream) : 0;
	snprintf(host, sizeof(host), "%.*s", (int)f->q->target.host_len,
		 f->q->target.host);
	return peerset_hash_name(host);
}

static uint64_t fill_distance_origin(struct fill *f)
{
	if (!f->origin_number)
		f->origin_number = fill_distance_hash_origin(f);
	return f->origin_number;
}

/* By which this node asks peers in an order of its own: with hot copies many
 * have what many ask for. 0: all nodes have the same. */
static uint64_t fill_distance_spread(const struct worker *w)
{
	if (!w->shared.placer || !w->shared.leases ||
	    !placer_has_tiers(w->shared.placer))
		return 0;
	return lease_desk_instance(w->shared.leases);
}

struct route_policy fill_distance_policy(struct fill *f)
{
	const struct worker_settings *set = f->q->settings;

	return (struct route_policy){
		.budget_ms = set->peer_budget_ms,
		.peer_ms = set->peer_first_byte_ms,
		.tries = set->peer_tries,
		.spread = fill_distance_spread(f->worker),
		/* who says how long they have says that they are asked */
		.peers = set->peer_first_byte_ms ? NULL
						 : &f->worker->peer_distances,
		.origin = distance_table_find(&f->worker->origin_distances,
					      fill_distance_origin(f)),
	};
}

int64_t fill_distance_timeout_ms(struct fill *f)
{
	const struct route_policy policy = fill_distance_policy(f);

	if (policy.peer_ms)
		return policy.peer_ms;
	return distance_timeout_ms(
		distance_table_find(&f->worker->peer_distances, f->peer->id),
		f->peer->trip_ms, policy.origin);
}

unsigned fill_distance_connect_ms(const struct fill *f, unsigned timeout_ms)
{
	unsigned ms = f->q->settings->peer_connect_ms;

	return ms && ms < timeout_ms ? ms : timeout_ms;
}

int64_t fill_distance_pace_ms(const struct fill *f, unsigned timeout_ms)
{
	if (f->q->settings->peer_budget_ms)
		return f->q->settings->peer_budget_ms;
	return distance_pace_ms(distance_table_find(&f->worker->peer_distances,
						    f->peer->id),
				f->peer->trip_ms, timeout_ms);
}

unsigned fill_distance_price(const struct fill *f)
{
	const struct worker *w = f->worker;

	return eviction_tiers_price(
		distance_median_ms(
			distance_table_find(&w->peer_distances, f->peer->id)),
		distance_median_ms(distance_table_find(&w->origin_distances,
						       f->origin_number)));
}

/* The distance that the fetch under way measures; null: none, or no memory. */
static struct distance *fill_distance_measured(struct fill *f)
{
	struct worker *w = f->worker;

	/* it may have waited for what the peer fetches */
	if (fill_lease_waits(f) || f->source == SOURCE_BESIDE)
		return NULL;
	if (f->source == SOURCE_PEER)
		return distance_table_use(&w->peer_distances, f->peer->id);
	if (!w->view || !f->q->get) /* nobody would ask */
		return NULL;
	return distance_table_use(&w->origin_distances,
				  fill_distance_origin(f));
}

void fill_distance_answered(struct fill *f)
{
	struct distance *d = fill_distance_measured(f);

	if (d)
		distance_answered(d, fill_elapsed_ms(f),
				  worker_now_ms(f->worker));
	if (!d || f->source != SOURCE_PEER)
		return;
	if (!f->lease.asks || peerset_is_elsewhere(f->peer))
		distance_outcome(d, f->verdict);
	if (distance_is_far(d))
		worker_keep_warm(f->worker);
}

void fill_distance_late(struct fill *f)
{
	struct distance *d = fill_distance_measured(f);

	if (d)
		distance_late(d, fill_elapsed_ms(f), worker_now_ms(f->worker));
}
