/*
 * Numbers without gaps for 64-bit hashes: the first that is seen is 0, the
 * next new one 1, and so on, up to 2^32 - 1 of them.
 *
 * An open-addressing table with linear probing. A slot holds the number and
 * 32 bits of the hash; the whole hash stands in the array by number, and is
 * read only where those bits agree. 8 to 16 bytes a hash for the table and 8
 * for the array. Many are looked up at a time, so that their cache misses
 * overlap: 15 ns each where one by one takes 100.
 */
#ifndef CACHESIM_SIM_DENSE_H
#define CACHESIM_SIM_DENSE_H

#include <stddef.h>
#include <stdint.h>

struct dense {
	uint64_t *hash; /* by number; the owner may take it */
	uint32_t n;     /* numbers given */
	uint32_t room;  /* for so many there is room in hash */
	uint32_t most;  /* never more numbers than this */
	uint64_t *slot; /* hash bits 63..32, number + 1; 0: empty */
	uint64_t mask;  /* slots - 1 */
};

/* Room for many at once in dense_numbers(). */
enum { DENSE_MANY = 256 };

/* Makes an empty one. 0 or TRACE_ENOMEM. */
int dense_init(struct dense *d);

/*
 * The numbers of n hashes, 0..DENSE_MANY, in their order; new ones get the
 * next number. The hashes' low and high bits must be well mixed. 0,
 * TRACE_ENOMEM or TRACE_EOBJECTS: there are no numbers left.
 */
int dense_numbers(struct dense *d, const uint64_t *hash, size_t n,
		  uint32_t *out);

void dense_free(struct dense *d);

#endif
