/*
 * A miniature cache: which of a sample of keys a cache of a share of the
 * capacity would hold, under any of the eviction policies. It stores nothing
 * but what is needed to decide: 40 to 60 bytes an object, and the policy's.
 */
#ifndef DIGESTD_ADMISSION_ADMISSION_MINI_H
#define DIGESTD_ADMISSION_ADMISSION_MINI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct eviction_policy;
struct mini;

/* An empty one. 0 or SCD_ENOMEM. */
int mini_new(struct mini **out, const struct eviction_policy *policy,
	     uint64_t capacity);

/* Accepts null and nulls the pointer. */
void mini_free(struct mini **m);

/* Is it in? A use, if so. */
bool mini_get(struct mini *m, uint64_t hash);

/* Puts in an object that is not in; others go until it fits. False: it is too
 * large, or there is no memory. */
bool mini_put(struct mini *m, uint64_t hash, uint64_t size);

/* Takes an object out that is in. */
void mini_drop(struct mini *m, uint64_t hash);

/* How many are in. */
uint32_t mini_objects(const struct mini *m);

/* Has ever something gone for want of room? */
bool mini_full(const struct mini *m);

/* Bytes that it takes. */
size_t mini_memory(const struct mini *m);

#endif
