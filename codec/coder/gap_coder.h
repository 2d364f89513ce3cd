/*
 * One coder for gaps: its state takes the symbols and the low bits of the gaps
 * alike. It begins with 0, where coders that share words with others begin
 * with 2^16: here a decoder knows whether there are words left, and so a state
 * may be as small as it comes.
 *
 * An encoder goes through the gaps from the last to the first, because a
 * decoder reads in the opposite order, and writes words from the end of its
 * room downwards. Gaps of several models may follow each other: both sides
 * change the model at the same gap.
 *
 * Costs some 10 ns a gap, either way. docs/FORMAT.md, "Coding 4".
 */
#ifndef SCD_GAP_CODER_H
#define SCD_GAP_CODER_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/coder/ans.h"
#include "codec/coder/sparse_model.h"
#include "codec/error.h"

struct scd__gap_encoder {
	const struct scd__gap_model *model;
	struct scd__ans_symbol symbols[SCD__GAP_MAX_SYMS + 1];
	uint32_t state;
	uint8_t *at;    /* the word written last */
	uint8_t *floor; /* below which no word may be */
	int error;      /* 0 or SCD_ESPACE */
};

/* Code the gaps that follow with a model, which is borrowed. */
static inline void scd__gap_encoder_use(struct scd__gap_encoder *e,
					const struct scd__gap_model *model)
{
	e->model = model;
	scd__gap_symbols(model, e->symbols);
}

static inline void scd__gap_put_word(struct scd__gap_encoder *e)
{
	if (e->at - e->floor < 2) {
		e->error = SCD_ESPACE;
		return;
	}
	e->at -= 2;
	scd__ans_put_word(e->at, e->state);
	e->state >>= 16;
}

static inline void scd__gap_put_symbol(struct scd__gap_encoder *e, unsigned sym)
{
	const struct scd__ans_symbol *s = &e->symbols[sym];

	if (scd__ans_is_full(e->state, s->freq, SCD__GAP_SCALE_LOG))
		scd__gap_put_word(e);
	e->state = scd__ans_push(e->state, s, SCD__GAP_SCALE_LOG);
}

/* A symbol with freq (1..SCD__GAP_SCALE) slots from start on, of no model. */
static inline void scd__gap_put_slots(struct scd__gap_encoder *e,
				      uint32_t freq, uint32_t start)
{
	const struct scd__ans_symbol s = scd__ans_symbol(freq, start);

	if (scd__ans_is_full(e->state, freq, SCD__GAP_SCALE_LOG))
		scd__gap_put_word(e);
	e->state = scd__ans_push(e->state, &s, SCD__GAP_SCALE_LOG);
}

/* n (at most 16) bits as they are. */
static inline void scd__gap_put_bits(struct scd__gap_encoder *e, uint32_t bits,
				     unsigned n)
{
	if (e->state >> (32 - n))
		scd__gap_put_word(e);
	e->state = e->state << n | bits;
}

/* A gap before those that have been put. */
static inline void scd__gap_put(struct scd__gap_encoder *e, uint64_t gap)
{
	const uint64_t escape = scd__gap_escape(e->model);
	uint64_t escapes = 0, rest = gap;

	if (gap >= escape) { /* seldom: so seldom a division */
		escapes = gap / escape;
		rest = gap % escape;
	}
	/* The low bits are read 16 at a time from the lowest on. */
	for (unsigned left = e->model->low_bits; left > 0;) {
		unsigned n = left % 16 ? left % 16 : 16;

		left -= n;
		scd__gap_put_bits(e, (uint32_t)(rest >> left) & ((1u << n) - 1),
				  n);
	}
	scd__gap_put_symbol(e, (unsigned)(rest >> e->model->low_bits));
	while (escapes-- > 0 && !e->error)
		scd__gap_put_symbol(e, e->model->nsyms);
}

struct scd__gap_decoder {
	const struct scd__gap_model *model;
	bool has_table;
	uint32_t state;
	const uint8_t *at; /* the next word */
	const uint8_t *end;
	uint32_t table[SCD__GAP_SCALE];
};

/* The gaps that follow have a model, which is borrowed. */
static inline void scd__gap_decoder_use(struct scd__gap_decoder *d,
					const struct scd__gap_model *model)
{
	d->model = model;
	d->has_table = true;
	scd__gap_table(model, d->table);
}

/* The same for so few gaps that a table takes more time than it saves, and a
 * model of scd__gap_model_exact(). */
static inline void
scd__gap_decoder_use_for_few(struct scd__gap_decoder *d,
			     const struct scd__gap_model *model)
{
	d->model = model;
	d->has_table = false;
}

static inline void scd__gap_refill(struct scd__gap_decoder *d)
{
	if (d->state >= SCD__ANS_MIN || d->at == d->end)
		return;
	d->state = d->state << 16 | scd__ans_word(d->at);
	d->at += 2;
}

static inline unsigned scd__gap_get_symbol(struct scd__gap_decoder *d)
{
	const uint32_t slot = d->state & (SCD__GAP_SCALE - 1);
	const uint32_t entry = d->has_table ? d->table[slot]
					    : scd__gap_find(d->model, slot);

	d->state = (entry >> 12 & 0xfff) * (d->state >> SCD__GAP_SCALE_LOG) +
		   (entry & 0xfff);
	scd__gap_refill(d);
	return entry >> 24;
}

/* The slot of the next symbol, of no model; then take it. */
static inline uint32_t scd__gap_slot(const struct scd__gap_decoder *d)
{
	return d->state & (SCD__GAP_SCALE - 1);
}

static inline void scd__gap_take_slots(struct scd__gap_decoder *d,
				       uint32_t freq, uint32_t start)
{
	d->state = freq * (d->state >> SCD__GAP_SCALE_LOG) +
		   scd__gap_slot(d) - start;
	scd__gap_refill(d);
}

/* n (at most 16) bits as they are. */
static inline uint32_t scd__gap_get_bits(struct scd__gap_decoder *d, unsigned n)
{
	uint32_t bits = d->state & ((UINT32_C(1) << n) - 1);

	d->state >>= n;
	scd__gap_refill(d);
	return bits;
}

/* A gap; more than limit if that is how many zeros there are at least. */
static inline uint64_t scd__gap_get(struct scd__gap_decoder *d, uint64_t limit)
{
	const struct scd__gap_model *model = d->model;
	uint64_t gap = 0;
	unsigned sym = scd__gap_get_symbol(d);

	while (sym == model->nsyms) {
		gap += scd__gap_escape(model);
		if (gap > limit)
			return gap;
		sym = scd__gap_get_symbol(d);
	}
	gap += (uint64_t)sym << model->low_bits;
	for (unsigned done = 0; done < model->low_bits;) {
		unsigned left = model->low_bits - done;
		unsigned n = left < 16 ? left : 16;

		gap += (uint64_t)scd__gap_get_bits(d, n) << done;
		done += n;
	}
	return gap;
}

/* Has the decoder ended where the encoder began, with no word left over? */
static inline bool scd__gap_decoder_is_done(const struct scd__gap_decoder *d)
{
	return d->at == d->end && d->state == 0;
}

#endif
