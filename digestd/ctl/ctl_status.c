/*
 * digestctl status: what /status.json says of a running node, as a table.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/figures.h"
#include "digestd/ctl/json_report.h"
#include "digestd/ctl/node_client.h"
#include "digestd/ctl/peer_rows.h"
#include "digestd/tool/arguments.h"

const char ctl_status_help[] =
	"usage: digestctl status [OPTIONS]\n"
	"Shows what /status.json says of a running node, as a table.\n";

struct status_arguments {
	struct control_options control;
	bool all;
};

static const struct tool_option status_rows[] = {
	{ .name = "all", .letter = 'a', .kind = OPTION_FLAG,
	  .at = offsetof(struct status_arguments, all),
	  .help = "also what is 0" },
	{ .name = NULL },
};

const struct tool_option *const ctl_status_options[] = { status_rows,
							 control_options,
							 NULL };

static bool ctl_status_ends(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return len >= end_len && !strcmp(name + len - end_len, end);
}

/* 0, empty, or nothing but such: it is left out unless all is asked for. */
static bool ctl_status_is_nothing(json_t *v)
{
	const char *name;
	json_t *each;
	size_t i;

	json_object_foreach(v, name, each) {
		if (!ctl_status_is_nothing(each))
			return false;
	}
	json_array_foreach(v, i, each) {
		if (!ctl_status_is_nothing(each))
			return false;
	}
	return json_is_object(v) || json_is_array(v) || json_is_null(v) ||
	       (json_is_number(v) && json_number_value(v) == 0);
}

static void ctl_status_print_number(const char *name, const json_t *v)
{
	double n = json_number_value(v);
	time_t at = (time_t)n;
	char text[FIGURES_BYTES], date[32];

	if (json_is_integer(v))
		printf("%" JSON_INTEGER_FORMAT, json_integer_value(v));
	else
		printf("%.6g", n);
	if (ctl_status_ends(name, "bytes") && n >= 1024)
		printf(" (%s)", figures_size(n, text));
	else if (ctl_status_ends(name, "_s") && n >= 60)
		printf(" (%s)", figures_time(n, text));
	else if ((!strcmp(name, "started") || !strcmp(name, "expires") ||
		  !strcmp(name, "last_reload_success")) &&
		 strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC",
			  gmtime(&at)))
		printf(" (%s)", date);
}

static void ctl_status_print_value(const char *name, const json_t *v)
{
	if (json_is_string(v))
		printf("%s", json_string_value(v));
	else if (json_is_boolean(v))
		printf("%s", json_is_true(v) ? "yes" : "no");
	else if (json_is_null(v))
		printf("none");
	else
		ctl_status_print_number(name, v);
	putchar('\n');
}

static void ctl_status_print_name(const char *name, int depth)
{
	printf("%*s%-*s ", 2 * depth, "", 30 - 2 * depth, name);
}

/* Of a histogram: how many times, and their mean; the rest is for programs. */
static void ctl_status_print_times(const char *name, const json_t *v, int depth)
{
	const double count = figures_number(v, "count");
	const double sum_s = figures_number(v, "sum_s");

	ctl_status_print_name(name, depth);
	printf("%.0f", count);
	if (count > 0)
		printf(", %.1f ms on average", 1e3 * sum_s / count);
	putchar('\n');
}

static void ctl_status_print(json_t *o, int depth, bool all);

/* A member that has members: its name, and these below it. */
static void ctl_status_print_inner(const char *name, json_t *v, int depth,
				   bool all)
{
	json_t *each;
	size_t i;

	if (json_object_get(v, "cells")) {
		ctl_status_print_times(name, v, depth);
		return;
	}
	if (json_is_object(v)) {
		printf("%*s%s\n", 2 * depth, "", name);
		ctl_status_print(v, depth + 1, all);
		return;
	}
	json_array_foreach(v, i, each) {
		printf("%*s%s %zu\n", 2 * depth, "", name, i + 1);
		if (json_is_object(each))
			ctl_status_print(each, depth + 1, all);
	}
}

static void ctl_status_print(json_t *o, int depth, bool all)
{
	const char *name;
	json_t *v;

	json_object_foreach(o, name, v) {
		if (!depth && (!strcmp(name, "peers") ||
			       !strcmp(name, "bounds_s")))
			continue; /* a table of their own; of histograms */
		if (!all && ctl_status_is_nothing(v))
			continue;
		if (json_is_object(v) || json_is_array(v)) {
			ctl_status_print_inner(name, v, depth, all);
			continue;
		}
		ctl_status_print_name(name, depth);
		ctl_status_print_value(name, v);
	}
}

static int ctl_status_tell_as(const json_t *answer, bool all)
{
	json_t *status = json_object_get(answer, "status");
	const struct peer_rows rows = { .status = status };

	ctl_status_print(status, 0, all);
	if (json_array_size(json_object_get(status, "peers"))) {
		putchar('\n');
		peer_rows_print(&rows, stdout);
	}
	return CTL_OK;
}

static int ctl_status_tell(const json_t *answer)
{
	return ctl_status_tell_as(answer, false);
}

static int ctl_status_tell_all(const json_t *answer)
{
	return ctl_status_tell_as(answer, true);
}

static int ctl_status_tell_json(const json_t *answer)
{
	return json_report_print(
		json_incref(json_object_get(answer, "status")));
}

int ctl_status(int argc, char **argv)
{
	struct status_arguments a = { .all = false };
	int (*tell)(const json_t *) = ctl_status_tell;

	if (!options_read(ctl_status_options, argc, argv, &a))
		return CTL_USAGE;
	if (optind < argc)
		return arguments_wrong("status", "takes no operands",
				       ctl_status_help);
	if (a.all)
		tell = ctl_status_tell_all;
	if (a.control.json)
		tell = ctl_status_tell_json;
	a.control.json = false; /* not the whole answer */
	return node_client_run(&a.control,
			   json_pack("{s:s}", "command", "status"), tell);
}
