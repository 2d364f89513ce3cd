/*
 * Reports as files: found by what is in them, with whatever else is there, on
 * disks that are full; and without memory, where a report is written and read
 * whole or not at all.
 */
#include "tests/unit.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachesim/report/report.h"
#include "tests/codec/alloc.h"

static const struct report_column columns[] = {
	{ "name", REPORT_TEXT, true },
	{ "hits", REPORT_COUNT, false },
	{ "share", REPORT_SHARE, false },
};

static const enum report_form forms[] = { REPORT_JSON, REPORT_CSV,
					  REPORT_TABLE };

/* Two rows and two notes. */
static void fill(struct report *r)
{
	report_init(r, "run", columns, NROWS(columns));
	report_note(r, "trace", "a.csv");
	report_note(r, "seed", "1");
	for (unsigned i = 0; i < 2; i++) {
		report_row(r);
		report_text(r, "name", i ? "lru" : "sieve");
		report_count(r, "hits", 7 + i);
		report_count(r, "share", i);
	}
}

/* What is written of it; null: it said that it is not. */
static char *written(const struct report *r, enum report_form form)
{
	char *text;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	bool ok;

	assert_non_null(to);
	ok = report_write(r, form, to, 80);
	fclose(to);
	if (ok)
		return text;
	free(text);
	return NULL;
}

static char *filled_and_written(enum report_form form)
{
	struct report r;
	char *text;

	fill(&r);
	text = written(&r, form);
	report_free(&r);
	return text;
}

/* Reads a text, and writes it as JSON; null: it is refused. */
static char *read_and_written(const char *text, bool json,
			      struct report_fault *fault)
{
	char *copy = strdup(text), *again = NULL;
	struct report r;

	if (!copy) {
		snprintf(fault->text, sizeof(fault->text), "out of memory");
		return NULL;
	}
	if (json ? report_read_json(&r, copy, strlen(copy), fault) :
		   report_read_csv(&r, copy, fault)) {
		again = written(&r, REPORT_JSON);
		report_free(&r);
		if (!again)
			snprintf(fault->text, sizeof(fault->text),
				 "out of memory");
	}
	free(copy);
	return again;
}

/* Of a text that is good. */
static char *meant(const char *text, bool json)
{
	struct report_fault fault;
	char *again = read_and_written(text, json, &fault);

	if (!again)
		fail_msg("%u: %s", fault.line, fault.text);
	return again;
}

static void check_meaning(const char *text, bool json, const char *wanted)
{
	char *again = meant(text, json), *good = meant(wanted, json);

	assert_string_equal(again, good);
	free(again);
	free(good);
}

/* Every allocation, jansson's too, fails once. */
static void is_written_whole_or_not(void **state)
{
	(void)state;
	for (size_t f = 0; f < NROWS(forms); f++) {
		char *good = filled_and_written(forms[f]), *text;

		assert_non_null(good);
		for (unsigned i = 1;; i++) {
			alloc_fail_at(i);
			text = filled_and_written(forms[f]);
			if (text)
				assert_string_equal(text, good);
			if (!alloc_failed())
				break;
			free(text);
		}
		alloc_fail_at(0);
		assert_non_null(text);
		free(text);
		free(good);
	}
}

static void is_read_whole_or_not(void **state)
{
	(void)state;
	for (int json = 0; json < 2; json++) {
		struct report_fault fault;
		char *text = filled_and_written(json ? REPORT_JSON :
						       REPORT_CSV);
		char *good = meant(text, json), *again;

		for (unsigned i = 1;; i++) {
			alloc_fail_at(i);
			fault.text[0] = '\0';
			again = read_and_written(text, json, &fault);
			if (again)
				assert_string_equal(again, good);
			else
				assert_true(*fault.text);
			if (!alloc_failed())
				break;
			free(again);
		}
		alloc_fail_at(0);
		assert_non_null(again);
		free(again);
		free(good);
		free(text);
	}
}

