/*
 * Chunks in a coding for tests, whose codes have any length: a chunk's first
 * byte, and each other one as many times as that says, 0 to 3 (0: it is 0). It
 * is for what all chunks share: sizes, rooms, order.
 */
#ifndef TEST_CODEC_TOY_CHUNKS_H
#define TEST_CODEC_TOY_CHUNKS_H

#include "codec/coder/chunks.h"
#include "codec/error.h"

enum {
	TOY_LOG = 5,
	TOY_CHUNK = 1 << TOY_LOG,
};

static inline int toy_encode(const void *model, const uint8_t *bytes,
			     size_t len, struct scd__writer *out)
{
	const size_t times = bytes[0] % 4;

	(void)model;
	scd__write_u8(out, bytes[0]);
	for (size_t i = 1; i < len && times > 0; i++) {
		for (size_t j = 0; j < times; j++)
			scd__write_u8(out, bytes[i]);
	}
	return out->error;
}

static inline int toy_decode(const void *model, struct scd__chunk *c)
{
	size_t times;

	(void)model;
	c->bytes[0] = scd__read_u8(&c->in);
	times = c->bytes[0] % 4;
	for (size_t i = 1; i < c->len; i++) {
		c->bytes[i] = 0;
		for (size_t j = 0; j < times; j++)
			c->bytes[i] = scd__read_u8(&c->in);
	}
	return c->in.error || scd__reader_left(&c->in) ? SCD_EFORMAT : SCD_OK;
}

static const struct scd__chunk_coder toy = {
	.min_log = TOY_LOG,
	.max_log = TOY_LOG,
	.encode = toy_encode,
	.decode = toy_decode,
};

#endif
