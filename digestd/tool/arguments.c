/*
 * Reading values from the command line.
 */
#include "config.h"

#include "digestd/tool/arguments.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/tool/command.h"

bool arguments_refuse(const char *option, const char *text, const char *what)
{
	fprintf(stderr, "%s: %s: \"%s\" %s\n", program_invocation_short_name,
		option, text, what);
	return false;
}

static unsigned arguments_unit_shift(const char *unit)
{
	static const char units[] = "KMGT";
	const char *at = *unit && !unit[1] ? strchr(units, *unit) : NULL;

	return at ? 10 * (unsigned)(at - units + 1) : 0;
}

/* The exponent of ten in "e9"; where it ends in *at. None is 0. */
static unsigned arguments_tens(char **at)
{
	char *end;
	unsigned long tens;

	if ((**at != 'e' && **at != 'E') || (*at)[1] < '0' || (*at)[1] > '9')
		return 0;
	tens = strtoul(*at + 1, &end, 10);
	*at = end;
	return tens < 20 ? (unsigned)tens : 20;
}

bool arguments_number(const char *option, const char *text, uint64_t *out)
{
	unsigned shift, tens;
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	for (tens = end > text ? arguments_tens(&end) : 0; tens > 0; tens--) {
		if (*out > UINT64_MAX / 10)
			errno = ERANGE;
		*out *= 10;
	}
	shift = arguments_unit_shift(end);
	if (end == text || errno || *text == '-' || (*end && !shift) ||
	    *out > UINT64_MAX >> shift)
		return arguments_refuse(option, text, "is not a number");
	*out <<= shift;
	return true;
}

bool arguments_number_within(const char *option, const char *text,
			     uint64_t least, uint64_t most, uint64_t *out)
{
	char what[96];

	if (!arguments_number(option, text, out))
		return false;
	if (*out >= least && *out <= most)
		return true;
	snprintf(what, sizeof(what),
		 "is not a whole number of %" PRIu64 " to %" PRIu64, least,
		 most);
	return arguments_refuse(option, text, what);
}

bool arguments_real(const char *option, const char *text, double least,
		    double most, double *out)
{
	char *end, what[64] = "is not a number";

	*out = strtod(text, &end);
	if (end > text && !*end && *out >= least && *out <= most)
		return true;
	if (isfinite(most))
		snprintf(what, sizeof(what), "is not a number of %g to %g",
			 least, most);
	return arguments_refuse(option, text, what);
}

int arguments_wrong(const char *command, const char *what, const char *help)
{
	fprintf(stderr, "%s: %s%s%s\n%s", program_invocation_short_name,
		command ? command : "", command ? ": " : "", what, help);
	return TOOL_USAGE;
}
