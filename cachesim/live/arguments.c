/*
 * Values on the command line.
 */
#include "config.h"

#include "cachesim/live/arguments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXIT_USAGE = 2 };

_Noreturn void arguments_bad(const char *option, const char *text,
			     const char *what)
{
	fprintf(stderr, "%s: %s: \"%s\" is %s\n",
		program_invocation_short_name, option, text, what);
	exit(EXIT_USAGE);
}

_Noreturn void arguments_wrong(const char *what, const char *usage)
{
	fprintf(stderr, "%s: %s\n%s", program_invocation_short_name, what,
		usage);
	exit(EXIT_USAGE);
}

unsigned arguments_number(const char *option, const char *text, unsigned least,
			  unsigned most)
{
	char *end, what[64];
	unsigned long v;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (!errno && *text >= '0' && *text <= '9' && !*end && v >= least &&
	    v <= most)
		return (unsigned)v;
	snprintf(what, sizeof(what), "not a whole number of %u to %u", least,
		 most);
	arguments_bad(option, text, what);
}

double arguments_real(const char *option, const char *text, double least,
		      double most)
{
	char *end, what[64];
	double v = strtod(text, &end);

	if (end != text && !*end && v >= least && v <= most)
		return v;
	snprintf(what, sizeof(what), "not a number of %g to %g", least, most);
	arguments_bad(option, text, what);
}
