/*
 * Leases under one lock, which is held for a few instructions, on misses.
 */
#include "digestd/peers/lease_desk.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct lease_desk {
	uint64_t instance;
	pthread_mutex_t lock;
	struct leases *leases;
};

int lease_desk_new(uint64_t instance, struct lease_desk **out)
{
	struct lease_desk *d = calloc(1, sizeof(*d));

	assert(instance);
	if (!d)
		return -ENOMEM;
	d->instance = instance;
	pthread_mutex_init(&d->lock, NULL);
	d->leases = leases_new(LEASE_DESK_LEASES);
	*out = d;
	if (d->leases)
		return 0;
	lease_desk_free(out);
	return -ENOMEM;
}

void lease_desk_free(struct lease_desk **d)
{
	if (!*d)
		return;
	leases_free(&(*d)->leases);
	pthread_mutex_destroy(&(*d)->lock);
	free(*d);
	*d = NULL;
}

uint64_t lease_desk_instance(const struct lease_desk *d)
{
	return d->instance;
}

struct lease_answer lease_desk_ask(struct lease_desk *d,
				   const struct scd_key *key,
				   const struct lease_wish *wish,
				   int64_t now_ms)
{
	struct lease_answer answer;

	pthread_mutex_lock(&d->lock);
	answer = leases_ask(d->leases, key, wish, now_ms);
	pthread_mutex_unlock(&d->lock);
	return answer;
}

void lease_desk_set_alone(struct lease_desk *d, const struct scd_key *key,
			  bool alone, int64_t now_ms)
{
	pthread_mutex_lock(&d->lock);
	if (alone)
		leases_set_alone(d->leases, key, now_ms);
	else
		leases_set_shared(d->leases, key);
	pthread_mutex_unlock(&d->lock);
}

bool lease_desk_is_alone(struct lease_desk *d, const struct scd_key *key,
			 int64_t now_ms)
{
	bool alone;

	pthread_mutex_lock(&d->lock);
	alone = leases_is_alone(d->leases, key, now_ms);
	pthread_mutex_unlock(&d->lock);
	return alone;
}
