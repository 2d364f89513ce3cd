/*
 * Packed header fields.
 */
#include "digestd/http/packed.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "digestd/http/fields.h"
#include "digestd/http/httpdate.h"
#include "digestd/http/packed_values.h"

enum {
	PACKED_LOWER = 0x80, /* beside a name's number */
	PACKED_TIME = 0x40,  /* the value is a date, in 4 bytes */
	TIME_BYTES = 4,
	/* At the beginning of a value, where no control character can be: its
	 * number follows, or, if one should begin so, 0xff and the value. */
	PACKED_NUMBER = 0x01,
	PACKED_LITERAL = 0xff,
};

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

_Static_assert(NNAMES <= 64, "a name's number is 6 bits");

/* The byte for a name as it is spelt; 0: it has none. */
static unsigned char packed_code_of(const char *name)
{
	unsigned from = 1, to = NNAMES;

	while (from < to) {
		unsigned i = (from + to) / 2;
		int order = (*name | 0x20) - *names[i].lower;

		if (!order) /* else it only saves the call */
			order = strcasecmp(name, names[i].lower);
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

/* Whether a value is a date as it would be written, until 2106. */
static bool packed_is_time(const char *value, uint32_t *out)
{
	int64_t s;

	if (!httpdate_parse_exact(value, &s) || s > UINT32_MAX)
		return false;
	*out = (uint32_t)s;
	return true;
}

/* Where a list is packed to, which may be too small: then bytes are counted. */
struct packing {
	char *to;
	size_t len, cap;
};

static void packed_put(struct packing *p, const void *bytes, size_t len)
{
	if (len <= p->cap && p->len <= p->cap - len)
		memcpy(p->to + p->len, bytes, len);
	p->len += len;
}

static void packed_put_byte(struct packing *p, unsigned char byte)
{
	packed_put(p, &byte, 1);
}

static void packed_put_text(struct packing *p, const char *text)
{
	packed_put(p, text, strlen(text) + 1);
}

static void packed_put_value(struct packing *p, const char *value)
{
	unsigned number = packed_value_number(value);

	if (number || *value == PACKED_NUMBER) {
		packed_put_byte(p, PACKED_NUMBER);
		packed_put_byte(p, (unsigned char)(number ? number :
							    PACKED_LITERAL));
	}
	if (!number)
		packed_put_text(p, value);
}

static void packed_put_line(struct packing *p, const struct field *line)
{
	unsigned char code = packed_code_of(line->name);
	uint32_t time;

	if (code && packed_is_time(line->value, &time)) {
		packed_put_byte(p, code | PACKED_TIME);
		packed_put(p, &time, TIME_BYTES);
		return;
	}
	packed_put_byte(p, code);
	if (!code)
		packed_put_text(p, line->name);
	packed_put_value(p, line->value);
}

size_t packed_write(const struct fields *f, char *to, size_t cap)
{
	struct packing p = { .to = to, .cap = cap };

	for (size_t i = 0; i < fields_count(f); i++)
		packed_put_line(&p, fields_at(f, i));
	return p.len;
}

/* The end of the text that begins there; null: there is none. */
static const char *packed_text_end(const char *at, const char *end)
{
	const char *nul = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;

	return nul ? nul + 1 : NULL;
}

/* The end of the value that begins there; null: it is none. */
static const char *packed_value_end(const char *at, const char *end)
{
	unsigned char number;

	if (at == end || *at != PACKED_NUMBER)
		return packed_text_end(at, end);
	if (end - at < 2)
		return NULL;
	number = (unsigned char)at[1];
	if (number == PACKED_LITERAL)
		return packed_text_end(at + 2, end);
	return packed_value(number) ? at + 2 : NULL;
}

/* The end of the line that begins there; null: it is none. */
static const char *packed_line_end(const char *at, const char *end)
{
	unsigned char code = (unsigned char)*at++;
	unsigned i = code & ~(unsigned)(PACKED_LOWER | PACKED_TIME);

	if (i >= NNAMES || (!i && code))
		return NULL;
	if (code & PACKED_TIME)
		return end - at < TIME_BYTES ? NULL : at + TIME_BYTES;
	if (!code)
		at = packed_text_end(at, end);
	return at ? packed_value_end(at, end) : NULL;
}

bool packed_is_good(const char *bytes, size_t len)
{
	const char *end = bytes + len;

	while (bytes && bytes < end)
		bytes = packed_line_end(bytes, end);
	return bytes || !len;
}

static const char *packed_name_of(unsigned char code)
{
	unsigned i = code & ~(unsigned)(PACKED_LOWER | PACKED_TIME);

	return code & PACKED_LOWER ? names[i].lower : names[i].name;
}

/* The value that begins at *at, which moves behind it. */
static const char *packed_open_value(const char **at)
{
	const char *value = *at;

	if (*value == PACKED_NUMBER) {
		unsigned char number = (unsigned char)value[1];

		*at = value += 2;
		if (number != PACKED_LITERAL)
			return packed_value(number);
	}
	*at = value + strlen(value) + 1;
	return value;
}

/* Adds the line that begins at *at, which moves behind it. */
static int packed_open_line(const char **at, struct fields *f)
{
	unsigned char code = (unsigned char)*(*at)++;
	char text[HTTPDATE_LEN + 1];
	const char *name, *value;
	uint32_t time;

	if (code & PACKED_TIME) {
		memcpy(&time, *at, TIME_BYTES);
		*at += TIME_BYTES;
		httpdate_format(time, text);
		return fields_add(f, packed_name_of(code), text);
	}
	name = code ? packed_name_of(code) : *at;
	if (!code)
		*at += strlen(*at) + 1;
	value = packed_open_value(at);
	return fields_borrow(f, name, value);
}

bool packed_begins_with(const char *bytes, size_t len, const char *name)
{
	size_t size = strlen(name) + 1;

	return len > size && !bytes[0] && !memcmp(bytes + 1, name, size);
}

int packed_open(const char *bytes, size_t len, struct fields *f)
{
	const char *end = bytes + len;

	fields_init(f);
	while (bytes < end) {
		if (packed_open_line(&bytes, f)) {
			fields_free(f);
			return -ENOMEM;
		}
	}
	return 0;
}
