/*
 * Numbers as text: digits from the last to the first, then moved into place.
 */
#include "digestd/http/decimal.h"

#include <string.h>

size_t decimal_write(int64_t number, char out[DECIMAL_BYTES])
{
	uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
	char text[DECIMAL_BYTES];
	char *at = text + sizeof(text);
	size_t len;

	*--at = '\0';
	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (number < 0)
		*--at = '-';
	len = (size_t)(text + sizeof(text) - at);
	memcpy(out, at, len);
	return len - 1;
}
