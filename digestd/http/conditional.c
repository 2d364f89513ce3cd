/*
 * Conditional requests.
 */
#include "digestd/http/conditional.h"

#include <errno.h>
#include <string.h>

#include "digestd/http/field_names.h"
#include "digestd/http/fields.h"
#include "digestd/http/httpdate.h"

#define CONDITIONAL_FIELDS(X)    \
	X("If-Match")            \
	X("If-None-Match")       \
	X("If-Modified-Since")   \
	X("If-Unmodified-Since") \
	X("If-Range")

#define X(name) name,
static const char *const preconditions[] = { CONDITIONAL_FIELDS(X) };
#undef X

enum { NPRECONDITIONS = sizeof(preconditions) / sizeof(preconditions[0]) };

/* The opaque part of an entity tag: W/"x" and "x" are weakly equal. */
static struct field_part conditional_opaque(struct field_part tag)
{
	if (tag.len > 2 && tag.at[0] == 'W' && tag.at[1] == '/') {
		tag.at += 2;
		tag.len -= 2;
	}
	return tag;
}

static bool conditional_same_tag(struct field_part a, struct field_part b)
{
	a = conditional_opaque(a);
	b = conditional_opaque(b);
	return a.len == b.len && !memcmp(a.at, b.at, a.len);
}

static struct field_part conditional_part_of(const char *text)
{
	return (struct field_part){ text, strlen(text) };
}

static bool conditional_none_match(const struct fields *request,
				   const struct fields *stored)
{
	const char *tag = fields_get(stored, "ETag");
	struct field_part element;
	struct field_cursor cursor = { 0 };

	while (fields_next(request, "If-None-Match", &cursor, &element)) {
		if (field_part_is(element, "*") ||
		    (tag &&
		     conditional_same_tag(element, conditional_part_of(tag))))
			return false;
	}
	return true;
}

static bool conditional_date_of(const struct fields *f, const char *name,
				int64_t now_s, int64_t *out_s)
{
	const char *value = fields_get(f, name);

	return value && httpdate_parse(value, now_s, out_s);
}

bool conditional_not_modified(const struct fields *request,
			      const struct fields *stored, int64_t now_s)
{
	int64_t since_s, modified_s;

	if (fields_get(request, "If-None-Match"))
		return !conditional_none_match(request, stored);
	if (!conditional_date_of(request, "If-Modified-Since", now_s, &since_s))
		return false;
	if (!conditional_date_of(stored, "Last-Modified", now_s, &modified_s) &&
	    !conditional_date_of(stored, "Date", now_s, &modified_s))
		return false;
	return modified_s <= since_s;
}

bool conditional_present(const struct fields *request)
{
	/* not a loop, as the bits of names are constants then */
#define X(name)                            \
	if (fields_get(request, (name)))   \
		return true;
	CONDITIONAL_FIELDS(X)
#undef X
	return false;
}

bool conditional_has_validator(const struct fields *stored)
{
	return fields_get(stored, "ETag") ||
	       fields_get(stored, "Last-Modified");
}

int conditional_validate(const struct fields *stored, struct fields *request)
{
	const char *tag = fields_get(stored, "ETag");
	const char *modified = fields_get(stored, "Last-Modified");

	for (size_t i = 0; i < NPRECONDITIONS; i++)
		fields_remove(request, preconditions[i]);
	if (tag && fields_add(request, "If-None-Match", tag))
		return -ENOMEM;
	if (modified && fields_add(request, "If-Modified-Since", modified))
		return -ENOMEM;
	return 0;
}

bool conditional_describes(const struct fields *header,
			   const struct fields *stored)
{
	const char *tag = fields_get(header, "ETag");
	const char *old_tag = fields_get(stored, "ETag");
	const char *len = fields_get(header, "Content-Length");
	const char *old_len = fields_get(stored, "Content-Length");

	return tag && old_tag && *tag == '"' && !strcmp(tag, old_tag) &&
	       (!len || !old_len || !strcmp(len, old_len));
}

