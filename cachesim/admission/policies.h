/*
 * The policies, for their table and their tests, and what several of them
 * need.
 */
#ifndef CACHESIM_ADMISSION_POLICIES_H
#define CACHESIM_ADMISSION_POLICIES_H

#include "cachesim/admission/admission.h"
#include "codec/key.h"

extern const struct admission_policy admission_none;
extern const struct admission_policy admission_exact;
extern const struct admission_policy admission_pair;
extern const struct admission_policy admission_aged;
extern const struct admission_policy admission_probation;
extern const struct admission_policy admission_stable;
extern const struct admission_policy admission_tinylfu;
extern const struct admission_policy admission_size;
extern const struct admission_policy admission_auto;

/* Scatters all bits: the finisher of splitmix64. */
static inline uint64_t admission_mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* The next random number of a state: splitmix64. */
static inline uint64_t admission_random(uint64_t *state)
{
	return admission_mix(*state += UINT64_C(0x9e3779b97f4a7c15));
}

/* The 128 bits that libscd wants of a key, out of 64. */
static inline struct scd_key admission_key(uint64_t hash)
{
	return (struct scd_key){
		hash, admission_mix(hash + UINT64_C(0x9e3779b97f4a7c15))
	};
}

#endif
