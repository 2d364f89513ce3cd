/*
 * zlib, as a coder of arrays. Its memory is used again, as a server would.
 */
#include <stdlib.h>
#include <zlib.h>

#include "codec/error.h"
#include "digestd/bench/bench_coder.h"

static int bench_coder_zlib_open(struct bench_coder *c)
{
	z_stream *encoder = calloc(1, sizeof(*encoder));
	z_stream *decoder = calloc(1, sizeof(*decoder));

	c->encoder = encoder;
	c->decoder = decoder;
	if (!encoder || !decoder || deflateInit(encoder, c->level) != Z_OK ||
	    inflateInit(decoder) != Z_OK)
		return SCD_ENOMEM;
	return SCD_OK;
}

static void bench_coder_zlib_close(struct bench_coder *c)
{
	if (c->encoder)
		deflateEnd(c->encoder);
	if (c->decoder)
		inflateEnd(c->decoder);
	free(c->encoder);
	free(c->decoder);
}

static int bench_coder_zlib_encode(const struct bench_coder *c,
				   const struct bench_array *in,
				   struct scd__writer *out)
{
	z_stream *z = c->encoder;

	if (deflateReset(z) != Z_OK)
		return SCD_EINVAL;
	z->next_in = in->bits;
	z->avail_in = (uInt)in->bytes;
	z->next_out = out->at;
	z->avail_out = (uInt)scd__writer_left(out);
	if (deflate(z, Z_FINISH) != Z_STREAM_END)
		return SCD_ESPACE;
	out->at = z->next_out;
	return SCD_OK;
}

static int bench_coder_zlib_decode(const struct bench_coder *c,
				   struct scd__reader *in,
				   const struct bench_array *like,
				   uint8_t *bits)
{
	const size_t len = scd__reader_left(in);
	z_stream *z = c->decoder;

	if (inflateReset(z) != Z_OK)
		return SCD_EINVAL;
	z->next_in = (Bytef *)(uintptr_t)scd__read_bytes(in, len);
	z->avail_in = (uInt)len;
	z->next_out = bits;
	z->avail_out = (uInt)like->bytes;
	return inflate(z, Z_FINISH) == Z_STREAM_END ? SCD_OK : SCD_EFORMAT;
}

const struct bench_coder bench_coder_zlib = {
	.name = "zlib",
	.open = bench_coder_zlib_open,
	.close = bench_coder_zlib_close,
	.encode = bench_coder_zlib_encode,
	.decode = bench_coder_zlib_decode,
};
