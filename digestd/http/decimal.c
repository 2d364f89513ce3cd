/*
 * Numbers as text: digits from the last to the first, whose place is known once
 * they are counted.
 */
#include "digestd/http/decimal.h"

enum { DECIMAL_DIGITS_MAX = 20 }; /* of an uint64_t */

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

size_t decimal_write_size(uint64_t number, char *out)
{
	const size_t len = decimal_digits(number);
	char *at = out + len;

	*at = '\0';
	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	return len;
}

size_t decimal_write(int64_t number, char out[DECIMAL_BYTES])
{
	if (number >= 0)
		return decimal_write_size((uint64_t)number, out);
	*out = '-';
	return 1 + decimal_write_size(0 - (uint64_t)number, out + 1);
}
