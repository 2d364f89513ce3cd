/*
 * Selecting fields: kept as one normalised line a name.
 */
#include "digestd/http/vary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/fields.h"

/* Bytes that all lines of a name need as one: each element has a byte at least,
 * and may get two. */
static size_t vary_room(const struct fields *f, const char *name)
{
	size_t room = 1;

	for (size_t i = 0; i < fields_count(f); i++) {
		const struct field *line = fields_at(f, i);

		if (field_name_is(line->name, name))
			room += 2 * (size_t)line->value_len + 2;
	}
	return room;
}

/* Appends the elements of a line to those before, which begin at `text`, joined
 * by a comma and a blank. Returns the new end. */
static char *vary_append(const char *text, char *at, const char *line)
{
	struct field_part rest = { line, strlen(line) };

	while (rest.len) {
		struct field_part element = field_part_take(&rest, ',');

		if (element.len && at > text) {
			*at++ = ',';
			*at++ = ' ';
		}
		for (size_t i = 0; i < element.len; i++)
			at[i] = element.at[i];
		at += element.len;
	}
	return at;
}

/* All lines of a name as one. To be freed; null without memory. */
static char *vary_combine(const struct fields *f, const char *name)
{
	char *text = malloc(vary_room(f, name));
	char *at = text;

	if (!text)
		return NULL;
	for (size_t i = 0; i < fields_count(f); i++) {
		const struct field *line = fields_at(f, i);

		if (field_name_is(line->name, name))
			at = vary_append(text, at, line->value);
	}
	*at = '\0';
	return text;
}

/* A name that stands in Vary twice selects once. */
static int vary_select_one(const struct fields *request, struct field_part name,
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
		err = vary_select_one(request, name, selecting);
	if (err)
		fields_free(selecting);
	return err;
}

/* Names of languages, codings and character sets, whose case means nothing. */
static bool vary_is_caseless(const char *name)
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

static bool vary_same_byte(char a, char b, bool caseless)
{
	char lower = (char)(a | 0x20);

	return a == b || (caseless && lower == (char)(b | 0x20) &&
			  lower >= 'a' && lower <= 'z');
}

/*
 * Where a combined text goes on behind the elements of a line, of which it has
 * those before *at already; null: it has others. Bytes are compared here, as a
 * call for each of thousands of short elements costs more than they do.
 */
static const char *vary_follow(const char *text, const char *at,
			       const char *line, bool caseless)
{
	struct field_part rest = { line, strlen(line) };

	while (rest.len) {
		struct field_part element = field_part_take(&rest, ',');

		if (element.len && at > text) {
			if (at[0] != ',' || at[1] != ' ')
				return NULL;
			at += 2;
		}
		for (size_t i = 0; i < element.len; i++, at++) {
			if (!vary_same_byte(*at, element.at[i], caseless))
				return NULL;
		}
	}
	return at;
}

/* The same as vary_combine() would make, compared without making it. */
static bool vary_same(const struct field *wanted, const struct fields *request)
{
	bool caseless = vary_is_caseless(wanted->name);
	const char *at = wanted->value;

	for (size_t i = 0; at && i < fields_count(request); i++) {
		const struct field *line = fields_at(request, i);

		if (field_name_is(line->name, wanted->name))
			at = vary_follow(wanted->value, at, line->value,
					 caseless);
	}
	return at && !*at;
}

bool vary_match(const struct fields *selecting, const struct fields *request)
{
	for (size_t i = 0; i < fields_count(selecting); i++) {
		if (!vary_same(fields_at(selecting, i), request))
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