/* A later cachesim may add to a file what this one does not know. */
static void what_is_unknown_is_left_out(void **state)
{
	static const char plain[] =
		"{\"cachesim\": 1, \"kind\": \"run\","
		" \"about\": {\"a\": \"b\"},"
		" \"columns\": [{\"name\": \"n\", \"type\": \"text\"},"
		" {\"name\": \"c\", \"type\": \"count\"},"
		" {\"name\": \"r\", \"type\": \"real\"}],"
		" \"rows\": [{\"n\": \"x\", \"c\": 2, \"r\": 1}, {}]}";
	static const char more[] =
		"{\"cachesim\": 1, \"kind\": \"run\","
		" \"about\": {\"a\": \"b\", \"other\": 3}, \"new\": [],"
		" \"columns\": [{\"name\": \"n\", \"type\": \"text\"},"
		" {\"name\": \"c\", \"type\": \"count\"},"
		" {\"name\": \"r\", \"type\": \"real\"}],"
		" \"rows\": [{\"n\": \"x\", \"c\": 2, \"r\": 1, \"z\": 4},"
		" {\"n\": 5, \"c\": 1.5, \"r\": \"y\"}]}";

	(void)state;
	check_meaning(more, true, plain);
}

/* Of other programs: lines that end in CR LF, texts with quotes and lines. */
static void csv_of_others_is_read(void **state)
{
	static const char plain[] = "# cachesim 1 run\n"
				    "# a: b\n"
				    "# types: text,count\n"
				    "n,c\n"
				    "\"x \"\"y\"\"\nz\",1\n"
				    ",2\n";
	static const char crlf[] = "# cachesim 1 run\r\n"
				   "# a: b\r\n"
				   "# no note\r\n"
				   "# types: text,count\r\n"
				   "\"n\",c\r\n"
				   "\"x \"\"y\"\"\nz\",1\r\n"
				   "\"\",2";

	(void)state;
	check_meaning(crlf, false, plain);
}

static void refuses_lines(void **state)
{
	/* clang-format off */
	static const struct {
		const char *text, *why;
		unsigned line;
	} bad[] = {
		{ "# cachesim x run\n", "not a result", 1 },
		{ "# cachesim 1 run", "types", 1 },
		{ "# cachesim 1 run\n# types: count", "without", 2 },
		{ "# cachesim 1 run\n# types: weight\na\n", "without", 3 },
		{ "# cachesim 1 run\n# types: count\na\n"
		  "99999999999999999999\n", "number", 4 },
		{ "# cachesim 1 run\n# types: text,real\na,b\n"
		  "\"x\ny\",1\n\"x\",1y\n", "number", 6 },
		{ "{ \"cachesim\": 1, \"kind\": \"\", \"about\": {},"
		  " \"columns\": [{\"name\": \"a\"}], \"rows\": [] }",
		  "without", 0 },
		{ "{ \"cachesim\": 1, \"kind\": \"\", \"about\": {},"
		  " \"columns\": [{\"name\": \"a\", \"type\": \"weight\"}],"
		  " \"rows\": [] }", "without", 0 },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < NROWS(bad); i++) {
		struct report_fault fault = { 0 };

		assert_null(read_and_written(bad[i].text, *bad[i].text == '{',
					     &fault));
		if (!strstr(fault.text, bad[i].why) ||
		    fault.line != bad[i].line)
			fail_msg("%zu: line %u, %s", i, fault.line, fault.text);
	}
}

/* A file with a text in it, so many times as it takes to fill it. */
static void save(const char *path, const char *head, const char *line,
		 size_t bytes)
{
	FILE *to = fopen(path, "w");
	size_t len = strlen(head);

	assert_non_null(to);
	fputs(head, to);
	for (; len < bytes; len += strlen(line))
		fputs(line, to);
	assert_int_equal(fclose(to), 0);
}

