/*
 * Numbers of 1 to 8 bytes in a binary record, in either order. Compilers make
 * one load of it where the width is a constant.
 */
#ifndef TRACE_BYTES_H
#define TRACE_BYTES_H

#include <stdint.h>

/* Least significant byte first. */
static inline uint64_t bytes_little(const char *at, unsigned bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | (unsigned char)at[bytes];
	return v;
}

/* Most significant byte first. */
static inline uint64_t bytes_big(const char *at, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v = v << 8 | (unsigned char)at[i];
	return v;
}

#endif
