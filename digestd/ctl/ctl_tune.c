/*
 * digestctl tune: from goals to the parameters of a digest.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "codec/tune.h"
#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/tuning.h"
#include "digestd/tool/arguments.h"

const char ctl_tune_help[] =
	"usage: digestctl tune --objects N GOAL... [OPTIONS]\n"
	"Finds size, hash functions and updates of a digest, predicts what\n"
	"comes of them, and says what keeps a better answer away.\n"
	"  -n, --objects N     objects to be ready for\n"
	"  -N, --now N         objects there now (as many)\n"
	"  -P, --peers P       nodes in the cluster (2): each digest may have\n"
	"                      F / (P - 1)\n"
	"Goals: one of them at least.\n"
	"  -f, --fp F          false-positive rate that a cluster may have\n"
	"  -w, --wire-bits B   most bits an object on the wire, in full\n"
	"  -C, --hit-cost B    bytes that a false hit costs, with\n"
	"  -q, --lookups Q     lookups in the peers' digests, an interval\n"
	"What changes:\n"
	"  -r, --replaced R    objects replaced, an interval\n"
	"  -i, --interval S    its length in seconds\n"
	"  -c, --churn C       share of objects replaced between updates\n"
	"                      (chosen, where lookups cost something)\n"
	"  -M, --miss-cost B   bytes that a false miss costs (as a false hit)\n"
	"  -H, --peer-hits H   share of the lookups that a peer could serve\n"
	"                      (0.1)\n"
	"What is at hand:\n"
	"  -m, --memory SIZE   most memory, own filter and peers' arrays\n"
	"  -u, --updates KIND  the most to send: full, xor, conditional (xor,\n"
	"                      where objects change; else full)\n"
	"  -d, --deltas D      deltas for each full digest (0: full digests\n"
	"                      only at first contact)\n"
	"Output:\n"
	"  -e, --explain       with what was compared, and why it lost\n"
	"  -j, --json          everything as JSON\n";

enum kind { COUNT, REAL, PEERS, UPDATES, FLAG };

/* Every option; where a number goes, how large it may be, and whether 0, which
 * stands for what was not given, is refused. */
static const struct row {
	const char *name;
	int letter;
	enum kind kind;
	size_t at;
	double max;
	bool above_0;
} rows[] = {
/* clang-format off */
#define AT(member) offsetof(struct scd_goal, member)
	{ "objects",   'n', COUNT,   AT(expected),         0, true },
	{ "now",       'N', COUNT,   AT(objects),          0, false },
	{ "peers",     'P', PEERS,   AT(peers),            1e6, false },
	{ "fp",        'f', REAL,    AT(fp),               .999999, true },
	{ "wire-bits", 'w', REAL,    AT(wire_bits),        1e9, true },
	{ "hit-cost",  'C', REAL,    AT(false_hit_bytes),  1e12, true },
	{ "miss-cost", 'M', REAL,    AT(false_miss_bytes), 1e12, false },
	{ "lookups",   'q', REAL,    AT(lookups),          1e15, true },
	{ "peer-hits", 'H', REAL,    AT(peer_hits),        1, false },
	{ "replaced",  'r', REAL,    AT(replaced),         1e15, false },
	{ "interval",  'i', REAL,    AT(seconds),          1e9, false },
	{ "churn",     'c', REAL,    AT(churn),            1, false },
	{ "memory",    'm', COUNT,   AT(max_memory),       0, true },
	{ "updates",   'u', UPDATES, AT(max_update),       0, false },
	{ "deltas",    'd', REAL,    AT(deltas),           1e9, false },
	{ "explain",   'e', FLAG,    0,                    0, false },
	{ "json",      'j', FLAG,    0,                    0, false },
#undef AT
	/* clang-format on */
};

enum { NROWS = sizeof(rows) / sizeof(rows[0]) };

/* What the command line says. */
struct wanted {
	struct scd_goal goal;
	bool has_updates; /* --updates was given */
	bool explain, json;
};

static bool ctl_tune_take_updates(const char *text, enum scd_update *most)
{
	for (*most = SCD_UPDATE_FULL; *most <= SCD_UPDATE_CONDITIONAL;
	     ++*most) {
		if (!strcmp(text, scd_update_text(*most)))
			return true;
	}
	fprintf(stderr,
		"digestctl: --updates: \"%s\" is not full, xor or "
		"conditional\n",
		text);
	return false;
}

static bool ctl_tune_take_count(const struct row *row, const char *option,
				const char *text, uint64_t *out)
{
	if (!arguments_number(option, text, out))
		return false;
	return *out || !row->above_0 ||
	       arguments_refuse(option, text, "is not above 0");
}

static bool ctl_tune_take_real(const struct row *row, const char *option,
			       const char *text, double *out)
{
	if (!arguments_real(option, text, 0, row->max, out))
		return false;
	return *out > 0 || !row->above_0 ||
	       arguments_refuse(option, text, "is not above 0");
}

static bool ctl_tune_take(struct wanted *w, const struct row *row,
			  const char *text)
{
	char *at = (char *)&w->goal + row->at;
	char option[16];
	double real;

	snprintf(option, sizeof(option), "--%s", row->name);
	switch (row->kind) {
	case COUNT:
		return ctl_tune_take_count(row, option, text,
					   (uint64_t *)(void *)at);
	case REAL:
		return ctl_tune_take_real(row, option, text,
					  (double *)(void *)at);
	case PEERS:
		if (!arguments_real(option, text, 0, row->max, &real))
			return false;
		w->goal.peers = (unsigned)real;
		return true;
	case UPDATES:
		w->has_updates = true;
		return ctl_tune_take_updates(text, &w->goal.max_update);
	case FLAG:
		*(row->letter == 'e' ? &w->explain : &w->json) = true;
		return true;
	}
	return false;
}

/* getopt's two forms of the table. */
static void ctl_tune_list_options(struct option *longs, char *shorts)
{
	for (size_t i = 0; i < NROWS; i++) {
		bool flag = rows[i].kind == FLAG;

		longs[i] = (struct option){
			.name = rows[i].name,
			.has_arg = flag ? no_argument : required_argument,
			.val = rows[i].letter,
		};
		*shorts++ = (char)rows[i].letter;
		if (!flag)
			*shorts++ = ':';
	}
	longs[NROWS] = (struct option){0};
	*shorts = '\0';
}

static bool ctl_tune_take_all(int argc, char **argv, struct wanted *w)
{
	struct option longs[NROWS + 1];
	char shorts[2 * NROWS + 1];
	int c;

	ctl_tune_list_options(longs, shorts);
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		size_t i = 0;

		while (i < NROWS && rows[i].letter != c)
			i++;
		if (i == NROWS || !ctl_tune_take(w, &rows[i], optarg))
			return false;
	}
	return true;
}

/* Fills in what follows from the rest. Returns what is missing, or null. */
static const char *ctl_tune_complete(struct wanted *w)
{
	struct scd_goal *g = &w->goal;

	if (!g->objects)
		g->objects = g->expected;
	if (!w->has_updates &&
	    (g->deltas > 0 || g->churn > 0 || g->replaced > 0))
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
	struct wanted w = {0};
	const char *what;
	size_t n;
	int error;

	if (!ctl_tune_take_all(argc, argv, &w))
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
