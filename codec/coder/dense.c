/*
 * The dense coding: what a chunk is made of. What its bytes are coded with is
 * in dense_model.c and the engines, how chunks make a payload in chunks.c.
 *
 * The encoder writes words from the end of its room downwards, because the
 * last one it makes is the first that a decoder reads, and then moves them to
 * where they belong: it needs no memory of its own.
 */
#include "codec/coder/dense.h"

#include <string.h>

#include "codec/coder/ans.h"
#include "codec/coder/chunks.h"
#include "codec/error.h"

enum {
	CHUNK_LOG = 22, /* 4 MiB: 0.02 % of states and table */
	MIN_CHUNK_LOG = 16,
	MAX_CHUNK_LOG = 30,
	MIN_BYTES = 1 << 15, /* of an array; below, states weigh too much */
};

/*
 * More lanes are faster; they cost 3 bytes each, so a chunk of this many bytes
 * has as many as keep that below 0.15 %.
 */
static unsigned dense_lanes_log(uint64_t payload_bytes)
{
	unsigned log = SCD__DENSE_MIN_LANES_LOG;

	while (log < SCD__DENSE_MAX_LANES_LOG &&
	       payload_bytes >= UINT64_C(2000) << (log + 1))
		log++;
	return log;
}

static bool dense_dense_suits(const struct scd__shape *shape)
{
	return scd__array_bytes(shape->nbits) >= MIN_BYTES &&
	       shape->nones <= shape->nbits / 2;
}

static bool dense_dense_fits(const struct scd__shape *shape, uint64_t len)
{
	return shape->nones > 0 && len < scd__array_bytes(shape->nbits);
}

static size_t dense_list_bytes(const struct scd__dense_model *model, size_t n)
{
	return (n * model->escape_bits + 7) / 8;
}

/* Write the model, and zeros where the list of escapes will be. */
static void dense_begin_chunk(struct scd__dense_encoding *e,
			      struct scd__writer *out)
{
	const struct scd__dense_model *model = e->model;

	scd__write_u8(out, (uint8_t)model->nclasses);
	for (unsigned c = 1; c < model->nclasses; c++)
		scd__write_u16(out, model->freq[c]);
	if (!model->escapes)
		return;
	scd__write_u32(out, (uint32_t)e->nlisted);
	e->list = out->at;
	scd__write_zeros(out, dense_list_bytes(model, e->nlisted));
}

/* Code the bytes, then put states and words behind what is there. */
static int dense_finish_chunk(const struct scd__dense_engine *engine,
			      struct scd__dense_encoding *e,
			      struct scd__writer *out)
{
	const uint8_t *end = out->end;
	int error;

	if (out->error || scd__writer_left(out) < 4 * (size_t)e->nlanes)
		return SCD_ESPACE;
	e->at = out->end;
	e->floor = out->at + 4 * (size_t)e->nlanes;
	error = scd__dense_encode_rest(e, e->left - e->left % e->nlanes);
	if (error)
		return error;
	engine->encode(e);
	error = scd__dense_encode_rest(e, 0);
	if (error)
		return error;
	for (unsigned i = 0; i < e->nlanes; i++)
		scd__write_u32(out, e->state[i]);
	memmove(out->at, e->at, (size_t)(end - e->at));
	out->at += end - e->at;
	return SCD_OK;
}

static int dense_encode_chunk(const void *arg, const uint8_t *bytes, size_t len,
			      struct scd__writer *out)
{
	const struct scd__dense_engine *engine = arg;
	const unsigned to_bytes = SCD__DENSE_COST_LOG + 3;
	uint64_t hist[SCD__DENSE_COUNTS] = {0}, cost;
	uint32_t state[SCD__DENSE_MAX_LANES];
	struct scd__dense_model model;
	struct scd__dense_encoding e = {
		.model = &model,
		.state = state,
		.bytes = bytes,
		.left = len,
	};

	engine->count(bytes, len, hist);
	scd__dense_fit(hist, &model, &cost);
	e.nlanes = 1u << dense_lanes_log(cost >> to_bytes);
	for (unsigned c = model.nclasses - 1; c < SCD__DENSE_COUNTS; c++)
		e.nlisted += hist[c];
	for (unsigned i = 0; i < e.nlanes; i++)
		state[i] = SCD__ANS_MIN;
	scd__write_u8(out, (uint8_t)dense_lanes_log(cost >> to_bytes));
	dense_begin_chunk(&e, out);
	return dense_finish_chunk(engine, &e, out);
}

/* What precedes the words of a chunk, in the order in which it comes. */
static int dense_read_model(struct scd__reader *in,
			    struct scd__dense_model *model)
{
	model->nclasses = scd__read_u8(in);
	if (model->nclasses > SCD__DENSE_MAX_CLASSES)
		return SCD_EFORMAT;
	for (unsigned c = 1; c < model->nclasses; c++)
		model->freq[c] = scd__read_u16(in);
	return scd__dense_finish(model);
}

