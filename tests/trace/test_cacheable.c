/*
 * What may be stored, by method and status.
 */
#include "cachesim/trace/cacheable.h"

#include <string.h>

#include "tests/unit.h"

static const struct {
	const char *method;
	unsigned status;
	enum trace_class class;
} rows[] = {
	/* clang-format off */
	{ "GET", 0, TRACE_CACHEABLE },
	{ "GET", 200, TRACE_CACHEABLE },
	{ "GET", 203, TRACE_CACHEABLE },
	{ "GET", 301, TRACE_CACHEABLE },
	{ "GET", 304, TRACE_CACHEABLE },
	{ "GET", 206, TRACE_UNCACHEABLE },
	{ "GET", 302, TRACE_UNCACHEABLE },
	{ "GET", 404, TRACE_UNCACHEABLE },
	{ "GET", 500, TRACE_UNCACHEABLE },
	{ "GET", 101, TRACE_UNCACHEABLE },
	{ "get", 200, TRACE_UNSAFE },
	{ "HEAD", 200, TRACE_UNCACHEABLE },
	{ "OPTIONS", 200, TRACE_UNCACHEABLE },
	{ "POST", 200, TRACE_UNSAFE },
	{ "POST", 0, TRACE_UNSAFE },
	{ "PUT", 204, TRACE_UNSAFE },
	{ "DELETE", 303, TRACE_UNSAFE },
	{ "POST", 404, TRACE_UNCACHEABLE },
	{ "PUT", 500, TRACE_UNCACHEABLE },
	{ "GETS", 200, TRACE_UNSAFE },
	/* clang-format on */
};

static void classes(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct trace_text method = { rows[i].method,
					     strlen(rows[i].method) };

		if (trace_cacheable_class(method, rows[i].status) !=
		    rows[i].class)
			fail_msg("%s %u", rows[i].method, rows[i].status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes),
	};

	return cmocka_run_group_tests_name("cacheable", tests, NULL, NULL);
}
