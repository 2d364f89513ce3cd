/*
 * Selecting fields: kept as one normalised line a name.
 */
#include "digestd/core/vary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/core/fields.h"

/* A string that grows; on -ENOMEM it stays as it was. */
struct text {
	char *at;
	size_t len;
};

static int append(struct text *t, const char *bytes, size_t len)
{
	char *at = realloc(t->at, t->len + len + 1);

	if (!at)
		return -ENOMEM;
	memcpy(at + t->len, bytes, len);
	t->at = at;
	t->len += len;
	at[t->len] = '\0';
	return 0;
}

/* All lines of a name as one: its elements, joined by a comma and a blank. */
static int combined(const struct fields *f, const char *name, struct text *t)
{
	struct field_part element;
	struct field_cursor cursor = { 0 };

	*t = (struct text){ 0 };
	if (append(t, "", 0))
		return -ENOMEM;
	while (fields_next(f, name, &cursor, &element)) {
		if ((t->len && append(t, ", ", 2)) ||
		    append(t, element.at, element.len)) {
			free(t->at);
			return -ENOMEM;
		}
	}
	return 0;
}

static int select_one(const struct fields *request, struct field_part name,
		      struct fields *selecting)
{
	char *copy = strndup(name.at, name.len);
	struct text value;
	int err = -ENOMEM;

	if (copy && !combined(request, copy, &value)) {
		err = fields_add(selecting, copy, value.at);
		free(value.at);
	}
	free(copy);
	return err;
}

int vary_select(const struct fields *request, const struct fields *response,
		struct fields *selecting)
{
	struct field_part name;
	struct field_cursor cursor = { 0 };

	fields_init(selecting);
	while (fields_next(response, "Vary", &cursor, &name)) {
		if (select_one(request, name, selecting)) {
			fields_free(selecting);
			return -ENOMEM;
		}
	}
	return 0;
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
	return fields_has_token(response, "Vary", "*");
}
