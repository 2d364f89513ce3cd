/*
 * cachesim paper: the study of "Summary Cache" again, and the compressed Bloom
 * filters that came after it in a full system, with the figures that the
 * papers give beside ours. docs/SIMULATOR.md says where they differ, and why.
 *
 * As in the paper: caches of 10 % of the infinite size in all, as many as the
 * trace has groups; objects beyond 250 KB are not cached; digests are made for
 * an average object of 8 KB.
 * Source: Fan, Cao, Almeida, Broder, "Summary Cache", sections IV and V; the
 * pairs of bits and functions are those of Mitzenmacher, "Compressed Bloom
 * Filters", 2002, tables 1 and 2.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/cachesim.h"
#include "cachesim/results.h"
#include "cachesim/output.h"
#include "cachesim/servers.h"
#include "cachesim/simulate.h"
#include "cachesim/trace/generator.h"
#include "cachesim/workload.h"

const char command_paper_help[] =
	"usage: cachesim paper [OPTIONS] [TRACE...]\n"
	"The study of the paper \"Summary Cache\" again, and of compressed\n"
	"Bloom filters in a full system, with the papers' figures beside\n"
	"ours: on the generator's presets, those of the traces of the paper,\n"
	"or on traces of your own.\n";

const struct tool_option *const command_paper_options[] = {
	settings_paper, settings_trace, settings_output, NULL
};

enum {
	SIZE_LIMIT = 250 * 1024, /* [bytes] */
	MEAN_SIZE = 8 * 1024,    /* that digests are made for */
	PROXIES = 4,             /* for a trace that has no groups */
};

/* What is simulated; the first is what the others are compared with. */
static const struct study {
	const char *name, *protocol, *threshold, *bits, *hashes, *form;
	bool mean; /* digests are made for MEAN_SIZE, not for what there is */
	const char *tries;
} studies[] = {
	/* clang-format off */
	{ "asking",         "icp",        NULL, NULL, NULL, NULL, false, NULL },
	{ "asking",         "none",       NULL, NULL, NULL, NULL, false, NULL },
	{ "update delay",   "directory",  "0,0.1%,1%,2%,5%,10%",
	  NULL, NULL, NULL, true, NULL },
	{ "representation", "servernames", "1%", NULL, NULL, NULL, true, NULL },
	{ "representation", "bloom",      "0.1%,1%,2%,5%,10%",
	  "8,16,32", "4", NULL, true, NULL },
	{ "compressed",     "compressed", "1%", "8",  "6",
	  "full,xor,conditional", false, "0" },
	{ "compressed",     "compressed", "1%", "14", "2",
	  "full,xor,conditional", false, "0" },
	{ "compressed",     "compressed", "1%", "92", "1",
	  "full,xor,conditional", false, "0" },
	{ "compressed",     "compressed", "1%", "16", "11",
	  "full,xor,conditional", false, "0" },
	{ "compressed",     "compressed", "1%", "28", "4",
	  "full,xor,conditional", false, "0" },
	{ "compressed",     "compressed", "1%", "48", "3",
	  "full,xor,conditional", false, "0" },
	/* clang-format on */
};

enum { NSTUDIES = sizeof(studies) / sizeof(studies[0]) };

/*
 * What the paper has of hits lost by updating at 1 % new documents, relative
 * to no delay; by the preset.
 */
static const struct {
	const char *preset, *loss;
} told[] = {
	{ "dec", "1.7 %" },
	{ "ucb", "0.2 %" },
	{ "upisa", "0.1 %" },
	{ "questnet", "0.3 %" },
};

enum { NTOLD = sizeof(told) / sizeof(told[0]) };

