/*
 * See zipf.h. A segment of Zipf's law is one rank, up to 64, and then one
 * 64th of those before it: its last rank is 1-3 % less likely than its first.
 */
#include "cachesim/trace/zipf.h"

#include <math.h>
#include <stdlib.h>

#include "cachesim/trace/trace_request.h"

enum {
	SINGLES = 64,
	SUMMED = 1024, /* ranks up to here are summed one by one */
	GROUPS_MAX = 1 << 20,
};

static const uint64_t n_max = 1000000000000000;

/* The sum of i^-alpha for ranks from a on, up to but without b. */
static double zipf_weight(double alpha, uint64_t a, uint64_t b)
{
	double low = (double)a - 0.5, high = (double)b - 0.5, sum = 0;

	if (b > SUMMED)
		return (exact_pow(high, 1 - alpha) -
			exact_pow(low, 1 - alpha)) /
		       (1 - alpha);
	for (; a < b; a++)
		sum += exact_pow((double)a, -alpha);
	return sum;
}

static uint64_t zipf_segment_end(uint64_t first, uint64_t n)
{
	uint64_t end = first < SINGLES ? first + 1 : first + first / SINGLES;

	return end <= n ? end : n + 1;
}

/* Makes the weights' sum 1. */
static void zipf_normalize(struct zipf *r, double sum)
{
	for (size_t i = 0; i < r->segments; i++)
		r->segment[i].weight /= sum;
}

int zipf_law(struct zipf *r, uint64_t n, double alpha)
{
	double sum = 0;
	size_t segments = 0;

	/* the integral has no such form at 1; nobody sees the difference */
	if (fabs(alpha - 1) < 1e-6)
		alpha = 1 - 1e-6;
	for (uint64_t at = 1; at <= n; at = zipf_segment_end(at, n))
		segments++;
	*r = (struct zipf){ n, alpha, segments,
			     calloc(segments, sizeof(*r->segment)) };
	if (!r->segment)
		return TRACE_ENOMEM;
	segments = 0;
	for (uint64_t at = 1, end; at <= n; at = end) {
		struct zipf_segment *s = &r->segment[segments++];

		end = zipf_segment_end(at, n);
		s->first = at;
		s->count = end - at;
		s->weight = zipf_weight(alpha, at, end);
		s->least = exact_pow((double)(end - 1) / (double)at, -alpha);
		sum += s->weight;
	}
	zipf_normalize(r, sum);
	return 0;
}

int zipf_groups(struct zipf *r, const struct weighted *w)
{
	double sum = 0, n = 0;

	*r = (struct zipf){ 0, 0, 0, NULL };
	if (w->n == 0 || w->n > GROUPS_MAX)
		return TRACE_EOPTION;
	r->segment = calloc(w->n, sizeof(*r->segment));
	if (!r->segment)
		return TRACE_ENOMEM;
	for (size_t i = 0; i < w->n && n <= (double)n_max; i++) {
		struct zipf_segment *s = &r->segment[r->segments];

		n += w->value[i];
		if (w->value[i] < 1 || w->weight[i] <= 0)
			continue;
		s->first = r->n + 1;
		s->count = (uint64_t)w->value[i];
		s->weight = w->weight[i];
		s->least = 1;
		sum += s->weight;
		r->n += s->count;
		r->segments++;
	}
	if (r->segments == 0 || n > (double)n_max) {
		zipf_free(r);
		return TRACE_EOPTION;
	}
	zipf_normalize(r, sum);
	return 0;
}

/* Two stacks in one array: from its front and from its back. */
struct stacks {
	uint32_t *at;
	size_t small, large; /* the front's end and the back's begin */
};

static void zipf_push(struct stacks *s, const double *left, uint32_t i)
{
	if (left[i] < 1)
		s->at[s->small++] = i;
	else
		s->at[--s->large] = i;
}

