/*
 * The coding of gaps by one coder, whose state takes the symbols and the low
 * bits of the gaps alike. It begins with 0, where coders that share words with
 * others begin with 2^16: here a decoder knows whether there are words left,
 * and so a state may be as small as it comes; that saves two bytes.
 *
 * The encoder goes through the ones from the last to the first, because a
 * decoder reads in the opposite order, and writes words from the end of its
 * room downwards.
 */
#include "codec/coder/gaps.h"

#include <string.h>

#include "codec/coder/ans.h"
#include "codec/coder/bits.h"
#include "codec/error.h"
#include "codec/coder/sparse_model.h"

enum { MIN_BYTES = 8192 }; /* of an array: below, range is shorter */

static bool gaps_gaps_suits(const struct scd__shape *shape)
{
	return scd__gap_suits(shape) &&
	       scd__array_bytes(shape->nbits) >= MIN_BYTES;
}

static bool gaps_gaps_fits(const struct scd__shape *shape, uint64_t len)
{
	return scd__gap_suits(shape) && len >= sizeof(uint32_t) &&
	       len % 2 == 0 && len < scd__array_bytes(shape->nbits);
}

struct encoder {
	struct scd__ans_symbol symbols[SCD__GAP_MAX_SYMS + 1];
	uint32_t state;
	uint8_t *at;
	uint8_t *floor;
	int error;
};

static void gaps_put_word(struct encoder *e)
{
	if (e->at - e->floor < 2) {
		e->error = SCD_ESPACE;
		return;
	}
	e->at -= 2;
	scd__ans_put_word(e->at, e->state);
	e->state >>= 16;
}

static void gaps_put_symbol(struct encoder *e, unsigned sym)
{
	const struct scd__ans_symbol *s = &e->symbols[sym];

	if (scd__ans_is_full(e->state, s->freq, SCD__GAP_SCALE_LOG))
		gaps_put_word(e);
	e->state = scd__ans_push(e->state, s, SCD__GAP_SCALE_LOG);
}

/* n (at most 16) bits as they are. */
static void gaps_put_bits(struct encoder *e, uint32_t bits, unsigned n)
{
	if (e->state >> (32 - n))
		gaps_put_word(e);
	e->state = e->state << n | bits;
}

static void gaps_put_gap(struct encoder *e, const struct scd__gap_model *model,
			 uint64_t gap)
{
	const uint64_t escape = scd__gap_escape(model);
	uint64_t escapes = 0, rest = gap;

	if (gap >= escape) { /* seldom: so seldom a division */
		escapes = gap / escape;
		rest = gap % escape;
	}
	/* The low bits are read 16 at a time from the lowest on. */
	for (unsigned left = model->low_bits; left > 0;) {
		unsigned n = left % 16 ? left % 16 : 16;

		left -= n;
		gaps_put_bits(e, (uint32_t)(rest >> left) & ((1u << n) - 1), n);
	}
	gaps_put_symbol(e, (unsigned)(rest >> model->low_bits));
	while (escapes-- > 0 && !e->error)
		gaps_put_symbol(e, model->nsyms);
}

/* Code all gaps, the last one first. */
static void gaps_put_array(struct encoder *e,
			   const struct scd__gap_model *model,
			   const struct scd__shape *shape, const uint8_t *bits)
{
	size_t end = (size_t)scd__array_bytes(shape->nbits);
	uint64_t before = 0; /* the one found before */
	bool found = false;

	while (end > 0 && !e->error) {
		const size_t n = end % 8 ? end % 8 : 8;
		uint64_t word;

		end -= n;
		for (word = scd__load_bits(bits + end, n); word;) {
			unsigned top = 63 - (unsigned)__builtin_clzll(word);
			uint64_t at = 8 * (uint64_t)end + top;

			word ^= UINT64_C(1) << top;
			if (found)
				gaps_put_gap(e, model, before - at - 1);
			before = at;
			found = true;
		}
	}
	if (found && !e->error)
		gaps_put_gap(e, model, before);
}

