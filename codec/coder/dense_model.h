/*
 * The model of the dense coding: which symbols the bytes of a chunk are, and
 * how often each comes.
 *
 * In an array whose bits are set independently, all bytes with the same
 * number of ones are equally frequent. So bytes are sorted into classes by
 * their number of ones, one frequency serves a whole class, and a handful of
 * frequencies says everything. The last class is the escape: one symbol that
 * stands for every byte with more ones, which is then found in a list; only
 * with all 8 classes is there none, and the last one has the bytes of 7 and
 * of 8 ones.
 *
 * A byte's rank is its place when bytes are sorted by their number of ones,
 * then by value. The symbols of a class follow each other by rank.
 *
 * Everything is integer arithmetic: the same array gives the same model on
 * every machine. docs/FORMAT.md, "Coding 3".
 */
#ifndef SCD_DENSE_MODEL_H
#define SCD_DENSE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SCD__DENSE_SCALE_LOG = 14,
	SCD__DENSE_SCALE = 1 << SCD__DENSE_SCALE_LOG, /* sum of frequencies */
	SCD__DENSE_MIN_CLASSES = 2,
	SCD__DENSE_MAX_CLASSES = 8,
	SCD__DENSE_COUNTS = 9, /* a byte has 0..8 ones */
	SCD__DENSE_ESCAPE_RANK = 255,
	SCD__DENSE_COST_LOG = 24, /* costs are in 2^-24 of a bit */
};

/*
 * Frequencies are shares of SCD__DENSE_SCALE. Rows past nclasses are those of
 * a class without symbols that begins at SCD__DENSE_SCALE, so that code may
 * look at 8 of them whatever nclasses is. freq is what makes a model; the
 * rest follows from it.
 */
struct scd__dense_model {
	unsigned nclasses;
	bool escapes;      /* is the last class the escape? */
	uint16_t freq[8];  /* of each symbol of the class */
	uint16_t nsyms[8]; /* symbols in the class */
	uint16_t start[8]; /* first slot */
	uint16_t first[8]; /* rank of the first symbol */
	/* x / freq = (-x * inverse + 2^14 >> 15) >> shift for x < 2^14 */
	int16_t inverse[8];
	uint16_t shift[8];
	/*
	 * Where slots of symbol 0 would be, modulo 2^16, if the ranks before
	 * the class had its frequency too. If such slots number 2^14 at most
	 * for every class, the model is direct: (slot - base) / freq is the
	 * rank then. So are the models of nearly all arrays that are less than
	 * half full.
	 */
	uint16_t base[8];
	bool direct;
	/* of the escape list */
	unsigned escape_first; /* rank of the first byte in it */
	unsigned escape_bits;  /* for a rank, from there on */
};

/*
 * The byte of a rank, and the rank of a byte. Hidden, because a loop that has
 * to find them through the shared library's table of addresses lacks a
 * register: that costs the AVX2 engine 11 %.
 */
extern const uint8_t scd__dense_byte[256]
	__attribute__((visibility("hidden")));
extern const uint8_t scd__dense_rank[256]
	__attribute__((visibility("hidden")));

/*
 * The best model for a chunk, of which hist[c] bytes have c ones (together 1
 * to 2^32 - 1). *cost is what it takes, in 2^-24 of a bit.
 */
void scd__dense_fit(const uint64_t hist[SCD__DENSE_COUNTS],
		    struct scd__dense_model *model, uint64_t *cost);

/*
 * Fill in what follows from nclasses and freq[1..]; freq[0] is what the
 * others leave of the scale. SCD_EFORMAT: no such model.
 */
int scd__dense_finish(struct scd__dense_model *model);

/* What an encoder looks up: by class, the divisor of scd__ans_divisor(); by
 * byte, the first slot of its symbol, which may be the escape. */
struct scd__dense_symbols {
	uint32_t freq[8], inverse[8], shift[8];
	uint32_t start[256];
};

/* Fills them in for a finished model; what is of no class is 0. */
void scd__dense_symbols_make(const struct scd__dense_model *model,
			     struct scd__dense_symbols *symbols);

#endif