static const struct report_column columns[] = {
	/* clang-format off */
	{ "trace",              REPORT_TEXT,  true },
	{ "study",              REPORT_TEXT,  true },
	{ "protocol",           REPORT_TEXT,  true },
	{ "bits",               REPORT_REAL,  true },
	{ "hashes",             REPORT_COUNT, true },
	{ "form",               REPORT_TEXT,  true },
	{ "threshold",          REPORT_SHARE, true },
	{ "proxies",            REPORT_COUNT, false },
	{ "hit_ratio",          REPORT_SHARE, false },
	{ "byte_hit_ratio",     REPORT_SHARE, false },
	{ "hits_lost",          REPORT_SHARE, false },
	{ "paper_hits_lost",    REPORT_TEXT,  false },
	{ "false_hit_ratio",    REPORT_SHARE, false },
	{ "remote_stale_ratio", REPORT_SHARE, false },
	{ "messages_and_replies_per_request", REPORT_REAL, false },
	{ "fewer_messages",     REPORT_REAL,  false },
	{ "paper_fewer_messages", REPORT_TEXT, false },
	{ "message_bytes_per_request", REPORT_REAL, false },
	{ "bytes_saved",        REPORT_SHARE, false },
	{ "paper_bytes_saved",  REPORT_TEXT,  false },
	{ "update_bytes_per_request", REPORT_REAL, false },
	{ "memory_of_cache",    REPORT_SHARE, false },
	/* clang-format on */
};

/* One trace, and what is done with it. */
struct paper {
	struct settings *s;
	struct report *report;
	const struct trace_model *model; /* null: not of the generator */
	unsigned proxies;
	struct sim_trace trace;
	struct servers servers;
	uint32_t *groups; /* by client; null: not known */
	struct plan plan;
	size_t first[NSTUDIES + 1]; /* rows of a study */
};

static int command_paper_no_memory(void)
{
	fprintf(stderr, "%s: out of memory\n", program_invocation_short_name);
	return TOOL_IO;
}

/* The preset that "gen:dec,seed=2" names; null: it names none. */
static const struct trace_model *command_paper_model_of(const char *trace)
{
	const char *name = trace + 4;
	size_t len;

	if (strncmp(trace, "gen:", 4))
		return NULL;
	len = strcspn(name, ",");
	for (const struct trace_model *m = trace_models; m->name; m++) {
		if (strlen(m->name) == len && !strncmp(m->name, name, len))
			return m;
	}
	return NULL;
}

/* The generator's clients have their group in the second byte. */
static int command_paper_find_groups(struct paper *p)
{
	enum { GROUP = 13 };

	if (!p->model || !p->trace.address)
		return TOOL_OK;
	p->groups = calloc(p->trace.nclients, sizeof(*p->groups));
	if (!p->groups)
		return command_paper_no_memory();
	for (uint32_t c = 0; c < p->trace.nclients; c++)
		p->groups[c] = p->trace.address[c].byte[GROUP];
	return TOOL_OK;
}

/* As everything begins. */
static struct sim_config command_paper_usual(const struct paper *p)
{
	struct sim_config c;

	sim_config_init(&c);
	c.nproxies = p->proxies;
	c.size_limit = SIZE_LIMIT;
	c.server = p->servers.of;
	c.nservers = p->servers.n;
	if (p->groups) {
		c.partition = SIM_BY_COLUMN;
		c.column = p->groups;
	}
	return c;
}

/* Digests for as many objects as fit: of 8 KB, as the paper has it, however
 * large these are; or of the mean size of those that are cached at all. */
static uint64_t command_paper_expected(const struct sim_config *c,
				       const struct sim_trace *t, bool paper)
{
	uint64_t cached_bytes = 0, cached = 0;
	double mean = MEAN_SIZE;

	for (uint32_t o = 0; o < t->nobjects; o++) {
		if (t->size[o] <= SIZE_LIMIT) {
			cached_bytes += t->size[o];
			cached++;
		}
	}
	if (!paper && cached)
		mean = (double)cached_bytes / (double)cached;
	return (uint64_t)((double)sim_config_capacity(c, t) / c->nproxies /
			  mean) +
	       1;
}

static int command_paper_plan_study(struct paper *p, const struct study *study)
{
	const char *lists[PARAMETERS] = { 0 };
	const char *size = p->s->parameter[PARAMETER_SIZE];
	struct sim_config c = command_paper_usual(p), sized = c;
	char proxies[16];
	double value;

	snprintf(proxies, sizeof(proxies), "%u", p->proxies);
	lists[PARAMETER_PROXIES] = proxies;
	lists[PARAMETER_PROTOCOL] = study->protocol;
	lists[PARAMETER_THRESHOLD] = study->threshold;
	lists[PARAMETER_BITS] = study->bits;
	lists[PARAMETER_HASHES] = study->hashes;
	lists[PARAMETER_FORM] = study->form;
	lists[PARAMETER_TRIES] = study->tries;
	lists[PARAMETER_SIZE] = size;
	lists[PARAMETER_EVICTION] = p->s->parameter[PARAMETER_EVICTION];
	if (size)
		parameter_set(PARAMETER_SIZE, size, &sized, &value);
	c.digest.expected =
		command_paper_expected(&sized, &p->trace, study->mean);
	return plan_add(&p->plan, lists, &c);
}

