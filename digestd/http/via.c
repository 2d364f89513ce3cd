/*
 * Via and CDN-Loop.
 */
#include "digestd/http/via.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "digestd/http/fields.h"

/* "1.1 name (comment)": whether the second word is the name. */
static bool via_names(struct field_part member, const char *name)
{
	size_t protocol = 0, word = 0;

	while (protocol < member.len && !field_is_blank(member.at[protocol]))
		protocol++;
	member.at += protocol;
	member.len -= protocol;
	while (member.len && field_is_blank(member.at[0])) {
		member.at++;
		member.len--;
	}
	while (word < member.len && !field_is_blank(member.at[word]))
		word++;
	member.len = word;
	return field_part_is(member, name);
}

/* "name; parameter=...": whether it is the name. */
static bool via_cdn_names(struct field_part member, const char *name)
{
	return field_part_is(field_part_take(&member, ';'), name);
}

/* Whether a list has a member of this name, or too many members. */
static bool via_list_loops(const struct fields *request, const char *field,
			   bool (*names)(struct field_part, const char *),
			   const char *name)
{
	struct field_cursor cursor = { 0 };
	struct field_part member;
	unsigned hops = 0;

	while (fields_next(request, field, &cursor, &member)) {
		if (++hops > VIA_MAX_HOPS || names(member, name))
			return true;
	}
	return false;
}

bool via_lists_loop(const struct fields *request, const char *name)
{
	return via_list_loops(request, "Via", via_names, name) ||
	       via_list_loops(request, "CDN-Loop", via_cdn_names, name);
}

int via_append(struct fields *f, const char *version, const char *name)
{
	const size_t version_len = strlen(version), name_len = strlen(name);
	char value[300];

	if (version_len + 1 + name_len > sizeof(value))
		return -ENOMEM;
	/* each response gets one: a tenth of what snprintf() takes */
	memcpy(value, version, version_len);
	value[version_len] = ' ';
	memcpy(value + version_len + 1, name, name_len);
	return fields_add_n(f, "Via", 3, value, version_len + 1 + name_len);
}

int via_cdn_loop(struct fields *f, const char *name)
{
	return fields_add(f, "CDN-Loop", name);
}

int via_marks_make(struct fields *marks, const char *name)
{
	assert(!fields_count(marks));
	return via_append(marks, "1.0", name) ||
			       via_append(marks, "1.1", name) ||
			       via_append(marks, "2.0", name) ||
			       via_cdn_loop(marks, name)
		       ? -ENOMEM
		       : 0;
}

int via_mark(struct fields *f, const struct fields *marks, unsigned which)
{
	const struct field *mark = fields_at(marks, which);

	return fields_borrow_n(f, mark->name, mark->name_len, mark->value,
			       mark->value_len);
}
