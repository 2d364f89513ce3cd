/*
 * Dictionaries: what is one, and what is in it.
 */
#include "tests/unit.h"

#include "digestd/http/dictionary.h"
#include "tests/http/message.h"

/* "key=number" for each member, "key?0", "key?1", "key:" for other values. */
static const char *walk(const char *lines)
{
	static char out[400];
	struct dictionary_cursor cursor = { 0 };
	struct dictionary_member m;
	struct fields f;
	size_t len = 0;

	message_must(&f, lines);
	out[0] = '\0';
	while (dictionary_next(&f, "D", &cursor, &m))
		len += (size_t)snprintf(
			out + len, sizeof(out) - len,
			m.type == DICTIONARY_OTHER ? "%.*s: " :
			m.type == DICTIONARY_INTEGER ? "%.*s=%lld " :
						       "%.*s?%lld ",
			(int)m.key.len, m.key.at, (long long)m.number);
	fields_free(&f);
	return cursor.failed ? NULL : out;
}

static const struct {
	const char *lines, *members; /* null: no dictionary */
} rows[] = {
	{ "E: a", "" },
	{ "D: ", "" },
	{ "D: a", "a?1 " },
	{ "D: max-age=60, no-store", "max-age=60 no-store?1 " },
	{ "D:    a=1  ,\t  b=2", "a=1 b=2 " },
	{ "D: a=1,b=2", "a=1 b=2 " },
	{ "D: a=?0, b=?1", "a?0 b?1 " },
	{ "D: a=-5", "a=-5 " },
	{ "D: a=999999999999999", "a=999999999999999 " },
	{ "D: a=1.5, b=123456789012.123", "a: b: " },
	{ "D: a=\"x, \\\"y\\\\\", b=tok/en:*, c=:aGk=:", "a: b: c: " },
	{ "D: a=(1 \"x\" t;p=1);q=2, b=(), c=(  1  )", "a: b: c: " },
	{ "D: a;p;q=1;  r=\"x\", b=2;p", "a?1 b=2 " },
	{ "D: *a_.-*9=1", "*a_.-*9=1 " },
	{ "D: a=1, a=2", "a=1 a=2 " },
	{ "D: a=1\nE: x\nd: b=2", "a=1 b=2 " },
	{ "D: a=1\nD: \nD: b", "a=1 b?1 " },
	/* faults */
	{ "D: A=1", NULL },
	{ "D: 1a", NULL },
	{ "D: a =1", NULL },
	{ "D: a= 1", NULL },
	{ "D: a=", NULL },
	{ "D: a,", NULL },
	{ "D: a, ", NULL },
	{ "D: ,a", NULL },
	{ "D: a,,b", NULL },
	{ "D: a b", NULL },
	{ "D: a=1 b=2", NULL },
	{ "D: a=1000000000000000", NULL },
	{ "D: a=1234567890123.1", NULL },
	{ "D: a=1.", NULL },
	{ "D: a=1.1234", NULL },
	{ "D: a=.5", NULL },
	{ "D: a=-", NULL },
	{ "D: a=--1", NULL },
	{ "D: a=\"x", NULL },
	{ "D: a=\"x\\n\"", NULL },
	{ "D: a=\"x\\", NULL },
	{ "D: a=\"\t\"", NULL },
	{ "D: a=\"\xe4\"", NULL },
	{ "D: a=?2", NULL },
	{ "D: a=?", NULL },
	{ "D: a=:a", NULL },
	{ "D: a=:_:", NULL },
	{ "D: a=(1", NULL },
	{ "D: a=(1,2)", NULL },
	{ "D: a=(1\"x\")", NULL },
	{ "D: a=((1))", NULL },
	{ "D: a;=1", NULL },
	{ "D: a;p=", NULL },
	{ "D: a;P", NULL },
	{ "D: a=1\nD: B", NULL },
	{ "D: a=\xff", NULL },
};

static void walking(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		const char *members = walk(rows[i].lines);

		if (!members != !rows[i].members ||
		    (members && strcmp(members, rows[i].members)))
			fail_msg("row %zu: %s", i, members ? members : "none");
	}
}

/* A walk that has failed stays so. */
static void failing_once(void **state)
{
	struct dictionary_cursor cursor = { 0 };
	struct dictionary_member m;
	struct fields f;

	(void)state;
	message_must(&f, "D: a=1, B, c\nD: d");
	assert_true(dictionary_next(&f, "D", &cursor, &m));
	assert_false(dictionary_next(&f, "D", &cursor, &m));
	assert_false(dictionary_next(&f, "D", &cursor, &m));
	assert_true(cursor.failed);
	fields_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walking),
		cmocka_unit_test(failing_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
