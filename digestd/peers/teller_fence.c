/*
 * The fence of a strict purge: when all who serve have applied it, see
 * mesh/serving_lease.h.
 */
#include <stdlib.h>

#include "digestd/cache/cache.h"
#include "digestd/mesh/serving_lease.h"
#include "digestd/peers/teller_inside.h"

/* A number's, with the members that have applied it. */
struct teller_fence {
	const struct teller *t;
	uint64_t seq, own;
};

static bool teller_fence_has_applied(const struct teller_fence *f,
				     uint64_t instance)
{
	if (instance == f->own)
		return true;
	for (size_t i = 0; i < f->t->npeers; i++) {
		const struct teller_peer *p = f->t->peers[i];

		if (p->life == instance && p->told >= f->seq)
			return true;
	}
	return false;
}

/* Whether grants are to such only. */
static bool teller_fence_is_clear(const struct teller_fence *f,
				  const struct teller_grants *grants)
{
	for (size_t i = 0; grants->known && i < grants->n; i++) {
		if (!teller_fence_has_applied(f, grants->to[i]))
			return false;
	}
	return grants->known;
}

static struct serving_ack teller_fence_own(const struct teller_fence *f)
{
	struct serving_desk *desk = f->t->settings.desk;
	struct teller_grants grants;

	grants.known = serving_desk_grants(desk, grants.to, &grants.n);
	return (struct serving_ack){
		true,
		serving_desk_has_recovered(desk),
		teller_fence_is_clear(f, &grants),
	};
}

static enum serving_fence teller_fence_state(const struct teller_fence *f)
{
	unsigned members = (unsigned)f->t->npeers + 1;
	struct serving_ack *acks = calloc(members, sizeof(*acks));
	enum serving_fence state;

	if (!acks)
		return SERVING_FENCE_OPEN;
	acks[f->t->npeers] = teller_fence_own(f);
	for (size_t i = 0; i < f->t->npeers; i++) {
		const struct teller_peer *p = f->t->peers[i];

		acks[i].applied = p->told >= f->seq;
		acks[i].logged = acks[i].applied && p->logs;
		acks[i].clear = teller_fence_is_clear(f, &p->grants);
	}
	state = serving_fence(acks, members);
	free(acks);
	return state;
}

bool teller_fence_is_closed(const struct teller *t, struct teller_wait *w,
			    int64_t now_ms)
{
	struct teller_fence f = {.t = t, .seq = w->seq};

	if (!t->settings.desk)
		return true;
	f.own = invalidation_log_source(cache_purges_lock(t->cache), 0).source;
	cache_purges_unlock(t->cache);
	switch (teller_fence_state(&f)) {
	case SERVING_FENCE_OPEN:
		return false;
	case SERVING_FENCE_LOGGED:
		if (!w->closed_ms)
			w->closed_ms = serving_grant_end_ms(now_ms);
		return now_ms >= w->closed_ms;
	case SERVING_FENCE_CLOSED:
		break;
	}
	return true;
}
