/*
 * The dumbest twins of the eviction policies: one list of the objects, in which
 * everything is found by walking.
 */
#ifndef TESTS_STORE_EVICTION_TWIN_H
#define TESTS_STORE_EVICTION_TWIN_H

#include "digestd/store/eviction.h"
#include "digestd/store/eviction_sketch.h"

enum { TWIN_MAX = 512 };

struct twin_object {
	uint32_t slot;
	struct eviction_item item;
	unsigned uses, queue; /* what a policy makes of them */
	double priority;
};

struct twin_list {
	struct twin_object at[TWIN_MAX]; /* from old to new */
	size_t n;
};

struct twin {
	struct twin_list in, ghosts;
	uint64_t capacity;
	size_t hand;
	bool came_back; /* the expected object was a ghost */
	double floor;
	struct sketch sketch; /* the one under test, which has its own test */
};

struct twin_policy {
	const char *name;
	void (*expect)(struct twin *t, struct eviction_item item);
	void (*insert)(struct twin *t, const struct twin_object *o);
	/* index: of the object in the list `in` */
	void (*hit)(struct twin *t, size_t index);
	void (*remove)(struct twin *t, size_t index);
	uint32_t (*evict)(struct twin *t);
	void (*reserve)(struct twin *t, uint32_t nslots); /* may be null */
};

/* A null name ends them. */
extern const struct twin_policy twin_policies[];

/* The index of a slot's object. Fails the test if it is not in. */
size_t twin_find(const struct twin_list *l, uint32_t slot);

#endif
