/*
 * See weighted.h.
 */
#include "cachesim/trace/weighted.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cachesim/trace/trace_request.h"

enum { VALUES_MAX = 10000000 };

/* The numbers of an array; false: there are others, or negative ones. */
static bool weighted_take_numbers(const json_t *array, double *out)
{
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *v = json_array_get(array, i);

		out[i] = json_number_value(v);
		if (!json_is_number(v) || !(out[i] >= 0))
			return false;
	}
	return true;
}

static int weighted_take_arrays(struct weighted *w, const json_t *value,
				const json_t *weight)
{
	size_t n = json_array_size(value);
	double *values, *upto, sum = 0;

	if (n == 0 || n > VALUES_MAX || json_array_size(weight) != n)
		return TRACE_EOPTION;
	values = malloc(3 * n * sizeof(*values));
	if (!values)
		return TRACE_ENOMEM;
	upto = values + 2 * n;
	*w = (struct weighted){ n, values, values + n, upto };
	if (!weighted_take_numbers(value, values) ||
	    !weighted_take_numbers(weight, values + n))
		return TRACE_EOPTION;
	for (size_t i = 0; i < n; i++)
		upto[i] = sum += w->weight[i];
	for (size_t i = 0; i < n; i++)
		upto[i] /= sum;
	return sum > 0 && sum < 1e300 ? 0 : TRACE_EOPTION;
}

int weighted_load(struct weighted *w, const char *path,
		  const struct weighted_names *names)
{
	FILE *f = fopen(path, "rb");
	json_t *all;
	int err;

	*w = (struct weighted){ 0, NULL, NULL, NULL };
	if (!f)
		return TRACE_EIO;
	all = json_loadf(f, 0, NULL);
	fclose(f);
	err = all ? weighted_take_arrays(w, json_object_get(all, names->value),
					 json_object_get(all, names->weight))
		  : TRACE_EOPTION;
	json_decref(all);
	if (err)
		weighted_free(w);
	return err;
}

double weighted_quantile(const struct weighted *w, double u)
{
	size_t low = 0, high = w->n - 1; /* the first whose upto is above u */

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (w->upto[mid] <= u)
			low = mid + 1;
		else
			high = mid;
	}
	return w->value[low];
}

void weighted_free(struct weighted *w)
{
	free((void *)(uintptr_t)w->value);
	*w = (struct weighted){ 0, NULL, NULL, NULL };
}
