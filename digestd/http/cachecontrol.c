/*
 * Cache-Control: one row a directive, and where its value goes.
 */
#include "digestd/http/cachecontrol.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "digestd/http/field_names.h"
#include "digestd/http/fields.h"

enum kind {
	FLAG,       /* an argument is ignored */
	SECONDS,    /* an argument is needed; without, it is 0 */
	ANY_STALE,  /* max-stale: without an argument, any */
	FIELDS,     /* with field names it is about these only */
};

#define AT(member) offsetof(struct cachecontrol, member)
#define NAME(text) text, sizeof(text) - 1

static const struct {
	const char *name;
	size_t len;
	enum kind kind;
	size_t at;        /* in struct cachecontrol */
	size_t at_fields; /* where it goes with field names */
} directives[] = {
	{ NAME("max-age"), SECONDS, AT(max_age), 0 },
	{ NAME("s-maxage"), SECONDS, AT(s_maxage), 0 },
	{ NAME("max-stale"), ANY_STALE, AT(max_stale), 0 },
	{ NAME("min-fresh"), SECONDS, AT(min_fresh), 0 },
	{ NAME("stale-if-error"), SECONDS, AT(stale_if_error), 0 },
	{ NAME("stale-while-revalidate"), SECONDS, AT(stale_while_revalidate),
	  0 },
	{ NAME("no-cache"), FIELDS, AT(no_cache), AT(no_cache_fields) },
	{ NAME("no-store"), FLAG, AT(no_store), 0 },
	{ NAME("private"), FIELDS, AT(private), AT(private_fields) },
	{ NAME("public"), FLAG, AT(public), 0 },
	{ NAME("must-revalidate"), FLAG, AT(must_revalidate), 0 },
	{ NAME("proxy-revalidate"), FLAG, AT(proxy_revalidate), 0 },
	{ NAME("must-understand"), FLAG, AT(must_understand), 0 },
	{ NAME("only-if-cached"), FLAG, AT(only_if_cached), 0 },
};

static void cachecontrol_take_flag(struct cachecontrol *out, size_t at)
{
	bool set = true;

	memcpy((char *)out + at, &set, sizeof(set));
}

static void cachecontrol_take_seconds(struct cachecontrol *out, size_t at,
				      int64_t value)
{
	int64_t old;

	if (value < 0)
		value = 0; /* not a number: the safe side is stale */
	memcpy(&old, (char *)out + at, sizeof(old));
	if (old == CACHECONTROL_NONE || value < old)
		memcpy((char *)out + at, &value, sizeof(value));
}

/* Some senders quote their numbers; recipients take both forms. */
static struct field_part cachecontrol_unquote(struct field_part s)
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
static size_t cachecontrol_find(struct field_part name)
{
	static const size_t shortest = sizeof("public") - 1;
	size_t i = 0;

	if (name.len < shortest)
		return NDIRECTIVES;
	while (i < NDIRECTIVES &&
	       (name.len != directives[i].len ||
		((*name.at ^ *directives[i].name) & ~0x20) ||
		!octets_same(name.at, directives[i].name, name.len)))
		i++;
	return i;
}

static void cachecontrol_take_row(struct cachecontrol *cc, size_t i,
				  struct cachecontrol_argument argument)
{
	const size_t at = directives[i].at;

	switch (directives[i].kind) {
	case FLAG:
		cachecontrol_take_flag(cc, at);
		return;
	case SECONDS:
		cachecontrol_take_seconds(cc, at, argument.seconds);
		return;
	case ANY_STALE:
		cachecontrol_take_seconds(
			cc, at, argument.given ? argument.seconds : INT64_MAX);
		return;
	case FIELDS:
		cachecontrol_take_flag(
			cc, argument.fields ? directives[i].at_fields : at);
		return;
	}
}

void cachecontrol_take(struct cachecontrol *cc, struct field_part name,
		       struct cachecontrol_argument argument)
{
	size_t i = cachecontrol_find(name);

	if (i != NDIRECTIVES)
		cachecontrol_take_row(cc, i, argument);
}

void cachecontrol_forget(struct cachecontrol *cc, struct field_part name)
{
	static const int64_t none = CACHECONTROL_NONE;
	static const bool unset = false;
	size_t i = cachecontrol_find(name);
	char *at;

	if (i == NDIRECTIVES)
		return;
	at = (char *)cc + directives[i].at;
	switch (directives[i].kind) {
	case SECONDS:
	case ANY_STALE:
		memcpy(at, &none, sizeof(none));
		return;
	case FIELDS:
		memcpy((char *)cc + directives[i].at_fields, &unset,
		       sizeof(unset));
		memcpy(at, &unset, sizeof(unset));
		return;
	case FLAG:
		memcpy(at, &unset, sizeof(unset));
		return;
	}
}

