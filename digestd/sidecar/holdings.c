/*
 * The holdings.
 */
#include "digestd/sidecar/holdings.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "codec/error.h"
#include "codec/squid.h"
#include "codec/uri.h"
#include "digestd/store/key_table.h"

/* What is known of a key. */
struct holding {
	uint64_t count; /* of what is held of it */
	struct scd_key squid[]; /* one, where settings have it */
};

struct holdings {
	pthread_mutex_t lock; /* guards all below but the settings */
	struct holdings_settings settings;
	struct key_table *table; /* of struct holding */
	struct catalog *catalog;
	struct holdings_stats stats;
};

static int holdings_fill(struct holdings *h)
{
	const struct holdings_settings *set = &h->settings;
	size_t bytes = sizeof(struct holding) +
		       (set->squid ? sizeof(struct scd_key) : 0);
	int error = key_table_new(&h->table, bytes, set->max_keys);

	if (!error)
		error = catalog_new(&h->catalog, set->lists ? 0 : set->nbits,
				    set->nhash);
	if (error)
		return error == SCD_ENOMEM ? -ENOMEM : -EINVAL;
	if (set->lists)
		catalog_note_changes(h->catalog);
	return 0;
}

int holdings_new(const struct holdings_settings *settings,
		 struct holdings **out)
{
	struct holdings *h = calloc(1, sizeof(*h));
	int err;

	assert(settings->max_keys);
	if (!h)
		return -ENOMEM;
	pthread_mutex_init(&h->lock, NULL);
	h->settings = *settings;
	err = holdings_fill(h);
	if (err) {
		holdings_free(&h);
		return err;
	}
	*out = h;
	return 0;
}

void holdings_free(struct holdings **h)
{
	if (!*h)
		return;
	key_table_free(&(*h)->table);
	catalog_free(&(*h)->catalog);
	pthread_mutex_destroy(&(*h)->lock);
	free(*h);
	*h = NULL;
}

void holdings_lock(struct holdings *h)
{
	pthread_mutex_lock(&h->lock);
}

void holdings_unlock(struct holdings *h)
{
	pthread_mutex_unlock(&h->lock);
}

int holdings_key(const struct holdings *h, const char *uri, size_t len,
		 struct holdings_key *out)
{
	char canonical[HOLDINGS_URI_BYTES + 2];
	size_t n;

	if (len > HOLDINGS_URI_BYTES ||
	    scd_uri_canonical(uri, len, canonical, sizeof(canonical), &n))
		return -EINVAL;
	*out = (struct holdings_key){ .own = { 0, 0 } };
	scd_key_make(h->settings.secret, "GET", canonical, n, &out->own);
	if (h->settings.squid &&
	    scd_squid_key("GET", canonical, n, &out->squid))
		return -EINVAL;
	return 0;
}

/* The holding of a key, which may be new; null: it is refused. */
static struct holding *holdings_find_or_add(struct holdings *h,
					    const struct holdings_key *key)
{
	struct holding *held = key_table_find(h->table, &key->own);
	void *value;

	if (held)
		return held;
	if (key_table_add(h->table, &key->own, &value)) {
		h->stats.refused++;
		return NULL;
	}
	held = value;
	if (h->settings.squid)
		held->squid[0] = key->squid;
	catalog_add(h->catalog, &key->own);
	h->stats.inserted++;
	return held;
}

bool holdings_insert(struct holdings *h, const struct holdings_key *key)
{
	struct holding *held = holdings_find_or_add(h, key);

	if (held && !held->count)
		held->count = 1;
	return held;
}

bool holdings_take(struct holdings *h, const struct holdings_key *key)
{
	struct holding *held = holdings_find_or_add(h, key);

	if (held)
		held->count++;
	return held;
}

void holdings_evict(struct holdings *h, const struct scd_key *key)
{
	if (!key_table_remove(h->table, key))
		return;
	catalog_remove(h->catalog, key);
	h->stats.evicted++;
}

void holdings_drop(struct holdings *h, const struct scd_key *key)
{
	struct holding *held = key_table_find(h->table, key);

	if (held && --held->count == 0)
		holdings_evict(h, key);
}