/* Whether a study can be made: server names need servers. */
static bool command_paper_is_possible(const struct paper *p,
				      const struct study *study)
{
	const struct protocol *protocol = protocol_find(study->protocol);

	return protocol && (!protocol->servers || p->servers.of);
}

static const char *command_paper_told_loss(const struct paper *p)
{
	for (size_t i = 0; p->model && i < NTOLD; i++) {
		if (!strcmp(told[i].preset, p->model->name))
			return told[i].loss;
	}
	return "";
}

static void command_paper_add_papers_figures(const struct paper *p,
					     const char *study,
					     const struct plan_row *row)
{
	struct report *r = p->report;
	bool one_percent = row->config.publish.share_ppm == 10000;

	if (!strcmp(study, "update delay") && one_percent)
		report_text(r, "paper_hits_lost", command_paper_told_loss(p));
	if (strcmp(row->config.protocol->name, "bloom") || !one_percent)
		return;
	report_text(r, "paper_fewer_messages", "25 to 60");
	report_text(r, "paper_bytes_saved", "over 50 %");
}

static double command_paper_share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

/* What is compared with asking everybody. */
static void command_paper_add_comparison(struct report *r,
					 const struct sim_counters *c,
					 const struct sim_counters *icp)
{
	static const char messages[] = "messages_and_replies_per_request";
	static const char bytes[] = "message_bytes_per_request";
	double hits = results_ratio("hit_ratio", icp);

	report_real(r, "hits_lost",
		    command_paper_share(hits - results_ratio("hit_ratio", c),
					hits));
	if (!c->queries && !c->fetches && !c->updates)
		return;
	report_real(r, "fewer_messages",
		    results_ratio(messages, icp) / results_ratio(messages, c));
	report_real(r, "bytes_saved",
		    1 - results_ratio(bytes, c) / results_ratio(bytes, icp));
}

static void command_paper_add_settings(const struct paper *p, const char *study,
				       const struct plan_row *row)
{
	struct report *r = p->report;
	const struct protocol *protocol = row->config.protocol;

	report_row(r);
	report_text(r, "trace", p->s->trace);
	report_text(r, "study", study);
	report_text(r, "protocol", protocol ? protocol->name : "none");
	report_count(r, "proxies", p->proxies);
	if (row->text[PARAMETER_THRESHOLD])
		report_real(r, "threshold", row->value[PARAMETER_THRESHOLD]);
	if (row->text[PARAMETER_FORM])
		report_text(r, "form", row->text[PARAMETER_FORM]);
	if (row->text[PARAMETER_BITS])
		report_real(r, "bits", row->value[PARAMETER_BITS]);
	if (row->text[PARAMETER_HASHES])
		report_count(r, "hashes",
			     (uint64_t)row->value[PARAMETER_HASHES]);
}

static void command_paper_add_row(const struct paper *p, const char *study,
				  size_t i, const struct sim_result *results)
{
	static const char *const ratios[] = {
		"hit_ratio", "byte_hit_ratio", "false_hit_ratio",
		"remote_stale_ratio", "messages_and_replies_per_request",
		"message_bytes_per_request", "update_bytes_per_request",
	};
	const struct sim_counters *c = &results[i].sum;
	const struct plan_row *row = &p->plan.rows[i];
	struct report *r = p->report;

	command_paper_add_settings(p, study, row);
	report_real(r, "hit_ratio", results_ratio("hit_ratio", c));
	report_real(r, "byte_hit_ratio", results_ratio("byte_hit_ratio", c));
	command_paper_add_comparison(r, c, &results[0].sum);
	if (!row->config.protocol)
		return;
	for (size_t k = 2; k < sizeof(ratios) / sizeof(ratios[0]); k++)
		report_real(r, ratios[k], results_ratio(ratios[k], c));
	report_real(
		r, "memory_of_cache",
		command_paper_share((double)(c->peer_memory + c->own_memory),
				    (double)results[i].capacity));
	command_paper_add_papers_figures(p, study, row);
}

