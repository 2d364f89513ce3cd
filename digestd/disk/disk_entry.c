/*
 * Objects on disk, as memory knows them.
 */
#include "digestd/disk/disk_entry.h"

#include <assert.h>
#include <stdlib.h>

_Static_assert(sizeof(struct disk_entry) <= 80, "each object on disk has one");

struct disk_entry *disk_entry_new(uint64_t id, const struct fields *selecting)
{
	bool varies = selecting && fields_count(selecting);
	struct disk_entry *e = calloc(1, sizeof(*e) +
					 varies * sizeof(e->selecting[0]));

	assert(id);
	if (!e)
		return NULL;
	e->id = id;
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

void disk_entry_free(struct disk_entry *e)
{
	assert(!e || !e->memory);
	if (e && e->varies)
		fields_free(e->selecting);
	free(e);
}
