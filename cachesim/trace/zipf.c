/*
 * See zipf.h; the names of the helpers are those of the paper.
 */
#include "cachesim/trace/zipf.h"

#include <math.h>

enum { EXACT_RANKS = 1024 }; /* summed one by one */

/* The integral of x^-alpha from 1 to x. */
static double h_integral(const struct zipf *z, double x)
{
	return (exact_pow(x, 1 - z->alpha) - 1) / (1 - z->alpha);
}

static double h_inverse(const struct zipf *z, double y)
{
	return exact_pow(1 + y * (1 - z->alpha), 1 / (1 - z->alpha));
}

static double h(const struct zipf *z, double x)
{
	return exact_pow(x, -z->alpha);
}

void zipf_init(struct zipf *z, double n, double alpha)
{
	double head = n < EXACT_RANKS ? n : EXACT_RANKS;

	z->n = n;
	z->alpha = alpha;
	z->bottom = h_integral(z, 1.5) - 1;
	z->top = h_integral(z, n + 0.5);
	z->shortcut = 2 - h_inverse(z, h_integral(z, 2.5) - h(z, 2));
	z->z = 0;
	for (double i = head; i >= 1; i--)
		z->z += h(z, i);
	if (n > head)
		z->z += z->top - h_integral(z, head + 0.5);
}

uint64_t zipf_draw(const struct zipf *z, struct trace_random *r)
{
	for (;;) {
		double u = z->top +
			   random_unit(r) * (z->bottom - z->top);
		double x = h_inverse(z, u);
		double k = floor(x + 0.5);

		if (k < 1)
			k = 1;
		else if (k > z->n)
			k = z->n;
		if (k - x <= z->shortcut ||
		    u >= h_integral(z, k + 0.5) - h(z, k))
			return (uint64_t)k;
	}
}

double zipf_p(const struct zipf *z, double rank)
{
	return h(z, rank) / z->z;
}

double zipf_distinct(const struct zipf *z, double draws)
{
	double sum = 0, i, step;

	for (i = 1; i <= EXACT_RANKS && i <= z->n; i++)
		sum += 1 - exact_exp(-draws * zipf_p(z, i));
	for (; i <= z->n; i += step) {
		step = floor(i / 200);
		if (step > z->n - i + 1)
			step = z->n - i + 1;
		sum += step * (1 - exact_exp(-draws *
				zipf_p(z, i + (step - 1) / 2)));
	}
	return sum;
}
