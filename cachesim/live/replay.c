/*
 * scd-replay: options in, a replay, a report out.
 */
#include "config.h"

#include <curl/curl.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cachesim/live/arguments.h"
#include "cachesim/live/load.h"
#include "cachesim/live/replayer.h"

enum { NODES_MAX = 1024 };

struct settings {
	struct trace_options reading;
	struct replay_options sending;
	const char *nodes[NODES_MAX];
	const char *trace;
	bool info, json, quiet;
};

static const char usage[] =
	"usage: scd-replay --node URL [--node URL ...] [options] TRACE\n"
	"       scd-replay --info TRACE\n"
	"Sends the requests of a trace to the nodes of a cluster.\n"
	"      --node URL         http://host:port, may be repeated\n"
	"      --concurrency N    requests under way at a time (64)\n"
	"      --speed X          times the speed of the trace (no waiting)\n"
	"      --proxy            forward proxy: absolute request targets\n"
	"      --partition WAY    over the nodes, by client or round-robin\n"
	"                         (client)\n"
	"      --verify WHICH     bodies: auto, all or none (auto)\n"
	"      --timeout-ms N     for one request (30000)\n"
	"  -f, --trace-type TYPE  format of the trace (detected)\n"
	"  -t, --trace-type-params COLS\n"
	"                         what its columns are: time,client,url,size\n"
	"  -b, --base URL         before URLs that begin with a slash\n"
	"  -n, --num-req N        the first N requests only\n"
	"      --strict           end with the first bad record\n"
	"  -i, --info             only tell what the trace is made of\n"
	"  -j, --json             the report as JSON\n"
	"  -q, --quiet            no progress\n"
	"  -h, --help  -V, --version\n"
	"TRACE: a file, plain, gzip or zstd; - for standard input; or\n"
	"gen:PRESET[,requests=N][,seed=N], PRESET one of dec, ucb, upisa,\n"
	"questnet, nlanr.\n";

enum {
	OPT_SPEED = 256,
	OPT_PROXY,
	OPT_ROUND_ROBIN,
	OPT_PARTITION,
	OPT_VERIFY,
	OPT_TIMEOUT,
	OPT_STRICT,
	OPT_NODE,
};

