/*
 * The dense coding in portable C: what every machine runs that has nothing
 * better, and what ends the work of the other engines.
 *
 * Decoding looks a slot's symbol up in a table of 16 KiB, which thefirst
 * level of any cache holds. Successive bytes belong to different coders, so
 * that a processor works on several while each waits for its multiplication.
 */
#include "codec/coder/dense_engine.h"

#include <assert.h>
#include <string.h>

#include "codec/coder/ans.h"

#define UNROLL _Pragma("GCC unroll 4")
static const unsigned scale_log = SCD__DENSE_SCALE_LOG;

/* The class in which a model puts bytes with a number of ones. */
static unsigned dense_portable_class_of(const struct scd__dense_model *model,
					unsigned ones)
{
	return ones < model->nclasses ? ones : model->nclasses - 1;
}

/* What an encoder needs to know about bytes. */
struct symbols {
	struct scd__ans_symbol of[256];
	bool escape[256];
};

static void dense_portable_make_symbols(const struct scd__dense_model *model,
					struct symbols *symbols)
{
	for (unsigned byte = 0; byte < 256; byte++) {
		const unsigned c = dense_portable_class_of(
			model, (unsigned)__builtin_popcount(byte));
		const uint32_t freq = model->freq[c];
		uint32_t start = model->start[c];

		symbols->escape[byte] =
			model->escapes && c == model->nclasses - 1;
		if (!symbols->escape[byte])
			start += (scd__dense_rank[byte] - model->first[c]) *
				 freq;
		symbols->of[byte] = scd__ans_symbol(freq, start);
	}
}

/* Encode whole rounds while there is room for any of them. */
static void dense_portable_encode_rounds(struct scd__dense_encoding *e,
					 const struct symbols *symbols,
					 size_t until)
{
	const unsigned nlanes = e->nlanes;
	uint8_t *at = e->at;

	while (e->left - until >= nlanes &&
	       (size_t)(at - e->floor) >= 2 * (size_t)nlanes) {
		const uint8_t *bytes = e->bytes + e->left - nlanes;

		for (unsigned i = nlanes; i-- > 0;) {
			const struct scd__ans_symbol *s =
				&symbols->of[bytes[i]];
			uint32_t x = e->state[i];
			const uint32_t full =
				scd__ans_is_full(x, s->freq, scale_log);

			/* Written in any case: a branch would be a guess. */
			scd__ans_put_word(at - 2, x);
			at -= 2 * full;
			x >>= 16 * full;
			e->state[i] = scd__ans_push(x, s, scale_log);
			if (symbols->escape[bytes[i]])
				scd__dense_list_put(e, bytes[i]);
		}
		e->left -= nlanes;
	}
	e->at = at;
}

int scd__dense_encode_rest(struct scd__dense_encoding *e, size_t until)
{
	struct symbols symbols;

	if (e->left == until)
		return SCD_OK;
	dense_portable_make_symbols(e->model, &symbols);
	if (e->left % e->nlanes == 0)
		dense_portable_encode_rounds(e, &symbols, until);
	while (e->left > until) {
		const uint8_t byte = e->bytes[--e->left];
		const struct scd__ans_symbol *s = &symbols.of[byte];
		uint32_t *x = &e->state[e->left % e->nlanes];

		if (scd__ans_is_full(*x, s->freq, scale_log)) {
			if (e->at - e->floor < 2)
				return SCD_ESPACE;
			e->at -= 2;
			scd__ans_put_word(e->at, *x);
			*x >>= 16;
		}
		*x = scd__ans_push(*x, s, scale_log);
		if (symbols.escape[byte])
			scd__dense_list_put(e, byte);
	}
	return SCD_OK;
}

/* All the work is done by what ends the work of others. */
static void dense_portable_encode(struct scd__dense_encoding *e)
{
	(void)e;
}

/* What a decoder looks up: a slot's byte, a byte's frequency and start. */
struct table {
	uint8_t byte[SCD__DENSE_SCALE];
	uint32_t step[256]; /* freq | start << 16 */
};

