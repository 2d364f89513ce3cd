/*
 * Which of a bucket's entries have an id of a set, for all of them at once: so
 * an entry that is looked for by its rank in a cohort costs no look at the
 * entries of others. Engines for different processors; all say the same.
 */
#ifndef SCD_LIST_PICK_H
#define SCD_LIST_PICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/filter/cohorts.h"

enum {
	SCD__PICK_MOST = 64, /* ids at a time */
	SCD__PICK_ROWS = SCD__COHORT_IDS / 8,
};

/* Id i is bit i / 16 % 8 of row i / 128 * 16 + i % 16: so a vector that has the
 * last four bits of ids chooses rows by them. */
struct scd__pick_set {
	uint8_t rows[SCD__PICK_ROWS];
};

static inline void scd__pick_set_add(struct scd__pick_set *set, unsigned id)
{
	set->rows[id / 128 * 16 + id % 16] |= (uint8_t)(1u << id / 16 % 8);
}

static inline bool scd__pick_set_has(const struct scd__pick_set *set,
				     unsigned id)
{
	return set->rows[id / 128 * 16 + id % 16] >> id / 16 % 8 & 1;
}

struct scd__pick_engine {
	const char *name;

	/* May this processor run it? */
	bool (*available)(void);

	/* A bit for each of n (<= SCD__PICK_MOST) ids that is in the set. */
	uint64_t (*pick)(const struct scd__pick_set *set, const uint8_t *ids,
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
