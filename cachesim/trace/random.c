/*
 * See random.h. The series are summed from their smallest term.
 */
#include "cachesim/trace/random.h"

#include <math.h>

#include "codec/mix.h"

void random_seed(struct trace_random *r, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		r->s[i] = scd__splitmix64(&seed);
}

/* ln 2 in two parts: the first has 32 bits, so that k times it is exact. */
static const double ln2_high = 0x1.62e42fee00000p-1;
static const double ln2_low = 0x1.a39ef35793c76p-33;

/* A division takes as long as all the rest of a term. */
static const double inverse[] = {
	0,	  1,	    1.0 / 2,  1.0 / 3,	1.0 / 4,  1.0 / 5,
	1.0 / 6,  1.0 / 7,  1.0 / 8,  1.0 / 9,	1.0 / 10, 1.0 / 11,
	1.0 / 12, 1.0 / 13, 1.0 / 14, 1.0 / 15, 1.0 / 16, 1.0 / 17,
	1.0 / 18, 1.0 / 19, 1.0 / 20, 1.0 / 21, 1.0 / 22, 1.0 / 23,
};

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
		sum = sum * s2 + inverse[k];
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
		sum = 1 + sum * (r * inverse[i]);
	return ldexp(sum, (int)k);
}

double exact_pow(double x, double y)
{
	return exact_exp(y * exact_log(x));
}
