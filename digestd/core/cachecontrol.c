/*
 * Cache-Control: one row a directive, and where its value goes.
 */
#include "digestd/core/cachecontrol.h"

#include <stddef.h>
#include <string.h>

#include "digestd/core/fields.h"

enum kind {
	FLAG,       /* an argument is ignored */
	SECONDS,    /* an argument is needed; without, it is 0 */
	ANY_STALE,  /* max-stale: without an argument, any */
	NO_CACHE,   /* with an argument it is about fields only */
};

#define AT(member) offsetof(struct cachecontrol, member)

static const struct {
	const char *name;
	enum kind kind;
	size_t at; /* in struct cachecontrol */
} directives[] = {
	{ "max-age", SECONDS, AT(max_age) },
	{ "s-maxage", SECONDS, AT(s_maxage) },
	{ "max-stale", ANY_STALE, AT(max_stale) },
	{ "min-fresh", SECONDS, AT(min_fresh) },
	{ "stale-if-error", SECONDS, AT(stale_if_error) },
	{ "stale-while-revalidate", SECONDS, AT(stale_while_revalidate) },
	{ "no-cache", NO_CACHE, AT(no_cache) },
	{ "no-store", FLAG, AT(no_store) },
	{ "private", FLAG, AT(private) },
	{ "public", FLAG, AT(public) },
	{ "must-revalidate", FLAG, AT(must_revalidate) },
	{ "proxy-revalidate", FLAG, AT(proxy_revalidate) },
	{ "must-understand", FLAG, AT(must_understand) },
	{ "only-if-cached", FLAG, AT(only_if_cached) },
	{ "immutable", FLAG, AT(immutable) },
};

static void take_flag(struct cachecontrol *out, size_t at)
{
	bool set = true;

	memcpy((char *)out + at, &set, sizeof(set));
}

static void take_seconds(struct cachecontrol *out, size_t at, int64_t value)
{
	int64_t old;

	if (value < 0)
		value = 0; /* not a number: the safe side is stale */
	memcpy(&old, (char *)out + at, sizeof(old));
	if (old == CACHECONTROL_NONE || value < old)
		memcpy((char *)out + at, &value, sizeof(value));
}

/* Some senders quote their numbers; recipients take both forms. */
static struct field_part unquote(struct field_part s)
{
	if (s.len >= 2 && s.at[0] == '"' && s.at[s.len - 1] == '"') {
		s.at++;
		s.len -= 2;
	}
	return s;
}

void cachecontrol_init(struct cachecontrol *cc)
{
	*cc = (struct cachecontrol){
		.max_age = CACHECONTROL_NONE,
		.s_maxage = CACHECONTROL_NONE,
		.max_stale = CACHECONTROL_NONE,
		.min_fresh = CACHECONTROL_NONE,
		.stale_if_error = CACHECONTROL_NONE,
		.stale_while_revalidate = CACHECONTROL_NONE,
	};
}

enum { NDIRECTIVES = sizeof(directives) / sizeof(directives[0]) };

/* The row of a directive; NDIRECTIVES: not known. */
static size_t find(struct field_part name)
{
	size_t i = 0;

	while (i < NDIRECTIVES && !field_part_is(name, directives[i].name))
		i++;
	return i;
}

void cachecontrol_take(struct cachecontrol *cc, struct field_part name,
		       struct cachecontrol_argument argument)
{
	size_t i = find(name);
	size_t at;

	if (i == NDIRECTIVES)
		return;
	at = directives[i].at;
	switch (directives[i].kind) {
	case FLAG:
		take_flag(cc, at);
		return;
	case SECONDS:
		take_seconds(cc, at, argument.seconds);
		return;
	case ANY_STALE:
		take_seconds(cc, at,
			     argument.given ? argument.seconds : INT64_MAX);
		return;
	case NO_CACHE:
		take_flag(cc, argument.given ? AT(no_cache_fields) : at);
		return;
	}
}

void cachecontrol_forget(struct cachecontrol *cc, struct field_part name)
{
	static const int64_t none = CACHECONTROL_NONE;
	static const bool unset = false;
	size_t i = find(name);
	char *at;

	if (i == NDIRECTIVES)
		return;
	at = (char *)cc + directives[i].at;
	switch (directives[i].kind) {
	case SECONDS:
	case ANY_STALE:
		memcpy(at, &none, sizeof(none));
		return;
	case NO_CACHE:
		cc->no_cache_fields = false;
		memcpy(at, &unset, sizeof(unset));
		return;
	case FLAG:
		memcpy(at, &unset, sizeof(unset));
		return;
	}
}

static void take_element(struct cachecontrol *out, struct field_part element)
{
	struct field_part rest = element;
	struct field_part name = field_part_take(&rest, '=');
	bool given = element.len > name.len;
	struct field_part value = unquote(field_part_take(&rest, '\0'));

	cachecontrol_take(out, name, (struct cachecontrol_argument){
					     given, field_seconds(value) });
}

void cachecontrol_response(const struct fields *fields,
			   struct cachecontrol *out)
{
	struct field_part element;
	struct field_cursor cursor = { 0 };

	cachecontrol_init(out);
	while (fields_next(fields, "Cache-Control", &cursor, &element))
		take_element(out, element);
}

void cachecontrol_request(const struct fields *fields,
			  struct cachecontrol *out)
{
	cachecontrol_response(fields, out);
	if (!fields_get(fields, "Cache-Control") &&
	    fields_has_token(fields, "Pragma", "no-cache"))
		out->no_cache = true;
}
