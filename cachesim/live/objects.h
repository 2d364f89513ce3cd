/*
 * What a trace says of each object: its size and its status. Of several sizes
 * the largest counts (smaller ones are aborted or partial transfers); a 200,
 * 206 or 304 makes an object exist, otherwise its first status stays.
 * 24 bytes an object, in a table at most 3/4 full.
 */
#ifndef LIVE_OBJECTS_H
#define LIVE_OBJECTS_H

#include "cachesim/trace/trace_request.h"

struct object {
	uint64_t hash; /* of the target */
	uint64_t size;
	unsigned status; /* 0: an empty slot */
	bool has_size;
};

struct objects {
	struct object *slot;
	size_t slots, used;
};

/* Notes one request. 0 or TRACE_ENOMEM. */
int objects_note(struct objects *o, uint64_t hash,
		 const struct trace_request *req);

/* The object, or null. */
const struct object *objects_find(const struct objects *o, uint64_t hash);

void objects_free(struct objects *o);

#endif
