/*
 * The model of the codings for sparse arrays: the gaps between ones.
 *
 * Where bits are set independently with probability p, the number of zeros
 * before the next one is geometric. A gap is cut into 2^low_bits * symbol +
 * rest: the rest is nearly uniform and goes out as it is; the symbol has a
 * table of frequencies, which both sides derive from p by integer arithmetic,
 * so no table is sent. Gaps beyond the table begin with escapes, each of
 * which stands for nsyms << low_bits zeros and no one.
 *
 * Within 0.02 % of the entropy for any p below 1/16. docs/FORMAT.md, "The
 * model of gaps".
 */
#ifndef SCD_SPARSE_MODEL_H
#define SCD_SPARSE_MODEL_H

#include <stdint.h>

#include "codec/coder/ans.h"
#include "codec/coder/coder.h"

enum {
	SCD__GAP_SCALE_LOG = 12,
	SCD__GAP_SCALE = 1 << SCD__GAP_SCALE_LOG, /* sum of frequencies */
	SCD__GAP_MAX_SYMS = 96, /* the escape is one more */
};

struct scd__gap_model {
	unsigned low_bits; /* of a gap that are not in its symbol */
	unsigned nsyms;    /* symbols below the escape, which is nsyms */
	uint16_t freq[SCD__GAP_MAX_SYMS + 1];
	uint16_t start[SCD__GAP_MAX_SYMS + 1];
};

/* The model for arrays of a shape; 0 < nones <= nbits / 16. Cannot fail. */
void scd__gap_model(const struct scd__shape *shape,
		    struct scd__gap_model *model);

/*
 * The same for 0 < nones <= nbits / 2, with a probability of 16 digits and
 * more, however rare ones are: gaps of 2^40 are coded as well as those of 2^10.
 * The symbols' slots are the other way round, that of no gap last: so each gap
 * of 0 makes the state larger, though it be 0, and a run of them has a price.
 */
void scd__gap_model_exact(const struct scd__shape *shape,
			  struct scd__gap_model *model);

/* Is an array sparse enough for these codings: at most a bit in 32? */
bool scd__gap_suits(const struct scd__shape *shape);

/* The zeros that an escape stands for. */
static inline uint64_t scd__gap_escape(const struct scd__gap_model *model)
{
	return (uint64_t)model->nsyms << model->low_bits;
}

/* What an encoder looks up by symbol: nsyms + 1 of them. */
void scd__gap_symbols(const struct scd__gap_model *model,
		      struct scd__ans_symbol symbols[SCD__GAP_MAX_SYMS + 1]);

/*
 * What a decoder looks up by the low bits of a state: symbol << 24 |
 * frequency << 12 | place within the symbol's slots.
 */
void scd__gap_table(const struct scd__gap_model *model,
		    uint32_t table[SCD__GAP_SCALE]);

/* What that table has for a slot, of scd__gap_model_exact(). */
uint32_t scd__gap_find(const struct scd__gap_model *model, uint32_t slot);

#endif
