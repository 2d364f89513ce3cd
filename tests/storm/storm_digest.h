/*
 * Digests of a peer that lies: a filter that changes from generation to
 * generation, and what is made of it.
 */
#ifndef TEST_STORM_DIGEST_H
#define TEST_STORM_DIGEST_H

#include "codec/bloom.h"
#include "tests/storm/storm_script.h"

struct storm_digest {
	struct scd_bloom now, before; /* bits null before the first one */
	uint64_t instance, generation;
	uint64_t nkeys;
};

/* Another filter of another instance. */
void storm_digest_restart(struct storm_digest *d, uint64_t *random);

/* The next generation: some more keys. */
void storm_digest_advance(struct storm_digest *d, uint64_t *random);
void storm_digest_free(struct storm_digest *d);

/*
 * The script of an answer: to a request that names the generation `known`
 * (0: none). lie: it may be anything, else it is right.
 */
void storm_digest_answer(struct storm_script *s, struct storm_digest *d,
			 uint64_t known, bool lie, uint64_t *random);

#endif
