/*
 * The codings of arrays with more ones than zeros: the complement, as one of
 * the codings of few ones has it.
 */
#ifndef SCD_MIRROR_H
#define SCD_MIRROR_H

#include "codec/coder/coder.h"

extern const struct scd__coding scd__coding_mirrored_dense;
extern const struct scd__coding scd__coding_mirrored_gaps;
extern const struct scd__coding scd__coding_mirrored_sparse;

#endif
