/*
 * The coder that others are measured against: a static arithmetic coder of
 * bytes, as a plain one is written. It has a range of 32 bits and one state,
 * takes a symbol at a time, finds it in a table of all slots, and pays a
 * division for each. Its frequencies are those that bytes have by their number
 * of ones, in 16 bits, so that they take 16 bytes on the wire.
 *
 * Source: Martin, "Range encoding: an algorithm for removing redundancy from a
 * digitised message", 1979; carries go back into what is written already.
 */
#ifndef DIGESTD_BENCH_BENCH_BYTEWISE_H
#define DIGESTD_BENCH_BENCH_BYTEWISE_H

#include <stddef.h>
#include <stdint.h>

#include "codec/cursor.h"

/*
 * Appends the code of len bytes (1..2^40). SCD_ESPACE: it does not fit, or
 * these are no bytes to be coded: hardly one of them is zero.
 */
int bench_bytewise_encode(const uint8_t *bytes, size_t len,
			  struct scd__writer *out);

/* Decodes into len bytes. SCD_EFORMAT: no such code. */
int bench_bytewise_decode(struct scd__reader *in, uint8_t *bytes, size_t len);

#endif
