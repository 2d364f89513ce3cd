/*
 * Disks.
 */
#include "tests/world/h2_gate.h"
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
#include "digestd/disk/disk_segments.h"
#include "digestd/peers/lives.h"
#include "cachesim/world/world.h"
#include "tests/world/world_threads.h"

enum {
	SECTOR_BYTES = 512,     /* are written whole, or not at all */
	UNSYNCED_US = 30000000, /* until the system writes what is not synced */
	SLOW_US = 20000,        /* of one call, at most */
	OPEN_MAX_FDS = 4096,
	WORLD_LIVES = 64, /* of a peer's restarts in a world; then it knows
			     no more */
};

/* Bytes with a count of their users. */
struct disk_bytes {
	unsigned users;
	size_t len;
	int64_t written_us;
	uint8_t bytes[];
};

/* Bytes by number, in ascending order. */
struct disk_map {
	struct disk_item {
		uint64_t id;
		struct disk_bytes *bytes;
	} * items;
	size_t n, cap;
};

/* A segment's file. */
struct disk_segment {
	struct world_disk *disk;
	uint32_t number; /* 0: it has been removed */
	unsigned users;
	uint8_t *bytes;
	size_t len, cap, synced;
	struct disk_segment *next;
};

struct world_disk {
	char *path;
	struct disk_map files;
	struct disk_segment *segments; /* by descending numbers */
	struct disk_files *open_files; /* of the node that runs; null: none */
	uint64_t lives[WORLD_LIVES]; /* in the place of the file of lives.h */
	size_t nlives;
	struct world_disk *next;
};

struct disk_files {
	struct world_disk *disk;
	bool dead; /* nothing of what is written arrives */
};

struct world_disk_faults world_disk_faults;

static struct world_disk *world_disks;
static struct world_disk_count world_disk_counts;
static struct disk_bytes *world_disk_fds[OPEN_MAX_FDS];
static struct disk_segment *world_segment_fds[OPEN_MAX_FDS];

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

/* Segments */

static void world_segment_unref(struct disk_segment *g)
{
	if (!g || --g->users)
		return;
	free(g->bytes);
	free(g);
}

/* The place of that number, or where it would be. */
static struct disk_segment **world_segment_find(struct world_disk *d,
						uint32_t number)
{
	struct disk_segment **link = &d->segments;

	while (*link && (*link)->number > number)
		link = &(*link)->next;
	return link;
}

static void world_segment_remove(struct disk_segment **link)
{
	struct disk_segment *g = *link;

	*link = g->next;
	g->number = 0;
	world_segment_unref(g);
}

/* Makes it so long, with zeros. */
static void world_segment_extend(struct disk_segment *g, size_t len)
{
	if (len > g->cap) {
		g->cap = 2 * len;
		g->bytes = realloc(g->bytes, g->cap);
		if (!g->bytes)
			world_fail("the world itself is out of memory");
	}
	if (len > g->len) {
		memset(g->bytes + g->len, 0, len - g->len);
		g->len = len;
	}
}

