/*
 * What others see of the peers that are followed: views for the data path,
 * status, and what the log says of those that are set up in another way.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/os/log.h"
#include "digestd/peers/peer_follower_inside.h"

struct peerset *peer_follower_view(struct peer_follower *f)
{
	struct peerset_peer *peers =
		calloc(f->npeers ? f->npeers : 1, sizeof(*peers));
	struct peerset *view;

	if (!peers)
		return NULL;
	for (size_t i = 0; i < f->npeers; i++) {
		const struct peer *p = f->peers[i];
		const struct peer_health *health =
			following_health(&p->following);

		peers[i] = (struct peerset_peer){
			.id = p->id,
			.usable = following_usable(&p->following),
			.suspect = p->suspect_until_ms > loop_now_ms(f->loop),
			.half_open = peer_health_is_half_open(health),
			.leases = p->says.leases_said && p->says.leases,
			.rtt_ms = peer_health_rtt_ms(health),
			.trip_ms = p->trip_ms,
			.sector = p->sector,
			.owns = p->owns,
			.digest = p->digest,
			.kind = p->kind,
			.name = p->name,
			.url = p->url,
		};
	}
	view = peerset_next(f->view, peers, f->npeers);
	free(peers);
	if (view) {
		peerset_unref(f->view);
		f->view = peerset_ref(view);
	}
	return view;
}

int64_t peer_follower_seen_ms(const struct peer_follower *f, const char *name)
{
	for (size_t i = 0; i < f->npeers; i++) {
		const struct peer *p = f->peers[i];
		int64_t seen_ms = following_confirmed_ms(&p->following);

		if (!strcmp(p->name, name))
			return seen_ms > p->since_ms ? seen_ms : p->since_ms;
	}
	return loop_now_ms(f->loop);
}

bool peer_follower_has_settled(const struct peer_follower *f)
{
	for (size_t i = 0; i < f->npeers; i++) {
		if (!following_has_settled(&f->peers[i]->following))
			return false;
	}
	return true;
}

size_t peer_follower_memory(const struct peer_follower *f)
{
	enum { HELD = 3 };
	size_t sum = f->table ? peer_table_memory(f->table) : 0;

	sum += f->sectors ? peer_table_memory(f->sectors) : 0;
	for (size_t i = 0; i < f->npeers; i++) {
		if (f->peers[i]->digest)
			sum += HELD * peer_digest_memory(f->peers[i]->digest);
	}
	return sum;
}

int peer_follower_hold(struct peer_follower *f, const char *name, bool hold)
{
	int err = -ENOENT;

	for (size_t i = 0; i < f->npeers; i++) {
		struct peer *p = f->peers[i];
		const struct peer_health *health =
			following_health(&p->following);

		if (strcmp(p->name, name))
			continue;
		if (hold ? peer_health_is_held(health)
			 : health->state != HEALTH_QUARANTINE) {
			err = err == -ENOENT ? -EALREADY : err;
			continue;
		}
		err = 0;
		log_write(LOG_INFO, "follower", "peer %s: %s by an operator",
			  p->name, hold ? "put into quarantine" : "released");
		peer_follower_handle(p, hold ? FOLLOWING_HELD
					     : FOLLOWING_FREED);
	}
	return err;
}

size_t peer_follower_count(const struct peer_follower *f)
{
	return f->npeers;
}

void peer_follower_status(const struct peer_follower *f, size_t i,
			  struct peer_follower_status *out)
{
	const struct peer_health *health;
	const struct peer *p;

	assert(i < f->npeers);
	p = f->peers[i];
	health = following_health(&p->following);
	*out = (struct peer_follower_status){
		.id = p->id,
		.name = p->name,
		.url = p->url,
		.digest = p->digest,
		.usable = following_usable(&p->following),
		.gone = following_is_gone(&p->following),
		.says = p->says,
		.sector = p->sector,
		.suspect = p->suspect_until_ms > loop_now_ms(f->loop),
		.held = peer_health_is_held(health),
		.kind = p->kind->name,
		.health = health->state,
		.rtt_ms = peer_health_rtt_ms(health),
		.confirmed_ms = following_confirmed_ms(&p->following),
		.counters = p->counters,
	};
}

/* Leases that are on at one node and off at another: each node that has them on
 * waits for answers that it will not get. */
void peer_follower_log_leases(const struct peer *p)
{
	const bool own = p->follow->settings.leases;

	if (!p->update.says.leases_said ||
	    (p->says.leases_said && p->says.leases == p->update.says.leases))
		return;
	if (p->update.says.leases != own)
		log_write(LOG_WARNING, "follower",
			  "peer %s: leases are %s there and %s here: all nodes "
			  "should have the same",
			  p->name, own ? "off" : "on", own ? "on" : "off");
	else if (p->says.leases_said)
		log_write(LOG_INFO, "follower", "peer %s: leases are %s there, "
			  "too, now", p->name, own ? "on" : "off");
}
