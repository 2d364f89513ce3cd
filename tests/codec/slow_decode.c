/*
 * Decoding codings 2 to 5, after FORMAT.md's own words.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/codec/slow_model.h"

/* What is left to be read; bad once it was too short. */
struct input {
	const uint8_t *at;
	size_t left;
	bool bad;
};

static const uint8_t *take(struct input *in, size_t n)
{
	static const uint8_t zeros[8];
	const uint8_t *at = in->at;

	if (n > in->left) {
		in->bad = true;
		return zeros;
	}
	in->at += n;
	in->left -= n;
	return at;
}

static uint32_t number(struct input *in, size_t n)
{
	const uint8_t *bytes = take(in, n);
	uint32_t value = 0;

	for (size_t i = 0; i < n; i++)
		value |= (uint32_t)bytes[i] << 8 * i;
	return value;
}

/* n (up to 32) bits from a bit on; zeros are behind the last byte. */
static uint32_t bits_at(const uint8_t *bytes, size_t len, uint64_t bit,
			unsigned n)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < n; i++, bit++) {
		if (bit / 8 < len)
			value |= (uint32_t)(bytes[bit / 8] >> bit % 8 & 1)
				 << i;
	}
	return value;
}

static void set_bit(uint8_t *bits, uint64_t at)
{
	bits[at / 8] |= (uint8_t)(1u << at % 8);
}

static size_t array_bytes(uint64_t nbits)
{
	return (size_t)((nbits + 7) / 8);
}

/* Coding 2. */

struct range {
	struct input in;
	uint64_t range, code;
};

static uint8_t next_byte(struct range *r)
{
	return r->in.left ? *take(&r->in, 1) : 0;
}

static unsigned get_bit(struct range *r, uint64_t p, unsigned rare)
{
	const uint64_t upper = (r->range >> 32) * p;
	const uint64_t lower = r->range - upper;
	const unsigned bit = r->code < lower ? 1 - rare : rare;

	if (r->code < lower) {
		r->range = lower;
	} else {
		r->range = upper;
		r->code -= lower;
	}
	while (r->range < UINT64_C(1) << 56) {
		r->range <<= 8;
		r->code = r->code << 8 | next_byte(r);
	}
	return bit;
}

static bool decode_range(const struct scd__shape *shape, struct input in,
			 uint8_t *bits)
{
	const uint64_t zeros = shape->nbits - shape->nones;
	const unsigned rare = shape->nones <= zeros;
	const uint64_t few = rare ? shape->nones : zeros;
	const uint64_t p = (few << 32) / shape->nbits;
	struct range r = {in, UINT64_MAX, 0};
	uint64_t nones = 0;

	if (in.left && in.at[in.left - 1] == 0)
		return false;
	for (int i = 0; i < 8; i++)
		r.code = r.code << 8 | next_byte(&r);
	if (r.code >= r.range)
		return false;
	for (uint64_t i = 0; i < shape->nbits; i++) {
		if (get_bit(&r, p ? p : 1, rare)) {
			set_bit(bits, i);
			nones++;
		}
	}
	return r.in.left == 0 && nones == shape->nones;
}

/* The coder of codings 3 to 5. */

struct lanes {
	struct input *words;
	unsigned nlanes;
	uint32_t state[128];
	bool lone; /* coding 4: a state may be small in the end */
};

static void take_states(struct lanes *l, struct input *in)
{
	for (unsigned i = 0; i < l->nlanes; i++) {
		l->state[i] = number(in, 4);
		if (l->state[i] < 1 << 16 && !l->lone)
			in->bad = true;
	}
	if (in->left % 2)
		in->bad = true;
	l->words = in;
}

static void refill(struct lanes *l, unsigned lane)
{
	uint32_t *x = &l->state[lane];

	if (*x >= 1 << 16 || (l->lone && l->words->left == 0))
		return;
	*x = *x << 16 | number(l->words, 2);
}

static unsigned get_symbol(struct lanes *l, unsigned lane,
			   const struct slow_symbols *symbols)
{
	uint32_t *x = &l->state[lane];
	const uint32_t slot = *x & ((UINT32_C(1) << symbols->log) - 1);
	unsigned s = 0, beyond = symbols->count;

	while (beyond - s > 1) {
		unsigned middle = (s + beyond) / 2;

		if (symbols->start[middle] <= slot)
			s = middle;
		else
			beyond = middle;
	}
	*x = symbols->freq[s] * (*x >> symbols->log) + slot -
	     symbols->start[s];
	refill(l, lane);
	return s;
}

