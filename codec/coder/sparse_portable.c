/*
 * Decoding the sparse coding in portable C: for machines that have nothing
 * better, and for what other engines leave.
 *
 * A group of 16 symbols is decoded first, by as many coders, and then turned
 * into places one by one: so only the second, short loop has work that waits
 * for what came before.
 */
#include "codec/coder/sparse_engine.h"

#include "codec/coder/ans.h"

/* The next n symbols, at most a group; false: too few words. */
static bool sparse_portable_next_symbols(struct scd__sparse_decoding *d,
					 unsigned n, uint8_t *syms)
{
	static const uint8_t none[2] = {0, 0};
	uint32_t *state = d->state + d->done % d->nlanes;
	const uint8_t *at = d->at;
	bool short_of_words = false;

	for (unsigned i = 0; i < n; i++) {
		uint32_t x = state[i], few, more;
		const uint32_t entry = d->table[x & (SCD__GAP_SCALE - 1)];

		/* No branch that depends on the symbol: it would be a guess. */
		x = (entry >> 12 & 0xfff) * (x >> SCD__GAP_SCALE_LOG) +
		    (entry & 0xfff);
		few = x < SCD__ANS_MIN;
		short_of_words |= few && at == d->end;
		more = x << 16 | scd__ans_word(at == d->end ? none : at);
		state[i] = x ^ ((x ^ more) & -few);
		at += at == d->end ? 0 : 2 * few;
		syms[i] = (uint8_t)(entry >> 24);
	}
	d->at = at;
	return !short_of_words;
}

/* n (at most 18) bits from a bit on; bytes enough are there to be read. */
static uint32_t sparse_portable_bits_at(const uint8_t *low, uint64_t bit,
					unsigned n)
{
	const uint8_t *b = low + bit / 8;
	uint32_t word = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
			(uint32_t)b[3] << 24;

	return word >> bit % 8 & ((UINT32_C(1) << n) - 1);
}

/* Set the ones of n symbols, and move on in the low bits. */
static int sparse_portable_set_ones(struct scd__sparse_decoding *d, unsigned n,
				    const uint8_t *syms)
{
	const unsigned low_bits = d->model->low_bits;
	const unsigned escape = d->model->nsyms;
	uint64_t place = d->place, bit = d->low_bit;

	if (bit > 8 * (uint64_t)d->low_bytes)
		return SCD_EFORMAT;
	for (unsigned i = 0; i < n; i++) {
		place += (uint64_t)syms[i] << low_bits;
		if (syms[i] == escape)
			continue;
		place += sparse_portable_bits_at(d->low, bit, low_bits);
		bit += low_bits;
		if (place >= d->nbits)
			return SCD_EFORMAT;
		d->bits[place >> 3] |= (uint8_t)(1u << (place & 7));
		place++;
	}
	d->place = place;
	d->low_bit = bit;
	return SCD_OK;
}

int scd__sparse_decode_rest(struct scd__sparse_decoding *d)
{
	while (d->done < d->nsyms) {
		uint8_t syms[SCD__SPARSE_GROUP];
		uint32_t left = d->nsyms - d->done;
		unsigned n = left < SCD__SPARSE_GROUP ? left
						      : SCD__SPARSE_GROUP;

		if (!sparse_portable_next_symbols(d, n, syms) ||
		    sparse_portable_set_ones(d, n, syms))
			return SCD_EFORMAT;
		d->done += n;
	}
	return SCD_OK;
}

/* All the work is done by what ends the work of others. */
static int sparse_portable_decode(struct scd__sparse_decoding *d)
{
	(void)d;
	return SCD_OK;
}

static bool sparse_portable_available(void)
{
	return true;
}

const struct scd__sparse_engine scd__sparse_portable = {
	.name = "portable",
	.available = sparse_portable_available,
	.decode = sparse_portable_decode,
};