static void holdings_forget(void *arg, const struct scd_key *key, void *value)
{
	struct holdings *h = arg;

	(void)value;
	catalog_remove(h->catalog, key);
	h->stats.evicted++;
}

void holdings_reset(struct holdings *h)
{
	const struct keypart all = { .count = 1 };

	key_table_walk(h->table, &all, holdings_forget, h);
	key_table_clear(h->table);
}

bool holdings_have(const struct holdings *h, const struct scd_key *key)
{
	return key_table_find(h->table, key);
}

void holdings_stats(struct holdings *h, struct holdings_stats *out)
{
	holdings_lock(h);
	*out = h->stats;
	out->keys = key_table_count(h->table);
	out->bytes = key_table_bytes(h->table);
	holdings_unlock(h);
}

void holdings_catalog_stats(struct holdings *h, struct catalog_stats *out)
{
	holdings_lock(h);
	catalog_stats(h->catalog, out);
	holdings_unlock(h);
}

/* The publisher's side */

static struct catalog *holdings_source_lock(void *arg)
{
	struct holdings *h = arg;

	holdings_lock(h);
	return h->catalog;
}

static void holdings_source_unlock(void *arg)
{
	holdings_unlock(arg);
}

static int holdings_source_rebuild(void *arg, uint64_t nbits)
{
	struct holdings *h = arg;
	struct scd_counting *next;
	int error = scd_counting_new(&next, nbits, h->settings.nhash);

	if (error)
		return error;
	/* touches all pages: under the lock they would cost milliseconds */
	scd_counting_clear(next);
	holdings_lock(h);
	catalog_rebuild(h->catalog, next, key_table_parts(h->table));
	holdings_unlock(h);
	return SCD_OK;
}

static void holdings_rebuild_key(void *arg, const struct scd_key *key,
				 void *value)
{
	(void)value;
	catalog_rebuild_key(arg, key);
}

static bool holdings_source_rebuild_part(void *arg)
{
	struct holdings *h = arg;
	struct scd_counting *old;
	bool last;

	holdings_lock(h);
	key_table_walk(h->table, catalog_rebuild_part(h->catalog),
		       holdings_rebuild_key, h->catalog);
	last = catalog_rebuild_next(h->catalog, &old);
	holdings_unlock(h);
	scd_counting_free(&old);
	return last;
}

struct publisher_source holdings_source(struct holdings *h)
{
	return (struct publisher_source){
		h, holdings_source_lock, holdings_source_unlock,
		holdings_source_rebuild, holdings_source_rebuild_part};
}

/* Squids' side */

struct holdings_squid {
	void (*each)(void *to, const struct scd_key *key);
	void *to;
};

static uint64_t holdings_squid_count(void *arg)
{
	struct holdings_stats now;

	holdings_stats(arg, &now);
	return now.keys;
}

static uint64_t holdings_squid_parts(void *arg)
{
	struct holdings *h = arg;
	uint64_t n;

	holdings_lock(h);
	n = key_table_parts(h->table);
	holdings_unlock(h);
	return n;
}

static void holdings_squid_each(void *arg, const struct scd_key *key,
				void *value)
{
	const struct holdings_squid *walk = arg;
	const struct holding *held = value;

	(void)key;
	walk->each(walk->to, held->squid);
}

/* What is not fresh is not held. */
static void holdings_squid_walk(void *arg, const struct keypart *part,
				int64_t now_s,
				void (*each)(void *to,
					     const struct scd_key *key),
				void *to)
{
	struct holdings_squid walk = { each, to };
	struct holdings *h = arg;

	(void)now_s;
	holdings_lock(h);
	key_table_walk(h->table, part, holdings_squid_each, &walk);
	holdings_unlock(h);
}

struct squid_source holdings_squid_source(struct holdings *h)
{
	assert(h->settings.squid);
	return (struct squid_source){ h, holdings_squid_count,
				      holdings_squid_parts,
				      holdings_squid_walk };
}
