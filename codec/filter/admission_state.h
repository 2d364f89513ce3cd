/*
 * What an admission filter consists of, for admission.c and for its images.
 *
 * Words are read and written by many threads, each by itself: relaxed loads
 * and stores, and a relaxed OR to set bits, so that none gets lost.
 */
#ifndef SCD_ADMISSION_STATE_H
#define SCD_ADMISSION_STATE_H

#include "codec/admission.h"

enum {
	ADMISSION_SLICES = 8,	   /* of a block, one word each */
	ADMISSION_NOTES_SHIFT = 2, /* 4 keys noted age one block */
};

struct scd_admission {
	void *memory; /* as allocated: a line for the clock, the blocks */
	/*
	 * Generations in the upper half, in the lower the keys noted in this
	 * one: in one word, so that who adds learns both at once; on a line of
	 * its own, as everyone writes it.
	 */
	uint64_t *clock;
	uint64_t *words; /* of the blocks, aligned to a line */
	uint64_t nblocks;
};

/* Keys noted in a generation. */
static inline uint32_t scd__admission_notes(const struct scd_admission *a)
{
	return (uint32_t)(a->nblocks << ADMISSION_NOTES_SHIFT);
}

static inline uint64_t scd__admission_get(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void scd__admission_put(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

#endif