static uint32_t get_bits(struct lanes *l, unsigned n)
{
	uint32_t value = *l->state & ((UINT32_C(1) << n) - 1);

	*l->state >>= n;
	refill(l, 0);
	return value;
}

static bool have_ended(const struct lanes *l)
{
	for (unsigned i = 0; i < l->nlanes; i++) {
		if (l->state[i] != (l->lone ? 0 : 1 << 16))
			return false;
	}
	return l->words->left == 0 && !l->words->bad;
}

/* Codings 3 and 5: a payload of chunks. */

struct chunks {
	struct input sizes, codes;
	size_t most;
};

static bool begin_chunks(struct chunks *c, struct input in, uint64_t nbits,
			 unsigned max_log)
{
	const unsigned log = number(&in, 1);

	if (in.bad || log < 16 || log > max_log)
		return false;
	c->most = (size_t)1 << log;
	c->sizes.left = 4 * ((array_bytes(nbits) + c->most - 1) / c->most);
	c->sizes.at = take(&in, c->sizes.left);
	c->sizes.bad = false;
	c->codes = in;
	return !in.bad;
}

static struct input next_chunk(struct chunks *c)
{
	struct input code = {.left = number(&c->sizes, 4)};

	code.at = take(&c->codes, code.left);
	if (c->codes.bad)
		code = (struct input){.at = code.at, .bad = true};
	return code;
}

/* Coding 3. */

struct escapes {
	const uint8_t *list;
	size_t len;
	uint32_t count, taken;
	unsigned nbits, first;
};

static bool take_escapes(struct input *in, unsigned nclasses, size_t len,
			 struct escapes *e)
{
	uint64_t spare;

	e->count = number(in, 4);
	if (in->bad || e->count > len)
		return false;
	e->nbits = slow_escape_bits(nclasses);
	e->first = slow_class_rank(nclasses - 1);
	e->len = array_bytes((uint64_t)e->count * e->nbits);
	e->list = take(in, e->len);
	spare = 8 * (uint64_t)e->len - (uint64_t)e->count * e->nbits;
	return !in->bad && bits_at(e->list, e->len,
				   (uint64_t)e->count * e->nbits,
				   (unsigned)spare) == 0;
}

/* -1: there is none, or of a rank above 255. */
static int next_escape(struct escapes *e)
{
	uint32_t rank;

	if (e->taken == e->count)
		return -1;
	rank = e->first + bits_at(e->list, e->len,
				  (uint64_t)e->taken++ * e->nbits, e->nbits);
	return rank > 255 ? -1 : slow_byte_of_rank()[rank];
}

static bool decode_dense_chunk(struct input in, size_t len, uint8_t *bytes)
{
	const unsigned lanes_log = number(&in, 1), nclasses = number(&in, 1);
	struct lanes lanes = {.nlanes = 1u << lanes_log % 32};
	struct escapes escapes = {0};
	struct slow_symbols symbols;
	uint16_t freq[8] = {0};

	if (in.bad || lanes_log < 2 || lanes_log > 7 || nclasses < 2 ||
	    nclasses > 8)
		return false;
	for (unsigned c = 1; c < nclasses; c++) {
		freq[c] = (uint16_t)number(&in, 2);
		if (freq[c] == 0)
			return false;
	}
	if (!slow_dense_symbols(nclasses, freq, &symbols))
		return false;
	if (nclasses < 8 && !take_escapes(&in, nclasses, len, &escapes))
		return false;
	take_states(&lanes, &in);
	for (size_t i = 0; i < len && !in.bad; i++) {
		const unsigned lane = (unsigned)(i % lanes.nlanes);
		const unsigned s = get_symbol(&lanes, lane, &symbols);
		int byte = slow_byte_of_rank()[s & 255];

		if (nclasses < 8 && s == symbols.count - 1)
			byte = next_escape(&escapes);
		if (byte < 0)
			return false;
		bytes[i] = (uint8_t)byte;
	}
	return have_ended(&lanes) && escapes.taken == escapes.count;
}

