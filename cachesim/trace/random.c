/*
 * See random.h. The series are summed from their smallest term.
 */
#include "cachesim/trace/random.h"

#include <math.h>

uint64_t random_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

void random_seed(struct trace_random *r, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		seed += 0x9e3779b97f4a7c15u;
		r->s[i] = random_mix(seed);
	}
}

static uint64_t rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

uint64_t random_u64(struct trace_random *r)
{
	uint64_t *s = r->s;
	uint64_t result = rotate(s[0] + s[3], 23) + s[0];
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate(s[3], 45);
	return result;
}

double random_unit(struct trace_random *r)
{
	return (double)(random_u64(r) >> 11) * 0x1p-53;
}

/* ln 2 in two parts: the first has 32 bits, so that k times it is exact. */
static const double ln2_high = 0x1.62e42fee00000p-1;
static const double ln2_low = 0x1.a39ef35793c76p-33;

double exact_log(double x)
{
	int e;
	double m = frexp(x, &e), s, s2, sum = 0;

	if (m < 0.70710678118654752) {
		m *= 2;
		e--;
	}
	/* ln m = 2 (s + s^3/3 + s^5/5 + ...), |s| <= 0.172 */
	s = (m - 1) / (m + 1);
	s2 = s * s;
	for (int k = 23; k >= 1; k -= 2)
		sum = sum * s2 + 1.0 / k;
	return e * ln2_high + (2 * s * sum + e * ln2_low);
}

double exact_exp(double x)
{
	double k = floor(x / (ln2_high + ln2_low) + 0.5);
	double r = x - k * ln2_high - k * ln2_low;
	double sum = 1;

	if (x <= -700)
		return 0;
	/* |r| <= 0.347: fifteen terms reach 2^-60 */
	for (int i = 15; i >= 1; i--)
		sum = 1 + sum * r / i;
	return ldexp(sum, (int)k);
}

double exact_pow(double x, double y)
{
	return exact_exp(y * exact_log(x));
}
