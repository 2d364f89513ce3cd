/*
 * Values of the configuration.
 */
#include "digestd/config/value.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
	const char *name;
	int64_t factor;
};

/* A number with one of these units. Returns false for anything else. */
static bool value_read_with_unit(const char *text, const struct unit *units,
				 int64_t *out)
{
	char *end;
	long long n;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (end == text || errno || n < 0 || *text == ' ')
		return false;
	for (; units->name; units++) {
		if (!strcasecmp(end, units->name))
			return !__builtin_mul_overflow(n, units->factor, out);
	}
	return false;
}

bool value_number(const char *text, int64_t *out)
{
	static const struct unit units[] = { { "", 1 }, { NULL, 0 } };

	return value_read_with_unit(text, units, out);
}

bool value_size(const char *text, int64_t *out)
{
	static const struct unit units[] = {
		{ "", 1 },       { "K", 1 << 10 }, { "M", 1 << 20 },
		{ "G", 1 << 30 }, { NULL, 0 },
	};

	return value_read_with_unit(text, units, out);
}

bool value_time_ms(const char *text, int64_t *out)
{
	static const struct unit units[] = {
		{ "ms", 1 },     { "s", 1000 }, { "m", 60000 },
		{ "h", 3600000 }, { "d", 86400000 }, { NULL, 0 },
	};

	return value_read_with_unit(text, units, out);
}

bool value_flag(const char *text, bool *out)
{
	*out = !strcasecmp(text, "true") || !strcasecmp(text, "yes") ||
	       !strcasecmp(text, "on");
	return *out || !strcasecmp(text, "false") || !strcasecmp(text, "no") ||
	       !strcasecmp(text, "off");
}

bool value_share(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && !*end && *out >= 0 && *out <= 1;
}

bool value_is_address(const char *text)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	struct in6_addr scratch;
	char host[64] = "";
	bool bracketed = text[0] == '[';
	int64_t port;

	if (!colon || len >= sizeof(host) ||
	    !value_number(colon + 1, &port) || port > 65535)
		return false;
	if (!len)
		return true;
	if (bracketed && (len < 3 || text[len - 1] != ']'))
		return false;
	memcpy(host, text + bracketed, len - 2 * (size_t)bracketed);
	return inet_pton(bracketed ? AF_INET6 : AF_INET, host, &scratch) == 1;
}
