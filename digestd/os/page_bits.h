/*
 * A bit for each page of a segment: 512 of 4 KiB, which are one huge page.
 */
#ifndef DIGESTD_OS_PAGE_BITS_H
#define DIGESTD_OS_PAGE_BITS_H

#include <stdbool.h>
#include <stdint.h>

enum { PAGE_BITS = 512, PAGE_BITS_WORDS = PAGE_BITS / 64 };

struct page_bits {
	uint64_t words[PAGE_BITS_WORDS];
};

/* Sets, or clears, n bits from `from` on. */
void page_bits_set(struct page_bits *b, unsigned from, unsigned n);
void page_bits_clear(struct page_bits *b, unsigned from, unsigned n);

/* Sets them while other threads set or read others. */
void page_bits_set_shared(struct page_bits *b, unsigned from, unsigned n);

/* Whether one is set. */
bool page_bits_has(const struct page_bits *b, unsigned at);

/* How many of n bits from `from` on are set. */
unsigned page_bits_count(const struct page_bits *b, unsigned from, unsigned n);

/* The first bit from `from` on that is set, or is not; PAGE_BITS: none. */
unsigned page_bits_next(const struct page_bits *b, unsigned from, bool set);

/* The first run of n bits that are not set; PAGE_BITS: none. */
unsigned page_bits_find_clear(const struct page_bits *b, unsigned n);

/* How long the runs of bits that are not set are: at the beginning, at the end,
 * and the longest. */
struct page_runs {
	uint16_t head, tail, longest;
};
struct page_runs page_bits_clear_runs(const struct page_bits *b);

#endif
