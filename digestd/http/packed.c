/*
 * Packed header fields.
 */
#include "digestd/http/packed.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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

#define NAME(name, lower) { name, lower, sizeof(name) - 1 }

/* clang-format off */
static const struct {
	const char *name, *lower;
	size_t len;
} names[] = { /* ascending; see packed_first, too */
	NAME("", ""), /* 0: not of these */
	NAME("Accept-Ranges", "accept-ranges"),
	NAME("Access-Control-Allow-Credentials", "access-control-allow-credentials"),
	NAME("Access-Control-Allow-Headers", "access-control-allow-headers"),
	NAME("Access-Control-Allow-Methods", "access-control-allow-methods"),
	NAME("Access-Control-Allow-Origin", "access-control-allow-origin"),
	NAME("Access-Control-Expose-Headers", "access-control-expose-headers"),
	NAME("Age", "age"),
	NAME("Allow", "allow"),
	NAME("Alt-Svc", "alt-svc"),
	NAME("Cache-Control", "cache-control"),
	NAME("Cache-Status", "cache-status"),
	NAME("Cache-Tag", "cache-tag"),
	NAME("CDN-Cache-Control", "cdn-cache-control"),
	NAME("Content-Disposition", "content-disposition"),
	NAME("Content-Encoding", "content-encoding"),
	NAME("Content-Language", "content-language"),
	NAME("Content-Length", "content-length"),
	NAME("Content-Location", "content-location"),
	NAME("Content-Security-Policy", "content-security-policy"),
	NAME("Content-Type", "content-type"),
	NAME("Cross-Origin-Opener-Policy", "cross-origin-opener-policy"),
	NAME("Cross-Origin-Resource-Policy", "cross-origin-resource-policy"),
	NAME("Date", "date"),
	NAME("ETag", "etag"),
	NAME("Expires", "expires"),
	NAME("Last-Modified", "last-modified"),
	NAME("Link", "link"),
	NAME("Location", "location"),
	NAME("NEL", "nel"),
	NAME("P3P", "p3p"),
	NAME("Permissions-Policy", "permissions-policy"),
	NAME("Pragma", "pragma"),
	NAME("Referrer-Policy", "referrer-policy"),
	NAME("Report-To", "report-to"),
	NAME("Server", "server"),
	NAME("Server-Timing", "server-timing"),
	NAME("Set-Cookie", "set-cookie"),
	NAME("Strict-Transport-Security", "strict-transport-security"),
	NAME("Surrogate-Key", "surrogate-key"),
	NAME("Timing-Allow-Origin", "timing-allow-origin"),
	NAME("Vary", "vary"),
	NAME("Via", "via"),
	NAME("X-Cache", "x-cache"),
	NAME("X-Content-Type-Options", "x-content-type-options"),
	NAME("X-Frame-Options", "x-frame-options"),
	NAME("X-Powered-By", "x-powered-by"),
	NAME("X-Request-Id", "x-request-id"),
	NAME("X-XSS-Protection", "x-xss-protection"),
};
/* clang-format on */

enum { NNAMES = sizeof(names) / sizeof(names[0]) };

_Static_assert(NNAMES <= 64, "a name's number is 6 bits");

/* The first name of each letter, "a" being 1, or of the next that has any:
 * those of a letter are at most thirteen, of which hardly two have one
 * length. */
static const unsigned char packed_first[] = {
	1,  1,  10, 10, 23, 24, 26, 26, 26, 26, 26, 26, 26, 29, 29, 30, 30,
	33, 33, 35, 40, 41, 41, 43, 43, 49, 49, 49, 49, 49, 49, 49, 49,
};

_Static_assert(sizeof(packed_first) == 33, "one for all of 5 bits, and an end");

/* The byte for a name as it is spelt; 0: it has none. */
static unsigned char packed_code_of(const char *name, size_t len)
{
	const unsigned letter = *name & 31;
	const unsigned end = packed_first[letter + 1];

	for (unsigned i = packed_first[letter]; i < end; i++) {
		if (names[i].len != len)
			continue;
		if (!memcmp(name, names[i].name, len))
			return (unsigned char)i;
		if (!memcmp(name, names[i].lower, len))
			return (unsigned char)(i | PACKED_LOWER);
	}
	return 0;
}

