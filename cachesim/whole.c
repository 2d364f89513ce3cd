/*
 * From the command line to whole nodes.
 *
 * What digestd has an option for becomes a line of each node's configuration,
 * in the words of the command line, so that nothing is judged twice: nodes
 * refuse what they do not know.
 */
#include "config.h"

#include "cachesim/whole.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/mpi/mpi_process.h"
#include "cachesim/world/drive.h"
#include "digestd/store/eviction.h"
#include "digestd/tool/command.h"
#include "digestd/tool/progress.h"

enum { MAX_AGE_S = 86400, MS_MAX = 3600000 };

/* What is not nodes' own: the option of digestd, null: the driver knows it. */
static const struct whole_parameter {
	enum parameter parameter;
	const char *option;
} whole_parameters[] = {
	{ PARAMETER_PROTOCOL, NULL },
	{ PARAMETER_PROXIES, NULL },
	{ PARAMETER_SIZE, NULL },
	{ PARAMETER_SIZE_LIMIT, NULL },
	{ PARAMETER_PARTITION, NULL },
	{ PARAMETER_PREFIX_BITS, NULL },
	{ PARAMETER_WARMUP, NULL },
	{ PARAMETER_WARMUP_SEC, NULL },
	{ PARAMETER_SEED, NULL },
	{ PARAMETER_EVICTION, "eviction" },
	{ PARAMETER_ADMISSION, "admission" },
	{ PARAMETER_PLACEMENT, "placement" },
	{ PARAMETER_BITS, "bits_per_object" },
	{ PARAMETER_HASHES, "hash_functions" },
	{ PARAMETER_EXPECTED, "expected_objects" },
	{ PARAMETER_THRESHOLD, "publish_share" },
	{ PARAMETER_TRIES, "peer_tries" },
};

enum { WHOLE_PARAMETERS = sizeof(whole_parameters) /
			  sizeof(whole_parameters[0]) };

static int whole_refuse(const char *option, const char *text, const char *why)
{
	if (!mpi_process_is_first())
		return TOOL_USAGE;
	fprintf(stderr, "%s: --%s: %s%s%s%s\n", program_invocation_short_name,
		option, text ? "\"" : "", text ? text : "", text ? "\" " : "",
		why);
	return TOOL_USAGE;
}

/* Times */

static bool whole_ms(const char *text, uint32_t *us, const char **end)
{
	char *rest;
	double ms = strtod(text, &rest);

	if (rest == text || !(ms >= 0 && ms <= MS_MAX))
		return false;
	*us = (uint32_t)(ms * 1000 + .5);
	*end = rest;
	return true;
}

/* "2", "1-3" (evenly), "1+2" (and an exponential time of that mean), "1-3+2":
 * milliseconds. */
static bool whole_delay(const char *text, struct drive_delay *out)
{
	const char *end;
	uint32_t most;

	*out = (struct drive_delay){ 0 };
	if (!whole_ms(text, &out->least_us, &end))
		return false;
	if (*end == '-') {
		if (!whole_ms(end + 1, &most, &end) || most < out->least_us)
			return false;
		out->even_us = most - out->least_us;
	}
	if (*end == '+' && !whole_ms(end + 1, &out->tail_us, &end))
		return false;
	return !*end;
}

static int whole_read_delays(const struct settings *s, struct drive_plan *plan)
{
	const struct {
		const char *option, *text, *otherwise;
		struct drive_delay *out;
	} rows[] = {
		{ "client-delay", s->client_delay, "0.1", &plan->client },
		{ "peer-delay", s->peer_delay, "0.1", &plan->peer },
		{ "origin-delay", s->origin_delay, "0.1", &plan->origin },
		{ "far-delay", s->far_delay, "10", &plan->far },
		{ "coding-time", s->coding_time, "1", &plan->job },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *text = rows[i].text ? rows[i].text :
						  rows[i].otherwise;

		if (!whole_delay(text, rows[i].out))
			return whole_refuse(rows[i].option, text,
					    "is not a time in milliseconds: "
					    "2, 1-3, 1+2 or 1-3+2");
	}
	return TOOL_OK;
}

/* The settings */

static const struct whole_parameter *whole_find(enum parameter d)
{
	for (size_t i = 0; i < WHOLE_PARAMETERS; i++) {
		if (whole_parameters[i].parameter == d)
			return &whole_parameters[i];
	}
	return NULL;
}

static bool whole_has_times(const struct settings *s)
{
	return s->rate > 0 || s->speed > 0 || s->client_delay ||
	       s->peer_delay || s->origin_delay || s->coding_time ||
	       s->locations || s->far_delay || s->node_options;
}

