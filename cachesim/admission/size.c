/*
 * By size alone: an object of `size` is written with probability exp(-size/c),
 * each time that it is asked for. Remembers nothing.
 *
 * Source: the admission by size of Berger, Sitaraman, Harchol-Balter,
 * "AdaptSize", 2017, with a c that stays as it is.
 */
#include <math.h>

#include "cachesim/admission/policies.h"

struct by_size {
	struct admission base;
	uint64_t random;
};

static int size_init(struct admission *a)
{
	((struct by_size *)a)->random = a->config.seed;
	return 0;
}

static enum admission_decision size_decide(struct admission *a,
					   const struct admission_item *r)
{
	struct by_size *s = (struct by_size *)a;
	double p = exp(-(double)r->size / a->config.size_scale);
	double draw = (double)(scd__splitmix64(&s->random) >> 11) * 0x1p-53;

	return draw < p ? ADMISSION_DISK : ADMISSION_NO;
}

const struct admission_policy admission_size = {
	.name = "size",
	.about = "with probability exp(-size/c)",
	.options = "size seed",
	.size = sizeof(struct by_size),
	.init = size_init,
	.decide = size_decide,
};
