/*
 * Byte shuffles (vpshufb, tbl) by a mask of 8 words of 16 bits: what AVX2 and
 * NEON lack of AVX-512's expanding and compressing instructions. 4 KiB for each
 * direction, made for each array: far less work than its decoding.
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

/* The words of the mask go to the end, in their order. */
static inline void scd__shuffles_compress(struct scd__shuffles *s)
{
	for (unsigned mask = 0; mask < 256; mask++) {
		uint8_t *to = s->of[mask] + 16;

		for (unsigned i = 8; i-- > 0;) {
			if (!(mask >> i & 1))
				continue;
			*--to = (uint8_t)(2 * i + 1);
			*--to = (uint8_t)(2 * i);
		}
		while (to > s->of[mask])
			*--to = 0x80;
	}
}

#endif
