/*
 * The trace that the command line names.
 */
#include "config.h"

#include "cachesim/workload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/sim/modify.h"
#include "cachesim/trace/format.h"
#include "digestd/tool/command.h"
#include "digestd/tool/progress.h"

enum { COMPLAINTS_MAX = 10 }; /* who reads more of them? */

const char workload_usual[] = "gen:dec,requests=300000";

static void workload_complain(void *arg, const struct trace_complaint *c)
{
	struct workload_complaints *state = arg;

	/* what ends the reading is said in any case */
	if (c->reason != TRACE_EHEADER &&
	    (state->quiet || state->told++ >= COMPLAINTS_MAX))
		return;
	fprintf(stderr, "%s:", c->file);
	if (c->number)
		fprintf(stderr, "%" PRIu64 ":", c->number);
	fprintf(stderr, " %s\n", c->text ? c->text : trace_strerror(c->reason));
}

struct trace_options workload_options(const struct settings *s,
				      struct workload_complaints *state)
{
	*state = (struct workload_complaints){ .quiet = s->quiet };
	return (struct trace_options){.format = s->type,
				      .base = s->base,
				      .columns = s->columns,
				      .requests = s->num_req,
				      .all_cacheable = s->all_cacheable,
				      .strict = s->strict,
				      .complain = workload_complain,
				      .arg = state};
}

/* What --trace-type takes, for one that is unknown or cannot be guessed. */
static void workload_list_formats(void)
{
	fprintf(stderr, "%s: --trace-type is one of:",
		program_invocation_short_name);
	for (size_t i = 0; trace_formats[i]; i++)
		fprintf(stderr, "%s %s", i ? "," : "", trace_formats[i]->name);
	fprintf(stderr, "\n");
}

int workload_failed(const struct settings *s, int error)
{
	char why[TRACE_WHY_MAX];

	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name,
		s->trace,
		trace_explain(s->trace, s->columns, error, why, sizeof(why)));
	if (error == TRACE_EUNKNOWN)
		workload_list_formats();
	if (error == TRACE_EUNKNOWN || error == TRACE_EOPTION)
		return TOOL_USAGE;
	return error == TRACE_EIO || error == TRACE_ENOMEM ? TOOL_IO : TOOL_NO;
}

void workload_left_out(const char *trace, uint64_t bad,
		       const struct workload_complaints *state)
{
	if (bad && !state->quiet)
		fprintf(stderr,
			"%s: %s: %" PRIu64 " records were no requests, and "
			"left out\n",
			program_invocation_short_name, trace, bad);
}

static void workload_tell(void *arg, uint64_t requests, uint64_t expected)
{
	struct progress *p = arg;

	p->total = expected;
	progress_tell(p, requests, requests);
}

/*
 * Leaves the first n requests. Objects and clients are numbered in the order
 * of their first appearance, so that those seen later are at the end.
 */
static void workload_cut(struct sim_trace *t, uint64_t n)
{
	uint32_t objects = 0, clients = 0;

	if (!n || n >= t->nrequests + t->npasses)
		return;
	while (t->npasses && t->pass[t->npasses - 1] + t->npasses - 1 >= n)
		t->npasses--;
	n -= t->npasses;
	t->totals.bytes = t->totals.unique_bytes = 0;
	for (uint64_t i = 0; i < n; i++) {
		if (t->object[i] >= objects)
			objects = t->object[i] + 1;
		if (t->client && t->client[i] >= clients)
			clients = t->client[i] + 1;
		t->totals.bytes += t->size[t->object[i]];
	}
	for (uint64_t i = 0; t->pass_client && i < t->npasses; i++) {
		if (t->pass_client[i] >= clients)
			clients = t->pass_client[i] + 1;
	}
	for (uint32_t o = 0; o < objects; o++)
		t->totals.unique_bytes += t->size[o];
	while (t->nchanges && t->change[t->nchanges - 1] >= n)
		t->nchanges--;
	t->nrequests = n;
	t->nobjects = objects;
	t->nclients = clients;
}

/* Whether there is what the settings ask for; an exit code. */
static int workload_check(const struct sim_trace *t, const struct settings *s)
{
	const char *why = NULL;

	if (t->npasses && s->all_cacheable)
		why = "--all-cacheable: the file has no objects of its "
		      "uncacheable requests; convert the log again with it";
	else if (!t->nrequests && t->npasses)
		why = "no requests that a cache may store "
		      "(see --all-cacheable)";
	else if (!t->nrequests)
		why = "no requests";
	if (!why)
		return TOOL_OK;
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name,
		s->trace, why);
	return TOOL_NO;
}

int workload_load(struct sim_trace *out, struct settings *s)
{
	struct workload_complaints state;
	struct trace_options opt = workload_options(s, &state);
	struct progress progress;
	struct sim_tell told = {.loaded = workload_tell, .arg = &progress};
	int error, code;

	if (!s->trace)
		s->trace = workload_usual;
	progress_start(&progress, s->quiet ? PROGRESS_NEVER : PROGRESS_TERMINAL,
		       "loading", 0);
	progress.noun = "requests";
	error = sim_trace_load(out, s->trace, &opt, &told);
	progress_clear(&progress);
	if (error)
		return workload_failed(s, error);
	workload_left_out(s->trace, out->totals.bad, &state);
	workload_cut(out, s->num_req);
	code = workload_check(out, s);
	if (code)
		sim_trace_free(out);
	return code;
}

int workload_modify(struct sim_trace *t, const struct settings *s)
{
	const char *fault;
	uint32_t every;
	double value;
	int error;

	if (!s->modify_every)
		return TOOL_OK;
	fault = parameter_seconds(s->modify_every, &every, &value);
	if (!fault && !every)
		fault = "is less than a second";
	if (fault) {
		fprintf(stderr, "%s: --modify-every: \"%s\" %s\n",
			program_invocation_short_name, s->modify_every, fault);
		return TOOL_USAGE;
	}
	error = sim_trace_modify(t, every);
	if (error == TRACE_ETIME) {
		fprintf(stderr,
			"%s: --modify-every: the trace has no times\n",
			program_invocation_short_name);
		return TOOL_NO;
	}
	return error ? workload_failed(s, error) : TOOL_OK;
}
