/*
 * Quantiles of times in the last minute.
 */
#include "digestd/mesh/answer_times.h"

#include <assert.h>
#include <string.h>

enum {
	OCTAVE_CLASSES = 8,
	OCTAVE_SHIFT = 3, /* 1 << 3 classes */
	FIRST_OCTAVE = 4, /* 1 << 4 is TIMES_EXACT_MS */
};

static unsigned answer_times_class_of(int64_t ms)
{
	uint32_t t = ms < TIMES_MAX_MS ? (uint32_t)ms : TIMES_MAX_MS;
	unsigned octave;

	if (t < TIMES_EXACT_MS)
		return t;
	octave = 31u - (unsigned)__builtin_clz(t);
	return TIMES_EXACT_MS + (octave - FIRST_OCTAVE) * OCTAVE_CLASSES +
	       (t >> (octave - OCTAVE_SHIFT)) % OCTAVE_CLASSES;
}

/* The longest time of a class. */
static int64_t answer_times_class_end(unsigned class)
{
	unsigned octave, part;

	if (class < TIMES_EXACT_MS)
		return class;
	octave = (class - TIMES_EXACT_MS) / OCTAVE_CLASSES + FIRST_OCTAVE;
	part = (class - TIMES_EXACT_MS) % OCTAVE_CLASSES;
	return ((int64_t)(OCTAVE_CLASSES + part + 1)
		<< (octave - OCTAVE_SHIFT)) - 1;
}

/* Leaves out a slice that has become too old. */
static void answer_times_drop(struct answer_times *a, unsigned i)
{
	for (unsigned class = 0; class < TIMES_CLASSES; class++)
		a->sums[class] -= a->counts[i][class];
	memset(a->counts[i], 0, sizeof(a->counts[i]));
	a->sum -= a->total[i];
	a->total[i] = 0;
}

void answer_times_add(struct answer_times *a, int64_t ms, int64_t now_ms)
{
	int64_t slice = now_ms / TIMES_SLICE_MS;
	unsigned class = answer_times_class_of(ms);
	unsigned at = (unsigned)(slice % TIMES_SLICES);

	assert(ms >= 0 && now_ms >= 0);
	for (unsigned i = 0; i < TIMES_SLICES; i++) {
		if (a->total[i] && a->slice[i] <= slice - TIMES_SLICES)
			answer_times_drop(a, i);
	}
	a->slice[at] = slice;
	if (a->total[at] == TIMES_SLICE_MAX)
		return;
	a->total[at]++;
	a->counts[at][class]++;
	a->sum++;
	a->sums[class]++;
}

unsigned answer_times_count(const struct answer_times *a)
{
	return a->sum;
}

int64_t answer_times_quantile(const struct answer_times *a, unsigned permille)
{
	unsigned rank = (a->sum * permille + 999) / 1000, below = 0;

	assert(permille > 0 && permille <= 1000);
	for (unsigned class = 0; a->sum && class < TIMES_CLASSES; class++) {
		below += a->sums[class];
		if (below >= rank)
			return answer_times_class_end(class);
	}
	return -1;
}
