/*
 * Fields as the rows of tests have them, and the time at which their responses
 * came.
 */
#ifndef TESTS_NODE_RESPONSE_ROW_H
#define TESTS_NODE_RESPONSE_ROW_H

#include "digestd/http/fields.h"
#include "tests/unit.h"

enum { NOW_S = 1000000 };

#define FRESH { "Cache-Control", "max-age=60" }

struct pair {
	const char *name, *value;
};

/* Makes fields of n pairs, or of those before one without a name. */
static inline void response_row_fields(struct fields *f,
				       const struct pair *pairs, size_t n)
{
	fields_init(f);
	for (size_t i = 0; i < n && pairs[i].name; i++)
		assert_int_equal(fields_add(f, pairs[i].name, pairs[i].value),
				 0);
}

#endif
