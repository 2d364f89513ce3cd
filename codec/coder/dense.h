/*
 * The dense coding: for arrays of which some thousandth to a half of the bits
 * are set, and large enough that a table of frequencies and the states of
 * many coders do not weigh. Within 0.1 % of the entropy, at the speed of the
 * processor's vector units.
 *
 * Chunks of the array are coded each by itself, so that they may be decoded
 * side by side, or only some of them. docs/FORMAT.md, "Coding 3".
 */
#ifndef SCD_DENSE_H
#define SCD_DENSE_H

#include "codec/coder/coder.h"
#include "codec/coder/dense_engine.h"

/* Coding SCD_CODING_DENSE, with the engine of this processor. */
extern const struct scd__coding scd__coding_dense;

/* The same with a given one, whatever work->limit is; work may be null. */
int scd__dense_encode(const struct scd__dense_engine *engine,
		      const struct scd__shape *shape, const uint8_t *bits,
		      struct scd__writer *out,
		      const struct scd__coder_work *work);
int scd__dense_decode(const struct scd__dense_engine *engine,
		      const struct scd__shape *shape, struct scd__reader *in,
		      uint8_t *bits, const struct scd__coder_work *work);

#endif
