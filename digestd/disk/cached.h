/*
 * A stored response, which memory and disk hold alike: counted by its users,
 * so that its body goes to clients without a copy and without a lock.
 */
#ifndef DIGESTD_DISK_CACHED_H
#define DIGESTD_DISK_CACHED_H

#include <stddef.h>
#include <stdint.h>

#include "digestd/core/fields.h"
#include "digestd/core/freshness.h"
#include "digestd/core/store.h"

struct disk_entry;

/* A stored response: made, filled, put into the cache, then never changed. */
struct cached {
	struct store_entry entry; /* first: the store hands out these */
	char *uri;               /* canonical; null: purged by its key only */
	unsigned status;
	struct fields fields;    /* as they are sent on */
	struct fields selecting; /* see vary_select() */
	struct freshness freshness;
	char *body;
	size_t body_len;
	int body_fd;             /* where the body is; -1: in memory */
	struct cached *body_of;  /* whose body this shares; null: its own */
	uint64_t disk_id;        /* its number on disk, when it was read */
	struct disk_entry *disk; /* the same on disk; under the cache's lock */
	unsigned refs;           /* changed atomically */
	int place; /* where it is to be stored, then where it is: an
		      enum admission_decision, changed atomically */
	struct cached *next;     /* on its way out of the store */
};

/* An empty one with one user. Null without memory. */
struct cached *cached_new(void);

/* One user more; returns c. */
struct cached *cached_ref(struct cached *c);

/* One user less; the last one frees. *c becomes null; null is allowed. */
void cached_unref(struct cached **c);

#endif
