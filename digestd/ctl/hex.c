/*
 * Hexadecimal digits.
 */
#include "digestd/ctl/hex.h"

/* 0..15, or more for what is no digit. */
static unsigned hex_value(char c)
{
	unsigned digit = (unsigned char)c - (unsigned)'0';
	unsigned letter = ((unsigned char)c | 0x20u) - (unsigned)'a';

	if (digit < 10)
		return digit;
	return letter < 6 ? letter + 10 : 16;
}

bool hex_bytes(const char *digits, size_t n, uint8_t *out)
{
	unsigned all = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned high = hex_value(digits[2 * i]);
		unsigned low = hex_value(digits[2 * i + 1]);

		all |= high | low;
		out[i] = (uint8_t)(high << 4 | (low & 15));
	}
	return all < 16;
}
