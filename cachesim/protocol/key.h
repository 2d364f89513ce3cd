/*
 * The key that an object has in digests. A trace gives an object a hash of 64
 * bits; a key has 128.
 */
#ifndef CACHESIM_PROTOCOL_KEY_H
#define CACHESIM_PROTOCOL_KEY_H

#include "codec/key.h"

/* Scatters all bits: the last steps of splitmix64. */
static inline uint64_t protocol_mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static inline struct scd_key protocol_key(uint64_t hash)
{
	return (struct scd_key){
		hash, protocol_mix(hash + UINT64_C(0x9e3779b97f4a7c15))
	};
}

#endif
