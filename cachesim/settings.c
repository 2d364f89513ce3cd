/*
 * The options of cachesim.
 */
#include "config.h"

#include "cachesim/settings.h"

#include <getopt.h>
#include <stdio.h>

#include "cachesim/export.h"
#include "digestd/tool/command.h"

#define AT(member) .at = offsetof(struct settings, member)

_Static_assert(offsetof(struct settings, parameter) == 0,
	       "where parameter_options puts its texts");

static const char *const settings_node_kinds[] = { "model", "daemon", NULL };

/* clang-format off */
const struct tool_option settings_simulation[] = {
	{ .name = "num-thread", .letter = 'N', .kind = OPTION_COUNT,
	  AT(threads), .value = "N", .help = "threads (one a processor)" },
	{ .name = "keep-changed", .kind = OPTION_FLAG, AT(keep_changed),
	  .help = "an object that has changed stays a hit, as\n"
		  "with libCacheSim; for single caches and nodes" },
	{ .name = "modify-every", .kind = OPTION_TEXT, AT(modify_every),
	  .value = "TIME", .help = "each object changes so often: 300s, 12h, 7d" },
	{ .name = "measure", .kind = OPTION_FLAG, AT(measure),
	  .help = "what admission takes for seen that was not" },
	{ .name = "counters", .kind = OPTION_FLAG, AT(counters),
	  .help = "with all counters, which files have anyway" },
	{ .name = "per-proxy", .kind = OPTION_FLAG, AT(per_proxy),
	  .help = "with a row for each proxy, 64 of them at most" },
	{ 0 },
};

const struct tool_option settings_nodes[] = {
	{ .name = "nodes", .kind = OPTION_WORD, AT(nodes), .value = "NODES",
	  .words = settings_node_kinds,
	  .help = "model, or daemon: whole nodes of digestd, in\n"
		  "virtual time (model)" },
	{ .name = "rate", .kind = OPTION_REAL, AT(rate), .max = 1e9,
	  .value = "N", .help = "requests a second (as the trace has them)" },
	{ .name = "speed", .kind = OPTION_REAL, AT(speed), .max = 1e9,
	  .value = "X", .help = "times the trace's own (1)" },
	{ .name = "client-delay", .kind = OPTION_TEXT, AT(client_delay),
	  .value = "MS", .help = "one way between clients and nodes, in\n"
				 "milliseconds: 2, 1-3, 1+2 (0.1)" },
	{ .name = "peer-delay", .kind = OPTION_TEXT, AT(peer_delay),
	  .value = "MS", .help = "the same between nodes (0.1)" },
	{ .name = "origin-delay", .kind = OPTION_TEXT, AT(origin_delay),
	  .value = "MS", .help = "the same between nodes and origin (0.1)" },
	{ .name = "locations", .kind = OPTION_COUNT, AT(locations),
	  .max = 64, .value = "N",
	  .help = "data centres, among which nodes are divided (1)" },
	{ .name = "far-delay", .kind = OPTION_TEXT, AT(far_delay),
	  .value = "MS", .help = "as peer-delay, from one to another (10)" },
	{ .name = "coding-time", .kind = OPTION_TEXT, AT(coding_time),
	  .value = "MS", .help = "to code a digest or to take one in (1)" },
	{ .name = "node-options", .kind = OPTION_TEXT, AT(node_options),
	  .value = "FILE", .help = "lines of digestd.conf(5) for all nodes" },
	{ 0 },
};

const struct tool_option settings_trace[] = {
	{ .name = "trace-type", .letter = 'f', .kind = OPTION_TEXT, AT(type),
	  .value = "TYPE", .help = "its format (detected)" },
	{ .name = "trace-type-params", .letter = 't', .kind = OPTION_TEXT,
	  AT(columns), .value = "COLS",
	  .help = "what its columns are: time,client,url,size\n"
		  "or time-col=1,obj-id-col=2,obj-size-col=3" },
	{ .name = "base", .letter = 'b', .kind = OPTION_TEXT, AT(base),
	  .value = "URL", .help = "before URLs that begin with a slash" },
	{ .name = "num-req", .letter = 'n', .kind = OPTION_COUNT, AT(num_req),
	  .value = "N", .help = "the first N requests only" },
	{ .name = "ignore-obj-size", .kind = OPTION_FLAG, AT(ignore_obj_size),
	  .help = "count objects instead of bytes" },
	{ .name = "all-cacheable", .kind = OPTION_FLAG, AT(all_cacheable),
	  .help = "take every request for cacheable, whatever its\n"
		  "method and status; as libCacheSim does" },
	{ .name = "strict", .kind = OPTION_FLAG, AT(strict),
	  .help = "end with the first bad record" },
	{ 0 },
};

const struct tool_option settings_output[] = {
	{ .name = "output", .letter = 'o', .kind = OPTION_TEXT, AT(output),
	  .value = "FILE", .help = "write the result there" },
	{ .name = "json", .letter = 'j', .kind = OPTION_FLAG, AT(json),
	  .help = "as JSON" },
	{ .name = "csv", .letter = 'c', .kind = OPTION_FLAG, AT(csv),
	  .help = "as CSV" },
	{ .name = "quiet", .letter = 'q', .kind = OPTION_FLAG, AT(quiet),
	  .help = "no progress, no complaints about records" },
	{ 0 },
};

const struct tool_option settings_export[] = {
	{ .name = "to", .letter = 'T', .kind = OPTION_WORD, AT(form),
	  .value = "TARGET", .words = export_forms,
	  .help = "compact, csv, keys or oracleGeneral" },
	{ .name = "output", .letter = 'o', .kind = OPTION_TEXT, AT(output),
	  .value = "FILE", .help = "write it there (standard output)" },
	{ .name = "quiet", .letter = 'q', .kind = OPTION_FLAG, AT(quiet),
	  .help = "no progress, no complaints about records" },
	{ 0 },
};

