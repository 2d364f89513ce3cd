/*
 * Reads what a node tells of itself: a line of its metrics, a member of its
 * JSON. Texts are to be freed, objects to be released.
 */
#ifndef TEST_ADMIN_STATUS_READ_H
#define TEST_ADMIN_STATUS_READ_H

#include "tests/unit.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/admin/node_status.h"

static inline char *metrics_of(const struct node_status *s)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	assert_non_null(to);
	node_status_metrics(s, to);
	assert_int_equal(fclose(to), 0);
	return text;
}

static inline json_t *json_of(const struct node_status *s)
{
	char *text = node_status_json(s);
	json_t *o = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

	assert_non_null(o);
	free(text);
	return o;
}

/* Whether the text has this line. */
static inline bool has_line(const char *text, const char *line)
{
	size_t len = strlen(line);

	for (; text; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (!strncmp(text, line, len) && text[len] == '\n')
			return true;
	}
	return false;
}

static inline void check_line(const char *text, const char *name,
			      uint64_t value)
{
	char line[256];

	snprintf(line, sizeof(line), "digestd_%s %" PRIu64, name, value);
	if (!has_line(text, line))
		fail_msg("no line \"%s\"", line);
}

static inline void check_member(const json_t *o, const char *name,
				uint64_t value)
{
	const json_t *member = json_object_get(o, name);

	if (!json_is_integer(member) ||
	    (uint64_t)json_integer_value(member) != value)
		fail_msg("no member \"%s\" of %" PRIu64, name, value);
}

static inline void check_text(const json_t *o, const char *name,
			      const char *value)
{
	assert_string_equal(json_string_value(json_object_get(o, name)),
			    value);
}

#endif
