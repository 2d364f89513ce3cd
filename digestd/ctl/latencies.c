/*
 * Quantiles of the time until replies begin.
 */
#include "digestd/ctl/latencies.h"

#include <assert.h>
#include <string.h>


enum { LATENCIES_CELLS_MAX = 64 };

static const json_t *latencies_source(const json_t *status, const char *source)
{
	return json_object_get(json_object_get(json_object_get(status,
							       "sources"),
					       source), "first_byte");
}

static double latencies_cell(const json_t *status, const char *source, size_t i)
{
	const json_t *cells = json_object_get(latencies_source(status, source),
					      "cells");

	return json_number_value(json_array_get(cells, i));
}

/* Adds the cells of a source. */
static void latencies_add(const struct latencies *l, const char *source,
			  double cells[LATENCIES_CELLS_MAX])
{
	for (size_t i = 0; i < LATENCIES_CELLS_MAX; i++)
		cells[i] += latencies_cell(l->status, source, i) -
			    latencies_cell(l->earlier, source, i);
}

/* The cells of a source, or of all; returns how many requests are in them. */
static double latencies_cells(const struct latencies *l, const char *source,
			      double cells[LATENCIES_CELLS_MAX])
{
	json_t *sources = json_object_get(l->status, "sources"), *of;
	const char *name;
	double sum = 0;

	memset(cells, 0, LATENCIES_CELLS_MAX * sizeof(*cells));
	if (source) {
		latencies_add(l, source, cells);
	} else {
		json_object_foreach(sources, name, of)
			latencies_add(l, name, cells);
	}
	for (size_t i = 0; i < LATENCIES_CELLS_MAX; i++)
		sum += cells[i];
	return sum;
}

double latencies_requests(const struct latencies *l)
{
	double cells[LATENCIES_CELLS_MAX];

	return latencies_cells(l, NULL, cells);
}

/*
 * Within which time [s] a share of the requests, 0 to 1, had the first byte of
 * their reply; of a source, or of all (null). -1: there were none.
 */
static double latencies_quantile(const struct latencies *l, const char *source,
				 double share)
{
	const json_t *bounds = json_object_get(l->status, "bounds_s");
	double cells[LATENCIES_CELLS_MAX], below = 0, from = 0;
	double sum = latencies_cells(l, source, cells);

	assert(share >= 0 && share <= 1);
	if (sum <= 0)
		return -1;
	for (size_t i = 0; i < json_array_size(bounds) &&
			   i < LATENCIES_CELLS_MAX; i++) {
		double to = json_number_value(json_array_get(bounds, i));

		if (cells[i] > 0 && below + cells[i] >= share * sum)
			return from + (to - from) *
				      (share * sum - below) / cells[i];
		below += cells[i];
		from = to;
	}
	return from; /* or longer */
}

static void latencies_print_one(const struct latencies *l, const char *source,
				FILE *to)
{
	double p50 = latencies_quantile(l, source, .5);

	if (p50 >= 0)
		fprintf(to, "  %s %.1f/%.1fms", source ? source : "all",
			p50 * 1e3, latencies_quantile(l, source, .99) * 1e3);
}

void latencies_print(const struct latencies *l, FILE *to)
{
	json_t *sources = json_object_get(l->status, "sources"), *of;
	const char *name;

	fputs("first byte p50/p99", to);
	latencies_print_one(l, NULL, to);
	json_object_foreach(sources, name, of)
		latencies_print_one(l, name, to);
	fputc('\n', to);
}

static void latencies_put(const struct latencies *l, const char *source,
			  json_t *to)
{
	double p50 = latencies_quantile(l, source, .5);

	if (p50 >= 0)
		json_object_set_new(
			to, source ? source : "all",
			json_pack("{s:f, s:f}", "p50_s", p50, "p99_s",
				  latencies_quantile(l, source, .99)));
}

json_t *latencies_json(const struct latencies *l)
{
	json_t *sources = json_object_get(l->status, "sources"), *of;
	json_t *o = json_object();
	const char *name;

	latencies_put(l, NULL, o);
	json_object_foreach(sources, name, of)
		latencies_put(l, name, o);
	return o;
}
