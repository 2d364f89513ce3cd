/*
 * Disks.
 */
#include "tests/world/world_disk.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/disk/disk_files.h"
#include "digestd/disk/disk_index.h"
#include "cachesim/world/world.h"
#include "tests/world/world_threads.h"

enum {
	SECTOR_BYTES = 512,     /* are written whole, or not at all */
	UNSYNCED_US = 30000000, /* until the system writes what is not synced */
	SLOW_US = 20000,        /* of one call, at most */
	OPEN_MAX_FDS = 4096,
};

/* Bytes with a count of their users. */
struct disk_bytes {
	unsigned users;
	size_t len;
	int64_t written_us;
	uint8_t bytes[];
};

/* Bytes by number; without bytes: a removal. In ascending order. */
struct disk_map {
	struct disk_item {
		uint64_t id;
		struct disk_bytes *bytes;
	} * items;
	size_t n, cap;
};

struct world_disk {
	char *path;
	struct disk_map files, records;
	struct disk_map undo; /* the last commit: how it was before */
	/* of the node that runs; null: none */
	struct disk_files *open_files;
	struct disk_index *open_index;
	struct world_disk *next;
};

struct disk_files {
	struct world_disk *disk;
	bool dead; /* nothing of what is written arrives */
};

struct disk_index {
	struct world_disk *disk;
	bool dead;
	struct disk_map batch;
};

struct world_disk_faults world_disk_faults;

static struct world_disk *world_disks;
static struct world_disk_count world_disk_counts;
static struct disk_bytes *world_disk_fds[OPEN_MAX_FDS];

/* Bytes */

static struct disk_bytes *world_disk_copy(const void *bytes, size_t len)
{
	struct disk_bytes *b = malloc(sizeof(*b) + len);

	if (!b)
		world_fail("the world itself is out of memory");
	b->users = 1;
	b->len = len;
	b->written_us = world_now_us;
	if (len)
		memcpy(b->bytes, bytes, len);
	return b;
}

static void world_disk_unref(struct disk_bytes *b)
{
	if (b && --b->users == 0)
		free(b);
}

