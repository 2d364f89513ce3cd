/*
 * Numbers as text: digits from the last to the first, whose place is known once
 * they are counted.
 */
#include "digestd/http/decimal.h"

enum { DECIMAL_DIGITS_MAX = 19 }; /* of an int64_t */

/* How many digits a number has. */
static size_t decimal_digits(uint64_t number)
{
	size_t digits = 1;

	for (uint64_t above = 10; number >= above; above *= 10) {
		if (++digits == DECIMAL_DIGITS_MAX)
			break; /* the next power would be too large */
	}
	return digits;
}

size_t decimal_write(int64_t number, char out[DECIMAL_BYTES])
{
	uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
	const size_t len = decimal_digits(left) + (number < 0);
	char *at = out + len;

	*at = '\0';
	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (number < 0)
		*--at = '-';
	return len;
}
