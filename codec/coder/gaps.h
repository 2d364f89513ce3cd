/*
 * The coding of gaps by one coder: for sparse arrays whose payload is small,
 * some tens of KiB at most. Its cost is that of the ones, some 10 ns each,
 * not of the array; 2 to 4 bytes over what its model takes.
 * docs/FORMAT.md, "Coding 4".
 */
#ifndef SCD_GAPS_H
#define SCD_GAPS_H

#include "codec/coder/coder.h"

/* Coding SCD_CODING_GAPS. */
extern const struct scd__coding scd__coding_gaps;

#endif
