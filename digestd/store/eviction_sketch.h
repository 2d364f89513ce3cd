/*
 * How often keys were asked for of late: a count-min sketch of counters up to
 * 15, four for each key, of which only the smallest are raised and the smallest
 * is the estimate. Now and then all are halved, so that what is long ago counts
 * less. A key's four counters lie in one block of 64 bytes.
 *
 * The estimate is at most too high: by keys that share all four counters.
 *
 * Source: Einziger, Friedman, Manes: "TinyLFU: A Highly Efficient Cache
 * Admission Policy", ACM Transactions on Storage 13(4), 2017.
 *
 * Costs: 4 to 8 bytes a key that it is made for; one cache line a call.
 */
#ifndef DIGESTD_STORE_EVICTION_SKETCH_H
#define DIGESTD_STORE_EVICTION_SKETCH_H

#include <stddef.h>
#include <stdint.h>

enum { SKETCH_MAX = 15 }; /* a counter stops there */

/* All zero is one without counters. */
struct sketch {
	uint8_t *counters; /* two a byte */
	unsigned log_blocks;
	uint64_t keys;	     /* that it is made for */
	uint64_t additions;  /* since the last halving */
};

/* Makes it large enough for so many keys; it never becomes smaller. Estimates
 * stay as they are. 0 or SCD_ENOMEM: then nothing has changed. */
int sketch_reserve(struct sketch *s, uint64_t keys);

/* Leaves it without counters. */
void sketch_free(struct sketch *s);

/* Bytes allocated. */
size_t sketch_memory(const struct sketch *s);

/* A key was asked for. Halves all counters after ten calls a key that it is
 * made for. */
void sketch_add(struct sketch *s, uint64_t hash);

/* How often, 0..SKETCH_MAX. */
unsigned sketch_estimate(const struct sketch *s, uint64_t hash);

#endif
