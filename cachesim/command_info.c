/*
 * cachesim info: what a trace is made of, and the most that a cache could hit.
 */
#include "cachesim/cachesim.h"
#include "cachesim/output.h"
#include "cachesim/sim/info.h"
#include "cachesim/workload.h"

const char command_info_help[] =
	"usage: cachesim info [OPTIONS] [TRACE]\n"
	"Tells what a trace is made of: requests, objects, clients, bytes,\n"
	"how much is asked for once only, and what a cache of infinite size\n"
	"would hit. TRACE is a file (-: standard input), or\n"
	"gen:PRESET,OPTION=VALUE for the generator.\n";

const struct tool_option *const command_info_options[] = {
	settings_trace, settings_output, NULL
};

/* clang-format off */
static const struct report_column columns[] = {
	{ "requests",            REPORT_COUNT,   false },
	{ "uncacheable",         REPORT_COUNT,   false },
	{ "objects",             REPORT_COUNT,   false },
	{ "clients",             REPORT_COUNT,   false },
	{ "modifications",       REPORT_COUNT,   false },
	{ "bad_records",         REPORT_COUNT,   false },
	{ "duration",            REPORT_SECONDS, false },
	{ "bytes",               REPORT_BYTES,   false },
	{ "infinite_size",       REPORT_BYTES,   false },
	{ "one_hit_objects",     REPORT_COUNT,   false },
	{ "one_hit_of_objects",  REPORT_SHARE,   false },
	{ "one_hit_of_requests", REPORT_SHARE,   false },
	{ "max_hit_ratio",       REPORT_SHARE,   false },
	{ "max_byte_hit_ratio",  REPORT_SHARE,   false },
	{ "max_fresh_hit_ratio", REPORT_SHARE,   false },
};
/* clang-format on */

static void command_info_fill(struct report *r, const struct sim_info *i)
{
	report_row(r);
	report_count(r, "requests", i->requests);
	report_count(r, "uncacheable", i->uncacheable);
	report_count(r, "objects", i->objects);
	report_count(r, "clients", i->clients);
	report_count(r, "modifications", i->changes);
	report_count(r, "bad_records", i->bad);
	report_count(r, "duration", i->seconds);
	report_count(r, "bytes", i->bytes);
	report_count(r, "infinite_size", i->infinite);
	report_count(r, "one_hit_objects", i->one_hit);
	report_real(r, "one_hit_of_objects", i->one_hit_objects);
	report_real(r, "one_hit_of_requests", i->one_hit_requests);
	report_real(r, "max_hit_ratio", i->hit_ratio);
	report_real(r, "max_byte_hit_ratio", i->byte_hit_ratio);
	report_real(r, "max_fresh_hit_ratio", i->fresh_hit_ratio);
}

int command_info(int argc, char **argv)
{
	struct settings s = { 0 };
	struct sim_trace t;
	struct sim_info info;
	struct report r;
	int code = settings_read(&s, command_info_options, argc, argv), error;

	if (!code)
		code = workload_load(&t, &s);
	if (code)
		return code;
	error = sim_trace_info(&t, &info);
	sim_trace_free(&t);
	if (error)
		return workload_failed(&s, error);
	report_init(&r, "info", columns, sizeof(columns) / sizeof(columns[0]));
	report_note(&r, "trace", s.trace);
	command_info_fill(&r, &info);
	return output_report(&r, &s);
}
