/*
 * Troubles: what is counted, what the log says of it, and how often.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/os/log.h"
#include "digestd/os/troubles.h"
#include "tests/codec/alloc.h"
#include "tests/unit.h"

enum { ROOM = 8192 };

static struct upstream_names *names;
static struct troubles *troubles;
static int errors, heard; /* the standard errors, and a pipe in their place */

static int set_up(void **state)
{
	int ends[2];

	(void)state;
	log_set_level("info");
	if (upstream_names_new(&names) || troubles_new(names, &troubles) ||
	    pipe(ends))
		return -1;
	errors = dup(STDERR_FILENO);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	heard = ends[0];
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	dup2(errors, STDERR_FILENO);
	close(errors);
	close(heard);
	troubles_free(&troubles);
	troubles_free(&troubles); /* there is none */
	upstream_names_free(&names);
	upstream_names_free(&names);
	return 0;
}

/* What was logged since the last call. */
static const char *logged(void)
{
	static char text[ROOM];
	ssize_t n;

	(void)!write(STDERR_FILENO, "\n", 1); /* the pipe is never empty */
	n = read(heard, text, ROOM - 1);
	assert_true(n > 0);
	text[n - 1] = '\0';
	return text;
}

static void origin_refuses(int64_t now_ms, const char *detail)
{
	troubles_of_upstream(troubles, UPSTREAM_origin, "http://o:80",
			     TROUBLE_refused, detail, now_ms);
}

static void first_is_logged_at_once(void **state)
{
	(void)state;
	origin_refuses(5, NULL);
	assert_non_null(strstr(logged(),
			       "warning trouble: origin=http://o:80 "
			       "cause=refused count=1 "
			       "what=\"it refuses connections\" do=\""));
	/* another cause, another upstream and another kind are others' first */
	troubles_of_upstream(troubles, UPSTREAM_origin, "http://o:80",
			     TROUBLE_reset, "error 104", 6);
	assert_non_null(strstr(logged(), "cause=reset count=1 what=\"it hung up"
					 " without an answer\" detail=\"error "
					 "104\" do=\""));
	troubles_of_upstream(troubles, UPSTREAM_peer, "http://o:80",
			     TROUBLE_refused, NULL, 7);
	assert_non_null(strstr(logged(), " peer=http://o:80 cause=refused"));
	troubles_of_upstream(troubles, UPSTREAM_origin, NULL, TROUBLE_refused,
			     NULL, 8);
	assert_non_null(strstr(logged(), "origin=of-a-forward-proxy "));
	troubles_of_part(troubles, TROUBLE_PART_disk, TROUBLE_disk_full, "", 9);
	assert_non_null(strstr(logged(), " part=disk cause=disk-full count=1"));
}

static void others_are_logged_together(void **state)
{
	(void)state;
	origin_refuses(1000, NULL);
	(void)logged();
	for (int i = 0; i < 311; i++)
		origin_refuses(1001 + i, NULL);
	assert_string_equal(logged(), "");
	origin_refuses(11000, NULL);
	assert_non_null(strstr(logged(), "cause=refused count=312 "));
	troubles_of_part(troubles, TROUBLE_PART_disk, TROUBLE_disk_full, NULL,
			 1000);
	(void)logged();
	troubles_of_part(troubles, TROUBLE_PART_disk, TROUBLE_disk_full, NULL,
			 1001);
	assert_string_equal(logged(), "");
}

/* Who reloads by hand has to see what came of it. */
static void each_reload_is_logged(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		troubles_of_part(troubles, TROUBLE_PART_configuration,
				 TROUBLE_configuration, "line 3", 1000);
		assert_non_null(strstr(logged(), "part=configuration "));
	}
}

/* A detail is of others: it cannot end its quotes, nor the line. */
static void detail_stays_within_its_quotes(void **state)
{
	char longest[1000];
	const char *line;

	(void)state;
	origin_refuses(0, "a\" do=\"rm\nerror x: y\t");
	line = logged();
	assert_non_null(strstr(line, " detail=\"a' do='rm?error x: y?\" do="));
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	origin_refuses(20000, longest);
	line = strstr(logged(), "detail=\"");
	assert_non_null(line);
	assert_int_equal(strspn(line + strlen("detail=\""), "x"), 511);
}

