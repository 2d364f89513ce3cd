/*
 * Hexadecimal digits, in either case.
 */
#ifndef DIGESTD_HTTP_HEXDIGIT_H
#define DIGESTD_HTTP_HEXDIGIT_H

/* What a digit stands for; -1: it is none. */
static inline int hexdigit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
