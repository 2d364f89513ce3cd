/*
 * cachesim run and cachesim sweep: one configuration, or all combinations of
 * several values, over one trace.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/cachesim.h"
#include "cachesim/mpi/mpi_process.h"
#include "cachesim/results.h"
#include "cachesim/output.h"
#include "cachesim/single_cache.h"
#include "cachesim/servers.h"
#include "cachesim/simulate.h"
#include "cachesim/simulate_mpi.h"
#include "cachesim/whole.h"
#include "cachesim/workload.h"

const char command_run_help[] =
	"usage: cachesim run [OPTIONS] [TRACE [TYPE POLICY SIZE]]\n"
	"Replays a trace through one cache, or several that cooperate. As\n"
	"with libCacheSim, format, policy and size may follow the trace, and\n"
	"\"run\" may be left out then. mpirun divides the proxies among\n"
	"processes, if cachesim was built with MPI.\n";

const char command_sweep_help[] =
	"usage: cachesim sweep [OPTIONS] [TRACE [TYPE POLICY SIZE]]\n"
	"Replays a trace through each combination of values, which are lists\n"
	"with commas between them: --eviction lru,sieve --size 1%,10%. The\n"
	"result is the same with any number of threads, and of processes,\n"
	"among which mpirun divides the combinations.\n";

const struct tool_option *const command_run_options[] = {
	parameter_options, settings_simulation, settings_nodes,
	settings_trace, settings_output, NULL
};

/* Format, policy and size behind the trace; 0 or an exit code. */
static int command_run_take_operands(struct settings *s, int argc, char **argv)
{
	int n = argc - optind;

	if (n != 0 && n != 1 && n != 4) {
		fprintf(stderr,
			"%s: TRACE, or TRACE TYPE POLICY SIZE, not %d "
			"arguments\n",
			argv[0], n);
		return TOOL_USAGE;
	}
	if (n > 0)
		s->trace = argv[optind];
	if (n == 4) {
		s->type = argv[optind + 1];
		s->parameter[PARAMETER_EVICTION] = argv[optind + 2];
		s->parameter[PARAMETER_SIZE] = argv[optind + 3];
	}
	return TOOL_OK;
}

static int command_run_read_settings(struct settings *s, int argc, char **argv)
{
	int code = settings_read_options(s, command_run_options, argc, argv);

	if (!s->threads)
		s->threads =
			1 + (simulate_processors() - 1) / mpi_process_here();
	return code ? code : command_run_take_operands(s, argc, argv);
}

/* A single run has no lists. */
static int command_run_refuse_lists(const struct settings *s)
{
	for (size_t d = 0; d < PARAMETERS; d++) {
		if (!s->parameter[d] || !strchr(s->parameter[d], ','))
			continue;
		fprintf(stderr,
			"%s: --%s: several values are for cachesim sweep\n",
			program_invocation_short_name,
			parameter_options[d].name);
		return TOOL_USAGE;
	}
	return TOOL_OK;
}

static int command_run_report(const struct plan *p,
			      const struct sim_result *results,
			      const char *kind, const struct settings *s)
{
	struct report r;

	results_init(&r, kind, s->counters || output_is_data(s), s->per_proxy);
	report_note(&r, "trace", s->trace);
	for (size_t i = 0; i < p->nrows; i++)
		results_add(&r, &p->rows[i], &results[i]);
	return output_report(&r, s);
}

/* Tells the rows the servers of the objects, if one of them needs these. */
static int command_run_find_servers(struct plan *p, const struct sim_trace *t,
				    const struct settings *s,
				    struct servers *out)
{
	bool needed = false;
	int code;

	*out = (struct servers){ 0 };
	for (size_t i = 0; i < p->nrows; i++)
		needed |= p->rows[i].config.protocol &&
			  p->rows[i].config.protocol->servers;
	code = needed ? servers_find(out, s, t) : TOOL_OK;
	for (size_t i = 0; i < p->nrows; i++) {
		p->rows[i].config.server = out->of;
		p->rows[i].config.nservers = out->n;
	}
	return code;
}

static int command_run_simulate_plan(const struct plan *p,
				     const struct sim_trace *t,
				     struct sim_result *results,
				     const struct settings *s)
{
	struct simulate_options options = { .threads = (unsigned)s->threads,
					    .quiet = s->quiet,
					    .keep_changed = s->keep_changed };

	if (s->nodes == WHOLE_DAEMON)
		return plan_fits(p, t) ? whole_simulate(p, t, results, s) :
					 TOOL_NO;
	for (size_t i = 0; s->keep_changed && i < p->nrows; i++) {
		if (single_cache_is(&p->rows[i], t, true))
			continue;
		fprintf(stderr,
			"%s: --keep-changed: for single caches only, without "
			"admission, size limit and warm-up\n",
			program_invocation_short_name);
		return TOOL_USAGE;
	}
	if (!plan_fits(p, t))
		return TOOL_NO;
	if (mpi_process_exchange())
		return simulate_mpi(p, t, results, &options);
	return simulate(p, t, results, &options);
}

static int command_run_replay(struct plan *p, const struct sim_trace *t,
			      struct sim_result *results,
			      const struct settings *s)
{
	struct servers servers;
	int code = command_run_find_servers(p, t, s, &servers);

	if (!code)
		code = command_run_simulate_plan(p, t, results, s);
	free(servers.of);
	return code;
}

static int command_run_plan(struct plan *p, const char *kind,
			    struct settings *s)
{
	struct sim_result *results = calloc(p->nrows, sizeof(*results));
	struct sim_trace t;
	int code;

	if (!results) {
		fprintf(stderr, "%s: out of memory\n",
			program_invocation_short_name);
		return TOOL_IO;
	}
	s->quiet |= !mpi_process_is_first();
	code = workload_load(&t, s);
	if (!code) {
		code = workload_modify(&t, s);
		if (!code)
			code = command_run_replay(p, &t, results, s);
		sim_trace_free(&t);
	}
	if (!code && mpi_process_is_first())
		code = command_run_report(p, results, kind, s);
	free(results);
	return code;
}

static int command_run_run(int argc, char **argv, const char *kind)
{
	struct settings s = { 0 };
	struct sim_config usual;
	struct plan plan = { 0 };
	int code = command_run_read_settings(&s, argc, argv);

	if (!code && !strcmp(kind, "run"))
		code = command_run_refuse_lists(&s);
	if (code)
		return code;
	sim_config_init(&usual);
	usual.objects = s.ignore_obj_size;
	usual.digest.form = PROTOCOL_CONDITIONAL; /* as digestd does */
	usual.admission_options.measure = s.measure;
	code = whole_prepare(&s, &usual);
	if (code)
		return code;
	code = plan_add(&plan, s.parameter, &usual);
	if (!code)
		code = command_run_plan(&plan, kind, &s);
	plan_free(&plan);
	return code;
}

int command_run(int argc, char **argv)
{
	return command_run_run(argc, argv, "run");
}

int command_sweep(int argc, char **argv)
{
	return command_run_run(argc, argv, "sweep");
}
