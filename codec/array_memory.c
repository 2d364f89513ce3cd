/*
 * Asking for huge pages changes when memory is there, never what is in it: so
 * code that is a function of its arguments may do so.
 */
#include "codec/array_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

/* AddressSanitizer is to see the end of an array, not that of a page. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARRAY_MEMORY_WATCHED
#endif
#endif
#if defined(MADV_HUGEPAGE) && !defined(__SANITIZE_ADDRESS__) && \
	!defined(ARRAY_MEMORY_WATCHED)
#define ARRAY_MEMORY_HUGE
#endif

static size_t array_memory_round_up(size_t len)
{
	return (len + SCD__HUGE_PAGE - 1) & -(size_t)SCD__HUGE_PAGE;
}

size_t scd__array_memory_size(size_t len)
{
	size_t whole;

	if (len > SIZE_MAX / 2)
		return len;
	whole = array_memory_round_up(len);
	return whole - len <= len / 4 ? whole : len;
}

#if defined(ARRAY_MEMORY_HUGE)
static void *array_memory_huge(size_t size)
{
	void *p = aligned_alloc(SCD__HUGE_PAGE, size);

	/* If that is refused, pages are as they are elsewhere. */
	if (p)
		madvise(p, size & -(size_t)SCD__HUGE_PAGE, MADV_HUGEPAGE);
	return p;
}

void *scd__array_memory(size_t len)
{
	const size_t size = scd__array_memory_size(len);

	return size < SCD__HUGE_PAGE ? malloc(len) : array_memory_huge(size);
}

void *scd__array_memory_zeros(size_t len)
{
	void *p;

	if (scd__array_memory_size(len) < SCD__HUGE_PAGE)
		return calloc(1, len);
	p = scd__array_memory(len);
	return p ? memset(p, 0, len) : NULL;
}
#else
void *scd__array_memory(size_t len)
{
	return malloc(len);
}

void *scd__array_memory_zeros(size_t len)
{
	return calloc(1, len);
}
#endif
