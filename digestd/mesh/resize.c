/*
 * The size of the catalog's filter.
 */
#include "digestd/mesh/resize.h"

#include <assert.h>

enum {
	CROWDED_TIMES = 2, /* what is meant */
	ROOT_BITS = 60,
};

#define LOG_EXACT 0x1p-60 /* what is left out of a sum does not change it */

static const double sparse_share = .4; /* of what it is made for */
static const double shrunk_share = .8;

/* The smallest size that holds so many bits, within the policy's. */
static uint64_t resize_fitting(const struct resize_policy *policy, double bits)
{
	uint64_t nbits = policy->min_bits;

	while ((double)nbits < bits && nbits < policy->max_bits)
		nbits *= 2;
	return nbits;
}

static double resize_bits_for(const struct resize_policy *policy,
			      uint64_t nkeys)
{
	return (double)nkeys * (double)policy->bits_per_key;
}

/* e^-x for x >= 0, by halving x and squaring the result. It decides, and so is
 * made of sums and products: exp() is not the same on all processors. Good to
 * 13 digits where it is not 0 for what follows. */
static double resize_decay(double x)
{
	enum { TERMS = 12, MOST = 64 };
	unsigned halvings = 0;
	double term = 1, sum = 1;

	if (x >= MOST)
		return 0;
	for (; x > .5; x /= 2)
		halvings++;
	for (int i = 1; i <= TERMS; i++) {
		term *= -x / i;
		sum += term;
	}
	while (halvings--)
		sum *= sum;
	return sum;
}

/* x^n, of products. */
static double resize_power(double x, unsigned n)
{
	double p = 1;

	while (n--)
		p *= x;
	return p;
}

/* The false positives to expect of n keys in a filter of m bits. */
static double resize_fp(double n, double m, unsigned nhash)
{
	return resize_power(1 - resize_decay(nhash * n / m), nhash);
}

bool resize_is_crowded(const struct resize_policy *policy,
		       const struct catalog_stats *now)
{
	double m = (double)now->nbits;
	double meant = m / (double)policy->bits_per_key;
	double n = (double)now->nkeys;

	return n > CROWDED_TIMES * meant ||
	       resize_fp(n, m, now->nhash) >
		       CROWDED_TIMES * resize_fp(meant, m, now->nhash);
}

static bool resize_has_few(const struct resize_policy *policy,
			   const struct catalog_stats *now)
{
	return resize_bits_for(policy, now->nkeys) <=
	       sparse_share * (double)now->nbits;
}

/* Notes how many keys there are; whether they have been few for long. */
static bool resize_is_sparse(struct resize *r,
			     const struct resize_policy *policy,
			     const struct catalog_stats *now, int64_t now_ms)
{
	const bool few = resize_has_few(policy, now);

	if (!few || r->nbits != now->nbits)
		*r = (struct resize){ now->nbits, 0, now_ms };
	if (few && r->peak < now->nkeys)
		r->peak = now->nkeys;
	return few && now_ms - r->since_ms >= policy->shrink_ms;
}

uint64_t resize_wanted(struct resize *r, const struct resize_policy *policy,
		       const struct catalog_stats *now, int64_t now_ms)
{
	assert(policy->min_bits && policy->min_bits <= policy->max_bits);
	assert(policy->bits_per_key);
	if (now->nbits < policy->min_bits || now->nbits > policy->max_bits ||
	    resize_is_crowded(policy, now))
		return resize_fitting(policy,
				      resize_bits_for(policy, now->nkeys));
	if (resize_is_sparse(r, policy, now, now_ms))
		return resize_fitting(policy, resize_bits_for(policy, r->peak) /
						      shrunk_share);
	return now->nbits;
}

int64_t resize_due_ms(const struct resize *r,
		      const struct resize_policy *policy,
		      const struct catalog_stats *now)
{
	if (now->nbits <= policy->min_bits || r->nbits != now->nbits ||
	    !resize_has_few(policy, now))
		return INT64_MAX;
	return r->since_ms + policy->shrink_ms;
}

/* The x of 0..1 with x^n = y, by halving the interval. */
static double resize_root(double y, unsigned n)
{
	double low = 0, high = 1;

	for (int i = 0; i < ROOT_BITS; i++) {
		double middle = (low + high) / 2;

		if (resize_power(middle, n) < y)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* -ln(1 - x) for 0 < x < 1: the sum of x^i / i. */
static double resize_log(double x)
{
	double sum = 0, power = x;

	for (unsigned i = 1; power > sum * LOG_EXACT; i++, power *= x)
		sum += power / i;
	return sum;
}

uint64_t resize_bits_per_key(double fp, unsigned nhash)
{
	double bits;
	uint64_t whole;

	assert(fp > 0 && fp <= .5 && nhash >= 1 && nhash <= 32);
	bits = nhash / resize_log(resize_root(fp, nhash));
	whole = (uint64_t)bits;
	return (double)whole < bits ? whole + 1 : whole;
}
