/*
 * The log of changes: a list of steps, oldest first, each with its fingerprints
 * behind it.
 */
#include "digestd/mesh/change_log.h"

#include <stdlib.h>
#include <string.h>

struct change_step {
	struct change_step *next; /* newer */
	uint64_t from;
	size_t nremoved, nadded;
	uint64_t at[]; /* removed, added */
};

static size_t change_log_len(const struct change_step *step)
{
	return step->nremoved + step->nadded;
}

static void change_log_drop_oldest(struct change_log *log)
{
	struct change_step *step = log->oldest;

	log->oldest = step->next;
	if (!log->oldest)
		log->newest = NULL;
	log->nchanges -= change_log_len(step);
	log->nsteps--;
	free(step);
}

void change_log_free(struct change_log *log)
{
	while (log->oldest)
		change_log_drop_oldest(log);
}

static void change_log_copy(uint64_t *to, const uint64_t *from, size_t n)
{
	if (n)
		memcpy(to, from, n * sizeof(*to));
}

int change_log_add(struct change_log *log, const struct scd_list_change *change,
		   uint64_t from)
{
	const size_t n = change->nremoved + change->nadded;
	struct change_step *step =
		malloc(sizeof(*step) + n * sizeof(step->at[0]));

	if (!step) {
		change_log_free(log);
		return SCD_ENOMEM;
	}
	*step = (struct change_step){ .from = from,
				      .nremoved = change->nremoved,
				      .nadded = change->nadded };
	change_log_copy(step->at, change->removed, change->nremoved);
	change_log_copy(step->at + change->nremoved, change->added,
			change->nadded);
	if (log->newest)
		log->newest->next = step;
	else
		log->oldest = step;
	log->newest = step;
	log->nchanges += n;
	log->nsteps++;
	return SCD_OK;
}

void change_log_trim(struct change_log *log, size_t most)
{
	while (log->nchanges > most)
		change_log_drop_oldest(log);
}

/* The first of n ascending fingerprints that is not below x. */
static size_t change_log_lower(const uint64_t *at, size_t n, uint64_t x)
{
	size_t low = 0;

	while (low < n) {
		const size_t middle = low + (n - low) / 2;

		if (at[middle] < x)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* Appends those of a range; only counts them where to is null. */
static void change_log_take(const uint64_t *at, size_t n,
			    const struct change_range *range, uint64_t *to,
			    size_t *nto)
{
	const size_t first = change_log_lower(at, n, range->first);
	const size_t end = change_log_lower(at, n, range->end);

	if (to)
		change_log_copy(to + *nto, at + first, end - first);
	*nto += end - first;
}

static void change_log_take_steps(const struct change_step *step,
				  const struct change_range *range,
				  struct scd_list_change *out)
{
	out->nremoved = out->nadded = 0;
	for (; step; step = step->next) {
		change_log_take(step->at, step->nremoved, range, out->removed,
				&out->nremoved);
		change_log_take(step->at + step->nremoved, step->nadded, range,
				out->added, &out->nadded);
	}
}

int change_log_since(const struct change_log *log, uint64_t from,
		     const struct change_range *range,
		     struct scd_list_change *out)
{
	const struct change_step *step = log->oldest;
	struct scd_list_change all = { 0 };
	int error;

	while (step && step->from != from)
		step = step->next;
	if (!step)
		return SCD_EBASE;
	change_log_take_steps(step, range, &all);
	all.removed = malloc((all.nremoved + 1) * sizeof(*all.removed));
	all.added = malloc((all.nadded + 1) * sizeof(*all.added));
	error = all.removed && all.added ? SCD_OK : SCD_ENOMEM;
	if (!error) {
		change_log_take_steps(step, range, &all);
		error = scd_list_change_sort(&all);
	}
	if (error)
		scd_list_change_free(&all);
	else
		*out = all;
	return error;
}
