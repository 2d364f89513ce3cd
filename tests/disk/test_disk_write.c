/*
 * The writer of the disk tier, by itself: what one commit is for.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "digestd/cache/cache.h"
#include "digestd/disk/disk.h"
#include "tests/disk/disk_folder.h"
#include "tests/unit.h"

enum { MIB = 1 << 20, OBJECTS = 40, BODY = MIB / 2 };

/* What the writer tells, and how it is held until all is queued. */
static struct watch {
	struct disk *disk;
	pthread_mutex_t gate;
	bool waits; /* before the gate; changed atomically */
	unsigned written, errors;
	bool last_was_there; /* with the second one */
} watch;

static void ignore(void *arg, struct disk_entry *e, const struct cached *c,
		   uint64_t body_len)
{
	(void)arg;
	(void)e;
	(void)c;
	(void)body_len;
	fail_msg("the folder is empty");
}

static void on_written(void *arg, struct disk_entry *e)
{
	struct watch *w = arg;
	struct cached *last;

	__atomic_store_n(&w->waits, true, __ATOMIC_RELAXED);
	pthread_mutex_lock(&w->gate);
	w->errors += e->error != 0;
	if (++w->written == 2) {
		last = disk_head(w->disk, OBJECTS);
		w->last_was_there = last;
		cached_unref(&last);
	}
	pthread_mutex_unlock(&w->gate);
	cached_unref(&e->pending);
	disk_entry_free(e);
}

static void on_read(void *arg, struct disk_read *read)
{
	(void)arg;
	(void)read;
}

static void write_one(struct disk *disk, unsigned n)
{
	struct disk_entry *e = disk_entry_new(disk_next_id(disk), NULL);

	assert_non_null(e);
	assert_int_equal(e->id, n);
	e->pending = disk_response(n, BODY);
	assert_true(disk_write(disk, e));
}

/* The first object's telling waits, so that the rest is queued as a whole. */
static void a_long_queue_is_many_commits(void **state)
{
	const struct disk_settings settings = {
		.path = disk_folder(),
		.max_index_bytes = MIB,
		.max_queue_bytes = 64 * MIB,
		.events = { on_written, on_read, &watch },
	};
	struct cached *c;

	(void)state;
	disk_folder_empty();
	pthread_mutex_init(&watch.gate, NULL);
	assert_int_equal(disk_open(&settings, &watch.disk), 0);
	assert_int_equal(disk_load(watch.disk, ignore, NULL), 0);
	pthread_mutex_lock(&watch.gate);
	write_one(watch.disk, 1);
	while (!__atomic_load_n(&watch.waits, __ATOMIC_RELAXED))
		usleep(1000);
	for (unsigned n = 2; n <= OBJECTS; n++)
		write_one(watch.disk, n);
	pthread_mutex_unlock(&watch.gate);
	disk_close(&watch.disk);
	assert_int_equal(watch.written, OBJECTS);
	assert_int_equal(watch.errors, 0);
	assert_false(watch.last_was_there);
	pthread_mutex_destroy(&watch.gate);
	assert_int_equal(disk_open(&settings, &watch.disk), 0);
	c = disk_head(watch.disk, OBJECTS);
	assert_non_null(c);
	cached_unref(&c);
	disk_close(&watch.disk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_queue_is_many_commits),
	};
	return cmocka_run_group_tests(tests, disk_folder_make,
				      disk_folder_remove);
}