static int command_paper_simulate_all(struct paper *p)
{
	struct sim_result *results = calloc(p->plan.nrows, sizeof(*results));
	struct simulate_options options = { .threads = simulate_processors(),
					    .quiet = p->s->quiet };
	int code;

	if (!results)
		return command_paper_no_memory();
	code = plan_fits(&p->plan, &p->trace) ?
		       simulate(&p->plan, &p->trace, results, &options) :
		       TOOL_NO;
	for (size_t i = 0; !code && i < NSTUDIES; i++) {
		for (size_t k = p->first[i]; k < p->first[i + 1]; k++)
			command_paper_add_row(p, studies[i].name, k, results);
	}
	free(results);
	return code;
}

static int command_paper_study_trace(struct paper *p)
{
	int code = command_paper_find_groups(p);

	if (!code)
		code = servers_find(&p->servers, p->s, &p->trace);
	for (size_t i = 0; !code && i < NSTUDIES; i++) {
		p->first[i] = p->plan.nrows;
		if (command_paper_is_possible(p, &studies[i]))
			code = command_paper_plan_study(p, &studies[i]);
		p->first[i + 1] = p->plan.nrows;
	}
	if (!code)
		code = command_paper_simulate_all(p);
	plan_free(&p->plan);
	free(p->servers.of);
	free(p->groups);
	return code;
}

static int command_paper_study_named(struct settings *s, const char *trace,
				     struct report *r)
{
	struct paper p = {
		.s = s, .report = r, .model = command_paper_model_of(trace)};
	const char *proxies = s->parameter[PARAMETER_PROXIES];
	int code;

	p.proxies = PROXIES;
	if (p.model && p.model->groups > 1 &&
	    p.model->groups <= SIM_MAX_PROXIES)
		p.proxies = (unsigned)p.model->groups;
	if (proxies)
		p.proxies = (unsigned)atoi(proxies);
	s->trace = trace;
	code = workload_load(&p.trace, s);
	if (code)
		return code;
	code = command_paper_study_trace(&p);
	sim_trace_free(&p.trace);
	return code;
}

/* All presets of the paper, with as many requests as are wanted. */
static int command_paper_study_presets(struct settings *s, struct report *r)
{
	char trace[64];
	uint64_t n = s->num_req;
	int code = TOOL_OK;

	s->num_req = 0;
	for (const struct trace_model *m = trace_models; m->name && !code;
	     m++) {
		if (m->infinite_bytes <= 0)
			continue; /* it is not in the paper's table */
		if (n && n < m->requests)
			snprintf(trace, sizeof(trace),
				 "gen:%s,requests=%llu", m->name,
				 (unsigned long long)n);
		else
			snprintf(trace, sizeof(trace), "gen:%s", m->name);
		code = command_paper_study_named(s, trace, r);
	}
	return code;
}

/* Whether all values are good; no need to wait for a trace. */
static int command_paper_check(const struct settings *s)
{
	struct plan plan = { 0 };
	struct sim_config c;
	int code;

	sim_config_init(&c);
	code = plan_add(&plan, s->parameter, &c);
	if (!code && plan.nrows > 1) {
		fprintf(stderr, "%s: paper: one value of each\n",
			program_invocation_short_name);
		code = TOOL_USAGE;
	}
	plan_free(&plan);
	return code;
}

int command_paper(int argc, char **argv)
{
	struct settings s = { 0 };
	struct report r;
	int code = settings_read_options(&s, command_paper_options, argc, argv);

	if (!code)
		code = command_paper_check(&s);
	if (code)
		return code;
	report_init(&r, "paper", columns, sizeof(columns) / sizeof(columns[0]));
	if (!argv[optind])
		code = command_paper_study_presets(&s, &r);
	for (char **trace = argv + optind; !code && *trace; trace++)
		code = command_paper_study_named(&s, *trace, &r);
	if (!code)
		return output_report(&r, &s);
	report_free(&r);
	return code;
}
