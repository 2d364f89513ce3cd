/*
 * Ranges: one "first-last", "first-" or "-suffix" of bytes.
 */
#include "digestd/http/range.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "digestd/http/fields.h"

/* Takes digits from the front; what is too large is SIZE_MAX. */
static bool range_take_number(struct field_part *s, size_t *out)
{
	size_t n = 0, digits = 0;

	for (; digits < s->len; digits++) {
		char c = s->at[digits];

		if (c < '0' || c > '9')
			break;
		n = n > (SIZE_MAX - 9) / 10 ? SIZE_MAX
					    : n * 10 + (size_t)(c - '0');
	}
	s->at += digits;
	s->len -= digits;
	*out = n;
	return digits > 0;
}

static bool range_take(struct field_part *s, char c)
{
	if (!s->len || s->at[0] != c)
		return false;
	s->at++;
	s->len--;
	return true;
}

static enum range_answer range_suffix(size_t wanted, size_t len,
				      struct range *part)
{
	if (!wanted || !len)
		return RANGE_UNSATISFIABLE;
	part->len = wanted < len ? wanted : len;
	part->first = len - part->len;
	return RANGE_PART;
}

static enum range_answer range_from_to(size_t first, size_t last, size_t len,
				       struct range *part)
{
	if (first >= len)
		return RANGE_UNSATISFIABLE;
	part->first = first;
	part->len = (last < len ? last + 1 : len) - first;
	return RANGE_PART;
}

/* Reads what follows "bytes=". */
static bool range_read_spec(struct field_part spec, struct range_wanted *out)
{
	bool has_first = range_take_number(&spec, &out->first);

	if (!range_take(&spec, '-'))
		return false;
	out->suffix = !has_first;
	if (!range_take_number(&spec, &out->last)) {
		out->last = SIZE_MAX;
		return has_first && !spec.len;
	}
	return !spec.len && (out->suffix || out->first <= out->last);
}

bool range_read(const struct fields *request, struct range_wanted *out)
{
	const char *value = fields_get(request, "Range");
	struct field_part rest, unit;

	if (!value || fields_lines(request, "Range") > 1)
		return false;
	rest = (struct field_part){value, strlen(value)};
	unit = field_part_take(&rest, '=');
	return field_part_is(unit, "bytes") &&
	       range_read_spec(field_part_take(&rest, '\0'), out);
}

bool range_read_content(const struct fields *response, struct range *part,
			size_t *len)
{
	const char *value = fields_get(response, "Content-Range");
	struct field_part rest, unit;
	size_t last;

	if (!value || fields_lines(response, "Content-Range") > 1)
		return false;
	rest = (struct field_part){value, strlen(value)};
	unit = field_part_take(&rest, ' ');
	if (!field_part_is(unit, "bytes") ||
	    !range_take_number(&rest, &part->first) ||
	    !range_take(&rest, '-') || !range_take_number(&rest, &last) ||
	    !range_take(&rest, '/') || !range_take_number(&rest, len) ||
	    rest.len || part->first > last || last >= *len)
		return false;
	part->len = last - part->first + 1;
	return true;
}

/* Whether If-Range allows a part: its validator is the stored one's. */
static bool range_if_range(const struct fields *request,
			   const struct fields *stored)
{
	const char *condition = fields_get(request, "If-Range");
	const char *validator;

	if (!condition)
		return true;
	/* a weak tag on either side never is strongly equal */
	if (!strncmp(condition, "W/", 2))
		return false;
	validator = fields_get(stored,
			       condition[0] == '"' ? "ETag" : "Last-Modified");
	return validator && !strcmp(condition, validator);
}

enum range_answer range_select(const struct fields *request,
			       const struct fields *stored, size_t len,
			       struct range *part)
{
	struct range_wanted wanted;

	if (!range_read(request, &wanted) || !range_if_range(request, stored))
		return RANGE_WHOLE;
	return wanted.suffix
		       ? range_suffix(wanted.last, len, part)
		       : range_from_to(wanted.first, wanted.last, len, part);
}

void range_text(const struct range *part, size_t len, char out[RANGE_TEXT])
{
	if (part)
		snprintf(out, RANGE_TEXT, "bytes %zu-%zu/%zu", part->first,
			 part->first + part->len - 1, len);
	else
		snprintf(out, RANGE_TEXT, "bytes */%zu", len);
}
