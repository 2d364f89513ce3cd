/*
 * Header fields in tests: written as text, a line each, "Name: value\n".
 */
#ifndef TEST_CORE_MESSAGE_H
#define TEST_CORE_MESSAGE_H

#include <stdio.h>
#include <string.h>

#include "digestd/http/fields.h"

enum { MESSAGE_MAX = 4096 };

/* Reads lines; text may be null. *f is overwritten. 0 or -ENOMEM. */
static inline int message_read(struct fields *f, const char *text)
{
	fields_init(f);
	while (text && *text) {
		size_t len = strcspn(text, "\n");
		size_t name = strcspn(text, ":");
		size_t value = name + 1 + strspn(text + name + 1, " ");
		int err = fields_add_n(f, text, name, text + value,
				       len - value);

		if (err) {
			fields_free(f);
			return err;
		}
		text += len + (text[len] == '\n');
	}
	return 0;
}

/* The same, for fields that are there until the end of the test. */
static inline void message_must(struct fields *f, const char *text)
{
	assert_int_equal(message_read(f, text), 0);
}

/* Writes all lines, in their order. */
static inline const char *message_text(const struct fields *f,
				       char out[MESSAGE_MAX])
{
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < fields_count(f); i++) {
		const struct field *line = fields_at(f, i);

		len += (size_t)snprintf(out + len, MESSAGE_MAX - len,
					"%s: %s\n", line->name, line->value);
		assert_true(len < MESSAGE_MAX);
	}
	return out;
}

#endif