/* What was not synced: any of its sectors, as far as the file goes by now. */
static void world_segment_tear(struct disk_segment *g)
{
	size_t at = g->synced, lost = g->len - g->synced;

	if (!lost || world_below(CHOICE_DISK, 2))
		return;
	world_disk_counts.torn++;
	g->len -= world_below(CHOICE_DISK, (uint32_t)lost + 1);
	while (at < g->len) {
		size_t end = (at / SECTOR_BYTES + 1) * SECTOR_BYTES;

		if (end > g->len)
			end = g->len;
		if (!world_below(CHOICE_DISK, 2))
			memset(g->bytes + at, 0, end - at);
		at = end;
	}
	g->synced = g->len;
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
	while (d->segments)
		world_segment_remove(&d->segments);
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

static void world_disk_lose_power(struct world_disk *d)
{
	struct disk_segment *g;

	for (size_t i = 0; i < d->files.n; i++) {
		if (d->files.items[i].bytes->written_us + UNSYNCED_US >
		    world_now_us)
			world_disk_tear(d, i);
	}
	for (g = d->segments; g; g = g->next)
		world_segment_tear(g);
}

static bool world_disk_end(const char *path, enum nodes_disk_end how)
{
	struct world_disk *d = world_disk_of(path);

	if (how != NODES_DISK_CLOSED && d->open_files)
		d->open_files->dead = true;
	if (how == NODES_DISK_POWER)
		world_disk_lose_power(d);
	if (how == NODES_DISK_EMPTIED)
		world_disk_empty(d);
	return false;
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

static int world_disk_read_fault(uint8_t *bytes, size_t len)
{
	world_thread_pause(world_below(CHOICE_DISK, SLOW_US));
	if (len && world_happens(CHOICE_DISK, world_disk_faults.flips)) {
		uint32_t at = world_below(CHOICE_DISK, (uint32_t)len);

		world_disk_counts.flipped++;
		bytes[at] ^= (uint8_t)(1 << world_below(CHOICE_DISK, 8));
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

/* Nobody else comes for it in a world. */
void disk_files_unlock(const struct disk_files *files)
{
	(void)files;
}

int disk_files_folder(const struct disk_files *files)
{
	(void)files;
	return -1;
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

/* One that stands for bytes. */
static int world_disk_open_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fd >= OPEN_MAX_FDS)
		world_fail("the world has no descriptors left");
	return fd;
}

int disk_files_read(struct disk_files *files, const struct disk_body *body)
{
	struct disk_bytes *b = world_disk_get(&files->disk->files, body->id);
	int fd;

	if (!b)
		return -ENOENT;
	if (b->len != body->len)
		return -EBADMSG;
	fd = world_disk_open_fd();
	b->users++;
	world_disk_fds[fd] = b;
	return fd;
}

int __real_close(int fd);
int __wrap_close(int fd);

int __wrap_close(int fd)
{
	if (h2_gate_close(fd))
		return 0;
	if (fd >= 0 && fd < OPEN_MAX_FDS) {
		world_disk_unref(world_disk_fds[fd]);
		world_disk_fds[fd] = NULL;
		world_segment_unref(world_segment_fds[fd]);
		world_segment_fds[fd] = NULL;
	}
	return __real_close(fd);
}

/* Bytes of a segment may move while the world goes on. */
static int world_segment_load(struct disk_segment *g, void *to, size_t len,
			      uint64_t at)
{
	int err;

	if (at > g->len || len > g->len - at)
		return -EBADMSG;
	err = world_disk_read_fault(NULL, 0);
	if (err)
		return err;
	if (len)
		memcpy(to, g->bytes + at, len);
	/* in what is read, so that it is the object's that was meant */
	if (len && world_happens(CHOICE_DISK, world_disk_faults.flips)) {
		uint8_t *byte = (uint8_t *)to +
				world_below(CHOICE_DISK, (uint32_t)len);

		world_disk_counts.flipped++;
		*byte ^= (uint8_t)(1 << world_below(CHOICE_DISK, 8));
		g->bytes[at + (size_t)(byte - (uint8_t *)to)] = *byte;
	}
	world_disk_counts.read++;
	return 0;
}

int disk_files_load(int fd, void *to, size_t len, uint64_t at)
{
	struct disk_bytes *b = world_disk_fds[fd];
	int err;

	if (world_segment_fds[fd])
		return world_segment_load(world_segment_fds[fd], to, len, at);
	err = world_disk_read_fault(b->bytes, b->len);
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

/* Segments of nodes. Those that are made and removed stay so. */

void disk_segments_name(uint32_t number, char name[DISK_SEGMENT_NAME_BYTES])
{
	snprintf(name, DISK_SEGMENT_NAME_BYTES, "%08" PRIx32 ".log", number);
}

int disk_segments_list(struct disk_files *files, uint64_t **numbers, size_t *n)
{
	const struct disk_segment *g;

	*n = 0;
	for (g = files->disk->segments; g; g = g->next)
		++*n;
	*numbers = malloc((*n + 1) * sizeof(**numbers));
	if (!*numbers)
		return -ENOMEM;
	g = files->disk->segments;
	for (size_t i = *n; i; i--, g = g->next)
		(*numbers)[i - 1] = g->number;
	return 0;
}

static int world_segment_open(struct disk_segment *g)
{
	int fd = world_disk_open_fd();

	g->users++;
	world_segment_fds[fd] = g;
	return fd;
}

int disk_segments_create(struct disk_files *files, uint32_t number)
{
	int err = world_disk_write_fault(files->dead);
	struct disk_segment **link, *g;

	if (err || files->dead)
		return err ? err : -EIO;
	link = world_segment_find(files->disk, number);
	if (*link && (*link)->number == number)
		world_fail("segment %" PRIu32 " is made twice", number);
	g = calloc(1, sizeof(*g));
	if (!g)
		world_fail("the world itself is out of memory");
	g->disk = files->disk;
	g->number = number;
	g->users = 1;
	g->next = *link;
	*link = g;
	return world_segment_open(g);
}

int disk_segments_open(struct disk_files *files, uint32_t number, bool write,
		       uint64_t *bytes)
{
	struct disk_segment *g = *world_segment_find(files->disk, number);

	(void)write;
	if (!g || g->number != number)
		return -ENOENT;
	*bytes = g->len;
	return world_segment_open(g);
}

/* Whether what is written there arrives: not when the node has been killed. */
static bool world_segment_is_dead(const struct disk_segment *g)
{
	return !g->disk->open_files || g->disk->open_files->dead;
}

int disk_segments_write(int fd, const void *bytes, size_t len, uint64_t at)
{
	struct disk_segment *g = world_segment_fds[fd];
	int err = world_disk_write_fault(world_segment_is_dead(g));

	if (world_segment_is_dead(g))
		return -EIO;
	if (err) /* some of it */
		len = world_below(CHOICE_DISK, (uint32_t)len + 1);
	world_segment_extend(g, (size_t)at + len);
	if (len)
		memcpy(g->bytes + at, bytes, len);
	if (g->synced > at)
		g->synced = (size_t)at;
	world_disk_counts.written++;
	return err;
}

/* Fails for who is dead only: who cannot even do this has no disk. */
int disk_segments_cut(int fd, uint64_t at)
{
	struct disk_segment *g = world_segment_fds[fd];

	if (world_segment_is_dead(g))
		return -EIO;
	if (g->len > at)
		g->len = (size_t)at;
	if (g->synced > at)
		g->synced = (size_t)at;
	return 0;
}

int disk_segments_sync(int fd)
{
	struct disk_segment *g = world_segment_fds[fd];
	size_t len = g->len;
	int err = world_disk_write_fault(world_segment_is_dead(g));

	if (err || world_segment_is_dead(g))
		return err ? err : -EIO;
	if (g->synced < len)
		g->synced = len;
	return 0;
}

int disk_segments_remove(struct disk_files *files, uint32_t number)
{
	struct disk_segment **link;

	world_thread_pause(world_below(CHOICE_DISK, SLOW_US));
	if (files->dead)
		return -EIO;
	link = world_segment_find(files->disk, number);
	if (*link && (*link)->number == number)
		world_segment_remove(link);
	return 0;
}

/* Nobody looks at it again. */
int disk_segments_set_aside(struct disk_files *files, uint32_t number)
{
	return disk_segments_remove(files, number);
}

int disk_segments_seed(uint64_t *seed)
{
	*seed = 1 + world_below(CHOICE_DISK, UINT32_MAX);
	return 0;
}

bool disk_segments_remove_former(struct disk_files *files)
{
	(void)files;
	return false;
}

/* In place of digestd/peers/lives.c. */

struct lives {
	struct world_disk *disk;
	size_t nbefore;
};

int lives_new(const char *folder, struct lives **out)
{
	struct lives *l = calloc(1, sizeof(*l));

	*out = l;
	if (!l)
		return -ENOMEM;
	l->disk = world_disk_of(folder);
	l->nbefore = l->disk->nlives;
	return 0;
}

void lives_free(struct lives **l)
{
	free(*l);
	*l = NULL;
}

bool lives_meet(struct lives *l, uint64_t instance)
{
	struct world_disk *d = l->disk;

	for (size_t i = 0; i < d->nlives; i++) {
		if (d->lives[i] == instance)
			return i < l->nbefore;
	}
	if (d->nlives < WORLD_LIVES)
		d->lives[d->nlives++] = instance;
	return false;
}
