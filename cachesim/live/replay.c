/*
 * scd-replay: options in, a replay, a report out.
 */
#include "config.h"

#include <curl/curl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cachesim/live/load.h"
#include "cachesim/live/replayer.h"
#include "digestd/tool/arguments.h"
#include "digestd/tool/command.h"
#include "digestd/tool/options.h"

enum { NODES_MAX = 1024 };

struct settings {
	struct trace_options reading;
	struct replay_options sending;
	const char *nodes[NODES_MAX];
	const char *trace;
	bool info, json, quiet;
};

static const char replay_help[] =
	"usage: scd-replay --node URL [--node URL ...] [options] TRACE\n"
	"       scd-replay --info TRACE\n"
	"Sends the requests of a trace to the nodes of a cluster.\n";

static const char replay_trace_help[] =
	"TRACE: a file, plain, gzip or zstd; - for standard input; or\n"
	"gen:PRESET[,requests=N][,seed=N], PRESET one of dec, ucb, upisa,\n"
	"questnet, nlanr.\n";

/* In the order of enum replay_verify and of enum replay_partition. */
static const char *const verify_words[] = { "auto", "all", "none", NULL };
static const char *const partition_words[] = { "client", "round-robin", NULL };

static bool replay_add_node(const char *option, const char *url, void *to)
{
	struct settings *s = to;

	if (strncmp(url, "http://", 7) || strpbrk(url, "\"\\ "))
		return arguments_refuse(
			option, url, "is not a URL such as http://host:port");
	if (s->sending.nnodes == NODES_MAX)
		return arguments_refuse(option, url,
					"is one more than can be told apart");
	s->nodes[s->sending.nnodes++] = url;
	return true;
}

/* -n was a node before it was a number, as with cachesim. */
static bool replay_take_limit(const char *option, const char *text, void *to)
{
	struct settings *s = to;

	(void)option;
	return strncmp(text, "http://", 7)
		       ? arguments_number_within("--num-req", text, 1,
						 UINT32_MAX, &s->sending.limit)
		       : replay_add_node("--node", text, s);
}

static bool replay_take_round_robin(const char *option, const char *text,
				    void *to)
{
	struct settings *s = to;

	(void)option;
	(void)text;
	s->sending.partition = REPLAY_ROUND_ROBIN;
	return true;
}

#define AT(member) .at = offsetof(struct settings, member)

/* clang-format off */
static const struct tool_option replay_options[] = {
	{ .name = "node", .kind = OPTION_CALL, .take = replay_add_node,
	  .value = "URL", .help = "http://host:port, may be repeated" },
	{ .name = "concurrency", .kind = OPTION_COUNT,
	  AT(sending.concurrency), .least = 1, .most = 10000, .value = "N",
	  .help = "requests under way at a time (64)" },
	{ .name = "speed", .kind = OPTION_REAL, AT(sending.speed),
	  .min = 1e-9, .max = 1e9, .value = "X",
	  .help = "times the speed of the trace (no waiting)" },
	{ .name = "proxy", .kind = OPTION_FLAG, AT(sending.proxy),
	  .help = "forward proxy: absolute request targets" },
	{ .name = "partition", .kind = OPTION_WORD, AT(sending.partition),
	  .value = "WAY", .words = partition_words,
	  .help = "over the nodes, by client or round-robin\n(client)" },
	{ .name = "verify", .kind = OPTION_WORD, AT(sending.verify),
	  .value = "WHICH", .words = verify_words,
	  .help = "bodies: auto, all or none (auto)" },
	{ .name = "timeout-ms", .kind = OPTION_COUNT, AT(sending.timeout_ms),
	  .least = 1, .most = INT32_MAX, .value = "N",
	  .help = "for one request (30000)" },
	{ .name = "trace-type", .letter = 'f', .kind = OPTION_TEXT,
	  AT(reading.format), .value = "TYPE",
	  .help = "format of the trace (detected)" },
	{ .name = "trace-type-params", .letter = 't', .kind = OPTION_TEXT,
	  AT(reading.columns), .value = "COLS",
	  .help = "what its columns are: time,client,url,size" },
	{ .name = "base", .letter = 'b', .kind = OPTION_TEXT, AT(reading.base),
	  .value = "URL", .help = "before URLs that begin with a slash" },
	{ .name = "num-req", .letter = 'n', .kind = OPTION_CALL,
	  .take = replay_take_limit, .value = "N",
	  .help = "the first N requests only" },
	{ .name = "strict", .kind = OPTION_FLAG, AT(reading.strict),
	  .help = "end with the first bad record" },
	{ .name = "info", .letter = 'i', .kind = OPTION_FLAG, AT(info),
	  .help = "only tell what the trace is made of" },
	{ .name = "json", .letter = 'j', .kind = OPTION_FLAG, AT(json),
	  .help = "the report as JSON" },
	{ .name = "quiet", .letter = 'q', .kind = OPTION_FLAG, AT(quiet),
	  .help = "no progress" },
	/* names of earlier versions, and a letter: cachesim has another -c */
	{ .name = "c", .letter = 'c', .kind = OPTION_COUNT,
	  AT(sending.concurrency), .least = 1, .most = 10000, .value = "N" },
	{ .name = "round-robin", .kind = OPTION_CALL,
	  .take = replay_take_round_robin },
	{ .name = "requests", .kind = OPTION_CALL, .take = replay_take_limit,
	  .value = "N" },
	{ .name = "format", .kind = OPTION_TEXT, AT(reading.format),
	  .value = "TYPE" },
	{ .name = "columns", .kind = OPTION_TEXT, AT(reading.columns),
	  .value = "COLS" },
	{ .name = NULL },
};
/* clang-format on */

