/*
 * Codings and engines of libscd as coders to be compared, and the list of all.
 */
#include "digestd/bench/bench_coder.h"

#include "codec/coder/dense.h"
#include "codec/coder/sparse.h"
#include "digestd/bench/bench_bytewise.h"

static int bench_coder_dense_encode(const struct bench_coder *c,
				    const struct bench_array *in,
				    struct scd__writer *out)
{
	return scd__dense_encode(c->how, &in->shape, in->bits, out, NULL);
}

static int bench_coder_dense_decode(const struct bench_coder *c,
				    struct scd__reader *in,
				    const struct bench_array *like,
				    uint8_t *bits)
{
	return scd__dense_decode(c->how, &like->shape, in, bits, NULL);
}

static int bench_coder_sparse_encode(const struct bench_coder *c,
				     const struct bench_array *in,
				     struct scd__writer *out)
{
	(void)c; /* engines differ in decoding only */
	return scd__coding_sparse.encode(&in->shape, in->bits, out, NULL);
}

static int bench_coder_sparse_decode(const struct bench_coder *c,
				     struct scd__reader *in,
				     const struct bench_array *like,
				     uint8_t *bits)
{
	return scd__sparse_decode(c->how, &like->shape, in, bits, NULL);
}

static int bench_coder_coding_encode(const struct bench_coder *c,
				     const struct bench_array *in,
				     struct scd__writer *out)
{
	const struct scd__coding *coding = c->how;

	return coding->encode(&in->shape, in->bits, out, NULL);
}

static int bench_coder_coding_decode(const struct bench_coder *c,
				     struct scd__reader *in,
				     const struct bench_array *like,
				     uint8_t *bits)
{
	const struct scd__coding *coding = c->how;

	return coding->decode(&like->shape, in, bits, NULL);
}

static int bench_coder_bytewise_encode(const struct bench_coder *c,
				       const struct bench_array *in,
				       struct scd__writer *out)
{
	(void)c;
	return bench_bytewise_encode(in->bits, in->bytes, out);
}

static int bench_coder_bytewise_decode(const struct bench_coder *c,
				       struct scd__reader *in,
				       const struct bench_array *like,
				       uint8_t *bits)
{
	(void)c;
	return bench_bytewise_decode(in, bits, like->bytes);
}

const struct bench_coder bench_coder_bytewise = {
	.name = "bytewise",
	.encode = bench_coder_bytewise_encode,
	.decode = bench_coder_bytewise_decode,
};

static size_t bench_coder_dense_engines(struct bench_coder *coders)
{
	size_t n = 0;

	for (size_t i = 0; i < scd__dense_nengines; i++) {
		const struct scd__dense_engine *engine = scd__dense_engines[i];

		if (engine->available())
			coders[n++] = (struct bench_coder){
				.name = "dense",
				.engine = engine->name,
				.how = engine,
				.encode = bench_coder_dense_encode,
				.decode = bench_coder_dense_decode};
	}
	return n;
}

static size_t bench_coder_sparse_engines(struct bench_coder *coders)
{
	size_t n = 0;

	for (size_t i = 0; i < scd__sparse_nengines; i++) {
		const struct scd__sparse_engine *engine =
			scd__sparse_engines[i];

		if (engine->available())
			coders[n++] = (struct bench_coder){
				.name = "sparse",
				.engine = engine->name,
				.how = engine,
				.encode = bench_coder_sparse_encode,
				.decode = bench_coder_sparse_decode};
	}
	return n;
}

static size_t bench_coder_one_engine(const char *name, enum scd_coding id,
				     struct bench_coder *coders)
{
	*coders = (struct bench_coder){.name = name,
				       .engine = "portable",
				       .how = scd__coding_find(id),
				       .encode = bench_coder_coding_encode,
				       .decode = bench_coder_coding_decode};
	return 1;
}

static size_t bench_coder_ours(enum scd_coding coding,
			       struct bench_coder *coders)
{
	switch (coding) {
	case SCD_CODING_DENSE:
		return bench_coder_dense_engines(coders);
	case SCD_CODING_SPARSE:
		return bench_coder_sparse_engines(coders);
	case SCD_CODING_EMPTY:
		return bench_coder_one_engine("empty", coding, coders);
	case SCD_CODING_STORED:
		return bench_coder_one_engine("stored", coding, coders);
	case SCD_CODING_RANGE:
		return bench_coder_one_engine("range", coding, coders);
	case SCD_CODING_GAPS:
		return bench_coder_one_engine("gaps", coding, coders);
	case SCD_CODING_MIRRORED_DENSE:
		return bench_coder_one_engine("mirrored dense", coding, coders);
	case SCD_CODING_MIRRORED_GAPS:
		return bench_coder_one_engine("mirrored gaps", coding, coders);
	case SCD_CODING_MIRRORED_SPARSE:
		return bench_coder_one_engine("mirrored sparse", coding,
					      coders);
	case SCD_CODING_PARTS: /* of several arrays; each has its own */
	case SCD_CODING_LIST:  /* of no array */
		break;
	}
	return 0;
}

static struct bench_coder bench_coder_with_level(struct bench_coder coder,
						 int level)
{
	coder.level = level;
	return coder;
}

size_t bench_coders_for(const struct bench_array *array,
			struct bench_coder coders[BENCH_MAX_CODERS])
{
	size_t n = bench_coder_ours(array->coding, coders);

	coders[n++] = bench_coder_bytewise;
	coders[n++] = bench_coder_with_level(bench_coder_zstd, 1);
	coders[n++] = bench_coder_with_level(bench_coder_zlib, 1);
	coders[n++] = bench_coder_with_level(bench_coder_zlib, 6);
	return n;
}