static int dense_read_list(struct scd__reader *in,
			   struct scd__dense_decoding *d)
{
	unsigned spare;

	if (!d->model->escapes)
		return SCD_OK;
	d->nlist = scd__read_u32(in);
	if (d->nlist > d->len)
		return SCD_EFORMAT;
	d->list = scd__read_bytes(in, dense_list_bytes(d->model, d->nlist));
	spare = (unsigned)(d->nlist * d->model->escape_bits % 8);
	if (spare && d->list && in->at[-1] >> spare)
		return SCD_EFORMAT;
	return in->error;
}

static int dense_read_states(struct scd__reader *in,
			     struct scd__dense_decoding *d)
{
	for (unsigned i = 0; i < d->nlanes; i++) {
		d->state[i] = scd__read_u32(in);
		if (d->state[i] < SCD__ANS_MIN)
			return SCD_EFORMAT;
	}
	return scd__reader_left(in) % 2 ? SCD_EFORMAT : in->error;
}

/* Has a decoder ended where the encoder began? */
static bool dense_is_finished(const struct scd__dense_decoding *d)
{
	uint32_t wrong = 0;

	for (unsigned i = 0; i < d->nlanes; i++)
		wrong |= d->state[i] ^ SCD__ANS_MIN;
	return !wrong && d->at == d->end && d->nlisted == d->nlist;
}

static int dense_decode_chunk(const void *arg, struct scd__chunk *c)
{
	const struct scd__dense_engine *engine = arg;
	uint32_t state[SCD__DENSE_MAX_LANES];
	struct scd__dense_model model;
	struct scd__dense_decoding d = {
		.model = &model,
		.state = state,
		.bytes = c->bytes,
		.len = c->len,
		.sum = c->sum,
	};
	unsigned log = scd__read_u8(&c->in);
	int error;

	if (log < SCD__DENSE_MIN_LANES_LOG || log > SCD__DENSE_MAX_LANES_LOG)
		return SCD_EFORMAT;
	d.nlanes = 1u << log;
	error = dense_read_model(&c->in, &model);
	if (!error)
		error = dense_read_list(&c->in, &d);
	if (!error)
		error = dense_read_states(&c->in, &d);
	if (error)
		return error;
	d.at = c->in.at;
	d.end = c->in.end;
	engine->decode(&d);
	error = scd__dense_decode_rest(&d);
	if (!error && !dense_is_finished(&d))
		error = SCD_EFORMAT;
	return error;
}

static struct scd__chunk_coder
dense_chunk_coder(const struct scd__dense_engine *engine)
{
	return (struct scd__chunk_coder){
		.min_log = MIN_CHUNK_LOG,
		.max_log = MAX_CHUNK_LOG,
		.encode = dense_encode_chunk,
		.decode = dense_decode_chunk,
		.model = engine,
	};
}

/* What the entropy says, and some percent for chunks that have more ones. */
static size_t dense_room(const struct scd__shape *shape)
{
	const double share = scd__coder_entropy(shape) /
			     (double)scd__array_bytes(shape->nbits);

	return (size_t)(1.03 * share * (double)(1 << CHUNK_LOG)) + 4096;
}

int scd__dense_encode(const struct scd__dense_engine *engine,
		      const struct scd__shape *shape, const uint8_t *bits,
		      struct scd__writer *out,
		      const struct scd__coder_work *work)
{
	struct scd__chunk_coder coder = dense_chunk_coder(engine);

	coder.room = dense_room(shape);
	return scd__chunks_encode(&coder, CHUNK_LOG, shape, bits, out, work);
}

int scd__dense_decode(const struct scd__dense_engine *engine,
		      const struct scd__shape *shape, struct scd__reader *in,
		      uint8_t *bits, const struct scd__coder_work *work)
{
	const struct scd__chunk_coder coder = dense_chunk_coder(engine);

	return scd__chunks_decode(&coder, shape, in, bits, work);
}

static int dense_dense_encode(const struct scd__shape *shape,
			      const uint8_t *bits, struct scd__writer *out,
			      const struct scd__coder_work *work)
{
	const char *limit = work ? work->limit : NULL;

	return scd__dense_encode(scd__dense_engine(limit), shape, bits, out,
				 work);
}

static int dense_dense_decode(const struct scd__shape *shape,
			      struct scd__reader *in, uint8_t *bits,
			      const struct scd__coder_work *work)
{
	const char *limit = work ? work->limit : NULL;

	return scd__dense_decode(scd__dense_engine(limit), shape, in, bits,
				 work);
}

const struct scd__coding scd__coding_dense = {
	.id = SCD_CODING_DENSE,
	.suits = dense_dense_suits,
	.fits = dense_dense_fits,
	.encode = dense_dense_encode,
	.decode = dense_dense_decode,
};