static int gaps_gaps_encode(const struct scd__shape *shape, const uint8_t *bits,
			    struct scd__writer *out)
{
	struct scd__gap_model model;
	struct encoder e = {
		.state = 0,
		.at = out->end,
		.floor = out->at + sizeof(e.state),
	};
	size_t len;

	if (!scd__gap_suits(shape) || out->error ||
	    scd__writer_left(out) < sizeof(e.state))
		return SCD_ESPACE;
	scd__gap_model(shape, &model);
	scd__gap_symbols(&model, e.symbols);
	gaps_put_array(&e, &model, shape, bits);
	if (e.error)
		return e.error;
	len = (size_t)(out->end - e.at);
	scd__write_u32(out, e.state);
	memmove(out->at, e.at, len);
	out->at += len;
	return SCD_OK;
}

struct decoder {
	uint32_t state;
	const uint8_t *at;
	const uint8_t *end;
	uint32_t table[SCD__GAP_SCALE];
};

static void gaps_refill(struct decoder *d)
{
	if (d->state >= SCD__ANS_MIN || d->at == d->end)
		return;
	d->state = d->state << 16 | scd__ans_word(d->at);
	d->at += 2;
}

static unsigned gaps_get_symbol(struct decoder *d)
{
	const uint32_t entry = d->table[d->state & (SCD__GAP_SCALE - 1)];

	d->state = (entry >> 12 & 0xfff) * (d->state >> SCD__GAP_SCALE_LOG) +
		   (entry & 0xfff);
	gaps_refill(d);
	return entry >> 24;
}

static uint32_t gaps_get_bits(struct decoder *d, unsigned n)
{
	uint32_t bits = d->state & ((UINT32_C(1) << n) - 1);

	d->state >>= n;
	gaps_refill(d);
	return bits;
}

/* A gap; more than limit if that is how many zeros there are at least. */
static uint64_t gaps_get_gap(struct decoder *d,
			     const struct scd__gap_model *model, uint64_t limit)
{
	uint64_t gap = 0;
	unsigned sym = gaps_get_symbol(d);

	while (sym == model->nsyms) {
		gap += scd__gap_escape(model);
		if (gap > limit)
			return gap;
		sym = gaps_get_symbol(d);
	}
	gap += (uint64_t)sym << model->low_bits;
	for (unsigned done = 0; done < model->low_bits;) {
		unsigned left = model->low_bits - done;
		unsigned n = left < 16 ? left : 16;

		gap += (uint64_t)gaps_get_bits(d, n) << done;
		done += n;
	}
	return gap;
}

static int gaps_get_array(struct decoder *d, const struct scd__gap_model *model,
			  const struct scd__shape *shape, uint8_t *bits)
{
	uint64_t at = 0; /* the first place that may have the next one */

	memset(bits, 0, (size_t)scd__array_bytes(shape->nbits));
	for (uint64_t i = 0; i < shape->nones; i++) {
		uint64_t gap = gaps_get_gap(d, model, shape->nbits);

		if (gap >= shape->nbits - at)
			return SCD_EFORMAT;
		at += gap;
		bits[at >> 3] |= (uint8_t)(1u << (at & 7));
		at++;
	}
	return SCD_OK;
}

static int gaps_gaps_decode(const struct scd__shape *shape,
			    struct scd__reader *in, uint8_t *bits)
{
	struct scd__gap_model model;
	struct decoder d;
	int error;

	if (!gaps_gaps_fits(shape, scd__reader_left(in)))
		return SCD_EFORMAT;
	d.state = scd__read_u32(in);
	d.at = in->at;
	d.end = in->end;
	scd__gap_model(shape, &model);
	scd__gap_table(&model, d.table);
	error = gaps_get_array(&d, &model, shape, bits);
	if (error)
		return error;
	if (d.at != d.end || d.state != 0)
		return SCD_EFORMAT;
	in->at = in->end;
	return SCD_OK;
}

const struct scd__coding scd__coding_gaps = {
	.id = SCD_CODING_GAPS,
	.suits = gaps_gaps_suits,
	.fits = gaps_gaps_fits,
	.encode = gaps_gaps_encode,
	.decode = gaps_gaps_decode,
};
