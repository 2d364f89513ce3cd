/*
 * cachesim mrc: the hit ratio curve of a trace, exactly or from a sample.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/cachesim.h"
#include "cachesim/output.h"
#include "cachesim/plan.h"
#include "cachesim/simulate.h"
#include "cachesim/sim/mrc.h"
#include "cachesim/workload.h"

const char command_mrc_help[] =
	"usage: cachesim mrc [OPTIONS] [TRACE]\n"
	"What caches of many sizes would hit: of LRU in one pass, of other\n"
	"policies size by size; exactly, or of a sample of the objects\n"
	"(SHARDS).\n";

const struct tool_option *const command_mrc_options[] = {
	settings_mrc, settings_trace, settings_output, NULL
};

/* From a thousandth of the infinite size to all of it. */
static const char usual_sizes[] =
	"0.1%,0.2%,0.3%,0.5%,0.7%,1%,1.5%,2%,3%,4%,5%,7%,10%,15%,20%,30%,40%,"
	"50%,70%,100%";

static const struct report_column columns[] = {
	{ "eviction", REPORT_TEXT, true },
	{ "size", REPORT_TEXT, true },
	{ "capacity", REPORT_BYTES, false },
	{ "hit_ratio", REPORT_SHARE, false },
	{ "miss_ratio", REPORT_SHARE, false },
	{ "byte_hit_ratio", REPORT_SHARE, false },
	{ "byte_miss_ratio", REPORT_SHARE, false },
};

/* A size, and where it came from. */
struct size {
	uint64_t capacity;
	const char *text;
};

/* One curve: the rows of a plan with the same policy. */
struct curve {
	const struct plan *plan;
	const struct settings *s;
	const struct sim_trace *trace;
	size_t first, n;
	struct size *sizes;
	uint64_t *capacities;
	struct sim_mrc_point *points;
};

static int command_mrc_by_capacity(const void *a, const void *b)
{
	uint64_t x = ((const struct size *)a)->capacity;
	uint64_t y = ((const struct size *)b)->capacity;

	return x < y ? -1 : x > y;
}

static void command_mrc_sort_sizes(struct curve *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct plan_row *row = &c->plan->rows[c->first + i];

		c->sizes[i] = (struct size){
			sim_config_capacity(&row->config, c->trace),
			row->text[PARAMETER_SIZE]
		};
	}
	qsort(c->sizes, c->n, sizeof(*c->sizes), command_mrc_by_capacity);
	for (size_t i = 0; i < c->n; i++)
		c->capacities[i] = c->sizes[i].capacity;
}

static void command_mrc_report_curve(struct report *r, const struct curve *c,
				     const char *policy)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct sim_mrc_point *p = &c->points[i];

		report_row(r);
		report_text(r, "eviction", policy);
		report_text(r, "size", c->sizes[i].text);
		report_count(r, "capacity", c->sizes[i].capacity);
		report_real(r, "hit_ratio", p->hit_ratio);
		report_real(r, "miss_ratio", 1 - p->hit_ratio);
		report_real(r, "byte_hit_ratio", p->byte_hit_ratio);
		report_real(r, "byte_miss_ratio", 1 - p->byte_hit_ratio);
	}
}

/* Computes a curve and adds it to the report. */
static int command_mrc_compute(struct curve *c, struct report *r)
{
	const struct sim_config *config = &c->plan->rows[c->first].config;
	struct sim_mrc_config mrc = {
		.trace = c->trace,
		.policy = config->eviction,
		.capacities = c->capacities,
		.n = c->n,
		.sample = { .rate = c->s->sample > 0 ? c->s->sample : 1,
			    .max_objects = c->s->max_objects,
			    .seed = config->seed },
		.nthreads = (unsigned)c->s->threads,
		.equal_sizes = config->objects,
		.adjust = !c->s->no_adjust,
	};

	mrc.sample.warm = sim_config_warm(config, c->trace);
	command_mrc_sort_sizes(c);
	if (sim_mrc(&mrc, c->points, NULL))
		return TOOL_IO;
	command_mrc_report_curve(
		r, c, config->eviction ? config->eviction->name : "lru");
	return TOOL_OK;
}

static int command_mrc_with_memory(struct curve *c, struct report *r)
{
	int code = TOOL_IO;

	c->sizes = calloc(c->n, sizeof(*c->sizes));
	c->capacities = calloc(c->n, sizeof(*c->capacities));
	c->points = calloc(c->n, sizeof(*c->points));
	if (c->sizes && c->capacities && c->points)
		code = command_mrc_compute(c, r);
	if (code)
		fprintf(stderr, "%s: out of memory\n",
			program_invocation_short_name);
	free(c->sizes);
	free(c->capacities);
	free(c->points);
	return code;
}

/* Each policy has its sizes in rows that follow one another. */
static int command_mrc_add_curves(const struct plan *plan,
				  const struct settings *s,
				  const struct sim_trace *t, struct report *r)
{
	int code = TOOL_OK;
	size_t i = 0;

	while (!code && i < plan->nrows) {
		struct curve c = {
			.plan = plan, .s = s, .trace = t, .first = i
		};

		while (i < plan->nrows && plan->rows[i].config.eviction ==
					   plan->rows[c.first].config.eviction)
			i++;
		c.n = i - c.first;
		code = command_mrc_with_memory(&c, r);
	}
	return code;
}

static int command_mrc_compute_all(const struct plan *plan, struct settings *s)
{
	struct sim_trace t;
	struct report r;
	char rate[64];
	int code = workload_load(&t, s);

	if (code)
		return code;
	if (!plan_fits(plan, &t)) {
		sim_trace_free(&t);
		return TOOL_NO;
	}
	report_init(&r, "mrc", columns, sizeof(columns) / sizeof(columns[0]));
	report_note(&r, "trace", s->trace);
	if (s->sample > 0) {
		snprintf(rate, sizeof(rate), "%g of the objects", s->sample);
		report_note(&r, "sample", rate);
	}
	code = command_mrc_add_curves(plan, s, &t, &r);
	sim_trace_free(&t);
	if (!code)
		return output_report(&r, s);
	report_free(&r);
	return code;
}

int command_mrc(int argc, char **argv)
{
	struct settings s = { .threads = simulate_processors() };
	struct plan plan = { 0 };
	struct sim_config usual;
	int code = settings_read(&s, command_mrc_options, argc, argv);

	if (code)
		return code;
	if (!s.parameter[PARAMETER_SIZE])
		s.parameter[PARAMETER_SIZE] = usual_sizes;
	sim_config_init(&usual);
	usual.objects = s.ignore_obj_size;
	code = plan_add(&plan, s.parameter, &usual);
	if (!code)
		code = command_mrc_compute_all(&plan, &s);
	plan_free(&plan);
	return code;
}
