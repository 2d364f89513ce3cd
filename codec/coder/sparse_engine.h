/*
 * Engines of the sparse coding: the loop that decodes a chunk, for different
 * processors, one file each. All of them give the same bytes; which one runs
 * is decided when it runs.
 *
 * The symbols of a chunk's gaps are coded by several coders side by side,
 * symbol i by coder i % nlanes. The low bits of the gaps stand apart, as they
 * are, one after the other; an escape has none.
 */
#ifndef SCD_SPARSE_ENGINE_H
#define SCD_SPARSE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/error.h"
#include "codec/coder/sparse_model.h"

enum {
	SCD__SPARSE_MIN_LANES_LOG = 4,
	SCD__SPARSE_MAX_LANES_LOG = 6,
	SCD__SPARSE_MAX_LANES = 1 << SCD__SPARSE_MAX_LANES_LOG,
	SCD__SPARSE_GROUP = 16, /* symbols that are decoded together */
	/* So that 64 escapes and a chunk are below 2^32 together. */
	SCD__SPARSE_MAX_LOW_BITS = 18,
};

/* A chunk of which symbols [0, done) are coded, or decoded. */
struct scd__sparse_decoding {
	const struct scd__gap_model *model;
	uint32_t table[SCD__GAP_SCALE]; /* scd__gap_table() */
	uint32_t state[SCD__SPARSE_MAX_LANES];
	unsigned nlanes;
	uint32_t nsyms;
	uint32_t done;
	const uint8_t *low; /* low bits; 64 bytes and more follow them */
	size_t low_bytes;
	uint64_t low_bit; /* of the next symbol */
	const uint8_t *at, *end; /* words */
	uint64_t place; /* the first that may have the next one */
	uint64_t nbits; /* places in the chunk, at most 2^31 */
	uint8_t *bits;  /* zeros; ones are added */
};

struct scd__sparse_engine {
	const char *name;

	/* May this processor run it? */
	bool (*available)(void);

	/*
	 * Decode whole rounds (nlanes symbols) as far as it can; the portable
	 * code does the rest. SCD_EFORMAT: a one beyond the chunk.
	 */
	int (*decode)(struct scd__sparse_decoding *d);
};

/* All that were built, the fastest first; the last one is the portable one. */
extern const struct scd__sparse_engine *const scd__sparse_engines[];
extern const size_t scd__sparse_nengines;

/* The fastest that this processor can run within a limit (engine.h). */
const struct scd__sparse_engine *scd__sparse_engine(const char *limit);

extern const struct scd__sparse_engine scd__sparse_portable;
extern const struct scd__sparse_engine scd__sparse_avx2;
extern const struct scd__sparse_engine scd__sparse_avx512;

/* Decode all that is left. SCD_EFORMAT: too few words, bits or places. */
int scd__sparse_decode_rest(struct scd__sparse_decoding *d);

#endif
