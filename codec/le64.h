/*
 * Words of bytes in memory, wherever they lie.
 */
#ifndef SCD_LE64_H
#define SCD_LE64_H

#include <stdint.h>

/* Eight bytes as a number, the first of them the lowest. Spelled out, it is one
 * load to all compilers; a loop is not. */
static inline uint64_t scd__load_le64(const uint8_t *p)
{
	return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 |
	       (uint64_t)p[3] << 24 | (uint64_t)p[4] << 32 |
	       (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
	       (uint64_t)p[7] << 56;
}

#endif
