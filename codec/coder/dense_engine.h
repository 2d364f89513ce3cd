/*
 * Engines of the dense coding: the same loop for different processors, one
 * file each. All of them read and write the same bytes; which one runs is
 * decided when it runs.
 *
 * A chunk's bytes are coded by many coders (ans.h) side by side, byte i by
 * coder i % nlanes, so that a processor can do them at once.
 */
#ifndef SCD_DENSE_ENGINE_H
#define SCD_DENSE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/coder/checksum.h"
#include "codec/coder/dense_model.h"
#include "codec/error.h"

/* Whether there is an engine for this processor's NEON. */
#if defined(__aarch64__) && defined(__AARCH64EL__)
#define SCD__DENSE_NEON
#endif

enum {
	SCD__DENSE_MIN_LANES_LOG = 2,
	SCD__DENSE_MAX_LANES_LOG = 7,
	SCD__DENSE_MAX_LANES = 1 << SCD__DENSE_MAX_LANES_LOG,
};

/*
 * A chunk being coded. An encoder works from the chunk's end to its
 * beginning, a decoder the other way.
 */
struct scd__dense_encoding {
	const struct scd__dense_model *model;
	uint32_t *state; /* nlanes of them */
	unsigned nlanes;
	const uint8_t *bytes;
	size_t left; /* bytes at the beginning that are not coded yet */
	uint8_t *at; /* words go below it */
	uint8_t *floor; /* but never below this */
	uint8_t *list;  /* of escapes, all zero at first; one byte to spare */
	size_t nlisted; /* escapes that are not in the list yet */
};

struct scd__dense_decoding {
	const struct scd__dense_model *model;
	uint32_t *state;
	unsigned nlanes;
	uint8_t *bytes;
	size_t len;
	size_t done; /* bytes decoded */
	const uint8_t *at, *end; /* words */
	const uint8_t *list; /* two bytes and more follow it */
	size_t nlist;
	size_t nlisted; /* escapes that have been taken out of it */
	int error;
	/* null: none. If it ends where the chunk begins, an engine may add what
	 * it decodes, any whole stripes of it. */
	struct scd__checksum *sum;
};

struct scd__dense_engine {
	const char *name;

	/* May this processor run it? */
	bool (*available)(void);

	/* Add to hist[c] the number of bytes with c ones. */
	void (*count)(const uint8_t *bytes, size_t len,
		      uint64_t hist[SCD__DENSE_COUNTS]);

	/*
	 * Code whole rounds (nlanes bytes) as far as it can; the portable code
	 * does the rest. What an encoder has left is a multiple of nlanes.
	 */
	void (*encode)(struct scd__dense_encoding *e);
	void (*decode)(struct scd__dense_decoding *d);
};

/* All that were built, the fastest first; the last one is the portable one. */
extern const struct scd__dense_engine *const scd__dense_engines[];
extern const size_t scd__dense_nengines;

/* The fastest that this processor can run within a limit (engine.h). */
const struct scd__dense_engine *scd__dense_engine(const char *limit);

extern const struct scd__dense_engine scd__dense_portable;
extern const struct scd__dense_engine scd__dense_avx2;
extern const struct scd__dense_engine scd__dense_avx512;
extern const struct scd__dense_engine scd__dense_neon;

/*
 * Code byte by byte until only this many are left. SCD_ESPACE: words reached
 * the floor.
 */
int scd__dense_encode_rest(struct scd__dense_encoding *e, size_t until);

/*
 * Decode all that is left, byte by byte. SCD_EFORMAT: too few words or
 * escapes.
 */
int scd__dense_decode_rest(struct scd__dense_decoding *d);

/* Put an escaped byte into the list: the last one first. */
static inline void scd__dense_list_put(struct scd__dense_encoding *e,
				       uint8_t byte)
{
	const size_t bit = --e->nlisted * e->model->escape_bits;
	const unsigned value = (scd__dense_rank[byte] - e->model->escape_first)
			       << bit % 8;

	e->list[bit / 8] |= (uint8_t)value;
	e->list[bit / 8 + 1] |= (uint8_t)(value >> 8);
}

/* The next byte of the list; sets the error if there is none. */
static inline uint8_t scd__dense_list_get(struct scd__dense_decoding *d)
{
	const size_t bit = d->nlisted * d->model->escape_bits;
	const uint8_t *at = d->list + bit / 8;
	unsigned rank;

	if (d->nlisted == d->nlist) {
		d->error = SCD_EFORMAT;
		return 0;
	}
	d->nlisted++;
	rank = (at[0] | (unsigned)at[1] << 8) >> bit % 8;
	rank &= (1u << d->model->escape_bits) - 1;
	rank += d->model->escape_first;
	if (rank > 255)
		d->error = SCD_EFORMAT;
	return scd__dense_byte[rank & 255];
}

#endif
