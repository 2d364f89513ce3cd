/*
 * What may be repeated at another origin.
 */
#include "digestd/node/node_retry.h"

#include "tests/unit.h"

/* clang-format off */
static const struct {
	const char *label;
	struct node_retry r;
	bool may;
} rows[] = {
	{ "a GET without a connection", { false, true, false }, true },
	{ "a POST without a connection, of whose body nothing was read",
	  { false, false, true }, true },
	{ "a DELETE without a connection", { false, false, false }, true },
	{ "a GET that may have come there", { true, true, false }, true },
	{ "a GET with a body", { true, true, true }, false },
	{ "a DELETE that may have come there", { true, false, false }, false },
	{ "a POST that may have come there", { true, false, true }, false },
};
/* clang-format on */

static void what_may_be_repeated(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		if (node_retry_is_safe(&rows[i].r) != rows[i].may)
			fail_msg("%s", rows[i].label);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_be_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
