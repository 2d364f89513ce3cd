/*
 * Requests at the control socket: each command with what it needs, and what is
 * wrong with others; cut anywhere, and any byte another one.
 */
#include "tests/unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/admin/control_request.h"

#define LINE(rest) "{\"v\": 1, \"command\": " rest "}"

/* clang-format off */
static const struct {
	const char *line;
	enum control_command command;
	enum control_operand operand;
	const char *value; /* null: it has none */
} good[] = {
	{ LINE("\"status\""), CONTROL_STATUS, 0, NULL },
	{ LINE("\"purge\", \"url\": \"http://h/a\""), CONTROL_PURGE, CONTROL_URL, "http://h/a" },
	{ LINE("\"purge\", \"prefix\": \"http://h/\""), CONTROL_PURGE, CONTROL_PREFIX, "http://h/" },
	{ LINE("\"purge\", \"tag\": \"a, b\""), CONTROL_PURGE, CONTROL_TAG, "a, b" },
	{ LINE("\"explain\", \"url\": \"http://h/a\""), CONTROL_EXPLAIN, CONTROL_URL, "http://h/a" },
	{ LINE("\"log\""), CONTROL_LOG, 0, NULL },
	{ LINE("\"drain\""), CONTROL_DRAIN, 0, NULL },
	{ LINE("\"undrain\""), CONTROL_UNDRAIN, 0, NULL },
	{ LINE("\"quarantine\", \"peer\": \"n2\""), CONTROL_QUARANTINE, CONTROL_PEER, "n2" },
	{ LINE("\"release\", \"peer\": \"n2\""), CONTROL_RELEASE, CONTROL_PEER, "n2" },
	{ LINE("\"reload\""), CONTROL_RELOAD, 0, NULL },
	{ LINE("\"token\""), CONTROL_TOKEN, 0, NULL },
	{ LINE("\"log-level\", \"level\": \"debug\""), CONTROL_LOG_LEVEL, CONTROL_LEVEL, "debug" },
	{ " {\"peer\":\"\\u00e9\",\"command\":\"release\",\"v\":1}\r", CONTROL_RELEASE, CONTROL_PEER, "\303\251" },
};

static const struct {
	const char *line, *fault;
} bad[] = {
	{ "", "no JSON object" },
	{ "status", "no JSON object" },
	{ "[1]", "no JSON object" },
	{ "\"status\"", "no JSON object" },
	{ LINE("\"status\"") "x", "no JSON object" },
	{ LINE("\"status\", \"v\": 1"), "no JSON object" },
	{ "{\"v\": 1, \"command\": \"a\\u0000b\"}", "no JSON object" },
	{ "{\"v\": 1, \"command\": \"\xff\"}", "no JSON object" },
	{ "{\"command\": \"status\"}", "\"v\", the version, must be 1" },
	{ "{\"v\": \"1\", \"command\": \"status\"}", "\"v\", the version, must be 1" },
	{ "{\"v\": 1.0, \"command\": \"status\"}", "\"v\", the version, must be 1" },
	{ "{\"v\": 2, \"command\": \"status\"}", "speaks version 1 only" },
	{ "{\"v\": 1}", "\"command\" must be a string" },
	{ LINE("7"), "\"command\" must be a string" },
	{ LINE("\"stop\""), "no command \"stop\"" },
	{ LINE("\"a\\nb\""), "no command \"a?b\"" },
	{ LINE("\"status\", \"url\": \"http://h/\""), "this command has no \"url\"" },
	{ LINE("\"status\", \"x\": 1"), "this command has no \"x\"" },
	{ LINE("\"purge\""), "\"purge\" needs \"url\" or \"prefix\" or \"tag\"" },
	{ LINE("\"purge\", \"url\": \"http://h/\", \"tag\": \"a\""), "another one already, beside" },
	{ LINE("\"purge\", \"url\": 7"), "a text without control characters must be in \"url\"" },
	{ LINE("\"purge\", \"url\": \"\""), "a text without" },
	{ LINE("\"purge\", \"tag\": \"a\\r\\nHost: b\""), "a text without" },
	{ LINE("\"purge\", \"tag\": \"a\\u007f\""), "a text without" },
};
/* clang-format on */

static void good_ones(void **state)
{
	bool seen[CONTROL_COMMAND_COUNT] = { false };

	(void)state;
	for (size_t i = 0; i < NROWS(good); i++) {
		struct control_request r;
		char fault[CONTROL_FAULT_BYTES];

		if (control_request_read(good[i].line, strlen(good[i].line), &r,
					 fault))
			fail_msg("%s: %s", good[i].line, fault);
		assert_int_equal(r.command, good[i].command);
		assert_int_equal(!r.value, !good[i].value);
		if (r.value) {
			assert_int_equal(r.operand, good[i].operand);
			assert_string_equal(r.value, good[i].value);
		}
		seen[r.command] = true;
		control_request_free(&r);
	}
	for (int i = 0; i < CONTROL_COMMAND_COUNT; i++) {
		if (!seen[i])
			fail_msg("%s is not tried",
				 control_command_word((enum control_command)i));
	}
}

static void bad_ones(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(bad); i++) {
		struct control_request r;
		char fault[CONTROL_FAULT_BYTES];

		assert_int_equal(control_request_read(bad[i].line,
						      strlen(bad[i].line), &r,
						      fault),
				 -EINVAL);
		if (!strstr(fault, bad[i].fault))
			fail_msg("%s: %s", bad[i].line, fault);
	}
}

/* Reads from memory of its own, so that a byte too far is seen. */
static void read_copy(const char *line, size_t len)
{
	char fault[CONTROL_FAULT_BYTES];
	char *copy = malloc(len ? len : 1);
	struct control_request r;

	assert_non_null(copy);
	memcpy(copy, line, len);
	if (!control_request_read(copy, len, &r, fault))
		control_request_free(&r);
	else
		assert_non_null(memchr(fault, '\0', sizeof(fault)));
	free(copy);
}

static void cut_and_changed(void **state)
{
	char line[128];

	(void)state;
	for (size_t i = 0; i < NROWS(good); i++) {
		size_t len = strlen(good[i].line);

		for (size_t cut = 0; cut < len; cut++)
			read_copy(good[i].line, cut);
		for (size_t at = 0; at < len; at++) {
			memcpy(line, good[i].line, len);
			for (int byte = 0; byte < 256; byte++) {
				line[at] = (char)byte;
				read_copy(line, len);
			}
		}
	}
}

/* Neither length nor depth is more than what a line may cost. */
static void too_much(void **state)
{
	size_t len = CONTROL_LINE_MAX + 1;
	char fault[CONTROL_FAULT_BYTES];
	struct control_request r;
	char *line = malloc(len);

	(void)state;
	assert_non_null(line);
	memset(line, '[', len);
	assert_int_equal(control_request_read(line, len, &r, fault), -EINVAL);
	assert_string_equal(fault, "the line is too long");
	assert_int_equal(control_request_read(line, len - 1, &r, fault),
			 -EINVAL);
	memset(line, 'x', len);
	memcpy(line, "{\"v\":1,\"command\":\"", 18);
	memcpy(line + len - 3, "\"}", 2);
	assert_int_equal(control_request_read(line, len - 1, &r, fault),
			 -EINVAL);
	assert_non_null(strstr(fault, "no command \"xxx"));
	free(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_ones),
		cmocka_unit_test(bad_ones),
		cmocka_unit_test(cut_and_changed),
		cmocka_unit_test(too_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
