/*
 * Cache-Status.
 */
#include "digestd/core/cachestatus.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "digestd/core/fields.h"

/* Names are at most 255 bytes by configuration; the rest is short. */
enum { MAX_MEMBER = 1024 };

struct member {
	char text[MAX_MEMBER];
	size_t len;
};

__attribute__((format(printf, 2, 3))) static void put(struct member *m,
						      const char *format, ...)
{
	size_t room = sizeof(m->text) - m->len;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(m->text + m->len, room, format, args);
	va_end(args);
	if (n > 0)
		m->len += (size_t)n < room ? (size_t)n : room - 1;
}

/* A quoted string of structured fields (RFC 9651, 3.3.3). */
static void put_string(struct member *m, const char *prefix, const char *text)
{
	put(m, "\"%s", prefix);
	for (; *text; text++) {
		if (*text < ' ' || *text > '~')
			put(m, "?");
		else
			put(m, "%s%c", strchr("\"\\", *text) ? "\\" : "",
			    *text);
	}
	put(m, "\"");
}

/* A name is a token of structured fields (RFC 9651, 3.3.4), or a string. */
static void put_name(struct member *m, const char *name)
{
	bool letter = (*name >= 'a' && *name <= 'z') ||
		      (*name >= 'A' && *name <= 'Z') || *name == '*';

	if (letter && field_is_token(name, strlen(name)))
		put(m, "%s", name);
	else
		put_string(m, "", name);
}

static const char *fwd_text(enum cachestatus_fwd fwd)
{
	switch (fwd) {
	case CACHESTATUS_NONE:
		return NULL;
	case CACHESTATUS_BYPASS:
		return "bypass";
	case CACHESTATUS_METHOD:
		return "method";
	case CACHESTATUS_URI_MISS:
		return "uri-miss";
	case CACHESTATUS_VARY_MISS:
		return "vary-miss";
	case CACHESTATUS_REQUEST:
		return "request";
	case CACHESTATUS_STALE:
		return "stale";
	}
	return NULL;
}

int cachestatus_append(struct fields *f, const struct cachestatus *s)
{
	const char *fwd = fwd_text(s->fwd);
	struct member m = { .len = 0 };

	put_name(&m, s->node);
	if (fwd)
		put(&m, "; fwd=%s", fwd);
	else
		put(&m, "; hit");
	if (s->fwd_status)
		put(&m, "; fwd-status=%u", s->fwd_status);
	if (s->ttl_s != CACHESTATUS_NO_TTL)
		put(&m, "; ttl=%" PRId64, s->ttl_s);
	if (s->stored)
		put(&m, "; stored");
	if (s->collapsed)
		put(&m, "; collapsed");
	if (s->peer || s->detail) {
		put(&m, "; detail=");
		put_string(&m, s->peer ? "peer=" : "",
			   s->peer ? s->peer : s->detail);
	}
	return fields_add(f, "Cache-Status", m.text);
}

/* The reason that a parameter's value stands for. */
static enum cachestatus_fwd fwd_of(struct field_part value)
{
	enum cachestatus_fwd fwd = CACHESTATUS_STALE;

	while (fwd != CACHESTATUS_NONE && !field_part_is(value, fwd_text(fwd)))
		fwd--;
	return fwd;
}

enum cachestatus_fwd cachestatus_fwd_nearest(const struct fields *f)
{
	enum cachestatus_fwd fwd = CACHESTATUS_NONE;
	struct field_part member = { "", 0 }, next;
	struct field_cursor cursor = { 0 };

	while (fields_next(f, "Cache-Status", &cursor, &next))
		member = next;
	field_part_take(&member, ';'); /* the cache's name */
	while (member.len) {
		struct field_part value = field_part_take(&member, ';');
		struct field_part name = field_part_take(&value, '=');

		/* of several, the last counts (RFC 9651, 4.2.3.2) */
		if (field_part_is(name, "fwd"))
			fwd = fwd_of(value);
	}
	return fwd;
}