static bool decode_dense(const struct scd__shape *shape, struct input in,
			 uint8_t *bits)
{
	const size_t len = array_bytes(shape->nbits);
	struct chunks c;

	if (!begin_chunks(&c, in, shape->nbits, 30))
		return false;
	for (size_t at = 0; at < len; at += c.most) {
		const size_t n = len - at < c.most ? len - at : c.most;

		if (!decode_dense_chunk(next_chunk(&c), n, bits + at))
			return false;
	}
	return c.codes.left == 0 && bits_at(bits, len, shape->nbits,
					    (unsigned)(8 * len -
						       shape->nbits)) == 0;
}

/* Codings 4 and 5. */

static bool decode_gaps(const struct scd__shape *shape, struct input in,
			uint8_t *bits)
{
	struct lanes lanes = {.nlanes = 1, .lone = true};
	struct slow_gaps model;
	uint64_t at = 0;

	slow_gap_model(shape, &model);
	take_states(&lanes, &in);
	for (uint64_t i = 0; i < shape->nones && !in.bad; i++, at++) {
		unsigned s;

		while ((s = get_symbol(&lanes, 0, &model.symbols)) ==
		       model.escape) {
			at += (uint64_t)s << model.low_bits;
			if (at >= shape->nbits)
				return false;
		}
		at += (uint64_t)s << model.low_bits;
		for (unsigned n = 0; n < model.low_bits; n += 16) {
			const unsigned left = model.low_bits - n;

			at += (uint64_t)get_bits(&lanes, left < 16 ? left : 16)
			      << n;
		}
		if (at >= shape->nbits)
			return false;
		set_bit(bits, at);
	}
	return have_ended(&lanes);
}

/* A chunk of so many places. */
static bool decode_sparse_chunk(struct input in, const struct slow_gaps *model,
				uint64_t nbits, uint8_t *bits)
{
	const unsigned lanes_log = number(&in, 1);
	const uint32_t nsyms = number(&in, 4), nlow = number(&in, 4);
	const uint8_t *low = take(&in, nlow);
	struct lanes lanes = {.nlanes = 1u << lanes_log % 32};
	uint64_t at = 0, taken = 0;

	if (in.bad || lanes_log < 4 || lanes_log > 6)
		return false;
	take_states(&lanes, &in);
	for (uint32_t i = 0; i < nsyms && !in.bad; i++) {
		unsigned s = get_symbol(&lanes, i % lanes.nlanes,
					&model->symbols);

		at += (uint64_t)s << model->low_bits;
		if (s != model->escape) {
			at += bits_at(low, nlow, taken, model->low_bits);
			taken += model->low_bits;
			if (at >= nbits)
				return false;
			set_bit(bits, at++);
		}
		if (at > nbits)
			return false;
	}
	return have_ended(&lanes) && nlow == (taken + 7) / 8;
}

static bool decode_sparse(const struct scd__shape *shape, struct input in,
			  uint8_t *bits)
{
	const size_t len = array_bytes(shape->nbits);
	struct slow_gaps model;
	struct chunks c;

	slow_gap_model(shape, &model);
	if (model.low_bits > 18 ||
	    !begin_chunks(&c, in, shape->nbits, 28))
		return false;
	for (size_t at = 0; at < len; at += c.most) {
		uint64_t nbits = shape->nbits - 8 * (uint64_t)at;

		if (nbits > 8 * (uint64_t)c.most)
			nbits = 8 * (uint64_t)c.most;
		if (!decode_sparse_chunk(next_chunk(&c), &model, nbits,
					 bits + at))
			return false;
	}
	return c.codes.left == 0;
}

bool slow_decode(enum scd_coding coding, const struct scd__shape *shape,
		 const uint8_t *in, size_t len, uint8_t *bits)
{
	const struct input input = {in, len, false};
	const bool sparse = shape->nones > 0 &&
			    shape->nones <= shape->nbits / 32;

	memset(bits, 0, array_bytes(shape->nbits));
	switch (coding) {
	case SCD_CODING_RANGE:
		return decode_range(shape, input, bits);
	case SCD_CODING_DENSE:
		return decode_dense(shape, input, bits);
	case SCD_CODING_GAPS:
		return sparse && decode_gaps(shape, input, bits);
	case SCD_CODING_SPARSE:
		return sparse && decode_sparse(shape, input, bits);
	case SCD_CODING_EMPTY:
	case SCD_CODING_STORED:
	case SCD_CODING_PARTS:
	case SCD_CODING_LIST:
	case SCD_CODING_MIRRORED_DENSE:
	case SCD_CODING_MIRRORED_GAPS:
	case SCD_CODING_MIRRORED_SPARSE:
		break;
	}
	abort(); /* none of these codings */
}
