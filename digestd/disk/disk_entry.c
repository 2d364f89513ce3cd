/*
 * Objects on disk, as memory knows them.
 */
#include "digestd/disk/disk_entry.h"

#include <assert.h>
#include <stdlib.h>

#include "digestd/disk/cached.h"
#include "digestd/disk/disk.h"
#include "digestd/disk/segment_record.h"
#include "digestd/disk/segment_table.h"

enum { REMOVAL_BYTES = 24 }; /* of a disk, by and by, in record and table */

_Static_assert(sizeof(struct disk_entry) <= 64, "each object on disk has one");

struct disk_entry *disk_entry_new(uint64_t id, const struct fields *selecting)
{
	bool varies = selecting && fields_count(selecting);
	struct disk_entry *e = calloc(1, sizeof(*e) +
					 varies * sizeof(e->selecting[0]));

	assert(id && !(id >> DISK_ID_BITS));
	if (!e)
		return NULL;
	e->id = id & (((uint64_t)1 << DISK_ID_BITS) - 1);
	if (!varies)
		return e;
	if (fields_copy(selecting, e->selecting)) {
		free(e);
		return NULL;
	}
	e->varies = true;
	fields_fit(e->selecting);
	return e;
}

const struct fields *disk_entry_selecting(const struct disk_entry *e)
{
	return e->varies ? e->selecting : &fields_none;
}

void disk_entry_measure(struct disk_entry *e, const struct cached *c)
{
	bool in_file = c->body_len > SEGMENT_BODY_MAX;
	uint64_t blocks = (c->body_len + DISK_FILE_BLOCK - 1) / DISK_FILE_BLOCK;
	uint64_t units = segment_record_bytes(c, in_file) / SEGMENT_UNIT;

	e->units = units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
	e->blocks = !in_file ? 0 : blocks < UINT32_MAX ? (uint32_t)blocks
						       : UINT32_MAX;
}

int64_t disk_entry_file_bytes(const struct disk_entry *e)
{
	return (int64_t)e->blocks * DISK_FILE_BLOCK;
}

size_t disk_entry_weight(const struct disk_entry *e)
{
	return (size_t)e->units * SEGMENT_UNIT + SEGMENT_ENTRY_BYTES +
	       REMOVAL_BYTES + (size_t)disk_entry_file_bytes(e);
}

struct disk_where disk_entry_where(const struct disk_entry *e)
{
	assert(!e->pending);
	return (struct disk_where){ e->place, e->units,
				    disk_entry_file_bytes(e) };
}

struct cached *disk_entry_pending(const struct disk_entry *e)
{
	return e->pending ? e->writing->c : NULL;
}

void disk_entry_free(struct disk_entry *e)
{
	if (e && e->varies)
		fields_free(e->selecting);
	free(e);
}