/* The place of a number, or where it would be. */
static size_t world_disk_find(const struct disk_map *map, uint64_t id)
{
	size_t low = 0, high = map->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (map->items[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct disk_bytes *world_disk_get(const struct disk_map *map,
					 uint64_t id)
{
	size_t i = world_disk_find(map, id);

	return i < map->n && map->items[i].id == id ? map->items[i].bytes
						    : NULL;
}

/* Takes over the bytes. */
static void world_disk_put(struct disk_map *map, uint64_t id,
			   struct disk_bytes *bytes)
{
	size_t i = world_disk_find(map, id);

	if (i < map->n && map->items[i].id == id) {
		world_disk_unref(map->items[i].bytes);
		map->items[i].bytes = bytes;
		return;
	}
	if (map->n == map->cap) {
		map->cap = map->cap ? 2 * map->cap : 64;
		map->items =
			realloc(map->items, map->cap * sizeof(map->items[0]));
		if (!map->items)
			world_fail("the world itself is out of memory");
	}
	memmove(map->items + i + 1, map->items + i,
		(map->n - i) * sizeof(map->items[0]));
	map->items[i] = (struct disk_item){id, bytes};
	map->n++;
}

static void world_disk_remove(struct disk_map *map, uint64_t id)
{
	size_t i = world_disk_find(map, id);

	if (i == map->n || map->items[i].id != id)
		return;
	world_disk_unref(map->items[i].bytes);
	map->n--;
	memmove(map->items + i, map->items + i + 1,
		(map->n - i) * sizeof(map->items[0]));
}

static void world_disk_clear(struct disk_map *map)
{
	for (size_t i = 0; i < map->n; i++)
		world_disk_unref(map->items[i].bytes);
	free(map->items);
	*map = (struct disk_map){0};
}

/* Sets what `changes` says; what it was before goes to `undo`, unless null. */
static void world_disk_apply(struct disk_map *to,
			     const struct disk_map *changes,
			     struct disk_map *undo)
{
	for (size_t i = 0; i < changes->n; i++) {
		const struct disk_item *item = &changes->items[i];
		struct disk_bytes *old = world_disk_get(to, item->id);

		if (undo) {
			if (old)
				old->users++;
			world_disk_put(undo, item->id, old);
		}
		if (item->bytes) {
			item->bytes->users++;
			world_disk_put(to, item->id, item->bytes);
		} else {
			world_disk_remove(to, item->id);
		}
	}
}

/* Disks */

static struct world_disk *world_disk_of(const char *path)
{
	struct world_disk *d = world_disks;

	while (d && strcmp(d->path, path) != 0)
		d = d->next;
	if (d)
		return d;
	d = calloc(1, sizeof(*d));
	if (!d || !(d->path = strdup(path)))
		world_fail("the world itself is out of memory");
	d->next = world_disks;
	world_disks = d;
	return d;
}

static void world_disk_empty(struct world_disk *d)
{
	world_disk_clear(&d->files);
	world_disk_clear(&d->records);
	world_disk_clear(&d->undo);
}

/* Of a file that was not synced: any of its sectors, or none of it. */
static void world_disk_tear(struct world_disk *d, size_t i)
{
	struct disk_bytes *b = d->files.items[i].bytes, *torn;
	uint32_t kept;

	if (world_below(CHOICE_DISK, 2))
		return;
	world_disk_counts.torn++;
	torn = world_disk_copy(b->bytes, b->len);
	for (size_t at = 0; at < torn->len; at += SECTOR_BYTES) {
		size_t left = torn->len - at;

		if (!world_below(CHOICE_DISK, 2))
			memset(torn->bytes + at, 0,
			       left < SECTOR_BYTES ? left : SECTOR_BYTES);
	}
	kept = world_below(CHOICE_DISK, 4);
	if (kept == 0)
		torn->len = 0;
	else if (kept == 1)
		torn->len -= world_below(CHOICE_DISK, (uint32_t)b->len + 1);
	world_disk_unref(b);
	d->files.items[i].bytes = torn;
}

/* Returns whether the last commit is lost. */
static bool world_disk_lose_power(struct world_disk *d)
{
	for (size_t i = 0; i < d->files.n; i++) {
		if (d->files.items[i].bytes->written_us + UNSYNCED_US >
		    world_now_us)
			world_disk_tear(d, i);
	}
	if (!d->undo.n || world_below(CHOICE_DISK, 2))
		return false;
	world_disk_apply(&d->records, &d->undo, NULL);
	return true;
}

static bool world_disk_end(const char *path, enum nodes_disk_end how)
{
	struct world_disk *d = world_disk_of(path);
	bool lost = false;

	if (how != NODES_DISK_CLOSED) {
		if (d->open_files)
			d->open_files->dead = true;
		if (d->open_index)
			d->open_index->dead = true;
	}
	if (how == NODES_DISK_POWER)
		lost = world_disk_lose_power(d);
	if (how == NODES_DISK_EMPTIED)
		world_disk_empty(d);
	return lost;
}

const struct world_disk_count *world_disk_count(void)
{
	return &world_disk_counts;
}

static void world_disk_stop(void)
{
	world_disk_counts = (struct world_disk_count){ 0 };
	while (world_disks) {
		struct world_disk *d = world_disks;

		world_disks = d->next;
		world_disk_empty(d);
		free(d->path);
		free(d);
	}
}

const struct nodes_disks world_disk_nodes = {
	.end = world_disk_end,
	.stop = world_disk_stop,
};

static int world_disk_fault(unsigned permille, int error)
{
	if (!world_happens(CHOICE_DISK, permille))
		return 0;
	world_disk_counts.failed++;
	return error;
}

/* Of a call that writes: 0, or how it fails. */
static int world_disk_write_fault(bool dead)
{
	int err = 0;

	world_thread_pause(world_below(CHOICE_DISK, SLOW_US));
	if (dead)
		return -EIO;
	err = world_disk_fault(world_disk_faults.full, -ENOSPC);
	return err ? err
		   : world_disk_fault(world_disk_faults.write_errors, -EIO);
}

static int world_disk_read_fault(struct disk_bytes *b)
{
	world_thread_pause(world_below(CHOICE_DISK, SLOW_US));
	if (b->len && world_happens(CHOICE_DISK, world_disk_faults.flips)) {
		uint32_t at = world_below(CHOICE_DISK, (uint32_t)b->len);

		world_disk_counts.flipped++;
		b->bytes[at] ^= (uint8_t)(1 << world_below(CHOICE_DISK, 8));
	}
	return world_disk_fault(world_disk_faults.read_errors, -EIO);
}

/* Files */

void disk_files_name(uint64_t id, char name[DISK_NAME_BYTES])
{
	snprintf(name, DISK_NAME_BYTES, "%02x/%016" PRIx64,
		 (unsigned)(id % 256), id);
}

int disk_files_open(const char *path, struct disk_files **out)
{
	struct disk_files *files = calloc(1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	files->disk = world_disk_of(path);
	assert(!files->disk->open_files);
	files->disk->open_files = files;
	*out = files;
	return 0;
}

void disk_files_close(struct disk_files **files)
{
	if (!*files)
		return;
	(*files)->disk->open_files = NULL;
	free(*files);
	*files = NULL;
}

int disk_files_list(struct disk_files *files, uint64_t **ids, size_t *n)
{
	const struct disk_map *map = &files->disk->files;

	*n = map->n;
	*ids = malloc((map->n + 1) * sizeof(**ids));
	if (!*ids)
		return -ENOMEM;
	for (size_t i = 0; i < map->n; i++)
		(*ids)[i] = map->items[i].id;
	return 0;
}

int disk_files_write(struct disk_files *files, uint64_t id, const void *bytes,
		     size_t len)
{
	int err = world_disk_write_fault(files->dead);

	if (err || files->dead)
		return err ? err : -EIO;
	if (world_disk_get(&files->disk->files, id))
		world_fail("file %" PRIu64 " is written twice", id);
	world_disk_put(&files->disk->files, id, world_disk_copy(bytes, len));
	world_disk_counts.written++;
	return 0;
}

int disk_files_read(struct disk_files *files, const struct disk_body *body)
{
	struct disk_bytes *b = world_disk_get(&files->disk->files, body->id);
	int fd;

	if (!b)
		return -ENOENT;
	if (b->len != body->len)
		return -EBADMSG;
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fd >= OPEN_MAX_FDS)
		world_fail("the world has no descriptors left");
	b->users++;
	world_disk_fds[fd] = b;
	return fd;
}

int __real_close(int fd);
int __wrap_close(int fd);

int __wrap_close(int fd)
{
	if (fd >= 0 && fd < OPEN_MAX_FDS) {
		world_disk_unref(world_disk_fds[fd]);
		world_disk_fds[fd] = NULL;
	}
	return __real_close(fd);
}

int disk_files_load(int fd, void *to, size_t len, uint64_t at)
{
	struct disk_bytes *b = world_disk_fds[fd];
	int err = world_disk_read_fault(b);

	if (err)
		return err;
	if (at > b->len || len > b->len - at)
		return -EBADMSG;
	memcpy(to, b->bytes + at, len);
	world_disk_counts.read++;
	return 0;
}

void disk_files_remove(struct disk_files *files, uint64_t id)
{
	if (!files->dead)
		world_disk_remove(&files->disk->files, id);
}

/* The index */

int disk_index_heal(const char *folder, size_t max_bytes)
{
	(void)folder;
	(void)max_bytes;
	return 0;
}

int disk_index_open(const char *folder, size_t max_bytes,
		    struct disk_index **out)
{
	struct disk_index *index = calloc(1, sizeof(*index));

	(void)max_bytes;
	if (!index)
		return -ENOMEM;
	index->disk = world_disk_of(folder);
	index->disk->open_index = index;
	*out = index;
	return 0;
}

int disk_index_grow(struct disk_index *index, size_t max_bytes)
{
	(void)index;
	(void)max_bytes;
	return 0;
}

void disk_index_close(struct disk_index **index)
{
	if (!*index)
		return;
	(*index)->disk->open_index = NULL;
	world_disk_clear(&(*index)->batch);
	free(*index);
	*index = NULL;
}

void disk_index_remove(const char *folder)
{
	(void)folder;
}

int disk_index_begin(struct disk_index *index)
{
	assert(!index->batch.n);
	return world_disk_write_fault(index->dead);
}

int disk_index_put(struct disk_index *index, uint64_t id, const void *bytes,
		   size_t len)
{
	int err = world_disk_fault(world_disk_faults.full, -ENOSPC);

	if (!err)
		world_disk_put(&index->batch, id, world_disk_copy(bytes, len));
	return err;
}

int disk_index_remove_id(struct disk_index *index, uint64_t id)
{
	world_disk_put(&index->batch, id, NULL);
	return 0;
}

int disk_index_commit(struct disk_index *index)
{
	struct world_disk *d = index->disk;
	int err = world_disk_write_fault(index->dead);

	if (err || index->dead)
		return err ? err : -EIO;
	world_disk_clear(&d->undo);
	world_disk_apply(&d->records, &index->batch, &d->undo);
	world_disk_clear(&index->batch);
	return 0;
}

void disk_index_give_up(struct disk_index *index)
{
	world_disk_clear(&index->batch);
}

int disk_index_get(struct disk_index *index, uint64_t id, uint8_t **bytes,
		   size_t *len)
{
	struct disk_bytes *b = world_disk_get(&index->disk->records, id);
	int err;

	if (!b)
		return -ENOENT;
	b->users++; /* it may be removed during the pause */
	err = world_disk_read_fault(b);
	*bytes = err ? NULL : malloc(b->len + 1);
	if (!err && !*bytes)
		err = -ENOMEM;
	if (!err) {
		memcpy(*bytes, b->bytes, b->len);
		*len = b->len;
	}
	world_disk_unref(b);
	return err;
}

int disk_index_each(struct disk_index *index,
		    int (*each)(void *arg, uint64_t id, const uint8_t *bytes,
				size_t len),
		    void *arg)
{
	const struct disk_map *map = &index->disk->records;
	int err = 0;

	for (size_t i = 0; i < map->n && !err; i++)
		err = each(arg, map->items[i].id, map->items[i].bytes->bytes,
			   map->items[i].bytes->len);
	return err;
}
