/*
 * Bits of pages, a word at a time.
 */
#include "digestd/os/page_bits.h"

#include <assert.h>

/* The bits of a word that are among n from `from` on. */
static uint64_t page_bits_mask(unsigned word, unsigned from, unsigned n)
{
	unsigned begin = word * 64, end = from + n;
	uint64_t mask = UINT64_MAX;

	if (from >= begin + 64 || end <= begin)
		return 0;
	if (from > begin)
		mask <<= from - begin;
	if (end < begin + 64)
		mask &= UINT64_MAX >> (begin + 64 - end);
	return mask;
}

void page_bits_set(struct page_bits *b, unsigned from, unsigned n)
{
	assert(from + n <= PAGE_BITS);
	for (unsigned i = 0; i < PAGE_BITS_WORDS; i++)
		b->words[i] |= page_bits_mask(i, from, n);
}

void page_bits_clear(struct page_bits *b, unsigned from, unsigned n)
{
	assert(from + n <= PAGE_BITS);
	for (unsigned i = 0; i < PAGE_BITS_WORDS; i++)
		b->words[i] &= ~page_bits_mask(i, from, n);
}

void page_bits_set_shared(struct page_bits *b, unsigned from, unsigned n)
{
	assert(from + n <= PAGE_BITS);
	for (unsigned i = 0; i < PAGE_BITS_WORDS; i++) {
		uint64_t mask = page_bits_mask(i, from, n);

		/* what is set is not written again: its line stays shared */
		if (mask & ~__atomic_load_n(&b->words[i], __ATOMIC_RELAXED))
			__atomic_fetch_or(&b->words[i], mask, __ATOMIC_RELAXED);
	}
}

bool page_bits_has(const struct page_bits *b, unsigned at)
{
	assert(at < PAGE_BITS);
	return b->words[at / 64] >> at % 64 & 1;
}

unsigned page_bits_count(const struct page_bits *b, unsigned from, unsigned n)
{
	unsigned sum = 0;

	assert(from + n <= PAGE_BITS);
	for (unsigned i = 0; i < PAGE_BITS_WORDS; i++)
		sum += (unsigned)__builtin_popcountll(
			b->words[i] & page_bits_mask(i, from, n));
	return sum;
}

unsigned page_bits_next(const struct page_bits *b, unsigned from, bool set)
{
	assert(from <= PAGE_BITS);
	for (unsigned i = from / 64; i < PAGE_BITS_WORDS; i++) {
		uint64_t word = set ? b->words[i] : ~b->words[i];

		word &= page_bits_mask(i, from, PAGE_BITS - from);
		if (word)
			return i * 64 + (unsigned)__builtin_ctzll(word);
	}
	return PAGE_BITS;
}

unsigned page_bits_find_clear(const struct page_bits *b, unsigned n)
{
	unsigned from = page_bits_next(b, 0, false);

	while (from < PAGE_BITS) {
		unsigned end = page_bits_next(b, from, true);

		if (end - from >= n)
			return from;
		from = page_bits_next(b, end, false);
	}
	return PAGE_BITS;
}

struct page_runs page_bits_clear_runs(const struct page_bits *b)
{
	unsigned from = page_bits_next(b, 0, false);
	struct page_runs runs = {0};

	while (from < PAGE_BITS) {
		unsigned end = page_bits_next(b, from, true);
		uint16_t len = (uint16_t)(end - from);

		if (!from)
			runs.head = len;
		if (end == PAGE_BITS)
			runs.tail = len;
		if (len > runs.longest)
			runs.longest = len;
		from = page_bits_next(b, end, false);
	}
	return runs;
}
