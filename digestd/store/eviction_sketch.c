/*
 * The sketch. A block is chosen by the upper bits of a mixed hash, so that the
 * blocks of a sketch twice as large are twice each block of this one.
 */
#include "digestd/store/eviction_sketch.h"

#include <stdlib.h>
#include <string.h>

#include "codec/error.h"

enum {
	BLOCK_BYTES = 64,
	ROWS = 4,
	ROW_BYTES = BLOCK_BYTES / ROWS,
	ROW_COUNTERS = ROW_BYTES * 2, /* a key has one in each row */
	KEYS_A_BLOCK = ROW_COUNTERS / 2,
	ADDITIONS_A_KEY = 10,
	LOG_BLOCKS_MAX = 40,
};

static uint64_t eviction_sketch_mix(uint64_t hash)
{
	hash = (hash ^ hash >> 32) * UINT64_C(0x9fb21c651e98df25);
	return hash ^ hash >> 28;
}

static size_t eviction_sketch_nblocks(const struct sketch *s)
{
	return s->counters ? (size_t)1 << s->log_blocks : 0;
}

int sketch_reserve(struct sketch *s, uint64_t keys)
{
	struct sketch to = { .log_blocks = s->log_blocks, .keys = keys };

	if (keys < s->keys)
		to.keys = s->keys;
	while (to.log_blocks < LOG_BLOCKS_MAX &&
	       (uint64_t)KEYS_A_BLOCK << to.log_blocks < to.keys)
		to.log_blocks++;
	if (s->counters && to.log_blocks == s->log_blocks) {
		s->keys = to.keys;
		return 0;
	}
	to.counters = calloc((size_t)1 << to.log_blocks, BLOCK_BYTES);
	if (!to.counters)
		return SCD_ENOMEM;
	for (size_t i = 0; s->counters && i < eviction_sketch_nblocks(&to); i++)
		memcpy(to.counters + i * BLOCK_BYTES,
		       s->counters + (i >> (to.log_blocks - s->log_blocks)) *
					     BLOCK_BYTES,
		       BLOCK_BYTES);
	to.additions = s->additions;
	free(s->counters);
	*s = to;
	return 0;
}

void sketch_free(struct sketch *s)
{
	free(s->counters);
	*s = (struct sketch){ 0 };
}

size_t sketch_memory(const struct sketch *s)
{
	return eviction_sketch_nblocks(s) * BLOCK_BYTES;
}

static uint8_t *eviction_sketch_block_of(const struct sketch *s, uint64_t mixed)
{
	/* two shifts: one of 64 is not defined */
	uint64_t number = mixed >> 1 >> (63 - s->log_blocks);

	return s->counters + number * BLOCK_BYTES;
}

/* The key's counter in a row: five bits of the mixed hash each. */
static unsigned eviction_sketch_place_of(uint64_t mixed, unsigned row)
{
	return row * ROW_COUNTERS + (mixed >> 5 * row) % ROW_COUNTERS;
}

static unsigned eviction_sketch_counter(const uint8_t *block, unsigned place)
{
	return block[place / 2] >> place % 2 * 4 & 15;
}

static unsigned eviction_sketch_smallest(const uint8_t *block, uint64_t mixed)
{
	unsigned least = SKETCH_MAX;

	for (unsigned row = 0; row < ROWS; row++) {
		unsigned n = eviction_sketch_counter(
			block, eviction_sketch_place_of(mixed, row));

		least = n < least ? n : least;
	}
	return least;
}

static void eviction_sketch_halve(struct sketch *s)
{
	for (size_t i = 0; i < eviction_sketch_nblocks(s) * BLOCK_BYTES; i++)
		s->counters[i] = s->counters[i] >> 1 & 0x77;
	s->additions /= 2;
}

void sketch_add(struct sketch *s, uint64_t hash)
{
	uint64_t mixed = eviction_sketch_mix(hash);
	uint8_t *block = eviction_sketch_block_of(s, mixed);
	unsigned least = eviction_sketch_smallest(block, mixed);

	for (unsigned row = 0; least < SKETCH_MAX && row < ROWS; row++) {
		unsigned place = eviction_sketch_place_of(mixed, row);

		if (eviction_sketch_counter(block, place) == least)
			block[place / 2] = (uint8_t)(block[place / 2] +
						     (1 << place % 2 * 4));
	}
	if (++s->additions >= s->keys * ADDITIONS_A_KEY)
		eviction_sketch_halve(s);
}

unsigned sketch_estimate(const struct sketch *s, uint64_t hash)
{
	uint64_t mixed = eviction_sketch_mix(hash);

	return eviction_sketch_smallest(eviction_sketch_block_of(s, mixed),
					mixed);
}
