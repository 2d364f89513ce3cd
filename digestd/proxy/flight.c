/*
 * Flights: a small hash table of intrusive lists.
 */
#include "digestd/proxy/flight.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "digestd/proxy/relay.h"

enum { FLIGHT_BUCKETS = 1024 }; /* a power of two; fetches under way: fewer */

struct flights {
	pthread_mutex_t lock;
	struct flight *buckets[FLIGHT_BUCKETS];
};

int flights_new(struct flights **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	pthread_mutex_init(&(*out)->lock, NULL);
	return 0;
}

void flights_free(struct flights **flights)
{
	if (!*flights)
		return;
	pthread_mutex_destroy(&(*flights)->lock);
	free(*flights);
	*flights = NULL;
}

static struct flight *flight_find(struct flight *f, const struct scd_key *key)
{
	while (f && (f->key.lo != key->lo || f->key.hi != key->hi))
		f = f->next;
	return f;
}

static void flight_take_off(struct flight **bucket, struct flight *f,
			    const struct scd_key *key)
{
	f->under_way = true;
	f->key = *key;
	f->waiters = NULL;
	f->relay = NULL;
	f->next = *bucket;
	f->link = bucket;
	if (f->next)
		f->next->link = &f->next;
	*bucket = f;
}

/* Nobody finds it any more. */
static void flight_unlink(struct flight *f)
{
	if (!f->link)
		return;
	*f->link = f->next;
	if (f->next)
		f->next->link = f->link;
	f->link = NULL;
}

static void flight_board(struct flight *f, struct flight_waiter *w)
{
	w->next = f->waiters;
	w->link = &f->waiters;
	if (w->next)
		w->next->link = &w->next;
	f->waiters = w;
}

/* Where a waiter is in a flight that is under way. */
static enum flight_place flight_join(struct flight *f, struct flight_waiter *w)
{
	if (f->relay && !w->for_landing) {
		w->relay = relay_ref(f->relay);
		return FLIGHT_SHOWN;
	}
	flight_board(f, w);
	return FLIGHT_WAITS;
}

enum flight_place flights_join(struct flights *flights,
			       const struct scd_key *key, struct flight *lead,
			       struct flight_waiter *wait)
{
	struct flight **bucket = &flights->buckets[key->lo % FLIGHT_BUCKETS];
	enum flight_place place = FLIGHT_WAITS;
	struct flight *other;

	assert(!lead->under_way && !(wait && wait->link));
	pthread_mutex_lock(&flights->lock);
	other = flight_find(*bucket, key);
	if (other && other->begun < lead->purged) {
		flight_unlink(other);
		other = NULL;
	}
	if (other && wait)
		place = flight_join(other, wait);
	if (!other) {
		flight_take_off(bucket, lead, key);
		place = FLIGHT_LEADS;
	}
	pthread_mutex_unlock(&flights->lock);
	return place;
}

static void flight_unlink_waiter(struct flight_waiter *w)
{
	*w->link = w->next;
	if (w->next)
		w->next->link = w->link;
	w->link = NULL;
}

void flights_show(struct flights *flights, struct flight *lead,
		  struct relay *relay)
{
	struct flight_waiter *next;

	pthread_mutex_lock(&flights->lock);
	lead->relay = relay;
	for (struct flight_waiter *w = lead->waiters; w && relay; w = next) {
		next = w->next;
		if (w->for_landing)
			continue;
		flight_unlink_waiter(w);
		w->relay = relay_ref(relay);
		loop_post(w->loop, &w->call);
	}
	pthread_mutex_unlock(&flights->lock);
}

bool flights_land_alone(struct flights *flights, struct flight *lead)
{
	bool alone;

	if (!lead->under_way)
		return true;
	pthread_mutex_lock(&flights->lock);
	alone = !lead->waiters &&
		!(lead->relay && relay_is_shared(lead->relay));
	if (alone)
		flight_unlink(lead);
	pthread_mutex_unlock(&flights->lock);
	lead->under_way = !alone;
	return alone;
}

void flights_land(struct flights *flights, struct flight *lead)
{
	if (!lead->under_way)
		return;
	lead->under_way = false;
	pthread_mutex_lock(&flights->lock);
	flight_unlink(lead);
	while (lead->waiters) {
		struct flight_waiter *w = lead->waiters;

		flight_unlink_waiter(w);
		loop_post(w->loop, &w->call);
	}
	pthread_mutex_unlock(&flights->lock);
}

bool flights_leave(struct flights *flights, struct flight_waiter *wait)
{
	bool waiting;

	pthread_mutex_lock(&flights->lock);
	waiting = wait->link != NULL;
	if (waiting)
		flight_unlink_waiter(wait);
	pthread_mutex_unlock(&flights->lock);
	return waiting;
}
