/*
 * Sums of workers' figures.
 */
#include "digestd/proxy/worker_figures.h"

static void worker_figures_add(uint64_t *sum, const uint64_t *from, int n)
{
	for (int i = 0; i < n; i++)
		sum[i] += __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

void worker_figures_merge(struct worker_figures *sum,
			  const struct worker_figures *from)
{
	for (int i = 0; i < FIGURES_SOURCES; i++) {
		histogram_merge(&sum->duration[i], &from->duration[i]);
		histogram_merge(&sum->first_byte[i], &from->first_byte[i]);
	}
	worker_figures_add(sum->responses, from->responses, FIGURES_CLASSES);
	worker_figures_add(sum->not_stored, from->not_stored, NOT_STORED_COUNT);
	for (int k = 0; k < UPSTREAM_KIND_COUNT; k++) {
		for (int i = 0; i < UPSTREAMS; i++) {
			struct upstream_figures *to = &sum->upstreams[k][i];

			histogram_merge(&to->duration,
					&from->upstreams[k][i].duration);
			worker_figures_add(&to->bytes,
					   &from->upstreams[k][i].bytes, 1);
		}
	}
}
