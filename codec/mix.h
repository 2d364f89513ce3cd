/*
 * Scattering bits, and random numbers that are the same from the same seed on
 * every machine: splitmix64 of Steele, Lea and Flood, "Fast Splittable
 * Pseudorandom Number Generators", 2014, whose mixing function is variant 13
 * of Stafford's of the mixer of MurmurHash3. Nothing here is a secret.
 */
#ifndef SCD_MIX_H
#define SCD_MIX_H

#include <stdint.h>

#include "codec/key.h"

/* What the state of splitmix64 grows by. */
#define SCD__SPLITMIX_STEP UINT64_C(0x9e3779b97f4a7c15)

/* Scatters all bits; a bijection. */
static inline uint64_t scd__mix64(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* The next random number of a state. */
static inline uint64_t scd__splitmix64(uint64_t *state)
{
	return scd__mix64(*state += SCD__SPLITMIX_STEP);
}

/* The 128 bits of a key, out of a hash of 64 that stands for it. */
static inline struct scd_key scd__key_of_hash(uint64_t hash)
{
	return (struct scd_key){ hash, scd__mix64(hash + SCD__SPLITMIX_STEP) };
}

#endif
