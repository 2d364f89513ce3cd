/*
 * See modify.h. What the trace has and what time makes is one list in the end.
 */
#include "cachesim/sim/modify.h"

#include <stdlib.h>

#include "codec/mix.h"

enum { FIRST_ROOM = 1024 };

static const uint32_t NEVER = UINT32_MAX; /* was it asked for */

struct list {
	uint64_t *change;
	uint32_t *size;
	uint64_t n, room;
};

/* What is known of an object. */
struct known {
	uint32_t version; /* at its last request */
	uint32_t size;
};

/* False: no memory. */
static bool modify_grow(struct list *l)
{
	uint64_t room = l->room ? l->room * 2 : FIRST_ROOM;
	uint64_t *change = realloc(l->change, room * sizeof(*change));
	uint32_t *size;

	if (!change)
		return false;
	l->change = change;
	size = realloc(l->size, room * sizeof(*size));
	if (!size)
		return false;
	l->size = size;
	l->room = room;
	return true;
}

static bool modify_add(struct list *l, uint64_t request, uint32_t size)
{
	if (l->n == l->room && !modify_grow(l))
		return false;
	l->change[l->n] = request;
	l->size[l->n++] = size;
	return true;
}

static bool modify_walk(const struct sim_trace *t, uint64_t every_s,
			struct known *known, struct list *l)
{
	uint64_t next = 0, now_s = 0;

	for (uint64_t i = 0; i < t->nrequests; i++) {
		uint32_t object = t->object[i], version;
		struct known *k = &known[object];
		bool changed;

		if (t->time[i] > now_s)
			now_s = t->time[i];
		version = (uint32_t)((now_s + scd__mix64(t->hash[object]) %
						      every_s) /
				     every_s);
		changed = k->version != NEVER && k->version != version;
		k->version = version;
		if (next < t->nchanges && t->change[next] == i) {
			k->size = t->change_size[next++];
			changed = true;
		}
		if (changed && !modify_add(l, i, k->size))
			return false;
	}
	return true;
}

/* The list becomes the trace's, whose own goes. */
static void modify_give(struct sim_trace *t, const struct list *l)
{
	if (!t->map || t->changes_apart) {
		free((void *)(uintptr_t)t->change);
		free((void *)(uintptr_t)t->change_size);
	}
	t->changes_apart = true;
	t->change = l->change;
	t->change_size = l->size;
	t->nchanges = l->n;
}

int sim_trace_modify(struct sim_trace *t, uint32_t every_s)
{
	struct list l = { 0 };
	struct known *known;

	if (!t->time)
		return TRACE_ETIME;
	known = malloc((t->nobjects + (size_t)1) * sizeof(*known));
	for (uint32_t o = 0; known && o < t->nobjects; o++)
		known[o] = (struct known){ NEVER, t->size[o] };
	if (!known || !modify_walk(t, every_s, known, &l)) {
		free(known);
		free(l.change);
		free(l.size);
		return TRACE_ENOMEM;
	}
	free(known);
	modify_give(t, &l);
	return 0;
}
