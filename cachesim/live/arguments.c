/*
 * Numbers on the command line.
 */
#include "config.h"

#include "cachesim/live/arguments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXIT_USAGE = 2 };

_Noreturn void arguments_bad(const char *text)
{
	fprintf(stderr, "%s: %s: value out of range\n",
		program_invocation_short_name, text);
	exit(EXIT_USAGE);
}

unsigned arguments_number(const char *text, unsigned least, unsigned most)
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || v < least ||
	    v > most)
		arguments_bad(text);
	return (unsigned)v;
}

double arguments_real(const char *text, double least, double most)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v >= least && v <= most))
		arguments_bad(text);
	return v;
}
