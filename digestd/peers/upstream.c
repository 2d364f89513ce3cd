/*
 * Peers and origins.
 */
#include "digestd/peers/upstream.h"

#include <stdlib.h>
#include <string.h>

enum {
	HOST_MAX_BYTES = 255, /* of a name, RFC 1035 */
	PORT_MAX = 65535,
};

bool upstream_is_elsewhere(const struct upstream *peer, const char *location)
{
	return location && peer->location &&
	       strcmp(location, peer->location) != 0;
}

/* How long the host of "host:port" is, with its brackets; 0: there is none. */
static size_t upstream_host_length(const char *text)
{
	size_t n;

	if (*text != '[')
		return strcspn(text, ":[]");
	n = 1 + strspn(text + 1, "0123456789abcdefABCDEF:.");
	return n > 1 && text[n] == ']' ? n + 1 : 0;
}

static bool upstream_is_port(const char *text)
{
	unsigned long port = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || port > PORT_MAX)
			return false;
		port = port * 10 + (unsigned long)(*text - '0');
	}
	return port >= 1 && port <= PORT_MAX;
}

bool upstream_is_url(const char *text)
{
	const char *host = text, *end;
	size_t len;

	if (!strncmp(text, "http://", 7))
		host += 7;
	else if (!strncmp(text, "https://", 8))
		host += 8;
	if (host == text || strpbrk(host, "/?#@ \t\"\\"))
		return false;
	len = upstream_host_length(host);
	end = host + len;
	return len && len <= HOST_MAX_BYTES &&
	       (!*end || (*end == ':' && upstream_is_port(end + 1)));
}

size_t upstream_next_url(const char **list)
{
	static const char between[] = ", \t\n";

	*list += strspn(*list, between);
	return strcspn(*list, between);
}

size_t upstream_count_urls(const char *list)
{
	size_t n = 0, len;

	for (; (len = upstream_next_url(&list)) > 0; list += len)
		n++;
	return n;
}

bool upstream_is_path(const char *text)
{
	if (*text != '/')
		return false;
	for (; *text; text++) {
		if (*text <= ' ' || *text >= 0x7f || *text == '#')
			return false;
	}
	return true;
}

void upstreams_free(struct upstream *places, size_t n)
{
	for (size_t i = 0; places && i < n; i++) {
		free(places[i].name);
		free(places[i].url);
		free(places[i].set_cookie);
		free(places[i].where);
		free(places[i].location);
	}
	free(places);
}