static void files_are_known_by_their_content(void **state)
{
	enum { BYTES = 300000 }; /* more than is read at a time */
	static const char csv[] = "# cachesim 1 run\n# types: count\nc\n";
	char path[] = "/tmp/test_report_files.XXXXXX";
	struct report_fault fault = { 0 };
	struct report r;

	(void)state;
	assert_true(close(mkstemp(path)) == 0);
	save(path, csv, "1234567\n", BYTES);
	assert_true(report_read(&r, path, &fault));
	assert_int_equal(r.nrows, (BYTES - strlen(csv) + 7) / 8);
	report_free(&r);
	save(path, " \n{\"cachesim\": 1, \"kind\": \"x\", \"about\": {},"
		   "\"columns\": [{\"name\": \"a\", \"type\": \"real\"}],"
		   "\"rows\": [{\"a\": 1}]}", "", 0);
	assert_true(report_read(&r, path, &fault));
	assert_true(report_number(&r, 0, 0) > .99);
	report_free(&r);
	assert_non_null(freopen(path, "r", stdin));
	assert_true(report_read(&r, "-", &fault));
	assert_string_equal(r.kind, "x");
	report_free(&r);
	unlink(path);
	assert_false(report_read(&r, path, &fault));
	assert_string_equal(fault.text, "No such file or directory");
	assert_false(report_read(&r, "/", &fault));
	assert_non_null(strstr(fault.text, "cannot be read"));
}

/* Every place where reading a file needs memory. */
static void files_need_memory(void **state)
{
	char path[] = "/tmp/test_report_files.XXXXXX";
	struct report_fault fault;
	struct report r;
	bool ok = false;

	(void)state;
	assert_true(close(mkstemp(path)) == 0);
	save(path, "# cachesim 1 run\n# types: count\nc\n", "1\n", 70000);
	for (unsigned i = 1; !ok; i++) {
		alloc_fail_at(i);
		fault.text[0] = '\0';
		ok = report_read(&r, path, &fault);
		assert_true(ok || *fault.text);
		assert_true(!ok || !alloc_failed());
	}
	alloc_fail_at(0);
	report_free(&r);
	unlink(path);
}

static void full_disks_are_told(void **state)
{
	struct report r;

	(void)state;
	fill(&r);
	for (size_t f = 0; f < NROWS(forms); f++) {
		FILE *to = fopen("/dev/full", "w");

		assert_non_null(to);
		setvbuf(to, NULL, _IONBF, 0);
		assert_false(report_write(&r, forms[f], to, 0));
		fclose(to);
	}
	report_free(&r);
}

/* Cells that have no number, and the names of types. */
static void numbers_and_types(void **state)
{
	enum report_type type;
	struct report r;

	(void)state;
	fill(&r);
	report_row(&r);
	report_text(&r, "name", "");
	report_real(&r, "share", (double)INFINITY);
	assert_false(report_at(&r, 2, 0)->is_set);
	assert_false(report_at(&r, 2, 2)->is_set);
	assert_true(report_number(&r, 2, 2) < 1);
	assert_true(report_number(&r, 0, 0) < 1);
	assert_int_equal(report_number(&r, 1, 1), 8);
	report_free(&r);
	for (unsigned i = REPORT_TEXT; i <= REPORT_SECONDS; i++) {
		assert_true(report_type_named(report_type_name(i), &type));
		assert_int_equal(type, i);
	}
	assert_false(report_type_named("weight", &type));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_written_whole_or_not),
		cmocka_unit_test(is_read_whole_or_not),
		cmocka_unit_test(what_is_unknown_is_left_out),
		cmocka_unit_test(csv_of_others_is_read),
		cmocka_unit_test(refuses_lines),
		cmocka_unit_test(files_are_known_by_their_content),
		cmocka_unit_test(files_need_memory),
		cmocka_unit_test(full_disks_are_told),
		cmocka_unit_test(numbers_and_types),
	};

	json_set_alloc_funcs(malloc, free);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
