/*
 * Names with numbers: tables that only grow. Who adds one holds the lock, and
 * writes the name before the new length; who reads that length sees the name.
 */
#include "digestd/os/upstream_names.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct upstream_table {
	atomic_uint n;
	char names[UPSTREAM_NAMES_MAX][UPSTREAM_NAME_BYTES];
};

struct upstream_names {
	pthread_mutex_t lock; /* to add one */
	struct upstream_table kinds[UPSTREAM_KIND_COUNT];
};

int upstream_names_new(struct upstream_names **out)
{
	struct upstream_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	pthread_mutex_init(&names->lock, NULL);
	*out = names;
	return 0;
}

void upstream_names_free(struct upstream_names **names)
{
	if (!*names)
		return;
	pthread_mutex_destroy(&(*names)->lock);
	free(*names);
	*names = NULL;
}

static unsigned upstream_names_count(const struct upstream_table *t)
{
	return atomic_load_explicit(&t->n, memory_order_acquire);
}

/* The number of a name from `first` on; the table's length: it is not there. */
static unsigned upstream_names_look(const struct upstream_table *t,
				    unsigned first, const char *name)
{
	unsigned n = upstream_names_count(t);

	while (first < n && strcmp(t->names[first], name) != 0)
		first++;
	return first;
}

static unsigned upstream_names_add(struct upstream_names *names,
				   struct upstream_table *t, unsigned looked,
				   const char *name)
{
	unsigned i;

	pthread_mutex_lock(&names->lock);
	i = upstream_names_look(t, looked, name);
	if (i < UPSTREAM_NAMES_MAX && i == upstream_names_count(t)) {
		strcpy(t->names[i], name);
		atomic_store_explicit(&t->n, i + 1, memory_order_release);
	}
	pthread_mutex_unlock(&names->lock);
	return i;
}

unsigned upstream_names_find(struct upstream_names *names,
			     enum upstream_kind kind, const char *name)
{
	struct upstream_table *t = &names->kinds[kind];
	unsigned i;

	assert(kind < UPSTREAM_KIND_COUNT);
	if (!name || strlen(name) >= UPSTREAM_NAME_BYTES)
		return UPSTREAM_NAMES_MAX;
	i = upstream_names_look(t, 0, name);
	if (i == UPSTREAM_NAMES_MAX || i < upstream_names_count(t))
		return i;
	return upstream_names_add(names, t, i, name);
}

const char *upstream_names_at(const struct upstream_names *names,
			      enum upstream_kind kind, unsigned number)
{
	const struct upstream_table *t = &names->kinds[kind];

	assert(kind < UPSTREAM_KIND_COUNT && number < UPSTREAMS);
	if (number == UPSTREAM_NAMES_MAX)
		return "other";
	return number < upstream_names_count(t) ? t->names[number] : NULL;
}

const char *upstream_kind_name(enum upstream_kind kind)
{
	static const char *const kinds[] = {
#define X(name) #name,
		UPSTREAM_KINDS(X)
#undef X
	};

	assert(kind < UPSTREAM_KIND_COUNT);
	return kinds[kind];
}
