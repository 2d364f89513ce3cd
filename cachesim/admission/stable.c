/*
 * A stable Bloom filter: cells of 2 bits; each new key takes 1 from some cells
 * at a random place, and sets its own to 3. The share of empty cells becomes
 * constant, and so does the rate of falsely seen keys; but keys are forgotten
 * at random. It is made so that a key of a window ago is remembered with
 * probability one half.
 *
 * 5.4 bytes a key of the window at a rate of 1 %, and as many cells changed a
 * key as the rate demands: 30.
 *
 * Source: Deng, Rafiei, "Approximately Detecting Duplicates for Streaming Data
 * using Stable Bloom Filters", 2006; its cells in one row, P of them from a
 * random one on.
 */
#include <math.h>
#include <stdlib.h>

#include "cachesim/admission/policies.h"
#include "codec/error.h"

enum {
	NHASH = 4,
	CELL_MAX = 3,
	CELL_BITS = 2,
	WORD_CELLS = 64 / CELL_BITS,
};

/* Decrements that a cell has had, on average, when all four of a key are above
 * zero with probability 1/2: exp(-x)(1 + x + x^2/2) = .5^(1/4). */
static const double half_life = 1.37;

struct stable {
	struct admission base;
	uint64_t *words;
	uint64_t ncells, random;
	double fewer, owed; /* cells to decrement a key; and not yet done */
};

static const struct stable *stable_const_stable(const struct admission *a)
{
	return (const struct stable *)a;
}

static uint64_t stable_words_of(const struct stable *s)
{
	return (s->ncells + WORD_CELLS - 1) / WORD_CELLS;
}

static int stable_init(struct admission *a)
{
	struct stable *s = (struct stable *)a;
	double zero = 1 - pow(a->config.false_seen, 1. / NHASH);

	s->fewer = NHASH / (pow(1 / zero, 1. / CELL_MAX) - 1);
	s->ncells = (uint64_t)(s->fewer * (double)a->config.window /
			       half_life) + NHASH;
	s->random = a->config.seed;
	s->words = calloc(stable_words_of(s), sizeof(*s->words));
	return s->words ? 0 : SCD_ENOMEM;
}

static void stable_release(struct admission *a)
{
	free(((struct stable *)a)->words);
}

static size_t stable_memory(const struct admission *a)
{
	return stable_words_of(stable_const_stable(a)) * sizeof(uint64_t);
}

static uint64_t stable_tracked(const struct admission *a)
{
	return a->config.window;
}

static unsigned stable_get(const struct stable *s, uint64_t cell)
{
	return s->words[cell / WORD_CELLS] >> cell % WORD_CELLS * CELL_BITS &
	       CELL_MAX;
}

static void stable_add(struct stable *s, uint64_t cell, uint64_t value)
{
	s->words[cell / WORD_CELLS] += value << cell % WORD_CELLS * CELL_BITS;
}

static void stable_decrement_some(struct stable *s)
{
	uint64_t cell = scd__splitmix64(&s->random) % s->ncells;

	for (s->owed += s->fewer; s->owed >= 1; s->owed--) {
		if (stable_get(s, cell) > 0)
			s->words[cell / WORD_CELLS] -=
				UINT64_C(1) << cell % WORD_CELLS * CELL_BITS;
		cell = cell + 1 < s->ncells ? cell + 1 : 0;
	}
}

static void stable_cells_of(const struct stable *s, uint64_t hash,
			    uint64_t cells[NHASH])
{
	const struct scd_key key = scd__key_of_hash(hash);

	scd_positions(&key, s->ncells, NHASH, cells);
}

static bool stable_seen(const struct admission *a, uint64_t hash)
{
	const struct stable *s = stable_const_stable(a);
	uint64_t cells[NHASH];

	stable_cells_of(s, hash, cells);
	for (unsigned i = 0; i < NHASH; i++)
		if (stable_get(s, cells[i]) == 0)
			return false;
	return true;
}

static void stable_note(struct admission *a, uint64_t hash)
{
	struct stable *s = (struct stable *)a;
	uint64_t cells[NHASH];

	stable_decrement_some(s);
	stable_cells_of(s, hash, cells);
	for (unsigned i = 0; i < NHASH; i++)
		stable_add(s, cells[i], CELL_MAX - stable_get(s, cells[i]));
}

const struct admission_policy admission_stable = {
	.name = "stable",
	.about = "second use, forgotten at random: stable Bloom filter",
	.options = "window false-seen seed",
	.size = sizeof(struct stable),
	.init = stable_init,
	.release = stable_release,
	.memory = stable_memory,
	.tracked = stable_tracked,
	.decide = admission_second_use,
	.note = stable_note,
	.seen = stable_seen,
};