/* Whether a value is a date as it would be written, until 2106. */
static bool packed_is_time(const char *value, uint32_t *out)
{
	int64_t s;

	if (*value < 'A' || *value > 'Z' || /* only saves the call */
	    !httpdate_parse_exact(value, &s) || s > UINT32_MAX)
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
	if (p->len < p->cap)
		p->to[p->len] = (char)byte;
	p->len++;
}

/* With the NUL behind it. */
static void packed_put_text(struct packing *p, const char *text, size_t len)
{
	packed_put(p, text, len + 1);
}

static void packed_put_value(struct packing *p, const struct field *line)
{
	unsigned number = packed_value_number(line->value,
					      line->value_len);

	if (number || *line->value == PACKED_NUMBER) {
		packed_put_byte(p, PACKED_NUMBER);
		packed_put_byte(p, (unsigned char)(number ? number :
							    PACKED_LITERAL));
	}
	if (!number)
		packed_put_text(p, line->value, line->value_len);
}

static void packed_put_line(struct packing *p, const struct field *line)
{
	unsigned char code = packed_code_of(line->name, line->name_len);
	uint32_t time;

	if (code && packed_is_time(line->value, &time)) {
		packed_put_byte(p, code | PACKED_TIME);
		packed_put(p, &time, TIME_BYTES);
		return;
	}
	packed_put_byte(p, code);
	if (!code)
		packed_put_text(p, line->name, line->name_len);
	packed_put_value(p, line);
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

/* The value that begins at *at, which moves behind it. */
static struct field_part packed_open_value(const char **at)
{
	struct field_part value = { *at, 0 };

	if (*value.at == PACKED_NUMBER) {
		unsigned char number = (unsigned char)value.at[1];

		*at = value.at += 2;
		if (number != PACKED_LITERAL) {
			value.at = packed_value(number);
			value.len = strlen(value.at);
			return value;
		}
	}
	value.len = strlen(value.at);
	*at = value.at + value.len + 1;
	return value;
}

/* The name, whose code was just before *at. */
static struct field_part packed_open_name(unsigned char code, const char **at)
{
	const unsigned i = code & ~(unsigned)(PACKED_LOWER | PACKED_TIME);
	struct field_part name;

	if (code) {
		name.at = code & PACKED_LOWER ? names[i].lower : names[i].name;
		name.len = names[i].len;
		return name;
	}
	name.at = *at;
	name.len = strlen(name.at);
	*at += name.len + 1;
	return name;
}

void packed_next(const char **at, struct packed_line *line)
{
	unsigned char code = (unsigned char)*(*at)++;
	uint32_t time;

	line->name = packed_open_name(code, at);
	if (!(code & PACKED_TIME)) {
		line->value = packed_open_value(at);
		return;
	}
	memcpy(&time, *at, TIME_BYTES);
	*at += TIME_BYTES;
	httpdate_format(time, line->date);
	line->value = (struct field_part){ line->date, HTTPDATE_LEN };
}

/* A date is copied. */
static int packed_add_line(struct fields *f, const struct packed_line *line)
{
	const struct field_part *name = &line->name, *value = &line->value;

	return value->at == line->date ?
		       fields_add_n(f, name->at, name->len, value->at,
				    value->len) :
		       fields_borrow_n(f, name->at, name->len, value->at,
				       value->len);
}

bool packed_begins_with(const char *bytes, size_t len, const char *name)
{
	size_t size = strlen(name) + 1;

	return len > size && !bytes[0] && !memcmp(bytes + 1, name, size);
}

int packed_open(const char *bytes, size_t len, struct fields *f)
{
	const char *end = bytes + len;
	struct packed_line line;

	fields_init(f);
	while (bytes < end) {
		packed_next(&bytes, &line);
		if (packed_add_line(f, &line)) {
			fields_free(f);
			return -ENOMEM;
		}
	}
	return 0;
}
