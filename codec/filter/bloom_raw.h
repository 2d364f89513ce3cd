/*
 * A filter to be filled by a decoder.
 */
#ifndef SCD_BLOOM_RAW_H
#define SCD_BLOOM_RAW_H

#include "codec/bloom.h"

/* scd_bloom_init(), but its bits are undefined. */
int scd__bloom_raw(struct scd_bloom *b, uint64_t nbits, unsigned nhash);

#endif
