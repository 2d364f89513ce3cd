/*
 * What is kept in memory of an object on disk: where it is, and which requests
 * it is for. There are as many as the disk has room for, so each is small: 80
 * bytes, and those that vary have what selects them behind.
 */
#ifndef DIGESTD_DISK_DISK_ENTRY_H
#define DIGESTD_DISK_DISK_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/http/fields.h"
#include "digestd/store/store.h"

struct cached;

/* An object on disk, or on its way there. */
struct disk_entry {
	struct store_entry entry; /* first: the store hands out these */
	size_t weight;            /* the owner's: what it takes of the disk */
	uint64_t id;
	struct cached *pending; /* what is being written, one user; null: it is
				   there. The owner's, like `gone` */
	struct cached *memory;  /* the same in memory; the owner's, no user */
	struct disk_entry *next;
	int error;		/* of writing */
	bool checked;		/* since the start */
	bool gone;		/* while being written; changed atomically */
	bool varies;
	struct fields selecting[]; /* one if it varies */
};

/* One that is for requests with these fields, which are copied (null: for any);
 * see vary_select(). Null without memory. */
struct disk_entry *disk_entry_new(uint64_t id, const struct fields *selecting);

/* The fields that it is for. */
const struct fields *disk_entry_selecting(const struct disk_entry *e);

/* Frees it; its response is the owner's. Null is allowed. */
void disk_entry_free(struct disk_entry *e);

#endif
