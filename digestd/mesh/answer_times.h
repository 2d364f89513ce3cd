/*
 * How long answers took in the last minute: quantiles of times until the first
 * byte, in constant memory.
 *
 * Times are counted in classes: one for each millisecond below 16 ms, above
 * that eight to an octave, so that a quantile is at most an eighth too high.
 * There is a set of counts for each quarter of a minute, and the oldest is
 * forgotten as a whole: 45 to 60 s count.
 *
 * Costs: 1.4 KB; some 30 instructions a time; a quantile adds up to 112 counts.
 */
#ifndef DIGESTD_MESH_ANSWER_TIMES_H
#define DIGESTD_MESH_ANSWER_TIMES_H

#include <stdint.h>

enum {
	TIMES_SLICES = 4,
	TIMES_SLICE_MS = 15000,
	TIMES_EXACT_MS = 16,   /* below this a class is 1 ms wide */
	TIMES_MAX_MS = 65535,  /* what takes longer counts as this */
	TIMES_CLASSES = 112,   /* 16, and 8 for each of 12 octaves */
	TIMES_SLICE_MAX = UINT16_MAX, /* times that a slice counts */
};

/* All zero: nothing has been measured. All fields are private. */
struct answer_times {
	int64_t slice[TIMES_SLICES]; /* its number: time / TIMES_SLICE_MS */
	uint16_t total[TIMES_SLICES];
	uint16_t counts[TIMES_SLICES][TIMES_CLASSES];
	uint32_t sum, sums[TIMES_CLASSES]; /* of all slices */
};

/* Counts an answer that took so long [ms], >= 0, and forgets what is too old
 * now. A slice counts the first TIMES_SLICE_MAX; what comes then is left out.
 * now_ms never goes back. */
void answer_times_add(struct answer_times *a, int64_t ms, int64_t now_ms);

/* How many answers are counted, of the minute before the last. */
unsigned answer_times_count(const struct answer_times *a);

/*
 * The time [ms] that so many of a thousand of these answers (1 to 1000) do not
 * exceed: the upper end of the class of the one of that rank, rounded up. -1:
 * there are none.
 */
int64_t answer_times_quantile(const struct answer_times *a, unsigned permille);

#endif