/* clang-format off */
static const struct option options[] = {
	{ "node", required_argument, NULL, OPT_NODE },
	{ "concurrency", required_argument, NULL, 'c' },
	{ "speed", required_argument, NULL, OPT_SPEED },
	{ "proxy", no_argument, NULL, OPT_PROXY },
	{ "partition", required_argument, NULL, OPT_PARTITION },
	{ "verify", required_argument, NULL, OPT_VERIFY },
	{ "timeout-ms", required_argument, NULL, OPT_TIMEOUT },
	{ "num-req", required_argument, NULL, 'n' },
	{ "trace-type", required_argument, NULL, 'f' },
	{ "trace-type-params", required_argument, NULL, 't' },
	{ "base", required_argument, NULL, 'b' },
	{ "strict", no_argument, NULL, OPT_STRICT },
	{ "info", no_argument, NULL, 'i' },
	{ "json", no_argument, NULL, 'j' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	/* names of earlier versions */
	{ "round-robin", no_argument, NULL, OPT_ROUND_ROBIN },
	{ "requests", required_argument, NULL, 'n' },
	{ "format", required_argument, NULL, 'f' },
	{ "columns", required_argument, NULL, 't' },
	{ NULL, 0, NULL, 0 },
};
/* clang-format on */

static enum replay_verify replay_verify_of(const char *text)
{
	if (!strcmp(text, "auto"))
		return REPLAY_VERIFY_AUTO;
	if (!strcmp(text, "all"))
		return REPLAY_VERIFY_ALL;
	if (strcmp(text, "none"))
		arguments_bad("--verify", text, "not auto, all or none");
	return REPLAY_VERIFY_NONE;
}

static enum replay_partition replay_partition_of(const char *text)
{
	if (!strcmp(text, "round-robin"))
		return REPLAY_ROUND_ROBIN;
	if (strcmp(text, "client"))
		arguments_bad("--partition", text,
			      "not client or round-robin");
	return REPLAY_BY_CLIENT;
}

static void replay_add_node(struct settings *s, const char *url)
{
	if (strncmp(url, "http://", 7) || strpbrk(url, "\"\\ "))
		arguments_bad("--node", url,
			      "not a URL such as http://host:port");
	if (s->sending.nnodes == NODES_MAX)
		arguments_bad("--node", url, "one more than can be told apart");
	s->nodes[s->sending.nnodes++] = url;
}

/* Options that say how to read the trace. False: none of those. */
static bool replay_take_reading(struct settings *s, int c)
{
	switch (c) {
	case 'f':
		s->reading.format = optarg;
		return true;
	case 'b':
		s->reading.base = optarg;
		return true;
	case 't':
		s->reading.columns = optarg;
		return true;
	case OPT_STRICT:
		s->reading.strict = true;
		return true;
	case 'n':
		/* -n was a node before it was a number, as with cachesim */
		if (!strncmp(optarg, "http://", 7)) {
			replay_add_node(s, optarg);
			return true;
		}
		s->sending.limit = arguments_number("--num-req", optarg, 1,
						    UINT32_MAX);
		return true;
	}
	return false;
}

/* Options that say how to send. False: none of those. */
static bool replay_take_sending(struct settings *s, int c)
{
	switch (c) {
	case OPT_NODE:
		replay_add_node(s, optarg);
		return true;
	case 'c':
		s->sending.concurrency =
			arguments_number("--concurrency", optarg, 1, 10000);
		return true;
	case OPT_SPEED:
		s->sending.speed =
			arguments_real("--speed", optarg, 1e-9, 1e9);
		return true;
	case OPT_PROXY:
		s->sending.proxy = true;
		return true;
	case OPT_ROUND_ROBIN:
		s->sending.partition = REPLAY_ROUND_ROBIN;
		return true;
	case OPT_PARTITION:
		s->sending.partition = replay_partition_of(optarg);
		return true;
	case OPT_VERIFY:
		s->sending.verify = replay_verify_of(optarg);
		return true;
	case OPT_TIMEOUT:
		s->sending.timeout_ms =
			arguments_number("--timeout-ms", optarg, 1, INT32_MAX);
		return true;
	}
	return false;
}

/* Options that say what to print. False: none of those. */
static bool replay_take_printing(struct settings *s, int c)
{
	switch (c) {
	case 'i':
		s->info = true;
		return true;
	case 'j':
		s->json = true;
		return true;
	case 'q':
		s->quiet = true;
		return true;
	case 'h':
		fputs(usage, stdout);
		exit(0);
	case 'V':
		puts("scd-replay " PACKAGE_VERSION);
		exit(0);
	}
	return false;
}

static void replay_take_options(struct settings *s, int argc, char **argv)
{
	static const char letters[] = "n:c:f:t:b:ijqhV";
	int c;

	while ((c = getopt_long(argc, argv, letters, options, NULL)) != -1)
		if (!replay_take_sending(s, c) && !replay_take_reading(s, c) &&
		    !replay_take_printing(s, c))
			exit(2);
	if (optind + 1 != argc)
		arguments_wrong("one trace is needed", usage);
	if (!s->info && s->sending.nnodes == 0)
		arguments_wrong("--node is needed", usage);
	s->trace = argv[optind];
	s->sending.nodes = s->nodes;
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
	progress_start(&progress, replay_expected(s, trace), s->quiet,
		       (int64_t)(start * 1e6));
	err = replay_run(trace, &s->sending, tally, &progress, &skipped);
	progress_end(&progress);
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
	int err;

	replay_take_options(&s, argc, argv);
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
