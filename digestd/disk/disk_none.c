/*
 * In place of the disk tier where LMDB is not there: it cannot be opened, so
 * nothing else is ever called.
 */
#include <errno.h>
#include <stdlib.h>

#include "digestd/disk/disk.h"

bool disk_is_built(void)
{
	return false;
}

int disk_open(const struct disk_settings *settings, struct disk **out)
{
	(void)settings;
	*out = NULL;
	return -ENOTSUP;
}

int disk_load(struct disk *disk,
	      void (*each)(void *arg, struct disk_entry *e,
			   const struct cached *c, uint64_t body_len),
	      void *arg)
{
	(void)disk;
	(void)each;
	(void)arg;
	return -ENOTSUP;
}

void disk_close(struct disk **disk)
{
	*disk = NULL;
}

uint64_t disk_next_id(struct disk *disk)
{
	(void)disk;
	return 0;
}

bool disk_write(struct disk *disk, struct disk_entry *e)
{
	(void)disk;
	(void)e;
	return false;
}

void disk_remove(struct disk *disk, struct disk_entry *e)
{
	(void)disk;
	(void)e;
}

void disk_grow(struct disk *disk, uint64_t max_index_bytes)
{
	(void)disk;
	(void)max_index_bytes;
}

void disk_renew(struct disk *disk, uint64_t id, struct cached *c)
{
	(void)disk;
	(void)id;
	(void)c;
}

bool disk_read(struct disk *disk, struct disk_read *read)
{
	(void)disk;
	(void)read;
	return false;
}

void disk_read_blocks(struct disk *disk, struct disk_read *read)
{
	(void)disk;
	(void)read;
}

void disk_sync(struct disk *disk, struct disk_sync *sync)
{
	(void)disk;
	(void)sync;
}

void disk_sync_wait(struct disk *disk, struct disk_sync *sync)
{
	(void)disk;
	(void)sync;
}

void disk_read_cancel(struct disk *disk, struct disk_read *read)
{
	(void)disk;
	(void)read;
}

struct cached *disk_head(struct disk *disk, uint64_t id)
{
	(void)disk;
	(void)id;
	return NULL;
}

void disk_count_error(struct disk *disk, const struct disk_read *read)
{
	(void)disk;
	(void)read;
}

void disk_count(struct disk *disk, struct disk_counters *out)
{
	(void)disk;
	*out = (struct disk_counters){ 0 };
}
