/*
 * The sparse coding: what a chunk is made of. The loops that decode are in the
 * engines, and how chunks make a payload in chunks.c.
 *
 * An encoder needs the symbols in the order from the last to the first, and
 * their low bits from the first on. So it makes a list of symbols, at the end
 * of its room, where the payload does not reach; then it codes them, words
 * going downwards from that list, and moves the words to where they belong.
 */
#include "codec/coder/sparse.h"

#include <string.h>

#include "codec/coder/ans.h"
#include "codec/coder/bits.h"
#include "codec/coder/chunks.h"
#include "codec/error.h"

enum {
	MIN_CHUNK_LOG = 16, /* of bytes of the array */
	CHUNK_LOG = 22,     /* and more, until there are ones enough */
	MAX_CHUNK_LOG = 28,
	CHUNK_ONES = 1 << 20,
	MIN_ONES = 36000, /* of an array: a payload of some 40 KiB */
};

static bool sparse_sparse_suits(const struct scd__shape *shape)
{
	struct scd__gap_model model;

	if (!scd__gap_suits(shape) || shape->nones < MIN_ONES)
		return false;
	scd__gap_model(shape, &model);
	return model.low_bits <= SCD__SPARSE_MAX_LOW_BITS;
}

static bool sparse_sparse_fits(const struct scd__shape *shape, uint64_t len)
{
	return scd__gap_suits(shape) && len < scd__array_bytes(shape->nbits);
}

/* Chunks of some 2^20 ones where the array has so many. */
static unsigned sparse_chunk_log(const struct scd__shape *shape)
{
	const uint64_t len = scd__array_bytes(shape->nbits);
	unsigned log = CHUNK_LOG;

	while (log < MAX_CHUNK_LOG && shape->nones / (len >> log | 1) <
					      CHUNK_ONES)
		log++;
	return log;
}

/* More lanes are faster; they cost 3 bytes each, which this keeps small. */
static unsigned sparse_lanes_log(uint64_t nones)
{
	if (nones >= 400000)
		return 6;
	return nones >= 120000 ? 5 : 4;
}

/* What the chunks of an array have in common. */
struct sparse_array {
	struct scd__chunk_coder coder;
	struct scd__gap_model model;
	const struct scd__sparse_engine *engine; /* decodes */
	uint32_t table[SCD__GAP_SCALE];          /* to decode */
};

/* Part of an array being coded. */
struct chunk {
	const struct scd__gap_model *model;
	const uint8_t *bytes;
	size_t len;
	uint8_t *syms; /* in the order in which they are decoded */
	uint8_t *syms_end;
	/* low bits */
	uint8_t *low;
	uint64_t pending; /* that do not fill 4 bytes yet */
	unsigned npending;
};

static void sparse_add_gap(struct chunk *c, uint64_t gap)
{
	const unsigned n = c->model->low_bits;

	while (gap >= scd__gap_escape(c->model)) {
		gap -= scd__gap_escape(c->model);
		*c->syms_end++ = (uint8_t)c->model->nsyms;
	}
	*c->syms_end++ = (uint8_t)(gap >> n);
	c->pending |= (gap & ((UINT64_C(1) << n) - 1)) << c->npending;
	c->npending += n;
	if (c->npending >= 32) {
		scd__store_bits(c->low, c->pending, 4);
		c->low += 4;
		c->pending >>= 32;
		c->npending -= 32;
	}
}

static void sparse_list_symbols(struct chunk *c)
{
	uint64_t next = 0; /* the first place that may have the next one */

	for (size_t i = 0; i < c->len; i += 8) {
		const size_t n = c->len - i < 8 ? c->len - i : 8;
		uint64_t word = scd__load_bits(c->bytes + i, n);

		for (; word; word &= word - 1) {
			uint64_t at = 8 * (uint64_t)i +
				      (unsigned)__builtin_ctzll(word);

			sparse_add_gap(c, at - next);
			next = at + 1;
		}
	}
	scd__store_bits(c->low, c->pending, (c->npending + 7) / 8);
	c->low += (c->npending + 7) / 8;
}

