/*
 * Byte shuffles (vpshufb) by a mask of 8 words of 16 bits: what AVX2 lacks of
 * AVX-512's expanding and compressing instructions. 4 KiB for each direction,
 * made for each array: far less work than its decoding.
 */
#ifndef SCD_SHUFFLES_H
#define SCD_SHUFFLES_H

#include <stdbool.h>
#include <stdint.h>

struct scd__shuffles {
	uint8_t of[256][16]; /* by mask */
};

/* The next words go to the places of the mask, the others become zero. */
static inline void scd__shuffles_expand(struct scd__shuffles *s)
{
	for (unsigned mask = 0; mask < 256; mask++) {
		uint8_t *to = s->of[mask], from = 0;

		for (unsigned i = 0; i < 8; i++) {
			const bool used = mask >> i & 1;

			to[2 * i] = used ? from++ : 0x80;
			to[2 * i + 1] = used ? from++ : 0x80;
		}
	}
}

#endif
