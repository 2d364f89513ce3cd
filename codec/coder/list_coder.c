/*
 * Runs of ascending numbers as gaps. A multiset of n numbers below u is a set
 * of n places among u + n - 1: the i-th number, plus i. So the model of gaps
 * holds for both, and equal numbers are a gap of 0.
 */
#include "codec/coder/list_coder.h"

#include <string.h>

enum {
	STATE_BYTES = 4,
	SYMBOL_BITS = 13, /* that a symbol takes at most, with what is lost */
	FEW_GAPS = 64,    /* looked up without a table, which takes 2 us */
};

struct scd__shape scd__list_entries_shape(uint64_t all, uint64_t nones)
{
	return (struct scd__shape){all + nones - 1, nones};
}

struct scd__shape scd__list_ranks_shape(uint64_t all, uint64_t nones)
{
	const uint64_t others = all - nones;

	return (struct scd__shape){all, nones <= others ? nones : others};
}

uint64_t scd__list_run_room(const struct scd__shape *shape)
{
	struct scd__gap_model model;
	uint64_t symbols;

	if (!shape->nones)
		return STATE_BYTES;
	scd__gap_model_exact(shape, &model);
	symbols = shape->nones + shape->nbits / scd__gap_escape(&model) + 1;
	return (symbols * SYMBOL_BITS + shape->nones * model.low_bits) / 8 +
	       2 * STATE_BYTES;
}

void scd__list_coder_begin(struct scd__gap_encoder *e,
			   const struct scd__writer *out)
{
	e->state = 0;
	e->error = out->error;
	e->at = out->end;
	e->floor = out->at;
	if (scd__writer_left(out) < STATE_BYTES)
		e->error = SCD_ESPACE;
	else
		e->floor += STATE_BYTES;
}

int scd__list_coder_finish(const struct scd__gap_encoder *e,
			   struct scd__writer *out)
{
	const size_t len = (size_t)(out->end - e->at);

	if (e->error)
		return e->error;
	for (uint32_t rest = e->state; rest; rest >>= 8)
		scd__write_u8(out, (uint8_t)rest);
	memmove(out->at, e->at, len);
	out->at += len;
	return SCD_OK;
}

void scd__list_put_entries(struct scd__gap_encoder *e, const uint64_t *entries,
			   uint64_t n, uint64_t all)
{
	const struct scd__shape shape = scd__list_entries_shape(all, n);
	struct scd__gap_model model;

	if (!n)
		return;
	scd__gap_model_exact(&shape, &model);
	scd__gap_encoder_use(e, &model);
	for (uint64_t i = n - 1; i > 0 && !e->error; i--)
		scd__gap_put(e, entries[i] - entries[i - 1]);
	scd__gap_put(e, entries[0]);
}

/* Put the ranks that are not among those, from the last to the first. */
static void list_coder_put_others(struct scd__gap_encoder *e,
				  const uint64_t *ranks, uint64_t n,
				  uint64_t all)
{
	uint64_t before = all; /* the one found before; all: none */

	for (uint64_t rank = all; rank-- > 0 && !e->error;) {
		if (n > 0 && ranks[n - 1] == rank) {
			n--;
			continue;
		}
		if (before < all)
			scd__gap_put(e, before - rank - 1);
		before = rank;
	}
	scd__gap_put(e, before);
}

void scd__list_put_ranks(struct scd__gap_encoder *e, const uint64_t *ranks,
			 uint64_t n, uint64_t all)
{
	const struct scd__shape shape = scd__list_ranks_shape(all, n);
	struct scd__gap_model model;

	if (!shape.nones)
		return;
	scd__gap_model_exact(&shape, &model);
	scd__gap_encoder_use(e, &model);
	if (shape.nones < n) {
		list_coder_put_others(e, ranks, n, all);
		return;
	}
	for (uint64_t i = n - 1; i > 0 && !e->error; i--)
		scd__gap_put(e, ranks[i] - ranks[i - 1] - 1);
	scd__gap_put(e, ranks[0]);
}

int scd__list_decoder_begin(struct scd__gap_decoder *d, struct scd__reader *in)
{
	const size_t len = scd__reader_left(in);
	size_t n = STATE_BYTES - len % 2; /* before words, a large state */
	const uint8_t *bytes;

	if (len <= STATE_BYTES)
		n = len;
	bytes = scd__read_bytes(in, n);
	d->state = 0;
	for (size_t i = n; i-- > 0;)
		d->state = d->state << 8 | bytes[i];
	if (n > 0 && bytes[n - 1] == 0)
		return SCD_EFORMAT;
	d->at = in->at;
	d->end = in->end;
	in->at = in->end;
	return SCD_OK;
}

static void list_coder_use(struct scd__gap_decoder *d,
			   const struct scd__gap_model *model, uint64_t ngaps)
{
	if (ngaps > FEW_GAPS)
		scd__gap_decoder_use(d, model);
	else
		scd__gap_decoder_use_for_few(d, model);
}

void scd__list_expect_entries(struct scd__gap_decoder *d,
			      struct scd__gap_model *model, uint64_t nones,
			      uint64_t all)
{
	const struct scd__shape shape = scd__list_entries_shape(all, nones);

	if (!nones)
		return;
	scd__gap_model_exact(&shape, model);
	list_coder_use(d, model, nones);
}

int scd__list_get_entries(struct scd__gap_decoder *d, uint64_t *entries,
			  uint64_t n, uint64_t all, uint64_t *last)
{
	for (uint64_t i = 0; i < n; i++) {
		const uint64_t gap = scd__gap_get(d, all);

		if (gap >= all - *last)
			return SCD_EFORMAT;
		*last += gap;
		entries[i] = *last;
	}
	return SCD_OK;
}

/* The next rank of a run, from a place on, which `more` are to follow. */
static int list_coder_get_rank(struct scd__gap_decoder *d, uint64_t all,
			       uint64_t from, uint64_t more, uint64_t *rank)
{
	const uint64_t gap = scd__gap_get(d, all);

	*rank = from + gap;
	return more >= all - from || gap >= all - from - more ? SCD_EFORMAT
							      : SCD_OK;
}

int scd__list_get_ranks(struct scd__gap_decoder *d, uint64_t *ranks, uint64_t n,
			uint64_t all)
{
	const struct scd__shape shape = scd__list_ranks_shape(all, n);
	const bool are_others = shape.nones < n;
	struct scd__gap_model model;
	uint64_t from = 0, done = 0, rank;

	if (shape.nones) {
		scd__gap_model_exact(&shape, &model);
		list_coder_use(d, &model, shape.nones);
	}
	for (uint64_t i = 0; i < shape.nones; i++, from = rank + 1) {
		if (list_coder_get_rank(d, all, from, shape.nones - 1 - i,
					&rank))
			return SCD_EFORMAT;
		if (!are_others)
			ranks[done++] = rank;
		else
			for (uint64_t other = from; other < rank; other++)
				ranks[done++] = other;
	}
	while (are_others && from < all)
		ranks[done++] = from++;
	return SCD_OK;
}
