/*
 * Collapsing: a small hash table of what can be joined; each with a lock, a
 * pointer to what has come, and a list of who is to be called. The leader and
 * each who has joined are users of it.
 */
#include "digestd/proxy/collapse.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/os/body_memory.h"
#include "digestd/server/server.h"

enum {
	COLLAPSE_BUCKETS = 1024, /* a power of two; fetches under way: fewer */
	COLLAPSE_LOCKS = 64,     /* more than workers that miss at a time */
	COLLAPSE_LINE_BYTES = 64,
};

struct collapse {
	unsigned users; /* changed atomically; one more only under the lock of
			   its bucket */

	/* the table's, under the lock of its bucket */
	struct scd_key key;
	uint64_t begun;
	bool renews;
	bool open; /* to peers; changed atomically */
	unsigned pieces; /* how often collapse_came(); changed atomically */
	struct collapse *next, **link; /* link is null: nobody joins any more */

	pthread_mutex_t lock; /* guards the rest */
	struct cached *head;  /* what is shown; null: nothing yet. Only the
				 leader writes it, and may read it without */
	size_t len;
	const char *data;
	size_t shown; /* bytes of it */
	bool ended;
	struct cached *whole; /* whose data it is after the end; null: failed */
	struct collapse_reader *readers; /* who are to be called */
};

/* Of the buckets with that number, modulo COLLAPSE_LOCKS. A cache line each, so
 * that workers with different keys leave each other alone. */
struct collapse_lock {
	_Alignas(COLLAPSE_LINE_BYTES) pthread_mutex_t mutex;
};

struct collapses {
	struct collapse_lock locks[COLLAPSE_LOCKS];
	struct collapse *buckets[COLLAPSE_BUCKETS];
};

static unsigned collapse_bucket(const struct scd_key *key)
{
	return (unsigned)(key->lo % COLLAPSE_BUCKETS);
}

static pthread_mutex_t *collapse_lock(struct collapses *all,
				      const struct scd_key *key)
{
	return &all->locks[collapse_bucket(key) % COLLAPSE_LOCKS].mutex;
}

