/*
 * A static arithmetic coder of bytes.
 */
#include "digestd/bench/bench_bytewise.h"

#include <string.h>

#include "codec/error.h"

enum {
	SCALE_LOG = 16,
	SCALE = 1 << SCALE_LOG,
	CLASSES = 9, /* bytes by their number of ones */
	STATE_BYTES = 4,
};

/* Below it, bytes go out, or come in. */
static const uint32_t least_range = UINT32_C(1) << 24;

/* Slots of each byte; those of zero are the last, and have what is left. */
struct model {
	uint32_t start[256];
	uint32_t freq[256];
};

static unsigned bench_bytewise_class_of(unsigned byte)
{
	return (unsigned)__builtin_popcount(byte);
}

static void bench_bytewise_fit(const uint8_t *bytes, size_t len,
			       uint16_t freq[CLASSES])
{
	static const uint64_t nsyms[CLASSES] = {1, 8, 28, 56, 70, 56, 28, 8, 1};
	uint64_t count[256] = {0}, weight[CLASSES] = {0};

	for (size_t i = 0; i < len; i++)
		count[bytes[i]]++;
	for (unsigned b = 0; b < 256; b++)
		weight[bench_bytewise_class_of(b)] += count[b];
	for (unsigned c = 1; c < CLASSES; c++) {
		uint64_t slots = (weight[c] << SCALE_LOG) / (len * nsyms[c]);

		freq[c] = (uint16_t)(slots || !weight[c] ? slots : 1);
	}
}

static int bench_bytewise_set_model(struct model *m,
				    const uint16_t freq[CLASSES])
{
	uint32_t start = 0;

	for (unsigned b = 1; b < 256; b++) {
		m->start[b] = start;
		m->freq[b] = freq[bench_bytewise_class_of(b)];
		start += m->freq[b];
	}
	if (start >= SCALE)
		return SCD_EFORMAT;
	m->start[0] = start;
	m->freq[0] = SCALE - start;
	return SCD_OK;
}

/*
 * How many bytes go out, or come in: 0..2. Counted, since a loop would be
 * guessed wrong as often as not.
 */
static unsigned bench_bytewise_nbytes_due(uint32_t range)
{
	return (unsigned)__builtin_clz(range) / 8;
}

/* Add one to what is written. */
static void bench_bytewise_carry(uint8_t *at)
{
	while (++*--at == 0)
		;
}

static int bench_coding_bytewise_encode(const struct model *m,
				     const uint8_t *bytes, size_t len,
				     struct scd__writer *out)
{
	uint32_t low = 0, range = UINT32_MAX;
	uint8_t *at = out->at;

	for (size_t i = 0; i < len; i++) {
		const uint32_t width = range >> SCALE_LOG;
		const uint32_t start = width * m->start[bytes[i]];
		unsigned due;

		/* The last symbol also has what the division left. */
		range = bytes[i] ? width * m->freq[bytes[i]] : range - start;
		low += start;
		if (low < start)
			bench_bytewise_carry(at);
		if (out->end - at < 2)
			return SCD_ESPACE;
		at[0] = (uint8_t)(low >> 24);
		at[1] = (uint8_t)(low >> 16);
		due = bench_bytewise_nbytes_due(range);
		at += due;
		low <<= 8 * due;
		range <<= 8 * due;
	}
	out->at = at;
	/* Any number in the range says it; the upper byte of one does. */
	if (low + (least_range - 1) < low)
		bench_bytewise_carry(at);
	scd__write_u8(out, (uint8_t)((low + (least_range - 1)) >> 24));
	return out->error;
}

int bench_bytewise_encode(const uint8_t *bytes, size_t len,
			  struct scd__writer *out)
{
	uint16_t freq[CLASSES];
	struct model m;

	bench_bytewise_fit(bytes, len, freq);
	if (bench_bytewise_set_model(&m, freq) != SCD_OK)
		return SCD_ESPACE;
	for (unsigned c = 1; c < CLASSES; c++)
		scd__write_u16(out, freq[c]);
	return out->error ? out->error
			  : bench_coding_bytewise_encode(&m, bytes, len, out);
}

static void bench_bytewise_list_slots(const struct model *m,
				      uint8_t table[SCALE])
{
	for (unsigned b = 0; b < 256; b++)
		memset(table + m->start[b], (int)b, m->freq[b]);
}

/* Two bytes, as a number; zeros follow the end. */
static uint32_t bench_bytewise_peek(const uint8_t *at, const uint8_t *end)
{
	if (end - at >= 2)
		return (uint32_t)at[0] << 8 | at[1];
	return at < end ? (uint32_t)at[0] << 8 : 0;
}

static void bench_coding_bytewise_decode(const struct model *m,
				      struct scd__reader *in, uint8_t *bytes,
				      size_t len)
{
	const uint8_t *at = in->at, *const end = in->end;
	uint32_t code = bench_bytewise_peek(at, end) << 16, range = UINT32_MAX;
	uint8_t table[SCALE];

	bench_bytewise_list_slots(m, table);
	at += end - at < 2 ? end - at : 2;
	code |= bench_bytewise_peek(at, end);
	at += end - at < 2 ? end - at : 2;
	for (size_t i = 0; i < len; i++) {
		const uint32_t width = range >> SCALE_LOG;
		uint32_t found = code / width;
		uint8_t byte = table[found < SCALE ? found : SCALE - 1];
		const uint32_t start = width * m->start[byte];
		unsigned due;

		code -= start;
		range = byte ? width * m->freq[byte] : range - start;
		bytes[i] = byte;
		due = bench_bytewise_nbytes_due(range);
		code = code << 8 * due |
		       bench_bytewise_peek(at, end) >> (16 - 8 * due);
		range <<= 8 * due;
		at += end - at < due ? end - at : due;
	}
	in->at = at;
}

int bench_bytewise_decode(struct scd__reader *in, uint8_t *bytes, size_t len)
{
	uint16_t freq[CLASSES];
	struct model m;

	for (unsigned c = 1; c < CLASSES; c++)
		freq[c] = scd__read_u16(in);
	if (in->error || bench_bytewise_set_model(&m, freq) != SCD_OK)
		return SCD_EFORMAT;
	bench_coding_bytewise_decode(&m, in, bytes, len);
	return scd__reader_left(in) > 0 ? SCD_EFORMAT : SCD_OK;
}
