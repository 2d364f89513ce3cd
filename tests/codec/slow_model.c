/*
 * The models of codings 3 to 5: FORMAT.md, "Coding 3, dense", and "The model
 * of gaps".
 */
#include "tests/codec/slow_model.h"

#include <assert.h>

void slow_symbols_start(struct slow_symbols *s)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < s->count; i++) {
		s->start[i] = sum;
		sum += s->freq[i];
	}
	assert(sum == UINT32_C(1) << s->log);
}

unsigned slow_ones(uint8_t byte)
{
	unsigned n = 0;

	for (; byte; byte >>= 1)
		n += byte & 1;
	return n;
}

const uint8_t *slow_byte_of_rank(void)
{
	static uint8_t bytes[256];
	unsigned rank = 0;

	if (bytes[255])
		return bytes;
	for (unsigned ones = 0; ones <= 8; ones++) {
		for (unsigned byte = 0; byte < 256; byte++) {
			if (slow_ones((uint8_t)byte) == ones)
				bytes[rank++] = (uint8_t)byte;
		}
	}
	return bytes;
}

unsigned slow_class_rank(unsigned c)
{
	/* Sums of C(8, c). */
	static const unsigned first[] = {0, 1, 9, 37, 93, 163, 219, 247, 255,
					 256};

	return first[c];
}

bool slow_dense_symbols(unsigned nclasses, const uint16_t freq[8],
			struct slow_symbols *s)
{
	uint32_t sum = 0;

	s->log = 14;
	s->count = nclasses == 8 ? 256 : slow_class_rank(nclasses - 1) + 1;
	for (unsigned i = 1; i < s->count; i++) {
		unsigned c = slow_ones(slow_byte_of_rank()[i]);

		s->freq[i] = freq[c < nclasses ? c : nclasses - 1];
		sum += s->freq[i];
	}
	if (sum >= 1 << 14)
		return false;
	s->freq[0] = (1 << 14) - sum;
	slow_symbols_start(s);
	return true;
}

unsigned slow_escape_bits(unsigned nclasses)
{
	const unsigned most = 255 - slow_class_rank(nclasses - 1);
	unsigned bits = 0;

	while (most >> bits)
		bits++;
	return bits;
}

static uint32_t slots(uint64_t share)
{
	const uint64_t n = (share * 4096 + (UINT64_C(1) << 31)) >> 32;

	return n ? (uint32_t)n : 1;
}

void slow_gap_model(const struct scd__shape *shape, struct slow_gaps *m)
{
	const uint64_t all = UINT64_C(1) << 32;
	uint64_t p = (shape->nones << 32) / shape->nbits, none, one;
	uint64_t mass = all;
	uint32_t sum;
	unsigned i = 0;

	assert(shape->nbits < UINT64_C(1) << 31);
	none = all - (p ? p : 1);
	for (m->low_bits = 0; all - none < UINT64_C(1) << 28; m->low_bits++)
		none = none * none >> 32;
	one = all - none;
	for (sum = 0; mass * one >> 20 >= all; i++) {
		uint64_t share = mass * one >> 32;

		m->symbols.freq[i] = slots(share);
		sum += m->symbols.freq[i];
		mass -= share;
	}
	m->escape = i;
	m->symbols.freq[i] = slots(mass);
	sum += m->symbols.freq[i];
	m->symbols.freq[0] += 4096 - sum;
	m->symbols.log = 12;
	m->symbols.count = i + 1;
	slow_symbols_start(&m->symbols);
}
