/*
 * Which cohorts there are after a change.
 */
#include "codec/filter/cohorts.h"

#include <string.h>

void scd__cohorts_begin(struct scd__cohorts *c, uint64_t n)
{
	*c = (struct scd__cohorts){0};
	if (!n)
		return;
	c->n = 1;
	c->nids = 1;
	c->size[0] = n;
}

static bool cohorts_is_closed(uint64_t size, uint64_t n)
{
	return size >= SCD__COHORT_LEAST && size >= n / SCD__COHORT_SHARE;
}

void scd__cohorts_begin_change(struct scd__cohorts *c, uint64_t n,
			       uint64_t ncome)
{
	if (!ncome || (c->n && !cohorts_is_closed(c->size[c->n - 1], n)))
		return;
	c->size[c->n] = 0;
	c->gone[c->n] = 0;
	c->of_id[c->nids++] = (uint8_t)c->n++;
}

/* Make one of a cohort and the next younger one. */
static void cohorts_join(struct scd__cohorts *c, unsigned older)
{
	const unsigned behind = c->n - older - 2;

	c->size[older] += c->size[older + 1];
	memmove(c->size + older + 1, c->size + older + 2,
		behind * sizeof(*c->size));
	for (unsigned id = 0; id < c->nids; id++)
		c->of_id[id] = (uint8_t)(c->of_id[id] - (c->of_id[id] > older));
	c->n--;
}

/* Without entries, what is left of a cohort are ids, which no entry has. */
static void cohorts_drop_empty(struct scd__cohorts *c)
{
	for (unsigned i = c->n; i-- > 0;) {
		if (c->size[i])
			continue;
		if (c->n == 1)
			c->n = c->nids = 0;
		else
			cohorts_join(c, i < c->n - 1 ? i : i - 1);
	}
}

/* The older one of the two neighbours that are smallest together; the youngest
 * one, to which entries come, is none of them. */
static unsigned cohorts_smallest(const struct scd__cohorts *c)
{
	unsigned best = 0;

	for (unsigned i = 1; i + 2 < c->n; i++) {
		if (c->size[i] + c->size[i + 1] <
		    c->size[best] + c->size[best + 1])
			best = i;
	}
	return best;
}

static uint64_t cohorts_sum_gone(const struct scd__cohorts *c)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < c->n; i++)
		sum += c->gone[i];
	return sum;
}

static uint64_t cohorts_sum_size(const struct scd__cohorts *c)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < c->n; i++)
		sum += c->size[i];
	return sum;
}

/* How many that have gone are remembered of a list of n entries. */
static uint64_t cohorts_most_gone(uint64_t n)
{
	const uint64_t share = n / SCD__COHORT_GONE_SHARE;

	if (share < SCD__COHORT_GONE_LEAST)
		return SCD__COHORT_GONE_LEAST;
	return share < SCD__COHORT_GONE_MAX ? share : SCD__COHORT_GONE_MAX;
}

static void cohorts_forget(struct scd__cohorts *c)
{
	const uint64_t most = cohorts_most_gone(cohorts_sum_size(c));

	while (cohorts_sum_gone(c) > most) {
		for (unsigned i = 0; i < c->n; i++)
			c->gone[i] /= 2;
	}
}

void scd__cohorts_end_change(struct scd__cohorts *c, uint64_t ncome)
{
	if (ncome)
		c->size[c->n - 1] += ncome;
	cohorts_forget(c);
	cohorts_drop_empty(c);
	if (c->n > SCD__COHORTS_MAX)
		cohorts_join(c, cohorts_smallest(c));
	for (unsigned i = c->n; i <= SCD__COHORTS_MAX; i++)
		c->gone[i] = 0;
}

void scd__cohorts_renumber(struct scd__cohorts *c,
			   uint8_t of_id[SCD__COHORT_IDS])
{
	memcpy(of_id, c->of_id, sizeof(c->of_id));
	for (unsigned i = 0; i < c->n; i++)
		c->of_id[i] = (uint8_t)i;
	c->nids = c->n;
}

bool scd__cohorts_are_valid(const struct scd__cohorts *c, uint64_t n)
{
	const uint64_t most = cohorts_most_gone(n);

	if (c->n > SCD__COHORTS_MAX)
		return false;
	for (unsigned i = 0; i < c->n; i++) {
		if (!c->size[i] || c->size[i] > n ||
		    c->gone[i] > SCD__COHORT_GONE_MAX)
			return false;
		n -= c->size[i];
	}
	return n == 0 && cohorts_sum_gone(c) <= most;
}

/* What has gone from a cohort; beyond both ends, from that at the end. */
static uint64_t cohorts_gone_at(const struct scd__cohorts *c, int i)
{
	if (i < 0)
		return c->gone[0];
	return c->gone[i < (int)c->n ? i : (int)c->n - 1];
}

void scd__cohorts_weights(const struct scd__cohorts *c,
			  uint64_t weights[SCD__COHORTS_MAX])
{
	static const uint64_t parts[] = {1, 2, 3, 2, 1};
	const uint64_t n = cohorts_sum_size(c);

	for (int i = 0; i < (int)c->n; i++) {
		uint64_t around = 0;

		for (int j = -2; j <= 2; j++)
			around += parts[j + 2] * cohorts_gone_at(c, i + j);
		weights[i] = 8 * around + 1 + 16 * c->size[i] / n;
	}
}
