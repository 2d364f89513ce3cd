/*
 * The static binary range coder: every bit is coded with the same
 * probability, which both sides derive from the number of ones by integer
 * arithmetic. Within 0.01 % and a byte or two of the entropy, for any share
 * of ones. It is the coder for small payloads, and the slow reference for
 * faster ones. docs/FORMAT.md defines it to the bit.
 */
#ifndef SCD_RANGE_CODER_H
#define SCD_RANGE_CODER_H

#include "codec/coder/coder.h"

/* Coding SCD_CODING_RANGE. */
extern const struct scd__coding scd__coding_range;

/*
 * The probability of the rarer bit value, as a fraction of 2^32: 1..2^31.
 * Rounded down, but never 0.
 */
uint32_t scd__range_probability(const struct scd__shape *shape);

#endif
