/*
 * Cache-Status.
 */
#include "digestd/http/cachestatus.h"

#include <string.h>

#include "digestd/http/decimal.h"
#include "digestd/http/fields.h"

/* Names are at most 255 bytes by configuration; the rest is short. */
enum { MAX_MEMBER = 1024 };

struct member {
	char *at, *end;
};

/* As much as there is room for. Inline, as most texts are constants, of which
 * a copy is two moves. */
static inline void cachestatus_put_n(struct member *m, const char *text,
				     size_t len)
{
	const size_t room = (size_t)(m->end - m->at);

	if (len > room) {
		memcpy(m->at, text, room);
		m->at = m->end;
		return;
	}
	memcpy(m->at, text, len);
	m->at += len;
}

static inline void cachestatus_put(struct member *m, const char *text)
{
	cachestatus_put_n(m, text, strlen(text));
}

static void cachestatus_put_number(struct member *m, int64_t number)
{
	if (m->end - m->at >= DECIMAL_BYTES)
		m->at += decimal_write(number, m->at);
}

/* A quoted string of structured fields (RFC 9651, 3.3.3). */
static void cachestatus_put_string(struct member *m, const char *prefix,
				   const char *text)
{
	char one;

	cachestatus_put(m, "\"");
	cachestatus_put(m, prefix);
	for (; *text; text++) {
		one = *text < ' ' || *text > '~' ? '?' : *text;
		if (*text == '"' || *text == '\\')
			cachestatus_put(m, "\\");
		cachestatus_put_n(m, &one, 1);
	}
	cachestatus_put(m, "\"");
}

/* A name is a token of structured fields (RFC 9651, 3.3.4), or a string. */
static void cachestatus_put_name(struct member *m, const char *name)
{
	bool letter = (*name >= 'a' && *name <= 'z') ||
		      (*name >= 'A' && *name <= 'Z') || *name == '*';
	size_t len = strlen(name);

	if (letter && field_is_token(name, len))
		cachestatus_put_n(m, name, len);
	else
		cachestatus_put_string(m, "", name);
}

const char *cachestatus_fwd_text(enum cachestatus_fwd fwd)
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
	case CACHESTATUS_PARTIAL:
		return "partial";
	}
	return NULL;
}

/* The word for it; null for CACHESTATUS_USABLE_NO. */
static const char *cachestatus_usable_text(enum cachestatus_usable usable)
{
	switch (usable) {
	case CACHESTATUS_USABLE_NO:
		return NULL;
	case CACHESTATUS_USABLE_ON_DISCONNECT:
		return "on-disconnect";
	case CACHESTATUS_USABLE_ON_ERROR:
		return "on-error";
	}
	return NULL;
}

/* Hit or forwarded, and why; never both. */
static void cachestatus_put_fwd(struct member *m, const struct cachestatus *s)
{
	const char *fwd = cachestatus_fwd_text(s->fwd);

	if (s->how == CACHESTATUS_HIT)
		cachestatus_put(m, "; hit");
	if (s->how == CACHESTATUS_HIT || !fwd)
		return;
	cachestatus_put(m, "; fwd=");
	cachestatus_put(m, fwd);
}

int cachestatus_append(struct fields *f, const struct cachestatus *s)
{
	const char *usable = cachestatus_usable_text(s->usable);
	bool forwarded = s->how == CACHESTATUS_FORWARDED;
	char text[MAX_MEMBER];
	struct member m = { text, text + sizeof(text) - 1 };

	cachestatus_put_name(&m, s->node);
	cachestatus_put_fwd(&m, s);
	if (forwarded && s->fwd_status) {
		cachestatus_put(&m, "; fwd-status=");
		cachestatus_put_number(&m, s->fwd_status);
	}
	if (s->ttl_s != CACHESTATUS_NO_TTL) {
		cachestatus_put(&m, "; ttl=");
		cachestatus_put_number(&m, s->ttl_s);
	}
	if (s->how == CACHESTATUS_OWN && usable) {
		cachestatus_put(&m, "; usable=");
		cachestatus_put(&m, usable);
	}
	if (forwarded && s->stored)
		cachestatus_put(&m, "; stored");
	if (s->how == CACHESTATUS_COLLAPSED)
		cachestatus_put(&m, "; collapsed");
	if (s->peer || s->detail) {
		cachestatus_put(&m, "; detail=");
		cachestatus_put_string(&m, s->peer ? "peer=" : "",
				       s->peer ? s->peer : s->detail);
	}
	return fields_add_n(f, "Cache-Status", sizeof("Cache-Status") - 1,
			    text, (size_t)(m.at - text));
}

/* The reason that a parameter's value stands for. */
static enum cachestatus_fwd cachestatus_fwd_of(struct field_part value)
{
	enum cachestatus_fwd fwd = CACHESTATUS_PARTIAL;

	while (fwd != CACHESTATUS_NONE &&
	       !field_part_is(value, cachestatus_fwd_text(fwd)))
		fwd--;
	return fwd;
}

/* The value of a parameter of the last member; empty: it has none. */
static struct field_part cachestatus_nearest(const struct fields *f,
					     const char *parameter)
{
	struct field_part member = { "", 0 }, found = { "", 0 }, next;
	struct field_cursor cursor = { 0 };

	while (fields_next(f, "Cache-Status", &cursor, &next))
		member = next;
	field_part_take(&member, ';'); /* the cache's name */
	while (member.len) {
		struct field_part value = field_part_take(&member, ';');
		struct field_part name = field_part_take(&value, '=');

		/* of several, the last counts (RFC 9651, 4.2.3.2) */
		if (field_part_is(name, parameter))
			found = value;
	}
	return found;
}

enum cachestatus_fwd cachestatus_fwd_nearest(const struct fields *f)
{
	return cachestatus_fwd_of(cachestatus_nearest(f, "fwd"));
}

enum cachestatus_usable cachestatus_usable_nearest(const struct fields *f)
{
	const struct field_part value = cachestatus_nearest(f, "usable");
	enum cachestatus_usable usable = CACHESTATUS_USABLE_ON_ERROR;

	while (usable != CACHESTATUS_USABLE_NO &&
	       !field_part_is(value, cachestatus_usable_text(usable)))
		usable--;
	return usable;
}
