/*
 * Via and CDN-Loop.
 */
#include "digestd/core/via.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "digestd/core/fields.h"

/* "1.1 name (comment)": whether the second word is the name. */
static bool via_names(struct field_part member, const char *name)
{
	field_part_take(&member, ' ');
	while (member.len && member.at[0] == ' ') {
		member.at++;
		member.len--;
	}
	return field_part_is(field_part_take(&member, ' '), name);
}

/* "name; parameter=...": whether it is the name. */
static bool cdn_names(struct field_part member, const char *name)
{
	return field_part_is(field_part_take(&member, ';'), name);
}

bool via_loops(const struct fields *request, const char *name)
{
	struct field_part member;
	size_t hops = 0, cursor = 0;

	while (fields_next(request, "Via", &hops, &member)) {
		if (via_names(member, name))
			return true;
	}
	while (fields_next(request, "CDN-Loop", &cursor, &member)) {
		if (cdn_names(member, name))
			return true;
	}
	return hops > VIA_MAX_HOPS || cursor > VIA_MAX_HOPS;
}

int via_append(struct fields *f, unsigned minor, const char *name)
{
	char value[300];
	int len = snprintf(value, sizeof(value), "1.%u %s", minor, name);

	if (len < 0 || (size_t)len >= sizeof(value))
		return -ENOMEM;
	return fields_add(f, "Via", value);
}

int via_cdn_loop(struct fields *f, const char *name)
{
	return fields_add(f, "CDN-Loop", name);
}
