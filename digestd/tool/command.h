/*
 * A program of commands: one table lists them, and the program does what all
 * such programs do: finds the command, shows its help, tells the version, and
 * sees to it that what was printed has arrived.
 */
#ifndef TOOL_COMMAND_H
#define TOOL_COMMAND_H

#include <stdio.h>

struct tool_option;

/* Exit codes, as documented in the manual pages. */
enum {
	TOOL_OK = 0,
	TOOL_NO = 1,    /* the answer is no, or the input is bad */
	TOOL_USAGE = 2, /* the command line is wrong */
	TOOL_IO = 3,    /* a file cannot be read or written, or no memory */
};

struct tool_command {
	const char *name;
	int (*run)(int argc, char **argv); /* an exit code; argv[0]: its name */
	const char *help; /* beginning with "usage: " */
	const char *summary;
	/* Tables whose rows --help ends with; a null ends them. Null: none */
	const struct tool_option *const *options;
};

struct tool {
	const char *name;
	const char *about; /* a sentence */
	const struct tool_command *commands; /* ends with one without a name */
	/* What to run when the first of four arguments or more is no command;
	 * null: nothing */
	const char *otherwise;
};

/* Runs the command that the arguments name. Returns an exit code. */
int tool_main(const struct tool *t, int argc, char **argv);

/* A program without commands. */
struct tool_program {
	const char *name;
	const char *help;	/* beginning with "usage: " */
	const char *after_help; /* what follows the options; null: nothing */
	const struct tool_option *const *options; /* as of a command */
};

enum { TOOL_GO_ON = -1 };

/*
 * Reads the options into the structure at `to`, see options_read(). Returns
 * TOOL_GO_ON, or an exit code: something is wrong and was told, or --help or
 * --version was asked for, anywhere before "--", and printed.
 */
int tool_read(const struct tool_program *p, int argc, char **argv, void *to);

/* Prints what --help does. */
void tool_help(const struct tool_program *p, FILE *to);

#endif
