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
		n = n > (SIZE_MAX - 9) / 10 ? SIZE_MAX :
					      n * 10 + (size_t)(c - '0');
	}
	s->at += digits;
	s->len -= digits;
	*out = n;
	return digits > 0;
}

static bool range_take_dash(struct field_part *s)
{
	if (!s->len || s->at[0] != '-')
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
	if (last < first)
		return RANGE_WHOLE; /* malformed */
	if (first >= len)
		return RANGE_UNSATISFIABLE;
	part->first = first;
	part->len = (last < len ? last + 1 : len) - first;
	return RANGE_PART;
}

static enum range_answer range_parse(struct field_part spec, size_t len,
				     struct range *part)
{
	size_t first = 0, last = SIZE_MAX;
	bool has_first = range_take_number(&spec, &first);

	if (!range_take_dash(&spec))
		return RANGE_WHOLE;
	if (!range_take_number(&spec, &last))
		last = SIZE_MAX;
	else if (!has_first && !spec.len)
		return range_suffix(last, len, part);
	if (!has_first || spec.len)
		return RANGE_WHOLE;
	return range_from_to(first, last, len, part);
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
	validator = fields_get(stored, condition[0] == '"' ? "ETag" :
							     "Last-Modified");
	return validator && !strcmp(condition, validator);
}

enum range_answer range_select(const struct fields *request,
			       const struct fields *stored, size_t len,
			       struct range *part)
{
	const char *value = fields_get(request, "Range");
	struct field_part rest, unit;

	if (!value || fields_lines(request, "Range") > 1 ||
	    !range_if_range(request, stored))
		return RANGE_WHOLE;
	rest = (struct field_part){ value, strlen(value) };
	unit = field_part_take(&rest, '=');
	if (!field_part_is(unit, "bytes"))
		return RANGE_WHOLE;
	return range_parse(field_part_take(&rest, '\0'), len, part);
}

void range_text(const struct range *part, size_t len, char out[RANGE_TEXT])
{
	if (part)
		snprintf(out, RANGE_TEXT, "bytes %zu-%zu/%zu", part->first,
			 part->first + part->len - 1, len);
	else
		snprintf(out, RANGE_TEXT, "bytes */%zu", len);
}
