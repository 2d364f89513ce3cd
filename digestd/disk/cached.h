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

/*
 * A stored response: made, given a body, put into the cache, then never
 * changed. Beside its body it is one piece of memory, which small bodies would
 * otherwise be outweighed by: its fields are packed, see packed.h.
 */
struct cached {
	struct store_entry entry; /* first: the store hands out these */
	struct freshness freshness;
	const struct fields *selecting; /* see vary_select() */
	char *body;
	size_t body_len;
	struct cached *body_of;  /* whose body this shares; null: its own */
	uint64_t disk_id;        /* its number on disk, when it was read */
	struct disk_entry *disk; /* the same on disk; under the cache's lock */
	int body_fd;             /* where the body is; -1: in memory */
	unsigned refs;           /* changed atomically */
	uint32_t text_len;
	uint16_t status;
	uint8_t place; /* where it is to be stored, then where it is: an
			  enum admission_decision, changed atomically */
	char text[];   /* its URI and a 0, then its fields */
};

/* What one is made of; all is copied. */
struct cached_head {
	const char *uri; /* canonical */
	const struct fields *fields; /* as they are sent on */
	const struct fields *selecting;
	unsigned status;
	const struct freshness *freshness;
};

/* One with one user, without a body. Null without memory. */
struct cached *cached_new(const struct cached_head *head);

/* What it, or one made of this, takes of memory beside the body. */
size_t cached_memory(const struct cached *c);
size_t cached_memory_of(const char *uri, const struct fields *fields);

/* Its URI. */
const char *cached_uri(const struct cached *c);

/*
 * Makes *f, which is overwritten, the list of its fields: they are lent for as
 * long as the caller is a user of c. Returns 0 or -ENOMEM.
 */
int cached_fields(const struct cached *c, struct fields *f);

/* One user more; returns c. */
struct cached *cached_ref(struct cached *c);

/* One user less; the last one frees. *c becomes null; null is allowed. */
void cached_unref(struct cached **c);

#endif
