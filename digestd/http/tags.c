/*
 * Tags: three fields, three grammars, one comparison.
 */
#include "digestd/http/tags.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An order that is quick to tell, shorter ones first. */
static int tags_compare(const void *a, const void *b)
{
	const struct field_part *one = a, *other = b;

	if (one->len != other->len)
		return one->len < other->len ? -1 : 1;
	return memcmp(one->at, other->at, one->len);
}

static struct field_part tags_unquoted(struct field_part s)
{
	if (s.len >= 2 && s.at[0] == '"' && s.at[s.len - 1] == '"') {
		s.at++;
		s.len -= 2;
	}
	return s;
}

int tags_init(struct tags *t, const struct fields *request, const char *name)
{
	struct field_cursor cursor = { 0 };
	struct field_part tag;
	size_t room = 0;

	*t = (struct tags){ 0 };
	while (fields_next(request, name, &cursor, &tag))
		room++;
	if (!room)
		return 0;
	t->sorted = malloc(room * sizeof(*t->sorted));
	if (!t->sorted)
		return -ENOMEM;
	cursor = (struct field_cursor){ 0 };
	while (fields_next(request, name, &cursor, &tag)) {
		tag = tags_unquoted(tag);
		if (tag.len)
			t->sorted[t->count++] = tag;
	}
	qsort(t->sorted, t->count, sizeof(*t->sorted), tags_compare);
	return 0;
}

void tags_free(struct tags *t)
{
	free(t->sorted);
	*t = (struct tags){ 0 };
}

static bool tags_have(const struct tags *t, struct field_part tag)
{
	return t->count && bsearch(&tag, t->sorted, t->count,
				   sizeof(*t->sorted), tags_compare);
}

/* An element's parameters do not count. */
static bool tags_match_list(const struct tags *t, const struct fields *response,
			    const char *name)
{
	struct field_part element;
	struct field_cursor cursor = { 0 };

	while (fields_next(response, name, &cursor, &element)) {
		struct field_part tag = field_part_take(&element, ';');

		if (tags_have(t, tags_unquoted(tag)))
			return true;
	}
	return false;
}

static bool tags_match_words(const struct tags *t,
			     const struct fields *response)
{
	struct field_part element, word;
	struct field_cursor cursor = { 0 };

	while (fields_next(response, "Surrogate-Key", &cursor, &element)) {
		while (element.len) {
			word = field_part_take(&element, ' ');
			if (tags_have(t, word))
				return true;
		}
	}
	return false;
}

bool tags_match(const struct tags *t, const struct fields *response)
{
	return tags_match_list(t, response, "Cache-Tag") ||
	       tags_match_list(t, response, "Cache-Groups") ||
	       tags_match_words(t, response);
}
