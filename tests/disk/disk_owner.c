/*
 * The owner. Objects are found by their keys in an array.
 */
#include "config.h"

#include "tests/disk/disk_owner.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/disk/cached.h"
#include "digestd/os/loop.h"
#include "tests/disk/disk_folder.h"
#include "tests/unit.h"

enum { OBJECTS = 200000 };

struct disk_owner {
	struct disk *disk;
	struct loop *loop;
	pthread_mutex_t lock;
	struct disk_entry *entries[OBJECTS];
	bool dropped[OBJECTS];
	unsigned drops; /* of what is moved next */
};

static const uint8_t secret[16] = "sixteen bytes...";

static struct scd_key owner_key(unsigned n)
{
	char uri[64];
	struct scd_key key;

	snprintf(uri, sizeof(uri), "http://h/%u", n);
	scd_key_make(secret, "GET", uri, strlen(uri), &key);
	return key;
}

/* By its number, which test objects have in it: n + 1 and a version. */
static struct disk_entry **owner_slot(struct disk_owner *o, uint64_t id)
{
	return &o->entries[id % OBJECTS];
}

static struct disk_entry *owner_find(struct disk_owner *o, uint64_t id)
{
	struct disk_entry *e = *owner_slot(o, id);

	return e && e->id == id ? e : NULL;
}

static void owner_take_out(struct disk_owner *o, struct disk_entry *e)
{
	*owner_slot(o, e->id) = NULL;
	if (e->pending)
		disk_spare(e);
	else
		disk_remove(o->disk, e);
}

static void on_written(void *arg, struct disk_writing *w)
{
	struct disk_owner *o = arg;
	struct disk_entry *e = w->e;

	pthread_mutex_lock(&o->lock);
	e->pending = false;
	e->place = w->error ? (struct disk_place){ 0 } : w->place;
	if (w->gone)
		disk_remove(o->disk, e);
	else if (w->error)
		owner_take_out(o, e);
	pthread_mutex_unlock(&o->lock);
}

static void on_was_read(void *arg, struct disk_read *read)
{
	(void)arg;
	(void)read;
}

static bool on_where(void *arg, const struct scd_key *key, uint64_t id,
		     struct disk_where *out)
{
	struct disk_owner *o = arg;
	struct disk_entry *e;
	bool there;

	(void)key;
	pthread_mutex_lock(&o->lock);
	e = owner_find(o, id);
	there = e && !e->pending;
	if (there)
		*out = disk_entry_where(e);
	pthread_mutex_unlock(&o->lock);
	return there;
}

static bool on_moved(void *arg, const struct scd_key *key, uint64_t id,
		     const struct disk_place *from, const struct disk_place *to)
{
	struct disk_owner *o = arg;
	struct disk_entry *e;
	bool moved;

	(void)key;
	pthread_mutex_lock(&o->lock);
	e = owner_find(o, id);
	if (e && !e->pending && o->drops) {
		o->drops--;
		o->dropped[id % OBJECTS] = true;
		owner_take_out(o, e);
		e = NULL;
	}
	moved = e && !e->pending && !memcmp(&e->place, from, sizeof(*from));
	if (moved)
		e->place = *to;
	pthread_mutex_unlock(&o->lock);
	return moved;
}

static void on_lost(void *arg, const struct scd_key *key, uint64_t id)
{
	struct disk_owner *o = arg;
	struct disk_entry *e;

	(void)key;
	pthread_mutex_lock(&o->lock);
	e = owner_find(o, id);
	if (e)
		owner_take_out(o, e);
	pthread_mutex_unlock(&o->lock);
}

static void on_load(void *arg, struct disk_entry *e, const struct scd_key *key)
{
	struct disk_owner *o = arg;
	struct disk_entry *old = *owner_slot(o, e->id);

	(void)key;
	if (old && old->id == e->id) {
		struct disk_place place = old->place;

		old->place = e->place;
		e->place = place;
		e->blocks = 0;
	}
	if (old && old->id >= e->id) {
		disk_remove(o->disk, e);
		return;
	}
	if (old)
		owner_take_out(o, old);
	*owner_slot(o, e->id) = e;
}

int disk_owner_open(struct disk_owner **out, const char *folder,
		    uint64_t max_bytes)
{
	struct disk_owner *o = calloc(1, sizeof(*o));
	const struct disk_settings settings = {
		.path = folder,
		.secret = secret,
		.max_bytes = max_bytes,
		.max_queue_bytes = 64 << 20,
		.events = { on_written, on_was_read, on_where, on_moved,
			    on_lost, o },
	};
	int err;

	assert_non_null(o);
	pthread_mutex_init(&o->lock, NULL);
	assert_int_equal(loop_new(&o->loop), 0);
	err = disk_open(&settings, &o->disk);
	if (!err)
		err = disk_load(o->disk, on_load, o);
	*out = o;
	if (err)
		disk_owner_close(out);
	return err;
}