/* Vose's method. left: how many times its even share each segment has. */
static void zipf_fill_aliases(struct zipf *r, double *left, uint32_t *room)
{
	struct stacks s = { room, 0, r->segments };

	for (size_t i = 0; i < r->segments; i++) {
		left[i] = r->segment[i].weight * (double)r->segments;
		r->segment[i].keep = UINT32_MAX;
		r->segment[i].other = (uint32_t)i;
		zipf_push(&s, left, (uint32_t)i);
	}
	while (s.small && s.large < r->segments) {
		uint32_t i = s.at[--s.small], j = s.at[s.large++];

		r->segment[i].keep = (uint32_t)(left[i] * 0x1p32);
		r->segment[i].other = j;
		left[j] -= 1 - left[i];
		zipf_push(&s, left, j);
	}
}

int zipf_prepare(struct zipf *r)
{
	double *left = malloc(r->segments * sizeof(*left));
	uint32_t *room = malloc(r->segments * sizeof(*room));
	int err = left && room ? 0 : TRACE_ENOMEM;

	if (!err)
		zipf_fill_aliases(r, left, room);
	free(left);
	free(room);
	return err;
}

/* The high half of a product: x is a share of 2^64, scaled to 0..n-1. */
static uint64_t zipf_scaled(uint64_t x, uint64_t n)
{
	return (uint64_t)((unsigned __int128)x * n >> 64);
}

uint64_t zipf_draw(const struct zipf *r, struct trace_random *random)
{
	uint64_t u = random_u64(random), rank;
	const struct zipf_segment *s =
		&r->segment[(u >> 32) * r->segments >> 32];
	double accept;

	if ((uint32_t)u >= s->keep)
		s = &r->segment[s->other];
	if (s->count == 1)
		return s->first;
	do {
		rank = s->first + zipf_scaled(random_u64(random), s->count);
		if (s->least >= 1)
			return rank;
		accept = random_unit(random);
	} while (accept > s->least &&
		 accept > exact_pow((double)rank / (double)s->first,
				    -r->alpha));
	return rank;
}

double zipf_p(const struct zipf *r, uint64_t rank)
{
	size_t low = 0, high = r->segments;
	const struct zipf_segment *s;
	double even;

	while (high - low > 1) {
		size_t mid = (low + high) / 2;

		if (r->segment[mid].first <= rank)
			low = mid;
		else
			high = mid;
	}
	s = &r->segment[low];
	even = s->weight / (double)s->count;
	if (s->least >= 1)
		return even;
	/* the rank in the middle has the segment's mean, to 10^-4 */
	return even * exact_pow((double)rank / ((double)s->first +
						(double)(s->count - 1) / 2),
				-r->alpha);
}

/* 1 - e^-x, without losing the digits of a small x. */
static double zipf_at_least_one(double x)
{
	return x < 1e-4 ? x - x * x / 2 + x * x * x / 6 : 1 - exact_exp(-x);
}

/* The mean of that over a part of the time, all parts being as likely. */
static double zipf_at_least_one_of_part(double x)
{
	return x < 1e-4 ? x / 2 - x * x / 6 : 1 - zipf_at_least_one(x) / x;
}

/* Objects that one rank is expected to show, which is asked for x times. */
static double zipf_shown(double x, double churn)
{
	if (churn <= 0)
		return zipf_at_least_one(x);
	if (churn <= 1) /* it changes once, or not at all */
		return (1 - churn) * zipf_at_least_one(x) +
		       churn * 2 * zipf_at_least_one_of_part(x);
	x /= churn; /* while it is one object; the first and last are cut */
	return (churn - 1) * zipf_at_least_one(x) +
	       2 * zipf_at_least_one_of_part(x);
}

double zipf_distinct(const struct zipf *r, double draws, double churn)
{
	double sum = 0;

	for (size_t i = 0; i < r->segments; i++) {
		const struct zipf_segment *s = &r->segment[i];
		double n = (double)s->count;

		if (draws > 0)
			sum += n * zipf_shown(draws * s->weight / n, churn);
	}
	return sum;
}

void zipf_free(struct zipf *r)
{
	free(r->segment);
	*r = (struct zipf){ 0, 0, 0, NULL };
}
