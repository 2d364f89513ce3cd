/*
 * The sparse coding: for arrays of which at most a bit in 32 is set and whose
 * payload is some tens of KiB and more, such as a delta of a large filter.
 * Chunks of the array are coded each by itself. docs/FORMAT.md, "Coding 5".
 */
#ifndef SCD_SPARSE_H
#define SCD_SPARSE_H

#include "codec/coder/coder.h"
#include "codec/coder/sparse_engine.h"

/* Coding SCD_CODING_SPARSE, with the engine of this processor. */
extern const struct scd__coding scd__coding_sparse;

/* Decode with a given one, whatever work->limit is; work may be null. */
int scd__sparse_decode(const struct scd__sparse_engine *engine,
		       const struct scd__shape *shape, struct scd__reader *in,
		       uint8_t *bits, const struct scd__coder_work *work);

#endif
