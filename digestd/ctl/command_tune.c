/*
 * digestctl tune: from a goal to the shape of a digest.
 */
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/tune.h"
#include "digestd/ctl/arguments.h"
#include "digestd/ctl/command.h"

const char command_tune_help[] =
	"usage: digestctl tune --objects N {--fp F | --wire-bits B} [OPTIONS]\n"
	"  -n, --objects N    objects to expect\n"
	"  -f, --fp F         false-positive rate that a cluster may have\n"
	"  -w, --wire-bits B  most bits an object on the wire, in full\n"
	"  -P, --peers P      nodes in the cluster (2): each digest may have\n"
	"                     F / (P - 1)\n"
	"  -c, --churn C      share of objects replaced between updates (0)\n"
	"  -d, --deltas D     deltas sent for each full digest (0)\n"
	"  -m, --memory SIZE  most memory, own filter and peers' arrays\n"
	"  -j, --json         as JSON\n";

static const struct option options[] = {
	{ "objects", required_argument, NULL, 'n' },
	{ "fp", required_argument, NULL, 'f' },
	{ "wire-bits", required_argument, NULL, 'w' },
	{ "peers", required_argument, NULL, 'P' },
	{ "churn", required_argument, NULL, 'c' },
	{ "deltas", required_argument, NULL, 'd' },
	{ "memory", required_argument, NULL, 'm' },
	{ "json", no_argument, NULL, 'j' },
	{ 0 },
};

static bool take(struct scd_goal *g, int option, const char *text)
{
	double peers;

	switch (option) {
	case 'n':
		return arguments_number("--objects", text, &g->objects);
	case 'f':
		return arguments_real("--fp", text, 1, &g->fp);
	case 'w':
		return arguments_real("--wire-bits", text, 1e9, &g->wire_bits);
	case 'P':
		if (!arguments_real("--peers", text, 1e6, &peers))
			return false;
		g->peers = (unsigned)peers;
		return true;
	case 'c':
		return arguments_real("--churn", text, 1, &g->churn);
	case 'd':
		return arguments_real("--deltas", text, 1e9, &g->deltas);
	case 'm':
		return arguments_number("--memory", text, &g->max_memory);
	}
	return false;
}

static void print_text(const struct scd_goal *g, const struct scd_tuning *t)
{
	double n = (double)g->objects;

	printf("array            %" PRIu64 " bits, %.2f an object\n", t->nbits,
	       (double)t->nbits / n);
	printf("hash functions   %u\n", t->nhash);
	printf("false positives  %.6f of one digest\n", t->fp);
	printf("full digest      %.0f bytes, %.3f bits an object\n",
	       t->full_bytes, t->full_bytes * 8 / n);
	if (g->churn > 0)
		printf("delta            %.0f bytes, %.3f bits an object\n",
		       t->delta_bytes, t->delta_bytes * 8 / n);
	printf("update           %.0f bytes on average\n", t->update_bytes);
	printf("memory           %.0f bytes a peer, %.0f of its own\n",
	       t->array_bytes, t->own_bytes);
	printf("bound by         %s\n", scd_bound_text(t->bound));
}

static int print_json(const struct scd_tuning *t)
{
	json_t *o = json_pack("{s:I, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:s}",
			      "nbits", (json_int_t)t->nbits, "nhash",
			      (int)t->nhash, "fp", t->fp, "full_bytes",
			      t->full_bytes, "delta_bytes", t->delta_bytes,
			      "update_bytes", t->update_bytes, "array_bytes",
			      t->array_bytes, "own_bytes", t->own_bytes,
			      "bound", scd_bound_text(t->bound));
	int failed = !o || json_dumpf(o, stdout, JSON_INDENT(2));

	putchar('\n');
	json_decref(o);
	return failed ? CTL_NO : CTL_OK;
}

int command_tune(int argc, char **argv)
{
	struct scd_goal goal = { 0 };
	struct scd_tuning tuning;
	bool json = false;
	int c, error;

	while ((c = getopt_long(argc, argv, "n:f:w:P:c:d:m:j", options,
				NULL)) != -1) {
		if (c == 'j')
			json = true;
		else if (c == '?' || !take(&goal, c, optarg))
			return CTL_USAGE;
	}
	if (optind < argc || !goal.objects ||
	    !(goal.fp > 0 || goal.wire_bits > 0))
		return arguments_wrong("tune", command_tune_help);
	if (goal.deltas > 0)
		goal.most = SCD_UPDATE_XOR;
	error = scd_tune(&goal, &tuning);
	if (error) {
		fprintf(stderr, "digestctl: tune: %s\n", scd_strerror(error));
		return CTL_NO;
	}
	if (json)
		return print_json(&tuning);
	print_text(&goal, &tuning);
	return CTL_OK;
}
