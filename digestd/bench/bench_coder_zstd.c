/*
 * Zstandard, as a coder of arrays. Its memory is used again, as a server
 * would.
 */
#include <zstd.h>

#include "codec/error.h"
#include "digestd/bench/bench_coder.h"

static int bench_coder_zstd_open(struct bench_coder *c)
{
	c->encoder = ZSTD_createCCtx();
	c->decoder = ZSTD_createDCtx();
	return c->encoder && c->decoder ? SCD_OK : SCD_ENOMEM;
}

static void bench_coder_zstd_close(struct bench_coder *c)
{
	ZSTD_freeCCtx(c->encoder);
	ZSTD_freeDCtx(c->decoder);
}

static int bench_coder_zstd_encode(const struct bench_coder *c,
				   const struct bench_array *in,
				   struct scd__writer *out)
{
	size_t len =
		ZSTD_compressCCtx(c->encoder, out->at, scd__writer_left(out),
				  in->bits, in->bytes, c->level);

	if (ZSTD_isError(len))
		return SCD_ESPACE;
	out->at += len;
	return SCD_OK;
}

static int bench_coder_zstd_decode(const struct bench_coder *c,
				   struct scd__reader *in,
				   const struct bench_array *like,
				   uint8_t *bits)
{
	const size_t len = scd__reader_left(in);
	const uint8_t *bytes = scd__read_bytes(in, len);

	return ZSTD_decompressDCtx(c->decoder, bits, like->bytes, bytes, len) ==
			       like->bytes
		       ? SCD_OK
		       : SCD_EFORMAT;
}

const struct bench_coder bench_coder_zstd = {
	.name = "zstd",
	.open = bench_coder_zstd_open,
	.close = bench_coder_zstd_close,
	.encode = bench_coder_zstd_encode,
	.decode = bench_coder_zstd_decode,
};
