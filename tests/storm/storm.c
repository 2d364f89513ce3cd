/*
 * A storm of mutated messages over real sockets: against a digestd of this
 * build, preferably one with sanitizers, this program plays clients, origins,
 * peers with the key and operators at once, most of them hostile, and damages
 * the store between runs. What must hold:
 *
 *   - the node neither dies nor leaks, and ends when it is asked to;
 *   - good requests, sent all the while, are answered rightly and soon;
 *   - no client reads what another asked for, nobody the cluster's token;
 *   - what the node sends is well-formed, to whomever;
 *   - memory and descriptors come back to what they were.
 *
 * Everything that is sent follows from a seed; what the node makes of it
 * depends on the order of events too. TAP: a test for each round.
 */
#include "config.h"

#include <ftw.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/mix.h"
#include "tests/codec/random.h"
#include "tests/rounds.h"
#include "tests/storm/storm_client.h"
#include "tests/storm/storm_cost.h"
#include "tests/storm/storm_disk.h"
#include "tests/storm/storm_log.h"
#include "tests/storm/storm_node.h"
#include "tests/storm/storm_origin.h"
#include "tests/storm/storm_peer.h"
#include "tests/storm/storm_world.h"

enum {
	STORM_CHECK_CONNECTIONS = 2000, /* of make check */
	STORM_LONG_CONNECTIONS = 1000000,
	STORM_CHECK_ROUND = 1000,
	STORM_LONG_ROUND = 20000,
	STORM_AT_ONCE = 256,
	STORM_GOOD_AT_ONCE = 16,
	STORM_QUIET_MS = 8000,          /* to calm down after a round */
	STORM_SPARE_DESCRIPTORS = 1100, /* fetchers keep idle connections */
	STORM_SPARE_RSS_KB = 500 * 1024,
};

struct storm_plan {
	uint64_t connections, round, seed;
	unsigned at_once;
	int64_t seconds; /* 0: no limit */
	unsigned first;  /* the round to begin with */
	const char *folder;
	bool keep;
};

static const uint8_t storm_cluster_key[SCD_SECRET_BYTES] = {
	0x51, 0x07, 0xa3, 0xe4, 0xc9, 0xd2, 0x8b, 0x60,
	0xf1, 0xe2, 0xd3, 0xc4, 0xb5, 0xa6, 0x97, 0x88,
};

static void storm_prepare(const struct storm_plan *plan)
{
	uint8_t token[SCD_SECRET_BYTES];

	storm.net = storm_net_new();
	storm.seed = plan->seed;
	storm.patience = rounds_slowness();
	if (!storm.digest_bits)
		storm.digest_bits = 1 << 23;
	scd_derive(storm_cluster_key, "hash", storm.secret);
	scd_derive(storm_cluster_key, "token", token);
	for (size_t i = 0; i < sizeof(token); i++)
		snprintf(storm.token + 2 * i, 3, "%02x", token[i]);
	storm.good_origin = storm_net_listen(storm.net, &storm_origin_good);
	for (size_t i = 0; i < STORM_ORIGINS; i++)
		storm.origins[i] =
			storm_net_listen(storm.net, &storm_origin_hostile);
	for (size_t i = 0; i < STORM_PEERS; i++)
		storm.peers[i] = storm_net_listen(storm.net, &storm_peer_role);
	storm_log_open(plan->folder);
	storm_node_prepare(plan->folder);
}

/* Sends some connections' worth, with good ones beside them. */
static void storm_blow(const struct storm_plan *plan, uint64_t round,
		       uint64_t n)
{
	uint64_t first = scd__mix64(plan->seed + round * UINT64_C(0x10001)),
		 sent = 0, good = 0;
	int64_t said_ms = storm_log_now_ms();

	while ((sent < n || storm_client_hostile()) && storm_node_alive()) {
		while (sent < n && storm_client_hostile() < plan->at_once &&
		       storm_client_begin(scd__mix64(first + sent)))
			sent++;
		while (sent < n &&
		       storm_net_count(storm.net, &storm_client_good) <
			       STORM_GOOD_AT_ONCE &&
		       storm_client_begin_good(scd__mix64(first ^ ++good)))
			continue;
		storm_net_run(storm.net, 1);
		if (storm_log_now_ms() > said_ms + 60000) {
			said_ms += 60000;
			printf("# %" PRIu64 " requests, %" PRIu64 " good\n",
			       storm.counts.requests, storm.counts.good);
			fflush(stdout);
		}
	}
}

