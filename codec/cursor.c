/*
 * Byte cursors with a sticky error.
 */
#include "codec/cursor.h"

#include <string.h>

#include "codec/error.h"

struct scd__reader scd__reader(const uint8_t *bytes, size_t len)
{
	static const uint8_t nothing[1];

	/* To add anything to a null pointer is undefined, even 0. */
	if (!bytes)
		return (struct scd__reader){.at = nothing, .end = nothing};
	return (struct scd__reader){.at = bytes, .end = bytes + len};
}

size_t scd__reader_left(const struct scd__reader *r)
{
	return (size_t)(r->end - r->at);
}

const uint8_t *scd__read_bytes(struct scd__reader *r, size_t len)
{
	const uint8_t *bytes = r->at;

	if (!r->error && len > scd__reader_left(r))
		r->error = SCD_ETRUNC;
	if (r->error)
		return NULL;
	r->at += len;
	return bytes;
}

uint8_t scd__read_u8(struct scd__reader *r)
{
	const uint8_t *b = scd__read_bytes(r, 1);

	return b ? *b : 0;
}

/* A number of n bytes. */
static uint64_t cursor_read_number(struct scd__reader *r, size_t n)
{
	const uint8_t *b = scd__read_bytes(r, n);
	uint64_t value = 0;

	for (size_t i = n; b && i-- > 0;)
		value = value << 8 | b[i];
	return value;
}

uint16_t scd__read_u16(struct scd__reader *r)
{
	return (uint16_t)cursor_read_number(r, 2);
}

uint32_t scd__read_u32(struct scd__reader *r)
{
	return (uint32_t)cursor_read_number(r, 4);
}

uint64_t scd__read_u64(struct scd__reader *r)
{
	return cursor_read_number(r, 8);
}

/* A number of len bytes, the most significant first. */
static uint32_t cursor_read_be(struct scd__reader *r, size_t len)
{
	const uint8_t *b = scd__read_bytes(r, len);
	uint32_t value = 0;

	for (size_t i = 0; b && i < len; i++)
		value = value << 8 | b[i];
	return value;
}

uint16_t scd__read_be16(struct scd__reader *r)
{
	return (uint16_t)cursor_read_be(r, 2);
}

uint32_t scd__read_be32(struct scd__reader *r)
{
	return cursor_read_be(r, 4);
}

struct scd__writer scd__writer(uint8_t *bytes, size_t cap)
{
	return (struct scd__writer){
		.start = bytes,
		.at = bytes,
		.end = bytes + cap,
	};
}

size_t scd__writer_len(const struct scd__writer *w)
{
	return (size_t)(w->at - w->start);
}

size_t scd__writer_left(const struct scd__writer *w)
{
	return (size_t)(w->end - w->at);
}

void scd__write_bytes(struct scd__writer *w, const uint8_t *bytes, size_t len)
{
	if (!w->error && len > scd__writer_left(w))
		w->error = SCD_ESPACE;
	if (w->error || len == 0)
		return;
	memcpy(w->at, bytes, len);
	w->at += len;
}

void scd__write_u8(struct scd__writer *w, uint8_t value)
{
	scd__write_bytes(w, &value, 1);
}

void scd__write_zeros(struct scd__writer *w, size_t len)
{
	if (!w->error && len > scd__writer_left(w))
		w->error = SCD_ESPACE;
	if (w->error || len == 0)
		return;
	memset(w->at, 0, len);
	w->at += len;
}

/* A number in n (at most 8) bytes. */
static void cursor_write_number(struct scd__writer *w, uint64_t value, size_t n)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	scd__write_bytes(w, bytes, n);
}

void scd__write_u16(struct scd__writer *w, uint16_t value)
{
	cursor_write_number(w, value, 2);
}

void scd__write_u32(struct scd__writer *w, uint32_t value)
{
	cursor_write_number(w, value, 4);
}

void scd__write_u64(struct scd__writer *w, uint64_t value)
{
	cursor_write_number(w, value, 8);
}

void scd__write_be16(struct scd__writer *w, uint16_t value)
{
	const uint8_t bytes[2] = {(uint8_t)(value >> 8), (uint8_t)value};

	scd__write_bytes(w, bytes, sizeof(bytes));
}

void scd__write_be32(struct scd__writer *w, uint32_t value)
{
	const uint8_t bytes[4] = {(uint8_t)(value >> 24),
				  (uint8_t)(value >> 16), (uint8_t)(value >> 8),
				  (uint8_t)value};

	scd__write_bytes(w, bytes, sizeof(bytes));
}
