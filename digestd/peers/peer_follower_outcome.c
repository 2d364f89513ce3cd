/*
 * What comes of asking peers for objects.
 */
#include <inttypes.h>
#include <string.h>

#include "digestd/os/log.h"
#include "digestd/peers/peer_follower_inside.h"

static void peer_follower_count_outcome(struct peer *p,
					enum peer_outcome outcome,
					uint64_t body_bytes)
{
	switch (outcome) {
	case OUTCOME_HIT:
		p->counters.remote_hits++;
		p->counters.remote_hit_bytes += body_bytes;
		return;
	case OUTCOME_FALSE_HIT:
		p->counters.false_hits++;
		return;
	case OUTCOME_STALE:
		p->counters.stale_hits++;
		return;
	case OUTCOME_VARIANT:
		p->counters.variant_misses++;
		return;
	case OUTCOME_FAILED:
		p->counters.query_failed++;
		return;
	case OUTCOME_DOUBT:
	case OUTCOME_WRONG:
		p->counters.wrong++;
		return;
	}
}

static void peer_follower_log_health(const struct peer *p)
{
	log_write(LOG_INFO, "follower",
		  "peer %s: %s (so far hits: %" PRIu64 ", false hits: %" PRIu64
		  ", stale hits: %" PRIu64 ")",
		  p->name, peer_health_state_text(peer_follower_health_of(p)),
		  p->counters.remote_hits, p->counters.false_hits,
		  p->counters.stale_hits);
}

static struct peer *peer_follower_find_id(const struct peer_follower *f,
					  uint32_t id)
{
	for (size_t i = 0; i < f->npeers; i++) {
		if (f->peers[i]->id == id)
			return f->peers[i];
	}
	return NULL;
}

void peer_follower_outcome(struct peer_follower *f, uint32_t id,
			   enum peer_outcome outcome, double rtt_ms,
			   uint64_t body_bytes)
{
	struct following_event event = {.kind = FOLLOWING_OUTCOME};
	struct following_actions actions;
	struct peer *p = peer_follower_find_id(f, id);

	if (!p)
		return; /* it was a peer when it was asked */
	event.outcome.kind = outcome;
	event.outcome.rtt_ms = rtt_ms;
	peer_follower_count_outcome(p, outcome, body_bytes);
	log_write(LOG_DEBUG, "follower", "peer %s: %s", p->name,
		  peer_outcome_text(outcome));
	actions = peer_follower_step(p, &event);
	if (actions.health)
		peer_follower_log_health(p);
	if (actions.health && f->settings.on_lie && p->digest &&
	    peer_health_lies(following_health(&p->following)))
		f->settings.on_lie(f->arg, p->name, p->digest->instance);
	peer_follower_act(p, &actions);
}

void peer_follower_lookups(struct peer_follower *f, uint64_t lookups)
{
	const struct following_event event = {.kind = FOLLOWING_LOOKUPS,
					      .lookups = lookups};

	for (size_t i = 0; i < f->npeers && lookups; i++) {
		struct peer *p = f->peers[i];
		const struct following_actions actions =
			peer_follower_step(p, &event);

		p->counters.lookups += p->digest ? lookups : 0;
		peer_follower_act(p, &actions);
	}
}

void peer_follower_wake(struct peer_follower *f, const char *name)
{
	for (size_t i = 0; i < f->npeers; i++) {
		struct peer *p = f->peers[i];

		if (strcmp(p->name, name) != 0)
			continue;
		following_wake(&p->following, &p->policy,
			       loop_now_ms(f->loop));
		peer_follower_handle(p, FOLLOWING_DUE);
	}
}