int collapses_new(struct collapses **out)
{
	*out = aligned_alloc(COLLAPSE_LINE_BYTES, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	memset(*out, 0, sizeof(**out));
	for (unsigned i = 0; i < COLLAPSE_LOCKS; i++)
		pthread_mutex_init(&(*out)->locks[i].mutex, NULL);
	return 0;
}

void collapses_free(struct collapses **all)
{
	if (!*all)
		return;
	for (unsigned i = 0; i < COLLAPSE_LOCKS; i++)
		pthread_mutex_destroy(&(*all)->locks[i].mutex);
	free(*all);
	*all = NULL;
}

/* One */

static struct collapse *collapse_new(const struct collapse_miss *miss)
{
	struct collapse *c = malloc(sizeof(*c));

	if (c)
		*c = (struct collapse){
			.users = 1,
			.key = *miss->key,
			.renews = miss->renews,
			.begun = miss->begun,
			.lock = PTHREAD_MUTEX_INITIALIZER,
		};
	return c;
}

static void collapse_unref(struct collapse **collapse)
{
	struct collapse *gone = *collapse;

	*collapse = NULL;
	if (!gone || __atomic_sub_fetch(&gone->users, 1, __ATOMIC_ACQ_REL))
		return;
	assert(!gone->link && !gone->readers);
	cached_unref(&gone->head);
	cached_unref(&gone->whole);
	pthread_mutex_destroy(&gone->lock);
	free(gone);
}

/* The table */

static struct collapse *collapse_find(struct collapse *c,
				      const struct scd_key *key)
{
	while (c && (c->key.lo != key->lo || c->key.hi != key->hi))
		c = c->next;
	return c;
}

static void collapse_link(struct collapse **bucket, struct collapse *c)
{
	c->next = *bucket;
	c->link = bucket;
	if (c->next)
		c->next->link = &c->next;
	*bucket = c;
}

/* Nobody finds it any more. */
static void collapse_unlink(struct collapse *c)
{
	if (!c->link)
		return;
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->link = NULL;
}

/* Readers */

static void collapse_list(struct collapse *c, struct collapse_reader *reader)
{
	reader->state = COLLAPSE_LISTED;
	reader->next = c->readers;
	reader->link = &c->readers;
	if (reader->next)
		reader->next->link = &reader->next;
	c->readers = reader;
}

static void collapse_unlist(struct collapse_reader *reader)
{
	assert(reader->state == COLLAPSE_LISTED);
	*reader->link = reader->next;
	if (reader->next)
		reader->next->link = reader->link;
}

/* Calls all who wait, or only those who have a use for a part. */
static void collapse_call(struct collapse *c, bool ended)
{
	struct collapse_reader *next;

	for (struct collapse_reader *r = c->readers; r; r = next) {
		next = r->next;
		if (r->for_end && !ended)
			continue;
		collapse_unlist(r);
		r->state = COLLAPSE_CALLED;
		loop_post(r->loop, &r->call);
	}
}

/* Joins one that is under way, which the table's lock keeps there. */
static enum collapse_place collapse_join(struct collapse *c,
					 struct collapse_reader *reader)
{
	enum collapse_place place = COLLAPSE_WAITS;

	__atomic_add_fetch(&c->users, 1, __ATOMIC_RELAXED);
	reader->joined = c;
	reader->taken = 0;
	pthread_mutex_lock(&c->lock);
	if (c->head && !reader->for_end)
		place = COLLAPSE_SHOWN;
	else
		collapse_list(c, reader);
	pthread_mutex_unlock(&c->lock);
	return place;
}

/* Whether what it brings may be from before a purge that has ended. */
static bool collapse_is_purged(const struct collapse *c,
			       const struct collapse_miss *miss)
{
	return c->begun < miss->purged ||
	       (c->renews && c->begun < miss->settled);
}

/* The same for a peer's request, which finds or leaves what there is. */
static enum collapse_place
collapse_join_open(struct collapses *all, const struct collapse_miss *miss,
		    struct collapse_reader *reader)
{
	pthread_mutex_t *lock = collapse_lock(all, miss->key);
	enum collapse_place place = COLLAPSE_NONE;
	struct collapse *c;

	pthread_mutex_lock(lock);
	c = collapse_find(all->buckets[collapse_bucket(miss->key)], miss->key);
	if (c && __atomic_load_n(&c->open, __ATOMIC_RELAXED) &&
	    !collapse_is_purged(c, miss))
		place = collapse_join(c, reader);
	pthread_mutex_unlock(lock);
	return place;
}

enum collapse_place collapses_join(struct collapses *all,
				   const struct collapse_miss *miss,
				   struct collapse **lead,
				   struct collapse_reader *reader)
{
	struct collapse **bucket = &all->buckets[collapse_bucket(miss->key)];
	pthread_mutex_t *lock = collapse_lock(all, miss->key);
	enum collapse_place place = COLLAPSE_WAITS;
	struct collapse *mine, *other;

	assert(!*lead && !(reader && reader->joined));
	if (miss->peers)
		return collapse_join_open(all, miss, reader);
	mine = collapse_new(miss);
	pthread_mutex_lock(lock);
	other = collapse_find(*bucket, miss->key);
	if (other && collapse_is_purged(other, miss)) {
		collapse_unlink(other);
		other = NULL;
	}
	if (!other) {
		place = COLLAPSE_LEADS;
		*lead = mine;
		if (mine)
			collapse_link(bucket, mine);
		mine = NULL;
	} else if (reader) {
		place = collapse_join(other, reader);
	}
	pthread_mutex_unlock(lock);
	collapse_unref(&mine);
	return place;
}

/* The leader */

void collapse_open(struct collapse *lead)
{
	if (lead)
		__atomic_store_n(&lead->open, true, __ATOMIC_RELAXED);
}

void collapse_show(struct collapse *lead, struct cached *head, size_t len)
{
	assert(head && !lead->ended);
	pthread_mutex_lock(&lead->lock);
	assert(!lead->head);
	lead->head = head;
	lead->len = len;
	collapse_call(lead, false);
	pthread_mutex_unlock(&lead->lock);
}

void collapse_hold(struct collapse *lead)
{
	if (lead && lead->head)
		pthread_mutex_lock(&lead->lock);
}

void collapse_grow(struct collapse *lead, const char *data, size_t len)
{
	if (!lead || !lead->head)
		return;
	assert(len >= lead->shown && (data || !len));
	lead->data = data;
	lead->shown = len;
	collapse_call(lead, false);
	pthread_mutex_unlock(&lead->lock);
}

void collapse_came(struct collapse *lead)
{
	/* only the leader changes it */
	if (lead)
		__atomic_store_n(&lead->pieces, lead->pieces + 1,
				 __ATOMIC_RELAXED);
}

void collapses_end(struct collapses *all, struct collapse **lead,
		   struct cached *whole)
{
	struct collapse *c = *lead;
	pthread_mutex_t *lock;

	if (!c)
		return;
	lock = collapse_lock(all, &c->key);
	pthread_mutex_lock(lock);
	collapse_unlink(c);
	pthread_mutex_unlock(lock);
	pthread_mutex_lock(&c->lock);
	c->ended = true;
	c->whole = whole ? cached_ref(whole) : NULL;
	c->data = whole ? cached_body(whole) : NULL;
	c->shown = whole ? whole->body_len : 0;
	collapse_call(c, true);
	pthread_mutex_unlock(&c->lock);
	collapse_unref(lead);
}

bool collapse_is_joined(const struct collapse *lead)
{
	return lead && __atomic_load_n(&lead->users, __ATOMIC_ACQUIRE) > 1;
}

bool collapses_end_alone(struct collapses *all, struct collapse **lead)
{
	pthread_mutex_t *lock;
	bool alone;

	if (!*lead)
		return true;
	lock = collapse_lock(all, &(*lead)->key);
	pthread_mutex_lock(lock);
	alone = __atomic_load_n(&(*lead)->users, __ATOMIC_ACQUIRE) == 1;
	if (alone)
		collapse_unlink(*lead);
	pthread_mutex_unlock(lock);
	if (alone)
		collapse_unref(lead);
	return alone;
}

/* Who has joined */

bool collapse_called(struct collapse_reader *reader)
{
	struct collapse *c = reader->joined;
	bool shown;

	assert(c && reader->state == COLLAPSE_CALLED);
	pthread_mutex_lock(&c->lock);
	reader->state = COLLAPSE_IDLE;
	shown = c->head && !reader->for_end;
	pthread_mutex_unlock(&c->lock);
	return shown;
}

unsigned collapse_pieces(const struct collapse_reader *reader)
{
	assert(reader->joined);
	return __atomic_load_n(&reader->joined->pieces, __ATOMIC_RELAXED);
}

struct cached *collapse_head(const struct collapse_reader *reader)
{
	assert(reader->joined);
	return reader->joined->head;
}

size_t collapse_len(const struct collapse_reader *reader)
{
	assert(reader->joined);
	return reader->joined->len;
}

ssize_t collapse_read(struct collapse_reader *reader, void *buf, size_t cap)
{
	struct collapse *c = reader->joined;
	ssize_t result = BODY_WAIT;

	assert(c && cap);
	pthread_mutex_lock(&c->lock);
	if (c->shown > reader->taken) {
		size_t n = c->shown - reader->taken;

		n = n < cap ? n : cap;
		body_memory_copy(buf, c->data + reader->taken, n);
		reader->taken += n;
		result = (ssize_t)n;
	} else if (c->ended) {
		result = c->whole ? BODY_END : BODY_FAIL;
	} else if (reader->state == COLLAPSE_IDLE) {
		collapse_list(c, reader);
	}
	pthread_mutex_unlock(&c->lock);
	return result;
}

bool collapse_leave(struct collapse_reader *reader)
{
	struct collapse *c = reader->joined;
	bool called;

	if (!c)
		return true;
	pthread_mutex_lock(&c->lock);
	if (reader->state == COLLAPSE_LISTED) {
		collapse_unlist(reader);
		reader->state = COLLAPSE_IDLE;
	}
	called = reader->state == COLLAPSE_CALLED;
	pthread_mutex_unlock(&c->lock);
	if (!called)
		collapse_unref(&reader->joined);
	return !called;
}
