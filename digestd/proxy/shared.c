/*
 * The seam to what workers share. A response is stored before its collapse
 * ends: who leads after that finds what has been stored, so that a look into
 * the cache after taking the lead is as good as one lock over both.
 */
#include "digestd/proxy/shared.h"

#include "digestd/mesh/invalidation_log.h"

static enum shared_place shared_look(const struct worker_shared *shared,
				     const struct shared_want *want,
				     struct shared_found *found)
{
	struct cache_found *stored = &found->stored;

	cache_lookup(shared->reader, want->key, want->request, stored);
	if (stored->c && stored->c == want->known)
		cache_found_release(stored);
	return stored->c ? SHARED_STORED : SHARED_NONE;
}

/* Leads, unless there is another response by now than the one that is known. */
static enum shared_place shared_lead(const struct worker_shared *shared,
				     const struct shared_want *want,
				     struct shared_found *found)
{
	if (shared_look(shared, want, found) == SHARED_NONE)
		return SHARED_LEADS;
	/* who has joined looks again, too */
	collapses_end(shared->collapses, &found->lead, NULL);
	return SHARED_STORED;
}

enum shared_place shared_find(const struct worker_shared *shared,
			      const struct shared_want *want,
			      struct shared_found *found)
{
	struct collapse_miss miss = { .key = want->key };
	struct invalidation_newest purge;

	*found = (struct shared_found){ .since = cache_purges(shared->cache) };
	if (!want->joins)
		return shared_look(shared, want, found);
	miss.begun = want->known ? want->since : found->since;
	miss.renews = want->known;
	miss.peers = want->peers;
	purge = cache_last_purge(shared->cache, want->key, want->uri);
	miss.purged = purge.added;
	miss.settled = purge.settled;
	switch (collapses_join(shared->collapses, &miss, &found->lead,
			       want->reader)) {
	case COLLAPSE_LEADS:
		return shared_lead(shared, want, found);
	case COLLAPSE_WAITS:
		return want->reader ? SHARED_WAITS : SHARED_NONE;
	case COLLAPSE_NONE:
		return SHARED_NONE;
	case COLLAPSE_SHOWN:
		break;
	}
	return SHARED_SHOWN;
}

bool shared_land(const struct worker_shared *shared,
		 const struct shared_landing *landing)
{
	bool stored = landing->whole &&
		      cache_store(shared->reader, &landing->fill,
				  landing->whole);

	collapses_end(shared->collapses, landing->lead, landing->whole);
	return stored;
}
