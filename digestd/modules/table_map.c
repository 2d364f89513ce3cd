/*
 * The file of share_table, mapped.
 */
#include "digestd/modules/table_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	SILENT_MS = 200, /* between two looks at the path, if nobody writes */
	RETIRED_MS = 10, /* and if another table is there, or soon will be */
	KEPT_MS = 60000, /* a mapping, after another one took its place */
};

/* A file that is mapped. */
struct table_mapping {
	struct scd_shared_table table;
	void *memory;
	size_t bytes;
	dev_t device;
	ino_t inode;
	struct table_mapping *next; /* replaced before it */
	uint64_t replaced_ms;
};

struct table_map {
	char *path;
	struct table_mapping *_Atomic now; /* null: none yet */
	_Atomic uint64_t again_ms;
	atomic_flag opening; /* whoever has it may change the rest */
	struct table_mapping *replaced;
};

static uint64_t table_map_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

struct table_map *table_map_new(const char *path)
{
	struct table_map *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->path = strdup(path);
	if (!m->path) {
		free(m);
		return NULL;
	}
	atomic_flag_clear(&m->opening);
	return m;
}

static void table_map_unmap(struct table_mapping *mapping)
{
	munmap(mapping->memory, mapping->bytes);
	free(mapping);
}

void table_map_free(struct table_map **out)
{
	struct table_map *m = *out;
	struct table_mapping *next;

	if (!m)
		return;
	if (m->now)
		table_map_unmap(m->now);
	for (; m->replaced; m->replaced = next) {
		next = m->replaced->next;
		table_map_unmap(m->replaced);
	}
	free(m->path);
	free(m);
	*out = NULL;
}

/* Maps a file that is open. -ESTALE: it is the one that is mapped. */
static int table_map_map(const struct table_mapping *old, int fd,
			 struct table_mapping *out)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (old && old->device == st.st_dev && old->inode == st.st_ino)
		return -ESTALE;
	if (!S_ISREG(st.st_mode) || !st.st_size)
		return -EPROTO;
	out->device = st.st_dev;
	out->inode = st.st_ino;
	out->bytes = (size_t)st.st_size;
	out->memory =
		mmap(NULL, out->bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (out->memory == MAP_FAILED)
		return -errno;
	if (!scd_shared_table_open(out->memory, out->bytes, &out->table))
		return 0;
	munmap(out->memory, out->bytes);
	return -EPROTO;
}

/* Unmaps what was replaced long ago. */
static void table_map_sweep(struct table_map *m, uint64_t now_ms)
{
	struct table_mapping **at = &m->replaced;

	while (*at) {
		struct table_mapping *mapping = *at;

		if (now_ms - mapping->replaced_ms < KEPT_MS) {
			at = &mapping->next;
			continue;
		}
		*at = mapping->next;
		table_map_unmap(mapping);
	}
}

static void table_map_install(struct table_map *m, struct table_mapping *new)
{
	struct table_mapping *old = atomic_exchange(&m->now, new);
	const uint64_t now_ms = table_map_now_ms();

	table_map_sweep(m, now_ms);
	if (!old)
		return;
	old->replaced_ms = now_ms;
	old->next = m->replaced;
	m->replaced = old;
}

int table_map_open(struct table_map *m)
{
	struct table_mapping *mapping;
	int fd, err = -ENOMEM;

	if (atomic_flag_test_and_set(&m->opening))
		return -EBUSY;
	mapping = calloc(1, sizeof(*mapping));
	fd = open(m->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		err = -errno;
	else if (mapping)
		err = table_map_map(atomic_load(&m->now), fd, mapping);
	if (fd >= 0)
		close(fd);
	if (!err)
		table_map_install(m, mapping);
	else
		free(mapping);
	atomic_flag_clear(&m->opening);
	return err == -ESTALE ? 0 : err;
}

static uint64_t table_map_pause(enum scd_shared_table_state state)
{
	return state == SCD_SHARED_TABLE_RETIRED ? RETIRED_MS : SILENT_MS;
}

/* The table to look up in, perhaps another one than the last time; null:
 * none. */
static const struct scd_shared_table *table_map_table(struct table_map *m,
						      uint64_t now_ms)
{
	struct table_mapping *mapping =
		atomic_load_explicit(&m->now, memory_order_acquire);
	const enum scd_shared_table_state state =
		mapping ? scd_shared_table_state(&mapping->table, now_ms)
			: SCD_SHARED_TABLE_SILENT;
	uint64_t again_ms;

	if (state == SCD_SHARED_TABLE_LIVE)
		return &mapping->table;
	again_ms = atomic_load_explicit(&m->again_ms, memory_order_relaxed);
	if (now_ms >= again_ms &&
	    atomic_compare_exchange_strong(&m->again_ms, &again_ms,
					   now_ms + table_map_pause(state)) &&
	    !table_map_open(m))
		mapping = atomic_load(&m->now);
	return mapping ? &mapping->table : NULL;
}

bool table_map_lookup(struct table_map *m, const char *url, size_t len,
		      struct table_map_peers *out)
{
	const uint64_t now_ms = table_map_now_ms();
	const struct scd_shared_table *table = table_map_table(m, now_ms);
	unsigned peers[TABLE_MAP_PEERS];
	struct scd_key key;
	size_t n;

	out->n = 0;
	if (!table || scd_shared_table_key(table, url, len, &key))
		return false;
	n = scd_shared_table_lookup(table, &key, now_ms, peers,
				    TABLE_MAP_PEERS);
	for (size_t i = 0; i < n; i++) {
		if (scd_shared_table_name(table, peers[i], out->names[out->n]))
			out->n++;
	}
	return out->n > 0;
}

bool table_map_is_live(struct table_map *m)
{
	const uint64_t now_ms = table_map_now_ms();
	const struct scd_shared_table *table = table_map_table(m, now_ms);

	return table && scd_shared_table_state(table, now_ms) !=
				SCD_SHARED_TABLE_SILENT;
}
