/*
 * Configurations in several files: which are read, in what order, and what is
 * said of those that cannot be.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/config/config_file.h"
#include "tests/unit.h"

#define BASE "node = \"a\"\nlisten_data = \":8080\"\n"

static void put(const char *name, const char *text)
{
	config_write(name, text, strlen(text), 0600);
}

static struct config *load(const char *text, const char *errors)
{
	struct config *c = NULL;

	assert_int_equal(config_load_finds(text, text, errors, &c),
			 *errors ? -EINVAL : 0);
	return c;
}

/* What a pattern matches is read by name, where the include stands. */
static void test_in_order(void **state)
{
	struct config *c;

	(void)state;
	put("2.site", "origin \"two\" { url = \"http://b\" }\n");
	put("1.site", "origin \"one\" { url = \"http://b\" }\n");
	put("10.site", "origin \"ten\" { url = \"http://b\" }");
	c = load(BASE "origin \"zero\" { url = \"http://b\" }\n"
		 "include \"*.site\"\norigin \"last\" { url = \"http://b\" }\n",
		 "");
	assert_int_equal(c->norigins, 5);
	assert_string_equal(c->origins[0].name, "zero");
	assert_string_equal(c->origins[1].name, "one");
	assert_string_equal(c->origins[2].name, "ten");
	assert_string_equal(c->origins[3].name, "two");
	assert_string_equal(c->origins[4].name, "last");
	config_free(&c);
	c = load(BASE "default_origin = \"http://o\"\ninclude \"*.none\"\n",
		 "");
	config_free(&c);
	c = load(BASE "include \"%D/1.site\"\ninclude 2.site\n", "");
	assert_int_equal(c->norigins, 2);
	config_free(&c);
}

/* Faults are told of the file that they are in, all of them. */
static void test_faults(void **state)
{
	(void)state;
	put("a.inc", "threads = 2\n\ncolour = 1\nlog_levl = info\n");
	put("b.inc", "threads = 3\nwait = x\nlisten_dat = \":1\"\n");
	load(BASE "include \"?.inc\"\ninclude \"absent\"\nnode = \"b\"\n"
	     "origin \"o\" {\n",
	     "%D/conf:6: section origin \"o\" is not closed\n"
	     "%D/conf:4: include: %D/absent: no such file\n"
	     "%D/a.inc:3: no such option 'colour'\n"
	     "%D/a.inc:4: no such option 'log_levl'; is 'log_level' meant?\n"
	     "%D/b.inc:1: threads is given again, after %D/a.inc:1\n"
	     "%D/b.inc:2: wait: \"x\" is not a time in whole seconds such as "
	     "30s\n"
	     "%D/b.inc:3: no such option 'listen_dat'; is 'listen_data' "
	     "meant?\n"
	     "%D/conf:5: node is given again, after line 1\n"
	     "%D/conf:6: origin \"o\": url: not given\n");
}

/* Nobody writes to the pipe, and the reader has clients. */
static void test_a_pipe_is_no_file(void **state)
{
	const char *path = config_path("9.pipe");

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	load(BASE "include \"*.pipe\"\n",
	     "%D/conf:3: include: %D/9.pipe: not a regular file\n");
	assert_int_equal(unlink(path), 0);
}

static void test_depth(void **state)
{
	char name[16], text[32];

	(void)state;
	for (int i = 1; i <= 9; i++) {
		snprintf(name, sizeof(name), "deep%d", i);
		snprintf(text, sizeof(text), "include \"deep%d\"\n", i + 1);
		put(name, i < 9 ? text : "threads = 2\n");
	}
	load(BASE "include \"deep1\"\n",
	     "%D/deep8:1: include: files are included more than 8 deep\n");
	put("deep8", "default_origin = \"http://o\"\n");
	config_free(&(struct config *){ load(BASE "include \"deep1\"\n", "") });
	put("own", "include \"own\"\n");
	load(BASE "include \"own\"\n",
	     "%D/own:1: include: %D/own would include itself\n");
	put("one", "include \"other\"\n");
	put("other", "include \"one\"\ninclude \"own*\"\n");
	load(BASE "include \"one\"\ninclude \"%D\"\ncolour = 1\n",
	     "%D/other:1: include: %D/one would include itself\n"
	     "%D/own:1: include: %D/own would include itself\n"
	     "%D/conf:4: include: %D: Is a directory\n"
	     "%D/conf:5: no such option 'colour'\n");
}

static void test_not_in_sections(void **state)
{
	(void)state;
	load(BASE "origin \"o\" {\ninclude \"x\"\nurl = \"http://b\" }\n",
	     "%D/conf:4: include stands in no section\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_a_pipe_is_no_file),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_not_in_sections),
	};

	return cmocka_run_group_tests(tests, config_folder_make,
				      config_folder_remove);
}
