/*
 * Selecting fields: kept as one normalised line a name.
 */
#include "digestd/core/vary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/core/fields.h"

/*
 * All lines of a name as one: its elements, joined by a comma and a blank. To
 * be freed; null without memory.
 */
static char *vary_combine(const struct fields *f, const char *name)
{
	struct field_cursor cursor = { 0 };
	struct field_part element;
	size_t room = 1;
	char *text, *at;

	while (fields_next(f, name, &cursor, &element))
		room += element.len + 2;
	text = malloc(room);
	if (!text)
		return NULL;
	at = text;
	cursor = (struct field_cursor){ 0 };
	while (fields_next(f, name, &cursor, &element)) {
		if (at > text) {
			memcpy(at, ", ", 2);
			at += 2;
		}
		memcpy(at, element.at, element.len);
		at += element.len;
	}
	*at = '\0';
	return text;
}

/* A name that stands in Vary twice selects once. */
static int select_one(const struct fields *request, struct field_part name,
		      struct fields *selecting)
{
	char *copy = strndup(name.at, name.len);
	char *value = NULL;
	int err = copy ? 0 : -ENOMEM;

	if (!err && !fields_get(selecting, copy)) {
		value = vary_combine(request, copy);
		err = value ? fields_add(selecting, copy, value) : -ENOMEM;
	}
	free(value);
	free(copy);
	return err;
}

int vary_select(const struct fields *request, const struct fields *response,
		struct fields *selecting)
{
	struct field_part name;
	struct field_cursor cursor = { 0 };
	int err = vary_any(response) ? -EINVAL : 0;

	fields_init(selecting);
	while (!err && fields_next(response, "Vary", &cursor, &name))
		err = select_one(request, name, selecting);
	if (err)
		fields_free(selecting);
	return err;
}

/* Names of languages, codings and character sets, whose case means nothing. */
static bool is_caseless(const char *name)
{
	static const char *const names[] = {
		"Accept-Language", "Accept-Encoding", "Accept-Charset",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (field_name_is(name, names[i]))
			return true;
	}
	return false;
}

/* The same as combined() would make, compared without making it. */
static bool same_list(const struct field *wanted, const struct fields *request)
{
	int (*differ)(const char *, const char *, size_t) =
		is_caseless(wanted->name) ? strncasecmp : strncmp;
	const char *rest = wanted->value;
	struct field_part theirs;
	struct field_cursor cursor = { 0 };

	while (fields_next(request, wanted->name, &cursor, &theirs)) {
		if (rest != wanted->value) {
			if (strncmp(rest, ", ", 2))
				return false;
			rest += 2;
		}
		if (differ(rest, theirs.at, theirs.len))
			return false;
		rest += theirs.len;
	}
	return !*rest;
}

bool vary_match(const struct fields *selecting, const struct fields *request)
{
	for (size_t i = 0; i < fields_count(selecting); i++) {
		if (!same_list(fields_at(selecting, i), request))
			return false;
	}
	return true;
}

bool vary_any(const struct fields *response)
{
	struct field_cursor cursor = { 0 };
	struct field_part name;
	unsigned n = 0;

	while (fields_next(response, "Vary", &cursor, &name)) {
		if (++n > VARY_MAX_NAMES || field_part_is(name, "*"))
			return true;
	}
	return false;
}
