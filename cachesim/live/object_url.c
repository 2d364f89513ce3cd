/*
 * See object_url.h.
 */
#include "config.h"

#include "cachesim/live/object_url.h"

#include <string.h>
#include <strings.h>

#include "codec/uri.h"

enum { SCHEME_LEN = 7 }; /* "http://" */

static bool object_url_starts(struct trace_text t, const char *with)
{
	size_t n = strlen(with);

	return t.len >= n && !strncasecmp(t.at, with, n);
}

static size_t object_url_put(char *out, const char *text)
{
	size_t n = strlen(text);

	memcpy(out, text, n);
	return n;
}

/* Copies a URL's bytes; those that may not stand in one as %XX. */
static size_t object_url_escape(char *out, struct trace_text t)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t n = 0;

	for (size_t i = 0; i < t.len; i++) {
		unsigned char c = (unsigned char)t.at[i];

		if (c > 0x20 && c < 0x7f && !strchr("\"<>\\^`{|}", c)) {
			out[n++] = (char)c;
			continue;
		}
		out[n++] = '%';
		out[n++] = hex[c >> 4];
		out[n++] = hex[c & 15];
	}
	return n;
}

int object_url_make(struct object_url *t, struct trace_text url)
{
	char raw[OBJECT_URL_MAX];
	size_t n;

	if (url.len > 65536)
		return TRACE_EURL;
	if (object_url_starts(url, "https://") ||
	    object_url_starts(url, "http://")) {
		size_t scheme = object_url_starts(url, "http://") ? 7 : 8;

		n = object_url_put(raw, "http://");
		url.at += scheme;
		url.len -= scheme;
	} else {
		if (url.len >= 3 && memmem(url.at, url.len, "://", 3))
			return TRACE_EURL;
		n = object_url_put(raw, "http://localhost/");
	}
	n += object_url_escape(raw + n, url);
	if (scd_uri_canonical(raw, n, t->text, sizeof(t->text), &t->len))
		return TRACE_EURL;
	t->host_len = strcspn(t->text + SCHEME_LEN, "/?");
	t->hash = trace_hash(t->text, t->len);
	return 0;
}

const char *object_url_path(const struct object_url *t)
{
	return t->text + SCHEME_LEN + t->host_len;
}
