/*
 * URLs, as far as a fetch needs them. A host is whatever the resolver may make
 * something of.
 */
#include "digestd/fetch/fetch_url.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

enum { HTTP_PORT = 80, HTTPS_PORT = 443, PORT_MAX = 65535, PORT_TEXT = 8 };

/* Behind "http://" or "https://"; null: neither. */
static const char *fetch_url_skip_scheme(const char *text, bool *https)
{
	static const char http[] = "http://", secure[] = "https://";

	*https = !strncasecmp(text, secure, sizeof(secure) - 1);
	if (*https)
		return text + sizeof(secure) - 1;
	return strncasecmp(text, http, sizeof(http) - 1) ?
		       NULL : text + sizeof(http) - 1;
}

/* How long the host is at the beginning of an authority; 0: none. */
static size_t fetch_url_host_length(const char *at)
{
	size_t n = 0;

	if (*at == '[') {
		n = 1 + strspn(at + 1, "0123456789abcdefABCDEF:.");
		return at[n] == ']' ? n + 1 : 0;
	}
	while ((unsigned char)at[n] > ' ' && !strchr("/?#@:\\[]\177", at[n]))
		n++;
	return n;
}

/* Reads ":port" if there is one. Returns its length, or -1. */
static int fetch_url_read_port(const char *at, unsigned usual, unsigned *port)
{
	int n = 1;

	*port = usual;
	if (*at != ':')
		return 0;
	*port = 0;
	for (; at[n] >= '0' && at[n] <= '9' && n < PORT_TEXT; n++)
		*port = *port * 10 + (unsigned)(at[n] - '0');
	return *port && *port <= PORT_MAX ? n : -1;
}

static bool fetch_url_is_visible(const char *at, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (at[i] <= ' ' || at[i] > '~')
			return false;
	}
	return true;
}

bool fetch_url_read(const char *text, struct fetch_url *url)
{
	const char *at = fetch_url_skip_scheme(text, &url->https);
	unsigned usual = url->https ? HTTPS_PORT : HTTP_PORT;
	int port_len;

	if (!at)
		return false;
	url->place = (struct pool_place){
		.host = at, .host_len = fetch_url_host_length(at)
	};
	if (!url->place.host_len || url->place.host_len > POOL_HOST_MAX)
		return false;
	at += url->place.host_len;
	port_len = fetch_url_read_port(at, usual, &url->place.port);
	if (port_len < 0)
		return false;
	url->authority = (struct response_bytes){
		url->place.host,
		url->place.host_len + (url->place.port == usual ?
					       0 : (size_t)port_len)
	};
	at += port_len;
	url->target = (struct response_bytes){ at, strcspn(at, "#") };
	if (url->target.len && *at != '/')
		return false; /* "?query", and what is no URL */
	return fetch_url_is_visible(at, url->target.len);
}

const struct fetch_url *fetch_urls_read(struct fetch_urls *urls,
					const char *text,
					struct fetch_url *room)
{
	const size_t at = ((uintptr_t)text >> 4) % FETCH_URLS_KNOWN;
	const size_t bytes = strlen(text) + 1;
	char *known = urls->known[at].text;

	if (bytes > 1 && bytes <= FETCH_URLS_BYTES &&
	    !memcmp(known, text, bytes))
		return &urls->known[at].url;
	if (bytes > FETCH_URLS_BYTES)
		return fetch_url_read(text, room) ? room : NULL;
	memcpy(known, text, bytes);
	if (fetch_url_read(known, &urls->known[at].url))
		return &urls->known[at].url;
	*known = '\0';
	return NULL;
}
