/*
 * Running a command of the configuration, and reading what it prints.
 */
#ifndef DIGESTD_OS_SHELL_COMMAND_H
#define DIGESTD_OS_SHELL_COMMAND_H

#include <stddef.h>

struct shell_command_limits {
	int most_ms;       /* of its whole run */
	size_t most_bytes; /* of what it prints */
	int cancel;        /* a descriptor: it is ended when this becomes
			      readable; -1: none */
};

enum { SHELL_COMMAND_SAID = 256 };

struct shell_command_result {
	char *text; /* what it printed, ended by a NUL; to be freed */
	size_t len;
	char fault[96]; /* why that is not all; empty: it is */
	/* the beginning of what it wrote to its errors, as one line; empty:
	 * nothing */
	char said[SHELL_COMMAND_SAID];
};

/*
 * Has /bin/sh run a command, with nothing to read; of its errors the beginning
 * is kept. Returns when it has ended with status 0; or when it has failed, or
 * was ended because of a limit: then `fault` says so, and there may be no text.
 * What it leaves behind in its process group is ended with it. Waits: not for a
 * loop's thread.
 */
void shell_command_run(const char *command,
		       const struct shell_command_limits *limits,
		       struct shell_command_result *result);

#endif
