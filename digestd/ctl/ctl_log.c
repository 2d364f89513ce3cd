/*
 * digestctl log: the access records of a running node as they come, from memory
 * that it shares. Filters run here, and who reads too slowly misses records,
 * which are counted; the node knows of neither.
 */
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/figures.h"
#include "digestd/ctl/record_reader.h"
#include "digestd/tool/arguments.h"

const char ctl_log_help[] =
	"usage: digestctl log [OPTIONS]\n"
	"Prints the access records of a running node as they come, a line\n"
	"each, or those that all filters let through. How many were missed,\n"
	"as they came faster than they could be read, is told on standard\n"
	"error.\n";

enum { LOG_POLL_MS = 20 };

static const char *const log_sources[] = {
	"memory", "disk", "peer", "origin", "collapsed", "node", "nobody", NULL,
};

struct log_arguments {
	struct control_options control;
	const char *url, *status;
	unsigned source; /* LOG_ANY: all */
	double least_ms;
	uint64_t count; /* UINT64_MAX: no end */
	uint64_t printed;
};

enum { LOG_ANY = 1000 };

#define AT(member) .at = offsetof(struct log_arguments, member)

static bool ctl_log_take_status(const char *option, const char *text, void *to)
{
	struct log_arguments *a = to;

	if (strlen(text) != 3 || text[0] < '0' || text[0] > '9' ||
	    (strcmp(text + 1, "xx") && strspn(text, "0123456789") != 3))
		return arguments_refuse(option, text,
					"a status, as 404, or 4xx for all");
	a->status = text;
	return true;
}

/* clang-format off */
static const struct tool_option log_rows[] = {
	{ .name = "url", .letter = 'u', .kind = OPTION_TEXT, AT(url),
	  .value = "GLOB", .help = "URLs that begin so; * and ? as in a shell" },
	{ .name = "status", .letter = 's', .kind = OPTION_CALL,
	  .take = ctl_log_take_status, .value = "STATUS",
	  .help = "404, or 4xx for all of them; 000: no reply" },
	{ .name = "source", .letter = 'f', .kind = OPTION_WORD, AT(source),
	  .words = log_sources, .value = "SOURCE",
	  .help = "where the reply is from: memory, origin, ..." },
	{ .name = "min-time", .letter = 'm', .kind = OPTION_REAL, AT(least_ms),
	  .min = 0, .max = 1e9, .value = "MS",
	  .help = "requests that took so many milliseconds or more" },
	{ .name = "count", .letter = 'n', .kind = OPTION_COUNT, AT(count),
	  .positive = true, .value = "N", .help = "ends after so many" },
	{ .name = NULL },
};
/* clang-format on */

const struct tool_option *const ctl_log_options[] = { log_rows, control_options,
						      NULL };

static volatile sig_atomic_t log_ended;

static void ctl_log_on_signal(int number)
{
	(void)number;
	log_ended = 1;
}

static bool ctl_log_is_status(const char *wanted, double status)
{
	char text[FIGURES_BYTES];

	snprintf(text, sizeof(text), "%03.0f", status);
	return wanted[1] == 'x' ? wanted[0] == text[0] : !strcmp(wanted, text);
}

static const json_t *ctl_log_at(const json_t *o, const char *name)
{
	return json_object_get(o, name);
}

static const char *ctl_log_text(const json_t *o, const char *name)
{
	const char *text = json_string_value(ctl_log_at(o, name));

	return text && *text ? text : "-";
}

static double ctl_log_number(const json_t *o, const char *name)
{
	return json_number_value(ctl_log_at(o, name));
}

/* What begins so, or matches with the rest of the URL. */
static bool ctl_log_is_url(const char *glob, const char *url)
{
	return !strncmp(url, glob, strlen(glob)) || !fnmatch(glob, url, 0);
}

static bool ctl_log_passes(const struct log_arguments *a, const json_t *o)
{
	const char *source = ctl_log_text(o, "digestd.source");
	double status = ctl_log_number(o, "http.response.status_code");

	return (!a->url ||
		ctl_log_is_url(a->url, ctl_log_text(o, "url.full"))) &&
	       (!a->status || ctl_log_is_status(a->status, status)) &&
	       (a->source == LOG_ANY ||
		!strcmp(source, log_sources[a->source])) &&
	       ctl_log_number(o, "digestd.duration_ms") >= a->least_ms;
}

/* "12:34:56.789 200 memory 0ms 1.2K GET http://h/a" */
static void ctl_log_print(const json_t *o)
{
	const char *reason = ctl_log_text(o, "digestd.reason");
	const char *from = ctl_log_text(o, "digestd.from");
	const char *end = ctl_log_text(o, "digestd.end");
	const char *time = ctl_log_text(o, "@timestamp");
	char size[FIGURES_BYTES];

	printf("%.12s %03.0f %s%s%s %.0fms %s %s %s",
	       strlen(time) > 11 ? time + 11 : time,
	       ctl_log_number(o, "http.response.status_code"),
	       ctl_log_text(o, "digestd.source"), *from == '-' ? "" : ":",
	       *from == '-' ? "" : from,
	       ctl_log_number(o, "digestd.duration_ms"),
	       figures_size(ctl_log_number(o, "http.response.body.bytes"),
			    size),
	       ctl_log_text(o, "http.request.method"),
	       ctl_log_text(o, "url.full"));
	if (*reason != '-')
		printf(" (%s)", reason);
	puts(strcmp(end, "aborted") ? "" : " aborted");
}

static void ctl_log_take(struct log_arguments *a, const char *line, size_t len)
{
	json_t *o = json_loadb(line, len, 0, NULL);

	if (o && ctl_log_passes(a, o)) {
		if (a->control.json)
			puts(line);
		else
			ctl_log_print(o);
		a->printed++;
	}
	json_decref(o);
}

static int ctl_log_follow(struct log_arguments *a, struct record_reader *r)
{
	const char *line;
	uint64_t lost;
	size_t len;

	while (!log_ended && a->printed < a->count && !ferror(stdout)) {
		line = record_reader_next(r, &len, &lost);
		if (lost)
			fprintf(stderr, "digestctl: %llu records missed\n",
				(unsigned long long)lost);
		if (line) {
			ctl_log_take(a, line, len);
			continue;
		}
		fflush(stdout);
		if (!record_reader_wait(r, LOG_POLL_MS))
			return CTL_IO;
	}
	return CTL_OK;
}

static int ctl_log_run(struct log_arguments *a)
{
	const struct sigaction act = { .sa_handler = ctl_log_on_signal };
	struct record_reader r;
	int code = record_reader_open(&r, &a->control);

	if (code)
		return code;
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	code = ctl_log_follow(a, &r);
	record_reader_close(&r);
	return code;
}

int ctl_log(int argc, char **argv)
{
	struct log_arguments a = { .source = LOG_ANY, .count = UINT64_MAX };

	if (!options_read(ctl_log_options, argc, argv, &a))
		return CTL_USAGE;
	if (optind < argc)
		return arguments_wrong("log", "takes no operands",
				       ctl_log_help);
	return ctl_log_run(&a);
}
