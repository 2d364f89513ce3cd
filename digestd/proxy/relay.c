/*
 * Relays: a lock, a pointer to what has come, and a list of who waits for more.
 */
#include "digestd/proxy/relay.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/server/server.h"

struct relay {
	unsigned refs; /* changed atomically */
	struct cached *head;
	size_t len;
	pthread_mutex_t lock; /* guards the rest */
	const char *data;
	size_t shown; /* bytes of it */
	bool ended;
	struct cached *whole; /* whose data it is after the end; null: failed */
	struct relay_reader *readers;
};

int relay_new(struct cached *head, size_t len, struct relay **out)
{
	struct relay *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->refs = 1;
	r->head = head;
	r->len = len;
	pthread_mutex_init(&r->lock, NULL);
	*out = r;
	return 0;
}

struct relay *relay_ref(struct relay *relay)
{
	__atomic_add_fetch(&relay->refs, 1, __ATOMIC_RELAXED);
	return relay;
}

void relay_unref(struct relay **relay)
{
	struct relay *gone = *relay;

	*relay = NULL;
	if (!gone || __atomic_sub_fetch(&gone->refs, 1, __ATOMIC_ACQ_REL))
		return;
	assert(!gone->readers);
	cached_unref(&gone->head);
	cached_unref(&gone->whole);
	pthread_mutex_destroy(&gone->lock);
	free(gone);
}

bool relay_is_shared(const struct relay *relay)
{
	return __atomic_load_n(&relay->refs, __ATOMIC_ACQUIRE) > 1;
}

struct cached *relay_head(const struct relay *relay)
{
	return relay->head;
}

size_t relay_len(const struct relay *relay)
{
	return relay->len;
}

static void relay_unlist(struct relay_reader *reader)
{
	*reader->link = reader->next;
	if (reader->next)
		reader->next->link = reader->link;
}

static void relay_list(struct relay *r, struct relay_reader *reader)
{
	reader->state = RELAY_LISTED;
	reader->next = r->readers;
	reader->link = &r->readers;
	if (reader->next)
		reader->next->link = &reader->next;
	r->readers = reader;
}

/* Calls all who wait, and unlocks. */
static void relay_call_and_unlock(struct relay *r)
{
	while (r->readers) {
		struct relay_reader *reader = r->readers;

		relay_unlist(reader);
		reader->state = RELAY_CALLED;
		loop_post(reader->loop, &reader->call);
	}
	pthread_mutex_unlock(&r->lock);
}

void relay_hold(struct relay *relay)
{
	if (relay)
		pthread_mutex_lock(&relay->lock);
}

void relay_show(struct relay *relay, const char *data, size_t len)
{
	if (!relay)
		return;
	relay->data = data;
	relay->shown = len;
	relay_call_and_unlock(relay);
}

void relay_end(struct relay *relay, struct cached *whole)
{
	pthread_mutex_lock(&relay->lock);
	relay->ended = true;
	relay->whole = whole ? cached_ref(whole) : NULL;
	relay->data = whole ? cached_body(whole) : NULL;
	relay->shown = whole ? whole->body_len : 0;
	relay_call_and_unlock(relay);
}

ssize_t relay_read(struct relay_reader *reader, void *buf, size_t cap)
{
	struct relay *r = reader->relay;
	ssize_t result = BODY_WAIT;

	pthread_mutex_lock(&r->lock);
	if (r->shown > reader->taken) {
		size_t n = r->shown - reader->taken;

		n = n < cap ? n : cap;
		memcpy(buf, r->data + reader->taken, n);
		reader->taken += n;
		result = (ssize_t)n;
	} else if (r->ended) {
		result = r->whole ? BODY_END : BODY_FAIL;
	} else if (reader->state == RELAY_IDLE) {
		relay_list(r, reader);
	}
	pthread_mutex_unlock(&r->lock);
	return result;
}

void relay_called(struct relay_reader *reader)
{
	pthread_mutex_lock(&reader->relay->lock);
	reader->state = RELAY_IDLE;
	pthread_mutex_unlock(&reader->relay->lock);
}

bool relay_leave(struct relay_reader *reader)
{
	bool called;

	pthread_mutex_lock(&reader->relay->lock);
	if (reader->state == RELAY_LISTED) {
		relay_unlist(reader);
		reader->state = RELAY_IDLE;
	}
	called = reader->state == RELAY_CALLED;
	pthread_mutex_unlock(&reader->relay->lock);
	return !called;
}