const struct tool_option settings_generate[] = {
	{ .name = "presets", .letter = 'p', .kind = OPTION_FLAG, AT(presets),
	  .help = "list the presets" },
	{ .name = "json", .letter = 'j', .kind = OPTION_FLAG, AT(json),
	  .help = "that list as JSON" },
	{ 0 },
};

const struct tool_option settings_mrc[] = {
	{ .name = "eviction", .letter = 'e', .kind = OPTION_TEXT,
	  AT(parameter[PARAMETER_EVICTION]), .value = "POLICY",
	  .help = "what goes first, or a list (lru)" },
	{ .name = "size", .letter = 's', .kind = OPTION_TEXT,
	  AT(parameter[PARAMETER_SIZE]), .value = "SIZE",
	  .help = "a list of sizes (20 of 0.1% to 100%)" },
	{ .name = "rate", .letter = 'r', .kind = OPTION_REAL, AT(sample),
	  .max = 1, .value = "SHARE",
	  .help = "of the objects, of a sample (1: all)" },
	{ .name = "max-objects", .letter = 'm', .kind = OPTION_COUNT,
	  AT(max_objects), .value = "N",
	  .help = "of a sample at most (no limit)" },
	{ .name = "no-adjust", .kind = OPTION_FLAG, AT(no_adjust),
	  .help = "do not make up for requests that a sample\n"
		  "lacks by chance" },
	{ .name = "warmup", .letter = 'w', .kind = OPTION_TEXT,
	  AT(parameter[PARAMETER_WARMUP]), .value = "SHARE",
	  .help = "of the requests that are not counted (0)" },
	{ .name = "warmup-sec", .kind = OPTION_TEXT,
	  AT(parameter[PARAMETER_WARMUP_SEC]), .value = "TIME",
	  .help = "of the trace that is not counted: 3600, 1h (0)" },
	{ .name = "seed", .letter = 'S', .kind = OPTION_TEXT,
	  AT(parameter[PARAMETER_SEED]), .value = "N",
	  .help = "of the sample (1)" },
	{ .name = "num-thread", .letter = 'N', .kind = OPTION_COUNT,
	  AT(threads), .value = "N", .help = "threads (one a processor)" },
	{ 0 },
};

const struct tool_option settings_advise[] = {
	{ .name = "log", .letter = 'l', .kind = OPTION_TEXT, AT(trace),
	  .value = "FILE", .help = "the access log, any trace" },
	{ .name = "peers", .letter = 'p', .kind = OPTION_COUNT, AT(peers),
	  .value = "N", .help = "nodes of the cluster, 2 to 1024" },
	{ .name = "size", .letter = 's', .kind = OPTION_TEXT,
	  AT(parameter[PARAMETER_SIZE]), .value = "SIZE",
	  .help = "of each node's cache; or of all, as a share of\n"
		  "the infinite size (10%)" },
	{ .name = "config", .letter = 'C', .kind = OPTION_TEXT,
	  AT(configuration), .value = "FILE",
	  .help = "write the configuration of digestd there" },
	{ 0 },
};

const struct tool_option settings_paper[] = {
	{ .name = "proxies", .letter = 'p', .kind = OPTION_TEXT,
	  AT(parameter[PARAMETER_PROXIES]), .value = "N",
	  .help = "number of proxies (the groups of a preset,\n"
		  "4 for other traces)" },
	{ .name = "size", .letter = 's', .kind = OPTION_TEXT,
	  AT(parameter[PARAMETER_SIZE]), .value = "SIZE",
	  .help = "of all caches together (10%)" },
	{ .name = "eviction", .letter = 'e', .kind = OPTION_TEXT,
	  AT(parameter[PARAMETER_EVICTION]), .value = "POLICY",
	  .help = "what goes first (lru)" },
	{ 0 },
};

const struct tool_option settings_plot[] = {
	{ .name = "output", .letter = 'o', .kind = OPTION_TEXT, AT(output),
	  .value = "FILE", .help = "what to draw, .svg or .png (plot.svg)" },
	{ .name = "x-axis", .letter = 'x', .kind = OPTION_TEXT, AT(x),
	  .value = "COLUMN", .help = "along the bottom" },
	{ .name = "y-axis", .letter = 'y', .kind = OPTION_TEXT, AT(y),
	  .value = "COLUMN", .help = "up the side" },
	{ .name = "script", .kind = OPTION_FLAG, AT(script),
	  .help = "print what gnuplot would be given" },
	{ 0 },
};
/* clang-format on */

int settings_read_options(struct settings *s,
			  const struct tool_option *const *tables, int argc,
			  char **argv)
{
	if (!options_read(tables, argc, argv, s))
		return TOOL_USAGE;
	if (!s->json || !s->csv)
		return TOOL_OK;
	fprintf(stderr, "%s: --json and --csv: one of them\n", argv[0]);
	return TOOL_USAGE;
}

int settings_read(struct settings *s, const struct tool_option *const *tables,
		  int argc, char **argv)
{
	int code = settings_read_options(s, tables, argc, argv);

	if (code)
		return code;
	if (argc - optind > 1) {
		fprintf(stderr, "%s: too many arguments: %s\n", argv[0],
			argv[optind + 1]);
		return TOOL_USAGE;
	}
	if (optind < argc)
		s->trace = argv[optind];
	return TOOL_OK;
}