/* Whether a cache acts on a field, or nobody can read a response without it. */
static bool cachecontrol_needs(struct field_part name)
{
	static const char *const needed[] = {
		"Age", "Cache-Control", "CDN-Cache-Control", "Date", "ETag",
		"Expires", "Last-Modified", "Location", "Surrogate-Control",
		"Transfer-Encoding", "Vary",
	};
	static const char content[] = "Content-";

	if (name.len < sizeof("Age") - 1)
		return false;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (field_part_is(name, needed[i]))
			return true;
	}
	return name.len >= sizeof(content) - 1 &&
	       !strncasecmp(name.at, content, sizeof(content) - 1);
}

/* Whether an argument is a list of fields that can be left out. */
static bool cachecontrol_lists(struct field_part list)
{
	bool any = false;

	while (list.len) {
		struct field_part name = field_part_take(&list, ',');

		if (!name.len)
			continue;
		if (!field_is_token(name.at, name.len) ||
		    cachecontrol_needs(name))
			return false;
		any = true;
	}
	return any;
}

/* A directive's name and its argument, without quotes. */
static struct field_part cachecontrol_split_element(struct field_part element,
						    struct field_part *value)
{
	struct field_part name = field_part_take(&element, '=');

	*value = cachecontrol_unquote(field_part_trim(element));
	return name;
}

static void cachecontrol_take_element(struct cachecontrol *out,
				      struct field_part element)
{
	struct field_part value;
	struct field_part name = cachecontrol_split_element(element, &value);
	struct cachecontrol_argument argument;
	const size_t i = cachecontrol_find(name);

	if (i == NDIRECTIVES)
		return; /* saves a look at what it is worth */
	argument.given = element.len > name.len;
	argument.fields =
		directives[i].kind == FIELDS && cachecontrol_lists(value);
	argument.seconds = field_seconds(value);
	cachecontrol_take_row(out, i, argument);
}

/* Goes on to the next list of fields that can be left out; false: the end.
 * Where none of these directives is about all of the response, their lists have
 * been looked at when *cc was read. */
static bool cachecontrol_next_list(const struct cachecontrol *cc,
				   const struct fields *fields,
				   struct field_cursor *cursor,
				   struct field_part *list)
{
	bool read = !cc->no_cache && !cc->private;
	struct field_part element;

	while (fields_next(fields, "Cache-Control", cursor, &element)) {
		struct field_part directive =
			cachecontrol_split_element(element, list);

		if ((field_part_is(directive, "no-cache") ||
		     field_part_is(directive, "private")) &&
		    (read || cachecontrol_lists(*list)))
			return true;
	}
	return false;
}

bool cachecontrol_withholds(const struct cachecontrol *cc,
			    const struct fields *fields, const char *name)
{
	struct field_cursor cursor = { 0 };
	struct field_part list;

	while (cachecontrol_next_list(cc, fields, &cursor, &list)) {
		while (list.len) {
			if (field_part_is(field_part_take(&list, ','), name))
				return true;
		}
	}
	return false;
}

void cachecontrol_mark_withheld(const struct cachecontrol *cc,
				const struct fields *fields,
				struct field_names *names)
{
	struct field_cursor cursor = { 0 };
	struct field_part list;

	while (cachecontrol_next_list(cc, fields, &cursor, &list)) {
		while (list.len)
			field_names_mark(names, field_part_take(&list, ','));
	}
}

static void cachecontrol_take_line(struct cachecontrol *out,
				   const struct field *line)
{
	struct field_part rest = { line->value, line->value_len };

	while (rest.len) {
		struct field_part element = field_part_take(&rest, ',');

		if (element.len)
			cachecontrol_take_element(out, element);
	}
}

void cachecontrol_response(const struct fields *fields,
			   struct cachecontrol *out)
{
	cachecontrol_init(out);
	if (!fields_may_have(fields, "Cache-Control"))
		return;
	for (size_t i = 0; i < fields_count(fields); i++) {
		const struct field *line = fields_at(fields, i);

		if (field_is(line, "Cache-Control"))
			cachecontrol_take_line(out, line);
	}
}

void cachecontrol_request(const struct fields *fields,
			  struct cachecontrol *out)
{
	cachecontrol_response(fields, out);
	if (fields_may_have(fields, "Pragma") && /* only saves the calls */
	    !fields_get(fields, "Cache-Control") &&
	    fields_has_token(fields, "Pragma", "no-cache"))
		out->no_cache = true;
}
