/*
 * How often clients may have an object validated that is fresh: once a second,
 * however many hold down the key that reloads a page. A table of a fixed size,
 * which all threads share: who loses its place to another object is validated
 * once more often.
 */
#ifndef DIGESTD_NODE_NODE_RECHECK_H
#define DIGESTD_NODE_NODE_RECHECK_H

#include <stdbool.h>
#include <stdint.h>

enum { NODE_RECHECK_SLOTS = 4096, NODE_RECHECK_MS = 1000 };

/* All zero: none was validated. All fields are private, and atomic. */
struct node_recheck {
	uint64_t slots[NODE_RECHECK_SLOTS]; /* half of a key, low half of ms */
};

/* Whether the object whose key hashes to this may be validated now; then it
 * counts as validated. */
bool node_recheck_take(struct node_recheck *r, uint64_t hash, int64_t now_ms);

#endif
