/*
 * digestbench coding: what coding costs on this machine, beside what others
 * would take.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/bench/bench.h"
#include "digestd/bench/digestbench.h"
#include "digestd/ctl/json_report.h"
#include "digestd/tool/arguments.h"
#include "digestd/tool/crew.h"

const char bench_coding_help[] =
	"usage: digestbench coding [OPTIONS]\n"
	"Measures, with random keys, what coding digests costs.\n";

static const struct {
	const char *name;
	bench_section *run;
} sections[] = {
	{"coders", bench_coders},
	{"digests", bench_digests},
	{"conditional", bench_conditional},
	{"whole", bench_whole},
};

enum { NSECTIONS = sizeof(sections) / sizeof(sections[0]) };

struct wishes {
	struct bench bench;
	uint64_t repetitions, nthreads;
	bool is_long, json;
	bool section[NSECTIONS];
};

static bool bench_coding_take_objects(const char *option, const char *text,
				      void *to)
{
	struct bench *b = &((struct wishes *)to)->bench;
	char word[32];

	for (b->nsizes = 0; *text; text += *text == ',') {
		const size_t len = strcspn(text, ",");

		if (len >= sizeof(word) || b->nsizes + 1 >= BENCH_MAX_SIZES)
			break;
		memcpy(word, text, len);
		word[len] = '\0';
		if (!arguments_number(option, word, &b->nkeys[b->nsizes]))
			return false;
		if (b->nkeys[b->nsizes] < BENCH_MIN_KEYS ||
		    b->nkeys[b->nsizes] > BENCH_MAX_KEYS)
			break;
		b->nsizes++;
		text += len;
	}
	if (b->nsizes && !*text)
		return true;
	fprintf(stderr,
		"digestbench: --objects: %d numbers at most, of %d..%d\n",
		BENCH_MAX_SIZES - 1, BENCH_MIN_KEYS, BENCH_MAX_KEYS);
	return false;
}

static bool bench_coding_take_section(const char *option, const char *text,
				      void *to)
{
	struct wishes *w = to;

	for (size_t i = 0; i < NSECTIONS; i++) {
		if (!strcmp(sections[i].name, text)) {
			w->section[i] = true;
			return true;
		}
	}
	fprintf(stderr, "digestbench: %s: \"%s\" is not one of ", option,
		text);
	for (size_t i = 0; i < NSECTIONS; i++)
		fprintf(stderr, i ? ", %s" : "%s", sections[i].name);
	fputc('\n', stderr);
	return false;
}

#define AT(member) .at = offsetof(struct wishes, member)

static const struct tool_option coding_rows[] = {
	{ .name = "objects", .letter = 'n', .kind = OPTION_CALL,
	  .take = bench_coding_take_objects, .value = "LIST",
	  .help = "objects of a cache, with commas between\n"
		  "(10000,100000,1000000)" },
	{ .name = "long", .kind = OPTION_FLAG, AT(is_long),
	  .help = "10000000 as well" },
	{ .name = "section", .letter = 'S', .kind = OPTION_CALL,
	  .take = bench_coding_take_section, .value = "SECTION",
	  .help = "only that; may be repeated: coders, digests,\n"
		  "conditional, whole" },
	{ .name = "threads", .letter = 't', .kind = OPTION_COUNT,
	  AT(nthreads), .least = 1, .most = CREW_MAX_THREADS, .value = "N",
	  .help = "of several that share the work (2)" },
	{ .name = "repetitions", .letter = 'r', .kind = OPTION_COUNT,
	  AT(repetitions), .least = 1, .most = BENCH_MAX_REPETITIONS,
	  .value = "N", .help = "of which the median is taken (5)" },
	{ .name = "seed", .letter = 's', .kind = OPTION_COUNT, AT(bench.seed),
	  .value = "N", .help = "of the keys (1)" },
	{ .name = "json", .letter = 'j', .kind = OPTION_FLAG, AT(json),
	  .help = "as JSON" },
	{ .name = NULL },
};

#undef AT

const struct tool_option *const bench_coding_options[] = {
	coding_rows, NULL
};

/* All sections, if none was asked for. */
static void bench_coding_choose_all(struct wishes *w)
{
	for (size_t i = 0; i < NSECTIONS; i++) {
		if (w->section[i])
			return;
	}
	for (size_t i = 0; i < NSECTIONS; i++)
		w->section[i] = true;
}

static int bench_coding_run_sections(struct wishes *w, json_t *all)
{
	int error = SCD_OK;

	for (size_t i = 0; !error && i < NSECTIONS; i++) {
		if (!w->section[i])
			continue;
		if (w->json) {
			w->bench.list = json_array();
			json_object_set_new(all, sections[i].name,
					    w->bench.list);
		}
		error = sections[i].run(&w->bench);
	}
	return error;
}

static int bench_coding_run(struct wishes *w)
{
	json_t *all = NULL;
	int error;

	if (w->json)
		all = json_pack("{s:I, s:i}", "seed", (json_int_t)w->bench.seed,
				"repetitions", (int)w->bench.repetitions);
	else
		printf("Random keys, seed %" PRIu64 "; medians of %u\n\n",
		       w->bench.seed, w->bench.repetitions);
	error = bench_coding_run_sections(w, all);
	bench_clear(&w->bench);
	if (!error)
		return w->json ? json_report_print(all) : TOOL_OK;
	json_decref(all);
	fprintf(stderr, "digestbench: coding: %s\n", scd_strerror(error));
	return error == SCD_ENOMEM ? TOOL_IO : TOOL_NO;
}

int bench_coding(int argc, char **argv)
{
	struct wishes w = {
		.bench = {.nkeys = {10000, 100000, 1000000},
			  .nsizes = 3,
			  .seed = 1,
			  .progress = isatty(STDERR_FILENO)},
		.repetitions = 5,
		.nthreads = 2,
	};

	if (!options_read(bench_coding_options, argc, argv, &w))
		return TOOL_USAGE;
	w.bench.repetitions = (unsigned)w.repetitions;
	w.bench.nthreads = (unsigned)w.nthreads;
	if (optind < argc)
		return arguments_wrong("coding", "takes no operands",
				       bench_coding_help);
	if (w.is_long)
		w.bench.nkeys[w.bench.nsizes++] = 10000000;
	bench_coding_choose_all(&w);
	return bench_coding_run(&w);
}
