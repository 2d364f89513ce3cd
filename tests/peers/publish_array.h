/*
 * Generations of an array for tests.
 */
#ifndef TESTS_PEERS_PUBLISH_ARRAY_H
#define TESTS_PEERS_PUBLISH_ARRAY_H

#include "digestd/peers/digest_api.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

/* Publishes the next generation: 1000 keys more in the array at first, then a
 * few. It is held, so that later ones have a delta from it. */
static inline struct publication *publish_array(struct generations *generations,
						struct scd_bloom *array,
						uint64_t generation)
{
	struct catalog_snapshot snapshot = { .generation = generation,
					     .nkeys = 1000 + generation };
	uint64_t random = generation;
	struct publication *p;

	for (int i = 0; i < (generation == 1 ? 1000 : 3); i++) {
		uint64_t lo = random_next(&random);
		struct scd_key key = { lo, random_next(&random) };

		scd_bloom_add(array, &key);
	}
	assert_int_equal(scd_bloom_copy(array, &snapshot.bloom), 0);
	assert_int_equal(generations_publish(generations, &snapshot, &p), 0);
	publication_held(p);
	return p;
}

#endif
