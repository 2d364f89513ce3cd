/*
 * What a response has for one client only: what is stored of it, and that the
 * two make the whole.
 */
#include "tests/unit.h"

#include "digestd/http/response_facts.h"
#include "digestd/http/setcookie.h"
#include "tests/http/message.h"

#define COOKIES "Set-Cookie: a=1\nset-cookie: b=2\n"

static const struct {
	const char *label;
	enum set_cookie how;
	const char *response, *stored;
	bool refused;
} rows[] = {
	{ "refused", SET_COOKIE_REFUSE, "A: 1\n" COOKIES, "A: 1\n", true },
	{ "none there", SET_COOKIE_REFUSE, "A: 1\nCookie: x\n",
	  "A: 1\nCookie: x\n", false },
	{ "stripped", SET_COOKIE_STRIP, COOKIES "A: 1\n", "A: 1\n", false },
	{ "allowed", SET_COOKIE_ALLOW, "A: 1\n" COOKIES, "A: 1\n" COOKIES,
	  false },
	{ "named", SET_COOKIE_REFUSE,
	  "Cache-Control: private=\"set-cookie\"\nA: 1\n" COOKIES,
	  "Cache-Control: private=\"set-cookie\"\nA: 1\n", false },
	{ "named, and allowed", SET_COOKIE_ALLOW,
	  "Cache-Control: no-cache=\"set-cookie\"\nA: 1\n" COOKIES,
	  "Cache-Control: no-cache=\"set-cookie\"\nA: 1\n", false },
	{ "others are named", SET_COOKIE_ALLOW,
	  "Cache-Control: no-cache=\"b, A\", private=c\nA: 1\nB: 2\nC: 3\n"
	  "D: 4\n",
	  "Cache-Control: no-cache=\"b, A\", private=c\nD: 4\n", false },
	{ "beside a list that is about all", SET_COOKIE_ALLOW,
	  "Cache-Control: no-cache=\"a, Vary\", private=\"b\"\nA: 1\nB: 2\n",
	  "Cache-Control: no-cache=\"a, Vary\", private=\"b\"\nA: 1\n",
	  false },
	{ "longer names than are compared at once", SET_COOKIE_ALLOW,
	  "Cache-Control: private=\"x-abcdefgh, x-abcdefghijklm-1\"\n"
	  "x-abcdefghi: 1\nX-Abcdefgh: 2\nx-abcdefghijklm: 3\n"
	  "x-abcdefghijklm-: 4\nX-abcdefghijklM-1: 5\n"
	  "x-abcdefghijklm-12: 6\nx-abcdefghijklm-1: 7\n",
	  "Cache-Control: private=\"x-abcdefgh, x-abcdefghijklm-1\"\n"
	  "x-abcdefghi: 1\nx-abcdefghijklm: 3\n"
	  "x-abcdefghijklm-: 4\nx-abcdefghijklm-12: 6\n", false },
	{ "in a field that does not count", SET_COOKIE_ALLOW,
	  "Cache-Control: private=\"a\"\nCDN-Cache-Control: max-age=1\nA: 1\n",
	  "Cache-Control: private=\"a\"\nCDN-Cache-Control: max-age=1\nA: 1\n",
	  false },
};

static void test_parts_make_the_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct fields response, withheld, f, whole;
		struct response_facts facts;
		char text[MESSAGE_MAX];
		bool some = strcmp(rows[i].response, rows[i].stored) != 0;

		print_message("# %s\n", rows[i].label);
		message_must(&response, rows[i].response);
		response_facts_read(&facts, 200, &response, "cache1");
		facts.set_cookie = rows[i].how;
		assert_int_equal(setcookie_refuses(&facts), rows[i].refused);
		assert_int_equal(setcookie_withheld(&facts, &withheld), 0);
		assert_int_equal(fields_count(&withheld) > 0, some);
		assert_int_equal(setcookie_shared(&response, &withheld, &f), 0);
		assert_string_equal(message_text(&f, text), rows[i].stored);
		assert_int_equal(fields_copy(&f, &whole), 0);
		assert_int_equal(setcookie_add_withheld(&withheld, &whole), 0);
		assert_int_equal(fields_count(&whole), fields_count(&response));
		fields_free(&whole);
		fields_free(&f);
		fields_free(&withheld);
		fields_free(&response);
	}
}

static void test_names(void **state)
{
	enum set_cookie how;

	(void)state;
	for (int i = 0; setcookie_names[i]; i++) {
		assert_true(setcookie_read(setcookie_names[i], &how));
		assert_int_equal(how, i);
	}
	assert_false(setcookie_read("maybe", &how));
	assert_false(setcookie_read("", &how));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts_make_the_whole),
		cmocka_unit_test(test_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