bool conditional_confirms(const struct fields *not_modified,
			  const struct fields *stored)
{
	const char *tag = fields_get(not_modified, "ETag");
	const char *old_tag = fields_get(stored, "ETag");
	const char *modified = fields_get(not_modified, "Last-Modified");
	const char *old_modified = fields_get(stored, "Last-Modified");

	if (tag && !old_tag)
		return false;
	if (tag && conditional_same_tag(conditional_part_of(tag),
					conditional_part_of(old_tag)))
		return true;
	if (modified && old_modified)
		return !strcmp(modified, old_modified);
	return true; /* without a validator of its own it answers ours */
}

/* What describes the body that is stored, and so cannot change under it. */
static bool conditional_stays(const char *name)
{
	static const char *const names[] = {
		"Content-Length", "Content-Encoding", "Content-MD5",
		"Content-Range",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (field_name_is(name, names[i]))
			return true;
	}
	return field_is_hop_by_hop(name, strlen(name));
}

/* A 304, and what it is about. */
struct confirmation {
	const struct fields *not_modified;
	bool has_tag; /* what is stored, already */
};

/* Whether a field of a 304 takes the place of the stored one. */
static bool conditional_takes_over(const struct confirmation *c,
				   const char *name)
{
	if (field_name_is(name, "ETag"))
		return !c->has_tag;
	return !conditional_stays(name);
}

static void conditional_mark_replaced(struct field_names *names,
				      const void *arg)
{
	const struct confirmation *c = arg;

	for (size_t i = 0; i < fields_count(c->not_modified); i++) {
		const char *name = fields_at(c->not_modified, i)->name;

		if (conditional_takes_over(c, name))
			field_names_mark(names, conditional_part_of(name));
	}
}

int conditional_update(const struct fields *not_modified,
		       struct fields *stored)
{
	const struct confirmation c = { not_modified,
					fields_get(stored, "ETag") };
	const struct field_names_wanted replaced = {conditional_mark_replaced,
						    &c};
	struct fields updated;

	if (fields_copy(stored, &updated))
		return -ENOMEM;
	/* An Age from before the validation is not the new response's. */
	fields_remove(&updated, "Age");
	field_names_remove(&updated, &replaced);
	for (size_t i = 0; i < fields_count(not_modified); i++) {
		const struct field *line = fields_at(not_modified, i);

		if (!conditional_takes_over(&c, line->name))
			continue;
		if (fields_add(&updated, line->name, line->value)) {
			fields_free(&updated);
			return -ENOMEM;
		}
	}
	fields_free(stored);
	*stored = updated;
	return 0;
}

int conditional_304_fields(const struct fields *stored, struct fields *out)
{
	static const char *const names[] = {
		"Age", "Cache-Control", "Cache-Status", "CDN-Cache-Control",
		"Content-Location", "Date", "ETag", "Expires",
		"Last-Modified", "Vary", "Via",
	};

	fields_init(out);
	for (size_t i = 0; i < fields_count(stored); i++) {
		const struct field *line = fields_at(stored, i);

		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
			if (!field_name_is(line->name, names[n]))
				continue;
			if (fields_add(out, line->name, line->value)) {
				fields_free(out);
				return -ENOMEM;
			}
		}
	}
	return 0;
}

void conditional_keep_freshness(struct fields *not_modified)
{
	static const char *const names[] = {
		"Age", "Cache-Control", "CDN-Cache-Control", "Date", "ETag",
		"Expires", "Last-Modified",
	};
	size_t i = 0;

	while (i < fields_count(not_modified)) {
		const char *name = fields_at(not_modified, i)->name;
		bool kept = false;

		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
			kept |= field_name_is(name, names[n]);
		if (kept)
			i++;
		else
			fields_remove(not_modified, name);
	}
}
