/*
 * Reports: what is written is read back, JSON and CSV; tables as they look;
 * files that are no reports.
 */
#include "tests/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/report/report.h"

static const struct report_column columns[] = {
	{ "eviction", REPORT_TEXT, true },
	{ "size", REPORT_BYTES, true },
	{ "requests", REPORT_COUNT, false },
	{ "total_hit_ratio", REPORT_SHARE, false },
	{ "messages", REPORT_REAL, false },
	{ "latency", REPORT_SECONDS, false },
	{ "nothing", REPORT_REAL, false },
};

static void fill(struct report *r, unsigned nrows)
{
	static const char *const names[] = { "lru", "a \"b\", c", "x\ny" };

	report_init(r, "run", columns, NROWS(columns));
	report_note(r, "trace", "gen:dec,seed=1");
	for (unsigned i = 0; i < nrows; i++) {
		report_row(r);
		report_text(r, "eviction", names[i % 3]);
		report_count(r, "size", UINT64_C(3) << (10 * i));
		report_count(r, "requests", 1234567);
		report_real(r, "total_hit_ratio", (i + 1) / 8.0);
		report_real(r, "messages", i ? 1e-3 * i : (double)NAN);
		report_count(r, "latency", i);
	}
	assert_false(r->failed);
}

static char *written(const struct report *r, enum report_form form,
		     unsigned width)
{
	char *text;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	assert_non_null(to);
	assert_true(report_write(r, form, to, width));
	fclose(to);
	return text;
}

static void comes_back(void **state)
{
	static const enum report_form forms[] = { REPORT_JSON, REPORT_CSV };

	(void)state;
	for (size_t f = 0; f < 2; f++) {
		struct report r, back;
		struct report_fault fault = { 0 };
		char *text, *again, *copy;
		bool ok;

		fill(&r, 4);
		text = written(&r, forms[f], 0);
		copy = strdup(text);
		ok = f ? report_read_csv(&back, copy, &fault) :
			 report_read_json(&back, copy, strlen(copy), &fault);
		if (!ok)
			fail_msg("%s", fault.text);
		again = written(&back, forms[f], 0);
		assert_string_equal(text, again);
		assert_int_equal(back.nrows, 4);
		assert_string_equal(back.kind, "run");
		assert_string_equal(report_at(&back, 1, 0)->text,
				    "a \"b\", c");
		assert_false(report_at(&back, 0, 4)->is_set);
		free(text);
		free(again);
		free(copy);
		report_free(&r);
		report_free(&back);
	}
}

static const char upright[] = "trace: gen:dec,seed=1\n"
			      "eviction         lru\n"
			      "size                          3 B\n"
			      "requests                1,234,567\n"
			      "total hit ratio          12.500 %\n"
			      "latency                       0 s\n";

static const char narrow[] = "trace: gen:dec,seed=1\n"
			     "requests         1,234,567\n"
			     "\n"
			     "                      total\n"
			     "                        hit\n"
			     "eviction      size  ratio %  messages\n"
			     "lru            3 B   12.500\n"
			     "a \"b\", c  3.00 KiB   25.000     0.001\n"
			     "\n"
			     "eviction      size  latency\n"
			     "lru            3 B      0 s\n"
			     "a \"b\", c  3.00 KiB      1 s\n";

static void tables(void **state)
{
	struct report r;
	char *text;

	(void)state;
	fill(&r, 1);
	text = written(&r, REPORT_TABLE, 80);
	assert_string_equal(text, upright);
	free(text);
	report_free(&r);
	fill(&r, 2);
	text = written(&r, REPORT_TABLE, 37);
	assert_string_equal(text, narrow);
	free(text);
	report_free(&r);
}

static void refuses(void **state)
{
	/* clang-format off */
	static const struct {
		const char *text, *why;
		unsigned line;
	} bad[] = {
		{ "", "not a result", 0 },
		{ "a,b\n1,2\n", "not a result", 0 },
		{ "# cachesim 2 run\n# types: count\na\n", "newer", 1 },
		{ "# cachesim 1 run\na\n", "types", 1 },
		{ "# cachesim 1 run\n# types: count\na,b\n", "without", 3 },
		{ "# cachesim 1 run\n# types: count,count\na\n", "without", 3 },
		{ "# cachesim 1 run\n# types: count\na\nx\n", "number", 4 },
		{ "# cachesim 1 run\n# types: count\na\n1,2\n", "many", 4 },
		{ "{ \"cachesim\": 1 }", "not a result", 0 },
		{ "{", "", 1 },
		{ "{ \"cachesim\": 9, \"kind\": \"\", \"about\": {},"
		  " \"columns\": [], \"rows\": [] }", "newer", 0 },
		{ "{ \"cachesim\": 1, \"kind\": \"\", \"about\": {},"
		  " \"columns\": [], \"rows\": [] }", "columns", 0 },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < NROWS(bad); i++) {
		struct report_fault fault = { 0 };
		struct report r;
		char *text = strdup(bad[i].text);
		size_t len = strlen(text);

		assert_false(*text == '{' ?
				     report_read_json(&r, text, len, &fault) :
				     report_read_csv(&r, text, &fault));
		if (!strstr(fault.text, bad[i].why))
			fail_msg("%zu: %s", i, fault.text);
		assert_int_equal(fault.line, bad[i].line);
		free(text);
	}
}

/* A report that is cut anywhere is refused, or has fewer rows. */
static void cut(void **state)
{
	struct report r, back;
	struct report_fault fault;
	char *text, *part;
	size_t len;

	(void)state;
	fill(&r, 3);
	text = written(&r, REPORT_CSV, 0);
	len = strlen(text);
	for (size_t n = 0; n < len; n++) {
		part = strndup(text, n);
		if (report_read_csv(&back, part, &fault)) {
			assert_true(back.nrows <= 3);
			report_free(&back);
		}
		free(part);
	}
	free(text);
	report_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back),
		cmocka_unit_test(tables),
		cmocka_unit_test(refuses),
		cmocka_unit_test(cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