/* Good requests alone: each must be answered. */
static void storm_probe(uint64_t round)
{
	for (unsigned i = 0; i < STORM_GOOD_AT_ONCE; i++)
		storm_client_begin_good(scd__mix64(round * 100 + i));
	while (storm_net_count(storm.net, &storm_client_good) &&
	       storm_node_alive())
		storm_net_run(storm.net, 1);
}

/* Memory and descriptors come back once nobody is connected. */
static void storm_check_usage(const struct storm_usage *before)
{
	int64_t end_ms =
		storm_log_now_ms() + (int64_t)(STORM_QUIET_MS * storm.patience);
	struct storm_usage now;

	storm_net_close_all(storm.net);
	now = storm_node_usage();
	while (now.descriptors >
		       before->descriptors + STORM_SPARE_DESCRIPTORS &&
	       storm_log_now_ms() < end_ms && storm_node_alive()) {
		storm_net_run(storm.net, 20);
		now = storm_node_usage();
	}
	if (now.descriptors > before->descriptors + STORM_SPARE_DESCRIPTORS)
		storm_log_finding("%u descriptors stay open, %u before",
				  now.descriptors, before->descriptors);
	if (now.rss_kb > before->rss_kb + STORM_SPARE_RSS_KB)
		storm_log_finding("%" PRIu64 " KB of memory, %" PRIu64
				  " before",
				  now.rss_kb, before->rss_kb);
	printf("# node: %u descriptors (%u before), %" PRIu64 " KB (%" PRIu64
	       " before), %" PRId64 " ms of processor\n",
	       now.descriptors, before->descriptors, now.rss_kb, before->rss_kb,
	       now.cpu_ms);
}

/* One life of the node; its end is another's beginning. False: it had none. */
static bool storm_round(const struct storm_plan *plan, uint64_t round,
			uint64_t n)
{
	uint64_t random = scd__mix64(plan->seed ^ ~round);
	struct storm_usage before;
	unsigned damaged = 0;
	bool hard, started;

	storm.version = 1 + (unsigned)round;
	storm_peer_begin(scd__mix64(random));
	started = storm_node_start(scd__mix64(random ^ 1));
	if (started) {
		before = storm_node_usage();
		if (storm.costs)
			storm_cost_run(plan->seed + round, n);
		else
			storm_blow(plan, round, n);
		storm_probe(round);
		if (storm_node_alive())
			storm_check_usage(&before);
		hard = storm_text_once_in(&random, 4);
		storm_node_stop(hard);
		damaged = storm_disk_damage(storm_node_store(), &random);
	}
	storm_net_close_all(storm.net);
	storm_peer_end();
	printf("# store: %u files damaged\n", damaged);
	return started;
}

static void storm_report(void)
{
	const struct storm_counts *c = &storm.counts;

	printf("# so far: %" PRIu64 " connections with mutated requests, "
	       "%" PRIu64 " hostile responses, %" PRIu64 " digests, %" PRIu64
	       " objects; %" PRIu64 " good answers, the slowest in %" PRId64
	       " ms; %" PRIu64 " not connected\n",
	       c->requests, c->responses, c->digests, c->objects, c->good,
	       c->slowest_ms, c->refused);
	printf("# first answers: %" PRIu64 " none, %" PRIu64 " 1xx, %" PRIu64
	       " 2xx, %" PRIu64 " 3xx, %" PRIu64 " 4xx, %" PRIu64 " 5xx\n",
	       c->statuses[0], c->statuses[1], c->statuses[2], c->statuses[3],
	       c->statuses[4], c->statuses[5]);
	fflush(stdout);
}

