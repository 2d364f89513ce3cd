/*
 * Lines for libcurl: a field that is absent here, libcurl would add.
 */
#include "digestd/fetch/fetch_lines.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "digestd/http/fields.h"
#include "digestd/fetch/fetch_way.h"

enum { FIELD_LINE_MAX = 16384 };

static int fetch_lines_add(struct curl_slist **lines, const char *line)
{
	struct curl_slist *more = curl_slist_append(*lines, line);

	if (!more)
		return -ENOMEM;
	*lines = more;
	return 0;
}

static int fetch_lines_add_field(struct curl_slist **lines,
				 const struct field *field)
{
	char line[FIELD_LINE_MAX];
	int n;

	/* an empty value is spelt so; "Name:" would mean: do not send it */
	n = *field->value ? snprintf(line, sizeof(line), "%s: %s", field->name,
				     field->value) :
			    snprintf(line, sizeof(line), "%s;", field->name);
	return n < FIELD_LINE_MAX ? fetch_lines_add(lines, line) : -EINVAL;
}

int fetch_lines_make(const struct fetch_request *r, struct curl_slist **lines)
{
	bool accept = false;
	int err;

	assert(!r->upload); /* fetch_way_curl sends none */
	err = fetch_lines_add(lines, "Expect:");
	for (size_t i = 0; !err && r->fields && i < fields_count(r->fields);
	     i++) {
		const struct field *field = fields_at(r->fields, i);

		accept = accept || !strcasecmp(field->name, "accept");
		if (!fetch_is_framing(field))
			err = fetch_lines_add_field(lines, field);
	}
	if (!err && !accept)
		err = fetch_lines_add(lines, "Accept:");
	/* a method that expects a body is told that there is none */
	if (!err &&
	    (!strcmp(r->method, "POST") || !strcmp(r->method, "PUT") ||
	     !strcmp(r->method, "PATCH")))
		err = fetch_lines_add(lines, "Content-Length: 0");
	return err;
}
