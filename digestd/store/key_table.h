/*
 * A table of keys with a value of fixed size each: open addressing, linear
 * probing, deletion by shifting back, so that neither chains nor tombstones
 * grow. For many small entries: an entry costs its size, and a third to two
 * thirds of it for free slots.
 *
 * Keys must be uniform, as scd_key_make() and MD5 make them: the slot of a key
 * is the low bits of its hi in reverse order. So a part of all keys
 * (store/keypart.h) is a stretch of the table, and a walk over the parts costs
 * as much as one over the whole.
 *
 * Growing copies all entries at once, some 20 ns each; it happens when the
 * number of entries has doubled.
 */
#ifndef DIGESTD_STORE_KEY_TABLE_H
#define DIGESTD_STORE_KEY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/key.h"
#include "digestd/store/keypart.h"

struct key_table;

/* Makes an empty table for values of value_bytes (a multiple of 8), of at most
 * max_keys (> 0) keys. Returns 0 or SCD_ENOMEM. */
int key_table_new(struct key_table **out, size_t value_bytes,
		  uint64_t max_keys);

/* *t becomes null; null is allowed. */
void key_table_free(struct key_table **t);

/* The value of a key, until the table changes; null: it is not there. */
void *key_table_find(const struct key_table *t, const struct scd_key *key);

/*
 * Adds a key that is not there. *value is its value, all zero, until the table
 * changes. Returns 0, SCD_ELIMIT (there are max_keys) or SCD_ENOMEM.
 */
int key_table_add(struct key_table *t, const struct scd_key *key, void **value);

/* Removes a key; false: it was not there. */
bool key_table_remove(struct key_table *t, const struct scd_key *key);

/* Removes all keys, and gives back the memory. */
void key_table_clear(struct key_table *t);

/* How many keys there are. */
uint64_t key_table_count(const struct key_table *t);

/* What it takes of memory. */
size_t key_table_bytes(const struct key_table *t);

/* Into how many parts to divide a walk, a power of two: some thousand keys
 * each. */
uint64_t key_table_parts(const struct key_table *t);

/* Calls back with the keys of a part, which may have their values changed and
 * must not be added or removed meanwhile. */
void key_table_walk(const struct key_table *t, const struct keypart *part,
		    void (*each)(void *arg, const struct scd_key *key,
				 void *value),
		    void *arg);

#endif