/*
 * Code the listed symbols, words going down from the list; the first word's
 * address in *words. SCD_ESPACE: they reached the floor.
 */
static int sparse_encode_symbols(const struct chunk *c, uint32_t *state,
				 unsigned nlanes, uint8_t **words)
{
	struct scd__ans_symbol symbols[SCD__GAP_MAX_SYMS + 1];
	const uint8_t *floor = *words;
	uint8_t *at = c->syms;

	scd__gap_symbols(c->model, symbols);
	for (size_t i = (size_t)(c->syms_end - c->syms); i-- > 0;) {
		const struct scd__ans_symbol *s = &symbols[c->syms[i]];
		uint32_t x = state[i & (nlanes - 1)];
		const uint32_t full =
			scd__ans_is_full(x, s->freq, SCD__GAP_SCALE_LOG);

		if (at - floor < 2)
			return SCD_ESPACE;
		/* Written in any case: a branch would be a guess. */
		scd__ans_put_word(at - 2, x);
		at -= 2 * full;
		x >>= 16 * full;
		state[i & (nlanes - 1)] =
			scd__ans_push(x, s, SCD__GAP_SCALE_LOG);
	}
	*words = at;
	return SCD_OK;
}

/* Where the list of symbols begins; null: there is no room. */
static uint8_t *sparse_place_list(const struct chunk *c, uint64_t nones,
				  struct scd__writer *out)
{
	const uint64_t escape = scd__gap_escape(c->model);
	const uint64_t list = nones + 8 * (uint64_t)c->len / escape + 1;
	const uint64_t low = nones * c->model->low_bits / 8 + 8;

	if (out->error || scd__writer_left(out) < list + low)
		return NULL;
	return out->end - list;
}

static int sparse_encode_made(struct chunk *c, struct scd__writer *out)
{
	const uint64_t nones = scd__count_ones(c->bytes, c->len);
	const unsigned nlanes = 1u << sparse_lanes_log(nones);
	uint32_t state[SCD__SPARSE_MAX_LANES];
	struct scd__writer head = *out;
	uint8_t *words;
	int error;

	scd__write_zeros(out, 1 + 4 + 4);
	c->syms = c->syms_end = sparse_place_list(c, nones, out);
	if (!c->syms)
		return SCD_ESPACE;
	c->low = out->at;
	sparse_list_symbols(c);
	scd__write_u8(&head, (uint8_t)sparse_lanes_log(nones));
	scd__write_u32(&head, (uint32_t)(c->syms_end - c->syms));
	scd__write_u32(&head, (uint32_t)(c->low - out->at));
	out->at = c->low;
	if (c->syms - out->at < 4 * (ptrdiff_t)nlanes)
		return SCD_ESPACE;
	words = out->at + 4 * (size_t)nlanes;
	for (unsigned i = 0; i < nlanes; i++)
		state[i] = SCD__ANS_MIN;
	error = sparse_encode_symbols(c, state, nlanes, &words);
	if (error)
		return error;
	for (unsigned i = 0; i < nlanes; i++)
		scd__write_u32(out, state[i]);
	memmove(out->at, words, (size_t)(c->syms - words));
	out->at += c->syms - words;
	return SCD_OK;
}

static int sparse_encode_chunk(const void *arg, const uint8_t *bytes,
			       size_t len, struct scd__writer *out)
{
	const struct sparse_array *array = arg;
	struct chunk chunk = {
		.model = &array->model,
		.bytes = bytes,
		.len = len,
	};

	return sparse_encode_made(&chunk, out);
}

/* What precedes the words of a chunk. */
static int sparse_read_chunk(struct scd__reader *in,
			     struct scd__sparse_decoding *d)
{
	const unsigned log = scd__read_u8(in);
	uint32_t nlow;

