/*
 * One purge.
 */
#include "digestd/mesh/purging.h"

#include <assert.h>

void purging_init(struct purging *p, size_t peers)
{
	*p = (struct purging){.state = PURGING_WALKING, .peers = peers};
}

bool purging_expects(const struct purging *p, enum purging_event_kind event)
{
	switch (event) {
	case PURGING_PART:
	case PURGING_LAST_PART:
		return p->state == PURGING_WALKING;
	case PURGING_SYNCED:
		return p->state == PURGING_SYNCING;
	case PURGING_PEER:
		return p->state != PURGING_DONE && p->peers;
	case PURGING_LEFT:
		return p->state != PURGING_DONE && !p->left;
	}
	return false;
}

/* The store is done: so is the purge, if the peers are. */
static enum purging_action purging_finish(struct purging *p)
{
	p->state = p->peers ? PURGING_WAITING : PURGING_DONE;
	if (p->peers)
		return PURGING_WAIT;
	return p->left ? PURGING_END : PURGING_ANSWER;
}

enum purging_action purging_step(struct purging *p,
				 const struct purging_event *event)
{
	assert(purging_expects(p, event->kind));
	switch (event->kind) {
	case PURGING_PART:
		p->purged += event->purged;
		return PURGING_WALK;
	case PURGING_LAST_PART:
		p->purged += event->purged;
		p->state = PURGING_SYNCING;
		return PURGING_SYNC;
	case PURGING_SYNCED:
		return purging_finish(p);
	case PURGING_PEER:
		p->peers--;
		if (p->state == PURGING_WAITING)
			return purging_finish(p);
		return PURGING_WAIT;
	case PURGING_LEFT:
		p->left = true;
		return PURGING_WAIT;
	}
	return PURGING_WAIT;
}
