/*
 * Random numbers and the two logarithmic functions, the same bits on every
 * machine: integers, and IEEE 754 operations that are exactly rounded (the
 * functions of libm are not, and differ between machines). The build fuses no
 * multiplication with an addition.
 */
#ifndef TRACE_RANDOM_H
#define TRACE_RANDOM_H

#include <stdint.h>

/* xoshiro256++ (Blackman and Vigna, 2019). Never all zero. */
struct trace_random {
	uint64_t s[4];
};

/* Fills the state from the seed with splitmix64. */
void random_seed(struct trace_random *r, uint64_t seed);

/* The next 64 bits. */
static inline uint64_t random_u64(struct trace_random *r)
{
	uint64_t *s = r->s;
	uint64_t sum = s[0] + s[3];
	uint64_t result = (sum << 23 | sum >> 41) + s[0];
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = s[3] << 45 | s[3] >> 19;
	return result;
}

/* Uniform in [0,1), a multiple of 2^-53. */
static inline double random_unit(struct trace_random *r)
{
	return (double)(random_u64(r) >> 11) * 0x1p-53;
}

/* Natural logarithm of a positive finite number, to about 2 ulp. */
double exact_log(double x);

/* e^x for |x| < 700, to about 2 ulp; 0 below. */
double exact_exp(double x);

/* x^y for x > 0. */
double exact_pow(double x, double y);

#endif