static const struct tool_program replay_program = {
	.name = "scd-replay",
	.help = replay_help,
	.after_help = replay_trace_help,
	.options = (const struct tool_option *const[]){ replay_options, NULL },
};

/* Reads the command line. TOOL_GO_ON, or an exit code. */
static int replay_read(struct settings *s, int argc, char **argv)
{
	int code = tool_read(&replay_program, argc, argv, s);

	if (code != TOOL_GO_ON)
		return code;
	if (optind + 1 != argc)
		return arguments_wrong(NULL, "one trace is needed",
				       replay_help);
	if (!s->info && s->sending.nnodes == 0)
		return arguments_wrong(NULL, "--node is needed", replay_help);
	s->trace = argv[optind];
	s->sending.nodes = s->nodes;
	return TOOL_GO_ON;
}

static double replay_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Prints the report. Whether every client was served well. */
static bool replay_report(const struct settings *s, const struct tally *tally,
			  uint64_t skipped, double seconds)
{
	uint64_t errors = 0;

	for (unsigned i = 0; i < s->sending.nnodes; i++)
		errors += tally_errors(&tally[i]);
	if (s->json)
		tally_json(stdout, tally, s->nodes, s->sending.nnodes,
			   seconds);
	else
		tally_print(stdout, tally, s->nodes, s->sending.nnodes,
			    seconds);
	if (skipped)
		fprintf(stderr, "%" PRIu64 " requests skipped: not GET or "
			"HEAD, or no http URL\n", skipped);
	return errors == 0;
}

static uint64_t replay_expected(const struct settings *s,
				const struct trace_reader *trace)
{
	uint64_t n = trace_expected(trace), limit = s->sending.limit;

	return limit && (n == 0 || limit < n) ? limit : n;
}

static int replay_replay(const struct settings *s, struct trace_reader *trace)
{
	struct tally *tally = calloc(s->sending.nnodes, sizeof(*tally));
	struct progress progress;
	double start = replay_now_s();
	uint64_t skipped = 0;
	bool well;
	int err;

	if (!tally)
		return 1;
	progress_start(&progress, s->quiet ? PROGRESS_NEVER : PROGRESS_ANYWHERE,
		       "scd-replay", replay_expected(s, trace));
	progress.noun = "requests";
	err = replay_run(trace, &s->sending, tally, &progress, &skipped);
	progress_clear(&progress);
	if (err)
		fprintf(stderr, "scd-replay: %s: %s\n", s->trace,
			trace_strerror(err));
	well = replay_report(s, tally, skipped, replay_now_s() - start);
	free(tally);
	return err || !well;
}

int main(int argc, char **argv)
{
	struct settings s = {
		.sending = { .concurrency = 64, .timeout_ms = 30000 },
	};
	struct trace_reader *trace;
	int err = replay_read(&s, argc, argv);

	if (err != TOOL_GO_ON)
		return err;
	if (s.info)
		return load_info(s.trace, &s.reading) ? 1 : 0;
	if (load_open(&trace, s.trace, &s.reading))
		return 1;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	err = replay_replay(&s, trace);
	curl_global_cleanup();
	trace_close(&trace);
	return err;
}
