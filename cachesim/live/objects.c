/*
 * Open addressing, linear probing; the hashes are good as they are.
 */
#include "cachesim/live/objects.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 1024 };

static struct object *objects_slot_of(const struct objects *o, uint64_t hash)
{
	size_t at = (size_t)hash & (o->slots - 1);

	while (o->slot[at].status && o->slot[at].hash != hash)
		at = (at + 1) & (o->slots - 1);
	return &o->slot[at];
}

static int objects_grow(struct objects *o)
{
	struct objects next = { NULL, o->slots ? o->slots * 2 : FIRST_SLOTS,
				o->used };

	next.slot = calloc(next.slots, sizeof(*next.slot));
	if (!next.slot)
		return TRACE_ENOMEM;
	for (size_t i = 0; i < o->slots; i++)
		if (o->slot[i].status)
			*objects_slot_of(&next, o->slot[i].hash) = o->slot[i];
	free(o->slot);
	*o = next;
	return 0;
}

/* The status that the origin will answer with. */
static unsigned objects_served_as(unsigned status)
{
	switch (status) {
	case 0:
	case 206:
	case 304:
		return 200;
	}
	return status < 200 ? 200 : status;
}

int objects_note(struct objects *o, uint64_t hash,
		 const struct trace_request *req)
{
	unsigned status = objects_served_as(req->status);
	struct object *s;

	if (4 * (o->used + 1) > 3 * o->slots && objects_grow(o))
		return TRACE_ENOMEM;
	s = objects_slot_of(o, hash);
	if (s->status == 0)
		o->used++;
	if (s->status == 0 || (status == 200 && s->status != 200))
		*s = (struct object){ hash, 0, status, false };
	if (s->status == status && req->has_size && req->status != 304) {
		s->has_size = true;
		if (req->size > s->size)
			s->size = req->size;
	}
	return 0;
}

const struct object *objects_find(const struct objects *o, uint64_t hash)
{
	const struct object *s = o->slots ? objects_slot_of(o, hash) : NULL;

	return s && s->status ? s : NULL;
}

void objects_free(struct objects *o)
{
	free(o->slot);
	*o = (struct objects){ NULL, 0, 0 };
}
