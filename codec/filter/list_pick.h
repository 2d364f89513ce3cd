/*
 * Which of a bucket's words have an id of a set, for all of them at once: so an
 * entry that is looked for by its rank in a cohort costs no look at the entries
 * of others. Engines for different processors; all say the same.
 */
#ifndef SCD_LIST_PICK_H
#define SCD_LIST_PICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/filter/cohorts.h"

enum {
	SCD__PICK_MOST = 64, /* words at a time */
	SCD__PICK_SET_WORDS = SCD__COHORT_IDS / 32,
};

/* Id i is bit i % 32 of word i / 32. */
struct scd__pick_set {
	uint32_t words[SCD__PICK_SET_WORDS];
};

static inline void scd__pick_set_add(struct scd__pick_set *set, unsigned id)
{
	set->words[id / 32] |= UINT32_C(1) << id % 32;
}

struct scd__pick_engine {
	const char *name;

	/* May this processor run it? */
	bool (*available)(void);

	/* A bit for each of n (<= SCD__PICK_MOST) words whose lowest
	 * SCD__COHORT_ID_BITS bits are in the set. */
	uint64_t (*pick)(const struct scd__pick_set *set, const uint32_t *words,
			 unsigned n);
};

/* All that were built, the fastest first; the last one is the portable one. */
extern const struct scd__pick_engine *const scd__pick_engines[];
extern const size_t scd__pick_nengines;

/* The fastest that this processor can run within a limit (engine.h). */
const struct scd__pick_engine *scd__pick_engine(const char *limit);

extern const struct scd__pick_engine scd__pick_portable;
extern const struct scd__pick_engine scd__pick_avx2;

#endif