static void nothing_and_nobody(void **state)
{
	(void)state;
	troubles_of_upstream(troubles, UPSTREAM_peer, "p", TROUBLE_none, NULL,
			     1);
	troubles_of_part(troubles, TROUBLE_PART_disk, TROUBLE_none, NULL, 1);
	troubles_of_upstream(NULL, UPSTREAM_peer, "p", TROUBLE_reset, NULL, 1);
	troubles_of_part(NULL, TROUBLE_PART_disk, TROUBLE_disk_full, NULL, 1);
	troubles_each(NULL, (void (*)(void *, const struct trouble_count *))
				    abort, NULL);
	assert_string_equal(logged(), "");
}

/* Counts */

static void describe(void *arg, const struct trouble_count *c)
{
	char *to = arg;

	snprintf(to + strlen(to), ROOM - strlen(to), "%s %s %s %d %d\n",
		 c->kind ? c->kind : "part", c->name, trouble_label(c->trouble),
		 (int)c->n, (int)c->last_ms);
}

static void counts(void **state)
{
	char text[ROOM] = "", name[16];

	(void)state;
	troubles_each(troubles, describe, text);
	assert_string_equal(text, "part disk disk-full 0 0\n"
				  "part disk disk-error 0 0\n"
				  "part disk disk-damaged 0 0\n"
				  "part listener descriptors 0 0\n"
				  "part memory memory 0 0\n"
				  "part configuration configuration 0 0\n");
	origin_refuses(3, NULL);
	origin_refuses(4, NULL);
	troubles_of_upstream(troubles, UPSTREAM_peer, "b", TROUBLE_reset, NULL,
			     5);
	troubles_of_part(troubles, TROUBLE_PART_memory, TROUBLE_memory, NULL,
			 6);
	*text = '\0';
	troubles_each(troubles, describe, text);
	assert_non_null(strstr(text, "origin http://o:80 refused 2 4\n"
				     "peer b reset 1 5\n"));
	assert_non_null(strstr(text, "part memory memory 1 6\n"));
	/* those that there is no number for are counted together */
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		troubles_of_upstream(troubles, UPSTREAM_peer, name,
				     TROUBLE_reset, NULL, 7);
		if (i % 10 == 0)
			(void)logged();
	}
	*text = '\0';
	troubles_each(troubles, describe, text);
	assert_non_null(strstr(text, "peer n48 reset 1 7\n"
				     "peer other reset 51 7\n"));
	assert_null(strstr(text, "peer n49 "));
}

static void names_that_are_too_long(void **state)
{
	char name[UPSTREAM_NAME_BYTES + 1];

	(void)state;
	memset(name, 'n', UPSTREAM_NAME_BYTES);
	name[UPSTREAM_NAME_BYTES] = '\0';
	assert_int_equal(upstream_names_find(names, UPSTREAM_peer, name),
			 UPSTREAM_NAMES_MAX);
	name[UPSTREAM_NAME_BYTES - 1] = '\0';
	assert_int_equal(upstream_names_find(names, UPSTREAM_peer, name), 0);
	assert_string_equal(upstream_names_at(names, UPSTREAM_peer, 0), name);
	assert_null(upstream_names_at(names, UPSTREAM_peer, 1));
}

static void without_memory(void **state)
{
	struct upstream_names *no_names = NULL;
	struct troubles *none = NULL;

	(void)state;
	alloc_fail_at(1);
	assert_int_equal(upstream_names_new(&no_names), -ENOMEM);
	alloc_fail_at(1);
	assert_int_equal(troubles_new(names, &none), -ENOMEM);
	alloc_fail_at(0);
	assert_null(no_names);
	assert_null(none);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(first_is_logged_at_once),
		TEST(others_are_logged_together),
		TEST(each_reload_is_logged),
		TEST(detail_stays_within_its_quotes),
		TEST(nothing_and_nobody),
		TEST(counts),
		TEST(names_that_are_too_long),
		TEST(without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
