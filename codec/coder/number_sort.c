/*
 * Radix sort; insertion where a pass over 256 counters would be most of it.
 */
#include "codec/coder/number_sort.h"

#include <stdlib.h>
#include <string.h>

#include "codec/error.h"

enum { FEW = 48 };

static void number_sort_few(uint64_t *numbers, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const uint64_t number = numbers[i];
		size_t at = i;

		for (; at > 0 && numbers[at - 1] > number; at--)
			numbers[at] = numbers[at - 1];
		numbers[at] = number;
	}
}

/* One pass: by a byte of the numbers, into another array. */
static void number_sort_by_byte(const uint64_t *from, uint64_t *to, size_t n,
				unsigned shift)
{
	size_t place[257] = {0};

	for (size_t i = 0; i < n; i++)
		place[(from[i] >> shift & 255) + 1]++;
	for (unsigned i = 0; i < 256; i++)
		place[i + 1] += place[i];
	for (size_t i = 0; i < n; i++)
		to[place[from[i] >> shift & 255]++] = from[i];
}

int scd__number_sort(uint64_t *numbers, size_t n, uint64_t max)
{
	uint64_t *other, *from = numbers, *to;

	if (n <= FEW) {
		number_sort_few(numbers, n);
		return SCD_OK;
	}
	other = n > SIZE_MAX / sizeof(*other) ? NULL
					      : malloc(n * sizeof(*other));
	if (!other)
		return SCD_ENOMEM;
	to = other;
	for (unsigned shift = 0; shift < 64 && max >> shift; shift += 8) {
		uint64_t *sorted = to;

		number_sort_by_byte(from, to, n, shift);
		to = from;
		from = sorted;
	}
	if (from != numbers)
		memcpy(numbers, from, n * sizeof(*numbers));
	free(other);
	return SCD_OK;
}
