/*
 * Simulating together.
 */
#include "config.h"

#include "cachesim/simulate_mpi.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachesim/mpi/mpi_process.h"
#include "cachesim/sim/exchange.h"
#include "cachesim/sim/fingerprint.h"
#include "codec/error.h"
#include "digestd/tool/command.h"
#include "digestd/tool/progress.h"

enum { BLOCK = 1 << 20 /* requests between two looks at the progress */ };

/* What has to be the same for all, and who it is. */
struct passport {
	uint64_t trace;
	char version[64], host[64];
};

/* An exit code for an error; what the error is was told, or will be. */
static int simulate_mpi_fail(int error)
{
	if (!mpi_process_failed())
		fprintf(stderr, "%s: %s\n", program_invocation_short_name,
			scd_strerror(error));
	return TOOL_IO;
}

static int simulate_mpi_differs(unsigned rank, const struct passport *p,
				const char *what)
{
	fprintf(stderr, "%s: process %u on %s has another %s than the first\n",
		program_invocation_short_name, rank, p->host, what);
	return TOOL_NO;
}

/* Whether all have the same program and trace. */
static int simulate_mpi_compare_passports(const struct sim_trace *t)
{
	const struct sim_exchange *x = mpi_process_exchange();
	struct passport mine = { .trace = sim_fingerprint(t),
				 .version = PACKAGE_VERSION };
	struct passport first, other;
	struct sim_gathered all;
	int code = TOOL_OK;
	int error;

	gethostname(mine.host, sizeof(mine.host) - 1);
	error = x->gather(x->arg, &mine, sizeof(mine), &all);
	if (error)
		return simulate_mpi_fail(error);
	memcpy(&first, all.bytes, sizeof(first));
	for (unsigned r = 1; r < x->nranks && !code; r++) {
		if (all.start[r + 1] - all.start[r] != sizeof(other))
			return simulate_mpi_differs(r, &first, "program");
		memcpy(&other, all.bytes + all.start[r], sizeof(other));
		if (strcmp(other.version, first.version))
			code = simulate_mpi_differs(r, &other,
						    "version of the program");
		else if (other.trace != first.trace)
			code = simulate_mpi_differs(r, &other, "trace");
	}
	return code;
}

/* One configuration: its proxies are divided. */
static int simulate_mpi_divide_proxies(const struct plan *p,
				       const struct sim_trace *t,
				       struct sim_result *out, bool quiet)
{
	struct sim_config c = p->rows[0].config;
	uint64_t n = t->nrequests;
	struct progress progress;
	struct sim_cluster *s;
	int error;

	c.exchange = mpi_process_exchange();
	progress_start(&progress, quiet ? PROGRESS_NEVER : PROGRESS_TERMINAL,
		       "simulating", n);
	progress.noun = "requests";
	error = sim_cluster_new(&s, &c, t);
	if (error)
		return simulate_mpi_fail(error);
	for (uint64_t done = 0; done < n && !error; done += BLOCK) {
		error = sim_cluster_run(s, BLOCK);
		progress_tell(&progress, done, done);
	}
	if (!error)
		error = sim_cluster_result(s, out);
	progress_clear(&progress);
	sim_cluster_free(&s);
	return error ? simulate_mpi_fail(error) : TOOL_OK;
}

/* What all brought: row i is from rank i % nranks. */
static int simulate_mpi_share_results(const struct plan *own,
				      struct sim_result *results,
				      struct sim_result *out, size_t nrows)
{
	const struct sim_exchange *x = mpi_process_exchange();
	struct sim_gathered all;
	int error = x->gather(x->arg, results, own->nrows * sizeof(*results),
			      &all);

	if (error)
		return simulate_mpi_fail(error);
	for (size_t i = 0; i < nrows; i++)
		memcpy(&out[i],
		       all.bytes + all.start[i % x->nranks] +
			       i / x->nranks * sizeof(*out),
		       sizeof(*out));
	return TOOL_OK;
}

/* Several configurations: every nranks-th is this process's. */
static int simulate_mpi_divide_rows(const struct plan *p,
				    const struct sim_trace *t,
				    struct sim_result *out,
				    const struct simulate_options *options)
{
	const struct sim_exchange *x = mpi_process_exchange();
	size_t most = p->nrows / x->nranks + 1;
	struct sim_result *results = calloc(most, sizeof(*results));
	struct plan own = { .rows = calloc(most, sizeof(*own.rows)) };
	int code =
		results && own.rows ? TOOL_OK : simulate_mpi_fail(SCD_ENOMEM);

	for (size_t i = x->rank; !code && i < p->nrows; i += x->nranks)
		own.rows[own.nrows++] = p->rows[i];
	if (!code && own.nrows)
		code = simulate(&own, t, results, options);
	if (!code)
		code = simulate_mpi_share_results(&own, results, out, p->nrows);
	free(own.rows);
	free(results);
	return code;
}

int simulate_mpi(const struct plan *p, const struct sim_trace *t,
		 struct sim_result *out, const struct simulate_options *options)
{
	bool one = p->nrows == 1;
	int code = simulate_mpi_compare_passports(t);

	if (code)
		return code;
	if (one && !options->keep_changed &&
	    sim_config_spread(&p->rows[0].config) != SPREAD_NOT)
		return simulate_mpi_divide_proxies(p, t, out, options->quiet);
	if (one && !options->quiet)
		fprintf(stderr,
			"%s: this simulation cannot be divided; one process "
			"does it\n",
			program_invocation_short_name);
	return simulate_mpi_divide_rows(p, t, out, options);
}