static void dense_portable_make_table(const struct scd__dense_model *model,
				      struct table *table)
{
	for (unsigned c = 0; c < model->nclasses; c++) {
		for (unsigned s = 0; s < model->nsyms[c]; s++) {
			const uint8_t byte =
				scd__dense_byte[model->first[c] + s];
			uint32_t start =
				model->start[c] + s * (uint32_t)model->freq[c];

			memset(table->byte + start, byte, model->freq[c]);
			table->step[byte] = model->freq[c] | start << 16;
		}
	}
}

/* One step of a coder, which may leave its state too small. */
static inline uint8_t dense_portable_decode_step(const struct table *table,
						 uint32_t *state)
{
	const uint32_t slot = *state & (SCD__DENSE_SCALE - 1);
	const uint8_t byte = table->byte[slot];
	const uint32_t step = table->step[byte];

	*state = (step & 0xffff) * (*state >> scale_log) + slot - (step >> 16);
	return byte;
}

/* A byte of the rank of escapes may be one, and then comes from the list. */
static inline uint8_t dense_portable_resolve(struct scd__dense_decoding *d,
					     uint8_t byte)
{
	return byte == 0xff && d->model->escapes ? scd__dense_list_get(d)
						 : byte;
}

/* Decode whole rounds while there are words enough for any of them. */
static void dense_portable_decode_rounds(struct scd__dense_decoding *d,
					 const struct table *table)
{
	const unsigned nlanes = d->nlanes;
	const bool escapes = d->model->escapes;
	const uint8_t *at = d->at;
	uint8_t *out = d->bytes + d->done;
	uint32_t *state = d->state;
	size_t rounds = (d->len - d->done) / nlanes;

	for (; rounds > 0 && (size_t)(d->end - at) >= 2 * (size_t)nlanes;
	     rounds--) {
		for (unsigned i = 0; i < nlanes; i += 4) {
			UNROLL
			for (unsigned j = i; j < i + 4; j++) {
				uint32_t x = state[j], few, more;

				/* No branch: it would be a guess. */
				out[j] = dense_portable_decode_step(table, &x);
				few = x < SCD__ANS_MIN;
				more = x << 16 | scd__ans_word(at);
				state[j] = x ^ ((x ^ more) & -few);
				at += 2 * few;
			}
		}
		for (unsigned i = 0; escapes && i < nlanes; i++)
			out[i] = dense_portable_resolve(d, out[i]);
		out += nlanes;
	}
	d->done = (size_t)(out - d->bytes);
	d->at = at;
}

int scd__dense_decode_rest(struct scd__dense_decoding *d)
{
	struct table table;

	dense_portable_make_table(d->model, &table);
	dense_portable_decode_rounds(d, &table);
	while (d->done < d->len && !d->error) {
		uint32_t *state = &d->state[d->done % d->nlanes];
		uint8_t byte = dense_portable_decode_step(&table, state);

		if (*state < SCD__ANS_MIN) {
			if (d->at == d->end)
				return SCD_EFORMAT;
			*state = *state << 16 | scd__ans_word(d->at);
			d->at += 2;
		}
		d->bytes[d->done++] = dense_portable_resolve(d, byte);
	}
	return d->error;
}

static void dense_portable_decode(struct scd__dense_decoding *d)
{
	(void)d;
}

static bool dense_portable_available(void)
{
	return true;
}

static void dense_portable_count(const uint8_t *bytes, size_t len,
				 uint64_t hist[SCD__DENSE_COUNTS])
{
	uint32_t values[4][256] = {{0}}; /* four: equal bytes do not wait */
	size_t i = 0;

	assert(len <= UINT32_MAX);
	for (; i + 4 <= len; i += 4) {
		for (size_t j = 0; j < 4; j++)
			values[j][bytes[i + j]]++;
	}
	for (; i < len; i++)
		values[0][bytes[i]]++;
	for (unsigned v = 0; v < 256; v++) {
		for (size_t j = 0; j < 4; j++)
			hist[__builtin_popcount(v)] += values[j][v];
	}
}

const struct scd__dense_engine scd__dense_portable = {
	.name = "portable",
	.available = dense_portable_available,
	.count = dense_portable_count,
	.encode = dense_portable_encode,
	.decode = dense_portable_decode,
};
