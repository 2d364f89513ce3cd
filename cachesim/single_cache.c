/*
 * Rows of a plan that are single caches.
 */
#include "cachesim/single_cache.h"

#include <stdlib.h>

#include "cachesim/sim/multi.h"
#include "digestd/store/eviction.h"
#include "digestd/tool/progress.h"

enum {
	TOGETHER = 64, /* caches of one pass */
	ARRAYS = 2,    /* up to so many are worth an array of the objects */
};

bool single_cache_is(const struct plan_row *row, const struct sim_trace *t,
		     bool keep_changed)
{
	const struct sim_config *c = &row->config;

	return c->nproxies == 1 && !c->protocol && !c->admission &&
	       !c->size_limit && !c->warmup_ppm && !c->warmup_s &&
	       (c->placement == PLACEMENT_KEEP ||
		c->placement == PLACEMENT_SECOND ||
		c->placement == PLACEMENT_SINGLE) &&
	       (!t->nchanges || keep_changed);
}

/* How far all passes together are, in requests of all rows. */
struct course {
	struct progress progress;
	uint64_t before; /* in passes that ended */
	size_t rows;	 /* of this pass */
};

static void single_cache_tell(void *arg, uint64_t requests)
{
	struct course *c = arg;
	uint64_t done = c->before + c->rows * requests;

	progress_tell(&c->progress, done, done);
}

/* The uncacheable requests pass to the origin. */
static void single_cache_add_passes(struct sim_counters *n,
				    const struct sim_trace *t)
{
	for (uint64_t i = 0; i < t->npasses; i++)
		n->uncacheable_bytes += t->pass_size[i];
	n->uncacheable = t->npasses;
	n->requests += n->uncacheable;
	n->bytes += n->uncacheable_bytes;
	n->origin += n->uncacheable;
	n->origin_bytes += n->uncacheable_bytes;
}

/* As a cluster of one counts. */
static void single_cache_convert(const struct sim_multi_result *r,
				 const struct sim_trace *t,
				 const struct plan_row *row,
				 struct sim_result *out)
{
	const struct sim_config *c = &row->config;
	struct sim_counters *n = &out->sum;

	*out = (struct sim_result){ .nproxies = 1,
				    .capacity = sim_config_capacity(c, t) };
	n->requests = r->requests;
	n->bytes = r->bytes;
	n->local_hits = r->hit.hits;
	n->local_bytes = r->hit.hit_bytes;
	n->origin = r->requests - r->hit.hits;
	n->origin_bytes = r->bytes - r->hit.hit_bytes;
	n->writes = r->stats.puts;
	n->write_bytes = r->stats.put_bytes;
	n->evicted = r->stats.evicted;
	n->evicted_bytes = r->stats.evicted_bytes;
	n->refused = n->origin - n->writes;
	single_cache_add_passes(n, t);
	n->latency_us = n->local_hits * c->latency.local +
			n->origin * (c->latency.local + c->latency.origin);
	n->held = r->stats.objects;
	n->held_bytes = r->stats.bytes;
	out->proxy[0] = *n;
}

/* What is simulated, and where the results go. */
struct job {
	const struct plan *plan;
	const struct sim_trace *trace;
	struct sim_result *out;
	struct single_cache_options options;
};

/* Simulates course->rows rows, those at rows[0] and so on. */
static int single_cache_run(const struct job *j, const size_t *rows,
			    struct course *course)
{
	struct sim_multi_cache caches[TOGETHER];
	struct sim_multi_result results[TOGETHER];
	const struct plan_row *row = j->plan->rows;
	struct sim_multi_config config = {
		.trace = j->trace,
		.caches = caches,
		.ncaches = course->rows,
		.nthreads = j->options.nthreads,
		.equal_sizes = row[rows[0]].config.objects, /* as of all */
		.keep_changed = j->options.keep_changed,
		.tell = single_cache_tell,
		.arg = course,
	};
	int error;

	for (size_t i = 0; i < course->rows; i++) {
		const struct sim_config *c = &row[rows[i]].config;

		caches[i] = (struct sim_multi_cache){
			.policy = c->eviction ? c->eviction :
						eviction_policy_find("lru"),
			.capacity = sim_config_capacity(c, j->trace),
			.hashed = course->rows > ARRAYS,
		};
	}
	error = sim_multi_run(&config, results);
	for (size_t i = 0; !error && i < course->rows; i++)
		single_cache_convert(&results[i], j->trace, &row[rows[i]],
				     &j->out[rows[i]]);
	course->before += course->rows * j->trace->nrequests;
	return error;
}

static size_t single_cache_count(const struct plan *p,
				 const struct sim_trace *t, bool keep_changed)
{
	size_t n = 0;

	for (size_t i = 0; i < p->nrows; i++)
		n += single_cache_is(&p->rows[i], t, keep_changed);
	return n;
}

int single_cache_simulate(const struct plan *p, const struct sim_trace *t,
			  struct sim_result *out,
			  struct single_cache_options options)
{
	size_t rows[TOGETHER],
		all = single_cache_count(p, t, options.keep_changed);
	struct job job = { p, t, out, options };
	struct course course = { .rows = 0 };
	int error = 0;

	progress_start(&course.progress,
		       options.quiet ? PROGRESS_NEVER : PROGRESS_TERMINAL,
		       "simulating", t->nrequests * all);
	course.progress.noun = "requests";
	for (size_t i = 0; !error && all && i < p->nrows; i++) {
		if (!single_cache_is(&p->rows[i], t, options.keep_changed))
			continue;
		rows[course.rows++] = i;
		all--;
		if (course.rows < TOGETHER && all)
			continue;
		error = single_cache_run(&job, rows, &course);
		course.rows = 0;
	}
	progress_clear(&course.progress);
	return error;
}
