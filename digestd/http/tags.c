/*
 * Tags: three fields, two grammars.
 */
#include "digestd/http/tags.h"

#include <string.h>

static const struct {
	const char *name;
	bool words; /* an element is a list of words; else it has parameters */
} tags_fields[] = {
	{"Cache-Tag", false},
	{"Cache-Groups", false},
	{"Surrogate-Key", true},
	{":source", false},
	{":from", false},
};

const char tags_source_field[] = ":source";
const char tags_from_field[] = ":from";

enum { TAGS_FIELDS = sizeof(tags_fields) / sizeof(tags_fields[0]) };

static struct field_part tags_unquoted(struct field_part s)
{
	if (s.len >= 2 && s.at[0] == '"' && s.at[s.len - 1] == '"') {
		s.at++;
		s.len -= 2;
	}
	return s;
}

/* The next element that may have tags. */
static bool tags_next_element(const struct fields *response,
			      struct tags_cursor *c)
{
	for (; c->field < TAGS_FIELDS; c->field++) {
		if (fields_next(response, tags_fields[c->field].name,
				&c->elements, &c->words))
			return true;
		c->elements = (struct field_cursor){0};
	}
	return false;
}

bool tags_next(const struct fields *response, struct tags_cursor *cursor,
	       struct field_part *tag)
{
	do {
		if (!cursor->words.len && !tags_next_element(response, cursor))
			return false;
		if (tags_fields[cursor->field].words) {
			*tag = field_part_take(&cursor->words, ' ');
		} else {
			*tag = tags_unquoted(
				field_part_take(&cursor->words, ';'));
			cursor->words.len = 0; /* parameters do not count */
		}
	} while (!tag->len);
	return true;
}

bool tags_next_purged(const struct fields *request, struct field_cursor *cursor,
		      struct field_part *tag)
{
	while (fields_next(request, "Purge-Tag", cursor, tag)) {
		*tag = tags_unquoted(*tag);
		if (tag->len)
			return true;
	}
	return false;
}

void tags_source(const char *name, char out[TAGS_SOURCE_BYTES])
{
	size_t n = 0;

	out[n++] = ':';
	for (; *name && n < TAGS_SOURCE_BYTES - 1; name++)
		out[n++] = *name > ' ' && *name < 127 && !strchr(",;\"", *name)
				   ? *name : '_';
	out[n] = '\0';
}
