/*
 * What changes between two arrays, seen by one who has the first: a bit for
 * each of its ones (1: cleared), and a bit for each of its zeros (1: set).
 */
#ifndef SCD_CONDITIONAL_CODER_H
#define SCD_CONDITIONAL_CODER_H

#include <stddef.h>
#include <stdint.h>

#include "codec/coder/coder.h"

/* The two arrays; zeros behind them for as long as a word is. */
struct scd__changes {
	struct scd__shape cleared, set;
	uint8_t *cleared_bits, *set_bits;
};

/*
 * Make room for arrays of these shapes, all zero. SCD_ENOMEM: nothing is
 * allocated. To be released with scd__changes_free().
 */
int scd__changes_new(struct scd__changes *c);
void scd__changes_free(struct scd__changes *c);

/* A way to do it; which one is decided by the processor. */
struct scd__change_engine {
	const char *name;
	bool (*available)(void);

	/* Fill in the arrays from base and next, of nbits bits each. */
	void (*split)(const uint8_t *base, const uint8_t *next, uint64_t nbits,
		      struct scd__changes *c);

	/* Make next from base. They may be the same. */
	void (*join)(const uint8_t *base, uint8_t *next, uint64_t nbits,
		     const struct scd__changes *c);
};

/* All that were built, the fastest first; the last one is portable. */
extern const struct scd__change_engine *const scd__change_engines[];
extern const size_t scd__change_nengines;

/* The fastest that this processor can run within a limit (engine.h). */
const struct scd__change_engine *scd__change_engine(const char *limit);

#endif
