/*
 * Packed header fields.
 */
#include "digestd/core/packed.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "digestd/core/fields.h"

enum { PACKED_LOWER = 0x80 }; /* beside a number */

/* clang-format off */
static const struct {
	const char *name, *lower;
} names[] = { /* ascending */
	{ "", "" }, /* 0: not of these */
	{ "Accept-Ranges", "accept-ranges" },
	{ "Access-Control-Allow-Credentials", "access-control-allow-credentials" },
	{ "Access-Control-Allow-Headers", "access-control-allow-headers" },
	{ "Access-Control-Allow-Methods", "access-control-allow-methods" },
	{ "Access-Control-Allow-Origin", "access-control-allow-origin" },
	{ "Access-Control-Expose-Headers", "access-control-expose-headers" },
	{ "Age", "age" },
	{ "Allow", "allow" },
	{ "Alt-Svc", "alt-svc" },
	{ "Cache-Control", "cache-control" },
	{ "Cache-Status", "cache-status" },
	{ "Cache-Tag", "cache-tag" },
	{ "CDN-Cache-Control", "cdn-cache-control" },
	{ "Content-Disposition", "content-disposition" },
	{ "Content-Encoding", "content-encoding" },
	{ "Content-Language", "content-language" },
	{ "Content-Length", "content-length" },
	{ "Content-Location", "content-location" },
	{ "Content-Security-Policy", "content-security-policy" },
	{ "Content-Type", "content-type" },
	{ "Cross-Origin-Opener-Policy", "cross-origin-opener-policy" },
	{ "Cross-Origin-Resource-Policy", "cross-origin-resource-policy" },
	{ "Date", "date" },
	{ "ETag", "etag" },
	{ "Expires", "expires" },
	{ "Last-Modified", "last-modified" },
	{ "Link", "link" },
	{ "Location", "location" },
	{ "NEL", "nel" },
	{ "P3P", "p3p" },
	{ "Permissions-Policy", "permissions-policy" },
	{ "Pragma", "pragma" },
	{ "Referrer-Policy", "referrer-policy" },
	{ "Report-To", "report-to" },
	{ "Server", "server" },
	{ "Server-Timing", "server-timing" },
	{ "Set-Cookie", "set-cookie" },
	{ "Strict-Transport-Security", "strict-transport-security" },
	{ "Surrogate-Key", "surrogate-key" },
	{ "Timing-Allow-Origin", "timing-allow-origin" },
	{ "Vary", "vary" },
	{ "Via", "via" },
	{ "X-Cache", "x-cache" },
	{ "X-Content-Type-Options", "x-content-type-options" },
	{ "X-Frame-Options", "x-frame-options" },
	{ "X-Powered-By", "x-powered-by" },
	{ "X-Request-Id", "x-request-id" },
	{ "X-XSS-Protection", "x-xss-protection" },
};
/* clang-format on */

enum { NNAMES = sizeof(names) / sizeof(names[0]) };

_Static_assert(NNAMES <= 128, "a name's number is 7 bits");

/* The byte for a name as it is spelt; 0: it has none. */
static unsigned char code_of(const char *name)
{
	unsigned from = 1, to = NNAMES;

	while (from < to) {
		unsigned i = (from + to) / 2;
		int order = strcasecmp(name, names[i].lower);

		if (order < 0)
			to = i;
		else if (order > 0)
			from = i + 1;
		else if (!strcmp(name, names[i].name))
			return (unsigned char)i;
		else
			return strcmp(name, names[i].lower) ?
				       0 :
				       (unsigned char)(i | PACKED_LOWER);
	}
	return 0;
}

size_t packed_size(const struct fields *f)
{
	size_t size = 0;

	for (size_t i = 0; i < fields_count(f); i++) {
		const struct field *line = fields_at(f, i);

		size += 1 + strlen(line->value) + 1;
		if (!code_of(line->name))
			size += strlen(line->name) + 1;
	}
	return size;
}

static char *put(char *to, const char *text)
{
	size_t len = strlen(text) + 1;

	memcpy(to, text, len);
	return to + len;
}

char *packed_write(const struct fields *f, char *to)
{
	for (size_t i = 0; i < fields_count(f); i++) {
		const struct field *line = fields_at(f, i);
		unsigned char code = code_of(line->name);

		*to++ = (char)code;
		if (!code)
			to = put(to, line->name);
		to = put(to, line->value);
	}
	return to;
}

/* The name of the line that begins here; *at moves to its value. */
static const char *name_at(const char **at)
{
	unsigned char code = (unsigned char)*(*at)++;
	const char *name = *at;

	if (code & PACKED_LOWER)
		return names[code & ~PACKED_LOWER].lower;
	if (code)
		return names[code].name;
	*at += strlen(name) + 1;
	return name;
}

int packed_open(const char *bytes, size_t len, struct fields *f)
{
	const char *end = bytes + len;

	fields_init(f);
	while (bytes < end) {
		const char *name = name_at(&bytes);

		if (fields_borrow(f, name, bytes)) {
			fields_free(f);
			return -ENOMEM;
		}
		bytes += strlen(bytes) + 1;
	}
	return 0;
}
