/*
 * The seam to what workers share. A fetch is stored before it lands: who takes
 * off after that finds what it has stored, so that a look into the cache after
 * taking off is as good as one lock over both.
 */
#include "digestd/proxy/shared.h"

/* Whether there is another response now than the one that was found. */
static bool shared_is_stored(struct cache *cache,
			     const struct shared_miss *miss)
{
	enum cachestatus_fwd why;
	struct cached *c = cache_get(cache, miss->key, miss->request, &why);
	bool other = c && c != miss->known;

	cached_unref(&c);
	return other;
}

enum shared_place shared_join(struct cache *cache, struct flights *flights,
			      const struct shared_miss *miss,
			      struct flight *lead, struct flight_waiter *wait)
{
	lead->begun = cache_purges(cache);
	lead->purged = cache_last_purge(cache, miss->key);
	switch (flights_join(flights, miss->key, lead, wait)) {
	case FLIGHT_WAITS:
		return SHARED_WAITS;
	case FLIGHT_SHOWN:
		return SHARED_SHOWN;
	case FLIGHT_LEADS:
		break;
	}
	if (!shared_is_stored(cache, miss))
		return SHARED_LEADS;
	flights_land(flights, lead); /* who has joined looks again, too */
	return SHARED_STORED;
}
