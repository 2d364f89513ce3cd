/*
 * What slow_decode.c and slow_encode.c share: symbols and their slots, and the
 * two models.
 */
#ifndef TEST_CODEC_SLOW_MODEL_H
#define TEST_CODEC_SLOW_MODEL_H

#include "tests/codec/slow.h"

/* Frequencies, which sum up to 2^log. */
struct slow_symbols {
	unsigned log, count;
	uint32_t freq[257], start[257];
};

/* Sets start from freq. */
void slow_symbols_start(struct slow_symbols *s);

/* Coding 3: the bytes by their number of ones, then by value; and back. */
extern const uint8_t *slow_byte_of_rank(void);
unsigned slow_ones(uint8_t byte);

/* The ranks that the symbols of a class begin with; class 9: 256. */
unsigned slow_class_rank(unsigned c);

/*
 * The symbols of nclasses classes with these frequencies, freq[0] being what
 * is left: symbol s is the byte of rank s, or the last one the escape. False:
 * there is nothing left.
 */
bool slow_dense_symbols(unsigned nclasses, const uint16_t freq[8],
			struct slow_symbols *s);

/* The bits of an escape's byte. */
unsigned slow_escape_bits(unsigned nclasses);

/* Codings 4 and 5. */
struct slow_gaps {
	struct slow_symbols symbols;
	unsigned low_bits, escape;
};

void slow_gap_model(const struct scd__shape *shape, struct slow_gaps *m);

#endif