	if (log < SCD__SPARSE_MIN_LANES_LOG || log > SCD__SPARSE_MAX_LANES_LOG)
		return SCD_EFORMAT;
	d->nlanes = 1u << log;
	d->nsyms = scd__read_u32(in);
	nlow = scd__read_u32(in);
	d->low = scd__read_bytes(in, nlow);
	for (unsigned i = 0; i < d->nlanes; i++) {
		d->state[i] = scd__read_u32(in);
		if (d->state[i] < SCD__ANS_MIN)
			return SCD_EFORMAT;
	}
	if (in->error || scd__reader_left(in) % 2)
		return SCD_EFORMAT;
	d->low_bit = 0;
	d->low_bytes = nlow;
	d->at = in->at;
	d->end = in->end;
	return SCD_OK;
}

/* Has a decoder ended where the encoder began, and within the chunk? */
static bool sparse_is_finished(const struct scd__sparse_decoding *d)
{
	uint32_t wrong = 0;

	for (unsigned i = 0; i < d->nlanes; i++)
		wrong |= d->state[i] ^ SCD__ANS_MIN;
	return !wrong && d->at == d->end && d->place <= d->nbits &&
	       (d->low_bit + 7) / 8 == d->low_bytes;
}

static int sparse_decode_chunk(const void *arg, struct scd__chunk *c)
{
	const struct sparse_array *array = arg;
	struct scd__sparse_decoding d;
	int error;

	/* Its own: engines find it beside what else they need. */
	memcpy(d.table, array->table, sizeof(d.table));
	d.model = &array->model;
	d.bits = c->bytes;
	d.nbits = c->nbits;
	d.done = 0;
	d.place = 0;
	memset(c->bytes, 0, c->len);
	error = sparse_read_chunk(&c->in, &d);
	if (!error)
		error = array->engine->decode(&d);
	if (!error)
		error = scd__sparse_decode_rest(&d);
	if (!error && !sparse_is_finished(&d))
		error = SCD_EFORMAT;
	return error;
}

/* Is there a model of such an array? Then all but the table is set. */
static bool sparse_open(struct sparse_array *array,
			const struct scd__shape *shape)
{
	if (!scd__gap_suits(shape))
		return false;
	scd__gap_model(shape, &array->model);
	array->coder = (struct scd__chunk_coder){
		.min_log = MIN_CHUNK_LOG,
		.max_log = MAX_CHUNK_LOG,
		.encode = sparse_encode_chunk,
		.decode = sparse_decode_chunk,
		.model = array,
	};
	return array->model.low_bits <= SCD__SPARSE_MAX_LOW_BITS;
}

static int sparse_sparse_encode(const struct scd__shape *shape,
				const uint8_t *bits, struct scd__writer *out,
				const struct scd__coder_work *work)
{
	struct sparse_array array;

	if (!sparse_open(&array, shape))
		return SCD_ESPACE;
	return scd__chunks_encode(&array.coder, sparse_chunk_log(shape), shape,
				  bits, out, work);
}

int scd__sparse_decode(const struct scd__sparse_engine *engine,
		       const struct scd__shape *shape, struct scd__reader *in,
		       uint8_t *bits, const struct scd__coder_work *work)
{
	struct sparse_array array = {.engine = engine};

	if (!sparse_open(&array, shape))
		return SCD_EFORMAT;
	scd__gap_table(&array.model, array.table);
	return scd__chunks_decode(&array.coder, shape, in, bits, work);
}

static int sparse_sparse_decode(const struct scd__shape *shape,
				struct scd__reader *in, uint8_t *bits,
				const struct scd__coder_work *work)
{
	const char *limit = work ? work->limit : NULL;

	return scd__sparse_decode(scd__sparse_engine(limit), shape, in, bits,
				  work);
}

const struct scd__coding scd__coding_sparse = {
	.id = SCD_CODING_SPARSE,
	.suits = sparse_sparse_suits,
	.fits = sparse_sparse_fits,
	.encode = sparse_sparse_encode,
	.decode = sparse_sparse_decode,
};
