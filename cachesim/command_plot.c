/*
 * cachesim plot: a chart of a result, drawn by gnuplot.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "cachesim/chart.h"
#include "cachesim/cachesim.h"
#include "cachesim/settings.h"

const char command_plot_help[] =
	"usage: cachesim plot [OPTIONS] RESULT\n"
	"Draws what is in a file of results (-: standard input) with gnuplot:\n"
	"hit ratio by size, traffic by threshold, false hits by bits, by what\n"
	"differs in it; or any column over any other.\n";

const struct tool_option *const command_plot_options[] = { settings_plot,
							    NULL };

static int command_plot_complain(const char *what, const char *why)
{
	fprintf(stderr, "%s: plot: %s: %s\n", program_invocation_short_name,
		what, why);
	return TOOL_NO;
}

/* What a file is called decides what is drawn; null: nothing fits. */
static const char *command_plot_terminal_of(const char *file)
{
	const char *end = strrchr(file, '.');

	if (end && !strcmp(end, ".svg"))
		return "svg size 720,420 noenhanced font \"sans-serif,13\" "
		       "background \"#ffffff\"";
	if (end && !strcmp(end, ".png"))
		return "pngcairo size 1080,630 noenhanced "
		       "font \"sans-serif,14\"";
	return NULL;
}

/* Only a shell's "not found" tells of a program that is not there. */
static int command_plot_ended(int status)
{
	enum { NOT_FOUND = 127 };

	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return TOOL_OK;
	command_plot_complain(
		"gnuplot", WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND
				   ? "the program is not installed"
				   : "it failed");
	return TOOL_IO;
}

static int command_plot_draw(const struct chart *c, const struct report *r)
{
	FILE *to;

	signal(SIGPIPE, SIG_IGN); /* its absence is told by its status */
	to = popen("exec gnuplot", "w");
	if (!to) {
		command_plot_complain("gnuplot", strerror(errno));
		return TOOL_IO;
	}
	chart_write(c, r, to);
	return command_plot_ended(pclose(to));
}

static int command_plot_plot(struct chart *c, const char *result, bool script)
{
	struct report_fault fault = { 0 };
	struct report r;
	const char *why;
	char place[4200];
	int code;

	if (!report_read(&r, result, &fault)) {
		if (fault.line)
			snprintf(place, sizeof(place), "%s:%u", result,
				 fault.line);
		return command_plot_complain(fault.line ? place : result,
					     fault.text);
	}
	why = chart_choose(c, &r);
	code = why ? command_plot_complain(result, why) : TOOL_OK;
	if (!why && script)
		chart_write(c, &r, stdout);
	else if (!why)
		code = command_plot_draw(c, &r);
	report_free(&r);
	return code;
}

int command_plot(int argc, char **argv)
{
	struct settings s = { .output = "plot.svg" };
	struct chart c;
	int code = settings_read(&s, command_plot_options, argc, argv);

	if (code)
		return code;
	c = (struct chart){.x = s.x,
			   .y = s.y,
			   .terminal = command_plot_terminal_of(s.output),
			   .output = s.output};
	if (!s.trace)
		command_plot_complain("RESULT", "no file is named");
	else if (!c.terminal)
		command_plot_complain(s.output, "is neither .svg nor .png");
	else
		return command_plot_plot(&c, s.trace, s.script);
	return TOOL_USAGE;
}
