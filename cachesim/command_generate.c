/*
 * cachesim generate: a trace out of a seed.
 */
#include <stdio.h>

#include "cachesim/cachesim.h"
#include "cachesim/export.h"
#include "cachesim/output.h"
#include "cachesim/trace/generator.h"

const char command_generate_help[] =
	"usage: cachesim generate [OPTIONS] [PRESET[,OPTION=VALUE...]]\n"
	"       cachesim generate --presets\n"
	"Makes a trace: the same bytes for the same words, everywhere. OPTION\n"
	"is seed, requests, scale, clients, groups, objects, hosts, alpha,\n"
	"once, locality, affinity, home, churn, rate, mean_bytes, hit_ratio,\n"
	"byte_hit_ratio, popularity or sizes; the preset is dec if none is\n"
	"named.\n";

const struct tool_option *const command_generate_options[] = {
	settings_generate, settings_export, NULL
};

/* clang-format off */
static const struct report_column columns[] = {
	{ "preset",         REPORT_TEXT,  true },
	{ "requests",       REPORT_COUNT, false },
	{ "clients",        REPORT_COUNT, false },
	{ "groups",         REPORT_COUNT, false },
	{ "infinite_size",  REPORT_BYTES, false },
	{ "hit_ratio",      REPORT_SHARE, false },
	{ "byte_hit_ratio", REPORT_SHARE, false },
	{ "alpha",          REPORT_REAL,  false },
	{ "once",           REPORT_SHARE, false },
	{ "locality",       REPORT_SHARE, false },
	{ "affinity",       REPORT_SHARE, false },
	{ "churn",          REPORT_REAL,  false },
	{ "about",          REPORT_TEXT,  false },
};
/* clang-format on */

/* What a preset tells of an infinite cache. */
static void command_generate_report_ratios(struct report *r,
					   const struct trace_model *m)
{
	if (m->hit_ratio > 0)
		report_real(r, "hit_ratio", m->hit_ratio);
	if (m->infinite_bytes > 0) {
		report_count(r, "infinite_size", (uint64_t)m->infinite_bytes);
		report_real(r, "byte_hit_ratio", m->byte_hit_ratio);
	}
}

static int command_generate_list_presets(const struct settings *s)
{
	struct report r;

	report_init(&r, "presets", columns,
		    sizeof(columns) / sizeof(columns[0]));
	for (const struct trace_model *m = trace_models; m->name; m++) {
		report_row(&r);
		report_text(&r, "preset", m->name);
		report_count(&r, "requests", m->requests);
		report_count(&r, "clients", m->clients);
		report_count(&r, "groups", m->groups);
		command_generate_report_ratios(&r, m);
		report_real(&r, "alpha", m->alpha);
		report_real(&r, "once", m->once);
		report_real(&r, "locality", m->locality);
		report_real(&r, "affinity", m->affinity);
		report_real(&r, "churn", m->churn);
		report_text(&r, "about", m->about);
	}
	return output_report(&r, s);
}

int command_generate(int argc, char **argv)
{
	struct settings s = { .form = 1 };
	char trace[512];
	int code = settings_read(&s, command_generate_options, argc, argv);

	if (code)
		return code;
	if (s.presets)
		return command_generate_list_presets(&s);
	snprintf(trace, sizeof(trace), "gen:%s", s.trace ? s.trace : "dec");
	s.trace = trace;
	return export_trace(&s);
}