int whole_prepare(struct settings *s, struct sim_config *usual)
{
	struct drive_plan plan;

	if (s->nodes != WHOLE_DAEMON && whole_has_times(s))
		return whole_refuse("nodes", NULL, "rates, delays and options "
				    "of nodes are for --nodes daemon");
	if (s->nodes != WHOLE_DAEMON)
		return TOOL_OK;
	for (enum parameter d = 0; d < PARAMETERS; d++) {
		if (s->parameter[d] && !whole_find(d))
			return whole_refuse(parameter_options[d].name, NULL,
					    "is of models; --node-options has "
					    "what digestd.conf(5) knows");
	}
	if (s->measure || s->ignore_obj_size)
		return whole_refuse(s->measure ? "measure" : "ignore-obj-size",
				    NULL, "is of models");
	if (mpi_process_exchange())
		return whole_refuse("nodes", NULL,
				    "one process runs all nodes, not mpirun");
	usual->eviction = eviction_policy_find("sieve");
	if (!s->parameter[PARAMETER_PROTOCOL])
		s->parameter[PARAMETER_PROTOCOL] = "compressed";
	return whole_read_delays(s, &plan);
}

/* What each node's configuration has besides names and peers, to be released
 * with free(); null: what is wrong was told. */
static char *whole_options(const struct plan_row *row, const struct settings *s)
{
	char *text = NULL, line[256];
	size_t len;
	FILE *to = open_memstream(&text, &len);
	FILE *from = s->node_options ? fopen(s->node_options, "r") : NULL;

	if (!to || (s->node_options && !from)) {
		fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name,
			s->node_options ? s->node_options : "options",
			strerror(errno));
		if (to)
			fclose(to);
		free(text);
		return NULL;
	}
	for (size_t i = 0; i < WHOLE_PARAMETERS; i++) {
		enum parameter d = whole_parameters[i].parameter;

		if (whole_parameters[i].option && row->text[d])
			fprintf(to, "%s = \"%s\"\n", whole_parameters[i].option,
				row->text[d]);
	}
	while (from && fgets(line, sizeof(line), from))
		fputs(line, to);
	if (from)
		fclose(from);
	if (fclose(to)) {
		free(text);
		return NULL;
	}
	return text;
}

static void whole_tell(void *arg, uint64_t done)
{
	progress_tell(arg, done, done);
}

static int whole_failed(int err)
{
	const char *why = err == -ENOSYS ?
		"--nodes daemon: this cachesim was built without the daemon "
		"(--disable-daemon)" :
		err == -EINVAL ? "--nodes daemon: the trace has no times: "
				 "--rate says how fast requests come" :
				 strerror(-err);

	fprintf(stderr, "%s: %s\n", program_invocation_short_name, why);
	return err == -ENOMEM ? TOOL_IO : TOOL_USAGE;
}

/* Whether there are such nodes; what is wrong was told. */
static int whole_check(const struct sim_config *c)
{
	if (c->protocol && !c->protocol->front &&
	    strcmp(c->protocol->name, "compressed"))
		return whole_refuse("protocol", c->protocol->name,
				    "is of models: whole nodes have "
				    "compressed, hash or none");
	if (c->nproxies > WHOLE_MAX_NODES)
		return whole_refuse("proxies", NULL,
				    "whole nodes are 256 at most");
	return TOOL_OK;
}

static int whole_run(const struct plan_row *row, struct drive_plan *plan,
		     struct sim_result *out, const struct settings *s)
{
	struct drive_count count;
	char *options;
	int err = whole_check(&row->config);

	if (err)
		return err;
	options = whole_options(row, s);
	if (!options)
		return TOOL_IO;
	plan->config = &row->config;
	plan->options = options;
	err = drive_run(plan, out, &count);
	free(options);
	if (err)
		return whole_failed(err);
	if (count.errors && !s->quiet)
		fprintf(stderr, "%s: %llu requests ended with an error\n",
			program_invocation_short_name,
			(unsigned long long)count.errors);
	return TOOL_OK;
}

int whole_simulate(const struct plan *p, const struct sim_trace *t,
		   struct sim_result *out, const struct settings *s)
{
	struct progress progress;
	struct drive_plan plan = {
		.trace = t,
		.rate = s->rate,
		.speed = s->speed > 0 ? s->speed : 1,
		.max_age_s = MAX_AGE_S,
		.keep_changed = s->keep_changed,
		.locations = s->locations > 1 ? (unsigned)s->locations : 0,
		.tell = whole_tell,
		.arg = &progress,
	};
	int code = whole_read_delays(s, &plan);

	for (size_t i = 0; !code && i < p->nrows; i++) {
		progress_start(&progress, s->quiet ? PROGRESS_NEVER :
						     PROGRESS_TERMINAL,
			       "simulating", t->nrequests);
		progress.noun = "requests";
		code = whole_run(&p->rows[i], &plan, &out[i], s);
		progress_clear(&progress);
	}
	return code;
}
