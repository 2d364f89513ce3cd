/*
 * Via and CDN-Loop: who has been there before.
 */
#include <errno.h>
#include <string.h>

#include "tests/unit.h"

#include "digestd/http/via.h"
#include "tests/http/message.h"

static const struct {
	const char *request;
	bool loops; /* for the node "me" */
} rows[] = {
	{ NULL, false },
	{ "Via: 1.1 me", true },
	{ "Via: 1.0 ME", true },
	{ "Via: HTTP/1.1 me (a comment)", true },
	{ "Via: 1.1\tme", true },
	{ "Via: 1.1   me", true },
	{ "via: 1.1 a, 1.1 b, 1.1 me, 1.1 c", true },
	{ "Via: 1.1 a\nVia: 1.1 me", true },
	{ "Via: 1.1 you", false },
	{ "Via: 1.1 mee", false },
	{ "Via: 1.1 m", false },
	{ "Via: me", false },
	{ "Via: me you", false },
	{ "Via: 1.1 you (me)", false },
	{ "Via: 1.1 me:80", false },
	{ "Via: 1.1", false },
	{ "Via: ", false },
	/* RFC 8586 */
	{ "CDN-Loop: me", true },
	{ "cdn-loop: ME; x=y", true },
	{ "CDN-Loop: foo; host=\"foo.com\", me;host=x", true },
	{ "CDN-Loop: a\nCDN-Loop: b, me", true },
	{ "CDN-Loop: foo123.foocdn.example, barcdn.example; trace=\"abcdef\"",
	  false },
	{ "CDN-Loop: a; me", false },
	{ "CDN-Loop: a; x=\"b, me\"", false },
	{ "CDN-Loop: mee", false },
	{ "X: me", false },
};

static void loops(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct fields f;

		message_must(&f, rows[i].request);
		if (via_loops(&f, "me") != rows[i].loops)
			fail_msg("%s", rows[i].request);
		fields_free(&f);
	}
}

static void marks(void **state)
{
	char text[MESSAGE_MAX];
	struct fields f;

	(void)state;
	message_must(&f, "Via: 1.1 a");
	assert_int_equal(via_append(&f, "1.0", "me"), 0);
	assert_int_equal(via_cdn_loop(&f, "me"), 0);
	assert_string_equal(message_text(&f, text),
			    "Via: 1.1 a\nVia: 1.0 me\nCDN-Loop: me\n");
	assert_true(via_loops(&f, "me"));
	assert_false(via_loops(&f, "you"));
	fields_free(&f);
}

/* A name as long as there is room for, and one that is longer. */
static void long_names(void **state)
{
	char name[302];
	struct fields f;

	(void)state;
	fields_init(&f);
	memset(name, 'n', sizeof(name));
	name[296] = '\0';
	assert_int_equal(via_append(&f, "1.1", name), 0);
	assert_int_equal(strlen(fields_get(&f, "Via")), 300);
	assert_true(via_loops(&f, name));
	name[296] = 'n';
	name[297] = '\0';
	assert_int_equal(via_append(&f, "1.1", name), -ENOMEM);
	assert_int_equal(fields_count(&f), 1);
	fields_free(&f);
}

/* As via_append() and via_cdn_loop(). */
static void marks_are_lent(void **state)
{
	struct fields marks, f;
	char text[MESSAGE_MAX];

	(void)state;
	fields_init(&marks);
	assert_int_equal(via_marks_make(&marks, "me"), 0);
	assert_int_equal(fields_count(&marks), VIA_MARKS);
	message_must(&f, "Via: 1.1 a");
	for (unsigned i = 0; i < VIA_MARKS; i++)
		assert_int_equal(via_mark(&f, &marks, i), 0);
	assert_string_equal(message_text(&f, text),
			    "Via: 1.1 a\nVia: 1.0 me\nVia: 1.1 me\n"
			    "Via: 2.0 me\nCDN-Loop: me\n");
	assert_ptr_equal(fields_get(&f, "cdn-loop"),
			 fields_get(&marks, "cdn-loop"));
	fields_free(&f);
	fields_free(&marks);
}

/* VIA_MAX_HOPS may have been there; one more is a loop of others. */
static void chains(void **state)
{
	struct fields via, cdn;

	(void)state;
	fields_init(&via);
	fields_init(&cdn);
	for (int i = 0; i < VIA_MAX_HOPS; i++) {
		assert_int_equal(via_append(&via, "1.1", "you"), 0);
		assert_int_equal(via_cdn_loop(&cdn, "you"), 0);
	}
	assert_false(via_loops(&via, "me"));
	assert_false(via_loops(&cdn, "me"));
	assert_int_equal(via_append(&via, "1.1", "you"), 0);
	assert_int_equal(via_cdn_loop(&cdn, "you"), 0);
	assert_true(via_loops(&via, "me"));
	assert_true(via_loops(&cdn, "me"));
	fields_free(&via);
	fields_free(&cdn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops),
		cmocka_unit_test(marks),
		cmocka_unit_test(marks_are_lent),
		cmocka_unit_test(long_names),
		cmocka_unit_test(chains),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
