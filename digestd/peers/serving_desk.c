/*
 * Grants under one lock; the own lease is one number.
 */
#include "digestd/peers/serving_desk.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "digestd/mesh/serving_lease.h"
#include "digestd/os/loop.h"

struct serving_desk {
	int64_t end_ms; /* of the own lease; changed atomically */
	bool recovered; /* the same */
	pthread_mutex_t lock;
	int64_t forgotten_ms; /* what was granted before the start ends */
	struct {
		uint64_t instance;
		int64_t end_ms;
	} grants[SERVING_GRANTS_MAX];
	size_t ngrants;
};

int serving_desk_new(struct serving_desk **out)
{
	struct serving_desk *d = calloc(1, sizeof(*d));

	*out = d;
	if (!d)
		return -ENOMEM;
	pthread_mutex_init(&d->lock, NULL);
	d->end_ms = INT64_MIN;
	d->forgotten_ms = serving_grant_end_ms(loop_clock_ms());
	return 0;
}

void serving_desk_free(struct serving_desk **d)
{
	if (!*d)
		return;
	pthread_mutex_destroy(&(*d)->lock);
	free(*d);
	*d = NULL;
}

bool serving_desk_may_serve(const struct serving_desk *d)
{
	return !d ||
	       loop_clock_ms() < __atomic_load_n(&d->end_ms, __ATOMIC_ACQUIRE);
}

void serving_desk_set_end(struct serving_desk *d, int64_t end_ms)
{
	__atomic_store_n(&d->end_ms, end_ms, __ATOMIC_RELEASE);
}

void serving_desk_recover(struct serving_desk *d)
{
	__atomic_store_n(&d->recovered, true, __ATOMIC_RELEASE);
}

bool serving_desk_has_recovered(const struct serving_desk *d)
{
	return __atomic_load_n(&d->recovered, __ATOMIC_ACQUIRE);
}

/* Forgets those that have ended. */
static void serving_desk_sweep(struct serving_desk *d, int64_t now_ms)
{
	for (size_t i = d->ngrants; i-- > 0;) {
		if (d->grants[i].end_ms < now_ms)
			d->grants[i] = d->grants[--d->ngrants];
	}
}

bool serving_desk_grant(struct serving_desk *d, uint64_t instance)
{
	int64_t now_ms = loop_clock_ms();
	size_t i = 0;
	bool granted;

	if (!serving_desk_has_recovered(d))
		return false;
	pthread_mutex_lock(&d->lock);
	serving_desk_sweep(d, now_ms);
	while (i < d->ngrants && d->grants[i].instance != instance)
		i++;
	granted = i < SERVING_GRANTS_MAX;
	if (granted) {
		d->grants[i].instance = instance;
		d->grants[i].end_ms = serving_grant_end_ms(now_ms);
		d->ngrants += i == d->ngrants;
	}
	pthread_mutex_unlock(&d->lock);
	return granted;
}

bool serving_desk_grants(struct serving_desk *d, uint64_t *to, size_t *n)
{
	int64_t now_ms = loop_clock_ms();

	pthread_mutex_lock(&d->lock);
	serving_desk_sweep(d, now_ms);
	*n = d->ngrants;
	for (size_t i = 0; i < d->ngrants; i++)
		to[i] = d->grants[i].instance;
	pthread_mutex_unlock(&d->lock);
	return now_ms > d->forgotten_ms;
}
