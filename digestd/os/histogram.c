/*
 * Histograms: bounds and sums.
 */
#include "digestd/os/histogram.h"

const int64_t histogram_bounds_us[HISTOGRAM_BOUND_COUNT] = {
#define X(us, label) us,
	HISTOGRAM_BOUNDS(X)
#undef X
};

void histogram_merge(struct histogram *sum, const struct histogram *from)
{
	for (int i = 0; i < HISTOGRAM_CELLS; i++)
		sum->cells[i] +=
			__atomic_load_n(&from->cells[i], __ATOMIC_RELAXED);
	sum->sum_us += __atomic_load_n(&from->sum_us, __ATOMIC_RELAXED);
}

uint64_t histogram_count(const struct histogram *h)
{
	uint64_t n = 0;

	for (int i = 0; i < HISTOGRAM_CELLS; i++)
		n += h->cells[i];
	return n;
}