static int storm_remove_file(const char *path, const struct stat *s, int kind,
			     struct FTW *where)
{
	(void)s;
	(void)kind;
	(void)where;
	return remove(path);
}

static unsigned storm_run(const struct storm_plan *plan)
{
	int64_t end_ms = storm_log_now_ms() + plan->seconds * 1000;
	uint64_t left = plan->connections;
	unsigned round = plan->first;
	bool started;

	for (; left; round++) {
		uint64_t n = left < plan->round ? left : plan->round;
		unsigned found = storm_log_findings();

		if (plan->seconds && storm_log_now_ms() > end_ms)
			break;
		started = storm_round(plan, round, n);
		storm_report();
		printf("%sok %u - seed %" PRIu64 ", round %u: %" PRIu64
		       " connections\n",
		       storm_log_findings() > found ? "not " : "",
		       round + 1 - plan->first, plan->seed, round, n);
		fflush(stdout);
		left = started ? left - n : 0;
	}
	printf("1..%u\n", round - plan->first);
	return storm_log_findings();
}

static void storm_usage_text(FILE *to)
{
	fprintf(to,
		"usage: storm [--connections N] [--round N] [--seed N]\n"
		"             [--at-once N] [--seconds N] [--folder PATH]\n"
		"             [--first-round N] [--digest-bits N] [--costs]\n"
		"Storms the digestd of the folder $top_builddir, or of this "
		"one.\nWith --folder its configuration, log, store and "
		"findings are kept there.\n"
		"With --costs connections come one by one, and what each "
		"costs is measured.\n");
}

static void storm_read_options(struct storm_plan *plan, int argc, char **argv)
{
	static const struct option options[] = {
		{"connections", required_argument, NULL, 'c'},
		{"round", required_argument, NULL, 'r'},
		{"seed", required_argument, NULL, 's'},
		{"at-once", required_argument, NULL, 'a'},
		{"seconds", required_argument, NULL, 't'},
		{"folder", required_argument, NULL, 'f'},
		{"first-round", required_argument, NULL, 'i'},
		{"digest-bits", required_argument, NULL, 'd'},
		{"costs", no_argument, NULL, 'o'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		uint64_t n = optarg ? strtoull(optarg, NULL, 10) : 0;

		switch (option) {
		case 'c':
			plan->connections = n;
			break;
		case 'r':
			plan->round = n ? n : 1;
			break;
		case 's':
			plan->seed = n;
			break;
		case 'a':
			plan->at_once = n ? (unsigned)n : 1;
			break;
		case 't':
			plan->seconds = (int64_t)n;
			break;
		case 'f':
			plan->folder = optarg;
			plan->keep = true;
			break;
		case 'i':
			plan->first = (unsigned)n;
			break;
		case 'd':
			storm.digest_bits = n;
			break;
		case 'o':
			storm.costs = true;
			break;
		case 'h':
			storm_usage_text(stdout);
			exit(0);
		default:
			storm_usage_text(stderr);
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	const bool is_long = rounds_are_long();
	struct storm_plan plan = {
		.connections = is_long ? STORM_LONG_CONNECTIONS
				       : STORM_CHECK_CONNECTIONS,
		.round = is_long ? STORM_LONG_ROUND : STORM_CHECK_ROUND,
		.seed = 1,
		.at_once = STORM_AT_ONCE,
	};
	char folder[] = "/tmp/scd-storm-XXXXXX";
	unsigned found;

	storm_read_options(&plan, argc, argv);
	signal(SIGPIPE, SIG_IGN);
	umask(077); /* the configuration has the cluster's key in it */
	if (!plan.folder)
		plan.folder = mkdtemp(folder);
	else
		mkdir(plan.folder, 0700);
	if (!plan.folder || access(plan.folder, W_OK)) {
		perror(plan.folder ? plan.folder : folder);
		return 2;
	}
	storm_prepare(&plan);
	found = storm_run(&plan);
	storm_net_free(storm.net);
	if (!found && !plan.keep)
		nftw(plan.folder, storm_remove_file, 16, FTW_DEPTH | FTW_PHYS);
	return found > 0;
}
