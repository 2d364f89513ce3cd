/*
 * Tags: three fields, three grammars, one comparison.
 */
#include "digestd/core/tags.h"

#include <string.h>

#include "digestd/core/fields.h"

static bool same(struct field_part a, struct field_part b)
{
	return a.len == b.len && !memcmp(a.at, b.at, a.len);
}

static struct field_part unquoted(struct field_part s)
{
	if (s.len >= 2 && s.at[0] == '"' && s.at[s.len - 1] == '"') {
		s.at++;
		s.len -= 2;
	}
	return s;
}

/* Whether an element of a list is the tag; its parameters do not count. */
static bool in_list(const struct fields *response, const char *name,
		    struct field_part tag)
{
	struct field_part element;
	struct field_cursor cursor = { 0 };

	while (fields_next(response, name, &cursor, &element)) {
		if (same(unquoted(field_part_take(&element, ';')), tag))
			return true;
	}
	return false;
}

static bool in_words(const struct fields *response, struct field_part tag)
{
	struct field_part element, word;
	struct field_cursor cursor = { 0 };

	while (fields_next(response, "Surrogate-Key", &cursor, &element)) {
		while (element.len) {
			word = field_part_take(&element, ' ');
			if (word.len && same(word, tag))
				return true;
		}
	}
	return false;
}

bool tags_match(const struct fields *response, const struct fields *request,
		const char *name)
{
	struct field_part tag;
	struct field_cursor cursor = { 0 };

	while (fields_next(request, name, &cursor, &tag)) {
		tag = unquoted(tag);
		if (tag.len && (in_list(response, "Cache-Tag", tag) ||
				in_list(response, "Cache-Groups", tag) ||
				in_words(response, tag)))
			return true;
	}
	return false;
}
