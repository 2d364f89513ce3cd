/*
 * Which changes of protocols are passed on.
 */

#include "digestd/http/fields.h"
#include "digestd/http/upgrade.h"
#include "tests/unit.h"

/* clang-format off */
static const struct {
	const char *label, *offered, *chosen; /* null: there is no such field */
	bool passes, right;
} rows[] = {
	{ "a WebSocket", "websocket", "websocket", true, true },
	{ "in other letters", "websocket", "WebSocket", true, true },
	{ "with a version", "a/1, b/2", "b/2", true, true },
	{ "one of several", "a, b ,c", "b", true, true },
	{ "another version", "a/1", "a/2", true, false },
	{ "what nobody offered", "a, b", "c", true, false },
	{ "a part of it", "websocket", "web", true, false },
	{ "two of them", "a, b", "a, b", true, false },
	{ "none", "a", NULL, true, false },
	{ "an empty one", "a", "", true, false },
	{ "nothing", NULL, "a", false, false },
	{ "nothing in a list", " , ", "a", false, false },
	{ "HTTP/2", "h2c", "h2c", false, true },
	{ "HTTP/2 by its name", "HTTP/2.0", "http/2.0", false, true },
	{ "HTTP/2 with TLS", "h2", "h2", false, true },
	{ "TLS behind something else", "a, TLS/1.0", "a", false, true },
	{ "what only begins so", "h2cc, https", "https", true, true },
};
/* clang-format on */

static void set(struct fields *f, const char *value)
{
	fields_init(f);
	if (value)
		assert_int_equal(fields_add(f, "Upgrade", value), 0);
}

static void changes_of_protocols(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fields request, response;
		const char *chosen;

		set(&request, rows[i].offered);
		set(&response, rows[i].chosen);
		chosen = upgrade_chosen(&request, &response);
		if (upgrade_may_pass(&request) != rows[i].passes ||
		    !chosen == rows[i].right)
			fail_msg("%s", rows[i].label);
		if (chosen)
			assert_string_equal(chosen, rows[i].chosen);
		fields_free(&request);
		fields_free(&response);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_of_protocols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
