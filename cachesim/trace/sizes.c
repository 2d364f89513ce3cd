/*
 * See sizes.h. The inverse of the normal distribution is Acklam's rational
 * approximation (relative error 1.2e-9), its upper branch not needed here.
 */
#include "cachesim/trace/sizes.h"

#include <math.h>

#include "cachesim/trace/random.h"
#include "codec/mix.h"


static const double sigma = 1.3;      /* of the body's logarithm */
static const double tail_from = 0.93; /* quantile where the tail begins */
static const double tail_shape = 1.25;
static const double largest = 4000; /* medians: 16 MB for a median of 4 KB */

/* Evaluates a polynomial, highest coefficient first. */
static double sizes_polynomial(const double *c, int n, double x)
{
	double v = 0;

	for (int i = 0; i < n; i++)
		v = v * x + c[i];
	return v;
}

/* 0 < u < 0.97 */
static double sizes_normal_quantile(double u)
{
	static const double a[] = { -3.969683028665376e+01,
				    2.209460984245205e+02,
				    -2.759285104469687e+02,
				    1.383577518672690e+02,
				    -3.066479806614716e+01,
				    2.506628277459239e+00 };
	static const double b[] = { -5.447609879822406e+01,
				    1.615858368580409e+02,
				    -1.556989798598866e+02,
				    6.680131188771972e+01,
				    -1.328068155288572e+01,
				    1 };
	static const double c[] = { -7.784894002430293e-03,
				    -3.223964580411365e-01,
				    -2.400758277161838e+00,
				    -2.549732539343734e+00,
				    4.374664141464968e+00,
				    2.938163982698783e+00 };
	static const double d[] = { 7.784695709041462e-03,
				    3.224671290700398e-01,
				    2.445134137142996e+00,
				    3.754408661907416e+00, 1 };
	double q, r;

	if (u < 0.02425) {
		q = sqrt(-2 * exact_log(u));
		return sizes_polynomial(c, 6, q) / sizes_polynomial(d, 5, q);
	}
	q = u - 0.5;
	r = q * q;
	return sizes_polynomial(a, 6, r) * q / sizes_polynomial(b, 6, r);
}

double sizes_quantile(double u)
{
	double x;

	if (u < 1e-6)
		u = 1e-6;
	if (u < tail_from)
		return exact_exp(sigma * sizes_normal_quantile(u));
	x = exact_exp(sigma * sizes_normal_quantile(tail_from)) *
	    exact_pow((1 - tail_from) / (1 - u), 1 / tail_shape);
	return x < largest ? x : largest;
}

double sizes_even(uint64_t i, uint64_t seed)
{
	/* 2^64 divided by the golden ratio: wraps around modulo 1 */
	uint64_t x = i * 0x9e3779b97f4a7c15u + scd__mix64(seed);

	return (double)(x >> 11) * 0x1p-53;
}