void disk_owner_close(struct disk_owner **owner)
{
	struct disk_owner *o = *owner;

	disk_close(&o->disk);
	for (unsigned i = 0; i < OBJECTS; i++)
		disk_entry_free(o->entries[i]);
	loop_free(&o->loop);
	pthread_mutex_destroy(&o->lock);
	free(o);
	*owner = NULL;
}

/* The next version of it. */
static uint64_t owner_next_id(const struct disk_owner *o, unsigned n)
{
	const struct disk_entry *old = o->entries[n];

	return old ? old->id + OBJECTS : n + OBJECTS;
}

void disk_owner_put(struct disk_owner *o, unsigned n, size_t len)
{
	struct cached *c = disk_response(n, len);
	struct scd_key key = owner_key(n);
	struct disk_entry *e, *old;

	pthread_mutex_lock(&o->lock);
	e = disk_entry_new(owner_next_id(o, n), cached_selecting(c));
	assert_non_null(e);
	disk_entry_measure(e, c);
	old = o->entries[n];
	if (old)
		owner_take_out(o, old);
	o->dropped[n] = false;
	if (disk_write(o->disk, &key, e, c))
		o->entries[n] = e;
	else
		disk_entry_free(e);
	pthread_mutex_unlock(&o->lock);
	cached_unref(&c);
}

bool disk_owner_drop(struct disk_owner *o, unsigned n)
{
	struct disk_entry *e;

	pthread_mutex_lock(&o->lock);
	e = o->entries[n];
	if (e)
		owner_take_out(o, e);
	pthread_mutex_unlock(&o->lock);
	return e;
}

void disk_owner_drop_moved(struct disk_owner *o, unsigned count)
{
	pthread_mutex_lock(&o->lock);
	o->drops = count;
	pthread_mutex_unlock(&o->lock);
}

bool disk_owner_was_dropped(struct disk_owner *o, unsigned n)
{
	bool dropped;

	pthread_mutex_lock(&o->lock);
	dropped = o->dropped[n];
	pthread_mutex_unlock(&o->lock);
	return dropped;
}

void disk_owner_renew(struct disk_owner *o, unsigned n, size_t len)
{
	struct cached *c = disk_response(n, len);
	struct scd_key key = owner_key(n);

	pthread_mutex_lock(&o->lock);
	if (o->entries[n]->blocks)
		disk_renew(o->disk, &key, o->entries[n]->id, c);
	pthread_mutex_unlock(&o->lock);
	cached_unref(&c);
}

static void on_done(void *arg)
{
	*(bool *)arg = true;
}

void disk_owner_sync(struct disk_owner *o)
{
	bool done = false;
	struct disk_sync sync = { .loop = o->loop,
				  .call = { .run = on_done, .arg = &done } };

	disk_sync(o->disk, &sync);
	while (!done)
		assert_int_equal(loop_turn(o->loop, 1000), 0);
}

size_t disk_owner_count(struct disk_owner *o)
{
	size_t n = 0;

	pthread_mutex_lock(&o->lock);
	for (unsigned i = 0; i < OBJECTS; i++)
		n += o->entries[i] != NULL;
	pthread_mutex_unlock(&o->lock);
	return n;
}

bool disk_owner_has(struct disk_owner *o, unsigned n)
{
	bool has;

	pthread_mutex_lock(&o->lock);
	has = o->entries[n];
	pthread_mutex_unlock(&o->lock);
	return has;
}

/* A body in a file has been looked through by the disk. */
static void owner_check(const struct cached *c, unsigned n, size_t len)
{
	struct cached *right = disk_response(n, len);

	assert_string_equal(cached_uri(c), cached_uri(right));
	assert_int_equal(c->body_len, len);
	if (!cached_file(c))
		assert_memory_equal(cached_body(c), cached_body(right), len);
	cached_unref(&right);
}

int disk_owner_read(struct disk_owner *o, unsigned n, size_t len)
{
	bool done = false;
	struct disk_read read = { .loop = o->loop,
				  .call = { .run = on_done, .arg = &done },
				  .check = true };
	struct disk_where where;

	pthread_mutex_lock(&o->lock);
	assert_non_null(o->entries[n]);
	where = disk_entry_where(o->entries[n]);
	read.id = o->entries[n]->id;
	pthread_mutex_unlock(&o->lock);
	read.key = owner_key(n);
	read.place = where.place;
	read.units = where.units;
	assert_true(disk_read(o->disk, &read));
	while (!done)
		assert_int_equal(loop_turn(o->loop, 1000), 0);
	if (read.found)
		owner_check(read.found, n, len);
	cached_unref(&read.found);
	return read.error;
}

struct disk *disk_owner_disk(struct disk_owner *o)
{
	return o->disk;
}
