/*
 * Authorities.
 */
#include "digestd/http/authority.h"

#include <strings.h>

#include "digestd/http/hexdigit.h"
#include "digestd/http/ip_text.h"
#include "digestd/http/octets.h"

enum { PORT_MAX = 65535, PORT_HTTP = 80, PORT_HTTPS = 443 };

/* The end of a name: letters, digits and so on, and escapes. */
static const char *authority_skip_name(const char *at, const char *end)
{
	for (;;) {
		at = octets_skip(at, end, OCTETS_NAME);
		if (end - at < 3 || *at != '%' || hexdigit_value(at[1]) < 0 ||
		    hexdigit_value(at[2]) < 0)
			return at;
		at += 3;
	}
}

/* The end of an IPv6 address in brackets; `at` itself when it is none. */
static const char *authority_skip_ip6(const char *at, const char *end)
{
	const char *close = memchr(at, ']', (size_t)(end - at));
	uint8_t address[16];

	if (!close)
		return at;
	if (!ip_text_parse6((struct field_part){ at + 1,
						 (size_t)(close - at) - 1 },
			    address))
		return at;
	return close + 1;
}

/* ":8080" or ":"; -1: it is none. */
static int authority_port(const char *at, const char *end)
{
	int port = 0;

	if (at == end)
		return 0;
	if (*at++ != ':')
		return -1;
	if (at == end)
		return 0;
	for (; at < end; at++) {
		if (!octets_has(OCTETS_DIGIT, *at))
			return -1;
		port = port * 10 + (*at - '0');
		if (port > PORT_MAX)
			return -1;
	}
	return port ? port : -1;
}

bool authority_parse(struct field_part text, struct authority *a)
{
	const char *end = text.at + text.len, *host_end;
	int port;

	if (!text.len || text.len > AUTHORITY_MAX)
		return false;
	host_end = *text.at == '[' ? authority_skip_ip6(text.at, end) :
				     authority_skip_name(text.at, end);
	port = authority_port(host_end, end);
	a->host = (struct field_part){ text.at, (size_t)(host_end - text.at) };
	if (a->host.len && host_end[-1] == '.')
		a->host.len--;
	a->port = (unsigned)port;
	/* with two dots at its end, the last label would be empty */
	return port >= 0 && a->host.len && a->host.at[a->host.len - 1] != '.';
}

static unsigned authority_port_or(const struct authority *a, unsigned port)
{
	return a->port ? a->port : port;
}

bool authority_same(const struct authority *a, const struct authority *b,
		    bool https)
{
	unsigned port = https ? PORT_HTTPS : PORT_HTTP;

	return a->host.len == b->host.len &&
	       !strncasecmp(a->host.at, b->host.at, a->host.len) &&
	       authority_port_or(a, port) == authority_port_or(b, port);
}
