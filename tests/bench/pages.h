/*
 * Large pages for what a benchmark reads at random, as a program that cares
 * for speed asks for them.
 */
#ifndef TESTS_BENCH_PAGES_H
#define TESTS_BENCH_PAGES_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* For the whole pages of some memory, unless BENCH_SMALL_PAGES is set. */
static inline void pages_large(void *memory, size_t bytes)
{
	const size_t page = 4096;
	uintptr_t first = ((uintptr_t)memory + page - 1) / page;
	uintptr_t end = ((uintptr_t)memory + bytes) / page;

	if (!getenv("BENCH_SMALL_PAGES") && end > first)
		madvise((void *)(first * page), (end - first) * page,
			MADV_HUGEPAGE);
}

#endif
