/*
 * digestctl tune: from goals to the parameters of a digest.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "codec/tune.h"
#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/tuning.h"
#include "digestd/tool/arguments.h"

const char ctl_tune_help[] =
	"usage: digestctl tune --objects N GOAL... [OPTIONS]\n"
	"Finds size, hash functions and updates of a digest, predicts what\n"
	"comes of them, and says what keeps a better answer away.\n";

/* In the order of enum scd_update, from SCD_UPDATE_FULL on. */
static const char *const update_names[] = { "full", "xor", "conditional",
					    NULL };

enum { UPDATES_NOT_SAID = 3 };

/* What the command line says. */
struct wanted {
	struct scd_goal goal;
	uint64_t peers;
	unsigned updates; /* of update_names, or UPDATES_NOT_SAID */
	bool explain, json;
};

#define AT(member) .at = offsetof(struct wanted, member)

/* clang-format off */
static const struct tool_option tune_rows[] = {
	{ .name = "objects", .letter = 'n', .kind = OPTION_COUNT, AT(goal.expected),
	  .positive = true,
	  .value = "N",
	  .help = "objects to be ready for" },
	{ .name = "now", .letter = 'N', .kind = OPTION_COUNT, AT(goal.objects),
	  .value = "N",
	  .help = "objects there now (as many)" },
	{ .name = "peers", .letter = 'P', .kind = OPTION_COUNT, AT(peers),
	  .most = 1000000,
	  .value = "P",
	  .help = "nodes in the cluster (2): each digest may\n"
		  "have F / (P - 1)" },
	{ .name = "", .kind = OPTION_TITLE, .help = "Goals: one of them at least." },
	{ .name = "fp", .letter = 'f', .kind = OPTION_REAL, AT(goal.fp),
	  .max = .999999, .positive = true,
	  .value = "F",
	  .help = "false-positive rate that a cluster may have" },
	{ .name = "wire-bits", .letter = 'w', .kind = OPTION_REAL, AT(goal.wire_bits),
	  .max = 1e9, .positive = true,
	  .value = "B",
	  .help = "most bits an object on the wire, in full" },
	{ .name = "hit-cost", .letter = 'C', .kind = OPTION_REAL, AT(goal.false_hit_bytes),
	  .max = 1e12, .positive = true,
	  .value = "B",
	  .help = "bytes that a false hit costs, with" },
	{ .name = "lookups", .letter = 'q', .kind = OPTION_REAL, AT(goal.lookups),
	  .max = 1e15, .positive = true,
	  .value = "Q",
	  .help = "lookups in the peers' digests, an interval" },
	{ .name = "", .kind = OPTION_TITLE, .help = "What changes:" },
	{ .name = "replaced", .letter = 'r', .kind = OPTION_REAL, AT(goal.replaced),
	  .max = 1e15,
	  .value = "R",
	  .help = "objects replaced, an interval" },
	{ .name = "interval", .letter = 'i', .kind = OPTION_REAL, AT(goal.seconds),
	  .max = 1e9,
	  .value = "S",
	  .help = "its length in seconds" },
	{ .name = "churn", .letter = 'c', .kind = OPTION_REAL, AT(goal.churn),
	  .max = 1,
	  .value = "C",
	  .help = "share of objects replaced between updates\n"
		  "(chosen, where lookups cost something)" },
	{ .name = "miss-cost", .letter = 'M', .kind = OPTION_REAL, AT(goal.false_miss_bytes),
	  .max = 1e12,
	  .value = "B",
	  .help = "bytes that a false miss costs (as a false\n"
		  "hit)" },
	{ .name = "peer-hits", .letter = 'H', .kind = OPTION_REAL, AT(goal.peer_hits),
	  .max = 1,
	  .value = "H",
	  .help = "share of the lookups that a peer could serve\n"
		  "(0.1)" },
	{ .name = "", .kind = OPTION_TITLE, .help = "What is at hand:" },
	{ .name = "memory", .letter = 'm', .kind = OPTION_COUNT, AT(goal.max_memory),
	  .positive = true,
	  .value = "SIZE",
	  .help = "most memory, own filter and peers' arrays" },
	{ .name = "updates", .letter = 'u', .kind = OPTION_WORD, AT(updates),
	  .words = update_names,
	  .value = "KIND",
	  .help = "the most to send: full, xor, conditional\n"
		  "(xor, where objects change; else full)" },
	{ .name = "deltas", .letter = 'd', .kind = OPTION_REAL, AT(goal.deltas),
	  .max = 1e9,
	  .value = "D",
	  .help = "deltas for each full digest (0: full digests\n"
		  "only at first contact)" },
	{ .name = "", .kind = OPTION_TITLE, .help = "Output:" },
	{ .name = "explain", .letter = 'e', .kind = OPTION_FLAG, AT(explain),
	  .help = "with what was compared, and why it lost" },
	{ .name = "json", .letter = 'j', .kind = OPTION_FLAG, AT(json),
	  .help = "everything as JSON" },
	{ .name = NULL },
};
/* clang-format on */

#undef AT

const struct tool_option *const ctl_tune_options[] = { tune_rows, NULL };

/* Fills in what follows from the rest. Returns what is missing, or null. */
static const char *ctl_tune_complete(struct wanted *w)
{
	struct scd_goal *g = &w->goal;

	if (!g->objects)
		g->objects = g->expected;
	g->peers = (unsigned)w->peers;
	if (w->updates != UPDATES_NOT_SAID)
		g->max_update = (enum scd_update)(SCD_UPDATE_FULL +
						  w->updates);
	else if (g->deltas > 0 || g->churn > 0 || g->replaced > 0)
		g->max_update = SCD_UPDATE_XOR;
	if (!g->objects)
		return "--objects is needed";
	if (g->fp > 0 || g->wire_bits > 0 ||
	    (g->false_hit_bytes > 0 && g->lookups > 0))
		return NULL;
	return "a goal is needed: --fp, --wire-bits, or --hit-cost with "
	       "--lookups";
}

/* Tells what is wrong; where it is memory, how much would do. */
static int ctl_tune_refuse(struct scd_goal goal, int error)
{
	fprintf(stderr, "digestctl: tune: %s\n", scd_strerror(error));
	for (double m = 64; error == SCD_EGOAL && m <= 0x1p40; m *= 2) {
		struct scd_tuning t;

		goal.max_memory = (uint64_t)scd_tune_memory(m, goal.peers);
		error = scd_tune(&goal, &t);
		if (!error)
			fprintf(stderr,
				"digestctl: tune: --memory %" PRIu64
				" would allow it\n",
				goal.max_memory);
	}
	return CTL_NO;
}

int ctl_tune(int argc, char **argv)
{
	struct scd_candidate list[SCD_CANDIDATES];
	struct wanted w = { .updates = UPDATES_NOT_SAID };
	const char *what;
	size_t n;
	int error;

	if (!options_read(ctl_tune_options, argc, argv, &w))
		return CTL_USAGE;
	what = optind < argc ? "takes no operands" : ctl_tune_complete(&w);
	if (what)
		return arguments_wrong("tune", what, ctl_tune_help);
	error = scd_tune_explain(&w.goal, list, &n);
	if (error)
		return ctl_tune_refuse(w.goal, error);
	if (w.json)
		return tuning_json(&w.goal, list, n);
	tuning_print(&w.goal, &list[0].tuning);
	if (w.explain)
		tuning_explain(&w.goal, list, n);
	return CTL_OK;
}
