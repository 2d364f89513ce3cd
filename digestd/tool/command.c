/*
 * A program of commands: finds the one that is asked for, and runs it.
 */
#include "config.h"

#include "digestd/tool/command.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "digestd/tool/options.h"

static int command_name_width(const struct tool *t)
{
	size_t width = 0;

	for (const struct tool_command *c = t->commands; c->name; c++) {
		if (strlen(c->name) > width)
			width = strlen(c->name);
	}
	return (int)width;
}

static void command_usage(const struct tool *t, FILE *to)
{
	int width = command_name_width(t);

	fprintf(to, "usage: %s COMMAND [OPTIONS]\n%s\n\n", t->name, t->about);
	for (const struct tool_command *c = t->commands; c->name; c++)
		fprintf(to, "  %-*s %s\n", width, c->name, c->summary);
	fprintf(to,
		"\n%s COMMAND --help has the options of a command;\n"
		"%s --version tells the version.\n",
		t->name, t->name);
}

/* What was printed has to arrive, too. */
static int command_told(const struct tool *t, int code)
{
	if (!fflush(stdout) && !ferror(stdout))
		return code;
	fprintf(stderr, "%s: standard output: %s\n", t->name, strerror(errno));
	return TOOL_IO;
}

/* Whether an option asks for help; -h is one only as the first. */
static bool command_wants_help(char **argv)
{
	if (argv[1] && !strcmp(argv[1], "-h"))
		return true;
	while (*++argv && strcmp(*argv, "--")) {
		if (!strcmp(*argv, "--help"))
			return true;
	}
	return false;
}

static const struct tool_command *command_find(const struct tool *t,
					       const char *name)
{
	const struct tool_command *c = t->commands;

	while (c->name && strcmp(name, c->name))
		c++;
	return c->name ? c : NULL;
}

/* argv[0] is to become the command's name. */
static int tool_command_run(const struct tool *t, const struct tool_command *c,
			    int argc, char **argv)
{
	char name[64];

	if (command_wants_help(argv)) {
		fputs(c->help, stdout);
		if (c->options)
			options_help(c->options, stdout);
		return command_told(t, TOOL_OK);
	}
	snprintf(name, sizeof(name), "%s: %s", t->name, c->name);
	argv[0] = name; /* what getopt_long() begins its errors with */
	return command_told(t, c->run(argc, argv));
}

int tool_main(const struct tool *t, int argc, char **argv)
{
	const struct tool_command *c;

	if (argc < 2) {
		command_usage(t, stderr);
		return TOOL_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		command_usage(t, stdout);
		return TOOL_OK;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("%s " PACKAGE_VERSION "\n", t->name);
		return TOOL_OK;
	}
	c = command_find(t, argv[1]);
	if (c)
		return tool_command_run(t, c, argc - 1, argv + 1);
	if (t->otherwise && argc > 4)
		return tool_command_run(t, command_find(t, t->otherwise), argc,
					argv);
	fprintf(stderr, "%s: no command \"%s\"\n", t->name, argv[1]);
	command_usage(t, stderr);
	return TOOL_USAGE;
}

/* What every program has; only shown, as it is looked for before all else. */
static const struct tool_option command_standard[] = {
	{ .name = "help", .letter = 'h', .help = "this text" },
	{ .name = "version", .letter = 'V', .help = "the version" },
	{ .name = NULL },
};

static bool command_has(char **argv, const char *letter, const char *name)
{
	while (*++argv && strcmp(*argv, "--")) {
		if (!strcmp(*argv, letter) || !strcmp(*argv, name))
			return true;
	}
	return false;
}

void tool_help(const struct tool_program *p, FILE *to)
{
	const struct tool_option *const standard[] = { command_standard, NULL };

	fputs(p->help, to);
	options_help(p->options, to);
	options_help(standard, to);
	if (p->after_help)
		fputs(p->after_help, to);
}

int tool_read(const struct tool_program *p, int argc, char **argv, void *to)
{
	if (command_has(argv, "-h", "--help")) {
		tool_help(p, stdout);
		return TOOL_OK;
	}
	if (command_has(argv, "-V", "--version")) {
		printf("%s " PACKAGE_VERSION "\n", p->name);
		return TOOL_OK;
	}
	return options_read(p->options, argc, argv, to) ? TOOL_GO_ON
							: TOOL_USAGE;
}
