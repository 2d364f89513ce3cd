/*
 * Reading values from the command line.
 */
#include "digestd/ctl/arguments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/ctl/command.h"
#include "digestd/ctl/hex.h"

static bool wrong(const char *option, const char *text, const char *what)
{
	fprintf(stderr, "digestctl: %s: \"%s\" %s\n", option, text, what);
	return false;
}

static unsigned unit_shift(const char *unit)
{
	static const char units[] = "KMG";
	const char *at = *unit && !unit[1] ? strchr(units, *unit) : NULL;

	return at ? 10 * (unsigned)(at - units + 1) : 0;
}

bool arguments_number(const char *option, const char *text, uint64_t *out)
{
	unsigned shift;
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	shift = unit_shift(end);
	if (end == text || errno || *text == '-' || (*end && !shift) ||
	    *out > UINT64_MAX >> shift)
		return wrong(option, text, "is not a number");
	*out <<= shift;
	return true;
}

bool arguments_real(const char *option, const char *text, double max,
		    double *out)
{
	char *end;

	*out = strtod(text, &end);
	if (end == text || *end || !(*out >= 0))
		return wrong(option, text, "is not a number");
	if (*out > max)
		return wrong(option, text, "is too large");
	return true;
}

bool arguments_key(const char *text, uint8_t secret[SCD_SECRET_BYTES])
{
	if (strlen(text) != 2 * SCD_SECRET_BYTES ||
	    !hex_bytes(text, SCD_SECRET_BYTES, secret))
		return wrong("--key", text, "is not 32 hexadecimal digits");
	scd_derive(secret, "hash", secret);
	return true;
}

bool arguments_hashing(const char *text, enum scd_hashing *out)
{
	if (!strcmp(text, "double"))
		*out = SCD_HASHING_DOUBLE;
	else if (!strcmp(text, "squid"))
		*out = SCD_HASHING_SQUID;
	else
		return wrong("--hashing", text, "is not double or squid");
	return true;
}

int arguments_wrong(const char *command, const char *help)
{
	fprintf(stderr, "digestctl: %s: wrong arguments\n%s", command, help);
	return CTL_USAGE;
}
