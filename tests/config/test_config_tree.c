/*
 * The syntax of configurations: what trees texts become, and what is said of
 * those that have faults, of which each is found.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/config/config_tree.h"
#include "tests/codec/alloc.h"
#include "tests/unit.h"

/* A tree in one line: "2 name = [a] [b]; 3 section [title] { ... }". */
static void dump(FILE *to, const struct config_node *n)
{
	static const char *const signs[] = { " =", " +=", "", " <" };

	for (; n; n = n->next) {
		fprintf(to, "%u %s%s", n->line, n->name, signs[n->kind]);
		for (size_t i = 0; i < n->nwords; i++)
			fprintf(to, " [%s]", n->words[i]);
		if (n->kind == CONFIG_SECTION) {
			fprintf(to, " { ");
			dump(to, n->children);
			fprintf(to, "}");
		}
		fprintf(to, "; ");
	}
}

static char *dumped(const struct config_node *first)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	assert_non_null(to);
	dump(to, first);
	fclose(to);
	return text;
}

static const struct {
	const char *text, *tree, *errors;
} rows[] = {
	{ "", "", "" },
	{ "\n# one\n// two\n/* three\n * lines */ a = 1", "5 a = [1]; ", "" },
	{ "a = 1\r\nb=2\r\n", "1 a = [1]; 2 b = [2]; ", "" },
	{ "a = 1 b = 2", "1 a = [1]; 1 b = [2]; ", "" },
	{ "a = \"b c # d\" # e", "1 a = [b c # d]; ", "" },
	{ "a = \"\\\"\\\\\\t\\x41\\101\\q\"", "1 a = [\"\\\tAAq]; ", "" },
	{ "a = 'b\\'\\\\\\n'", "1 a = [b'\\\\n]; ", "" },
	{ "a = \"b\\\nc\"\nd = 1", "1 a = [bc]; 3 d = [1]; ", "" },
	{ "a = http://h:1/b#c//d/*e", "1 a = [http://h:1/b#c//d/*e]; ", "" },
	{ "a =\n  1\n", "1 a = [1]; ", "" },
	{ "a\n= 1\n", "1 a = [1]; ", "" },
	{ "a = b, \"c\",\n d\ne = 1", "1 a = [b] [c] [d]; 3 e = [1]; ", "" },
	{ "a = {b,\n\"c\", }\ne = {}", "1 a = [b] [c]; 3 e =; ", "" },
	{ "a += b+c", "1 a += [b+c]; ", "" },
	{ "a+=b", "1 a += [b]; ", "" },
	{ "s { }", "1 s { }; ", "" },
	{ "s \"t\" u\n{\na = 1\n}", "1 s [t] [u] { 3 a = [1]; }; ", "" },
	{ "s t { a = 1 u { b = 2 } c = 3 }\nd = 4",
	  "1 s [t] { 1 a = [1]; 1 u { 1 b = [2]; }; 1 c = [3]; }; 2 d = [4]; ",
	  "" },
	{ "include \"d/*.conf\"\na = 1", "1 include < [d/*.conf]; 2 a = [1]; ",
	  "" },
	{ "${HOME} = \"${HOME}\"", "1 $ { }; ",
	  "f:1: \"HOME\" is neither an option, NAME = VALUE, nor a section; a "
	  "value with blanks needs quotes\n" "f:1: unexpected '='\n" },
	/* faults: one each, and all else is there */
	{ "a = = 1\nb = 2", "2 b = [2]; ", "f:1: unexpected '='\n" },
	{ "a =\nb = 2", "1 a =; 2 b = [2]; ", "f:1: a has no value\n" },
	{ "a = 1 2\nb = 2", "1 a = [1]; 2 b = [2]; ",
	  "f:1: \"2\" is neither an option, NAME = VALUE, nor a section; "
	  "a value with blanks needs quotes\n" },
	{ "a = \"b\nc = 1", "2 c = [1]; ", "f:1: a quote is not closed\n" },
	{ "a = 'b", "", "f:1: a quote is not closed\n" },
	{ "a = \"b\\", "", "f:1: a quote is not closed\n" },
	{ "a = \"\\0\"\nb = 1", "2 b = [1]; ",
	  "f:1: a text with a NUL byte\n" },
	{ "a = {b\nc = 1\nd = 2", "3 d = [2]; ",
	  "f:1: the list of a is not closed\n" },
	{ "a = 1\n/* b\n\n", "1 a = [1]; ", "f:2: a comment is not closed\n" },
	{ "s \"t\" {\na = 1\n", "1 s [t] { 2 a = [1]; }; ",
	  "f:1: section s \"t\" is not closed\n" },
	{ "s {\nt {\na = 1\n}\n", "1 s { 2 t { 3 a = [1]; }; }; ",
	  "f:1: section s is not closed\n" },
	{ "a = 1\n}\nb = 2", "1 a = [1]; 3 b = [2]; ",
	  "f:2: a } that closes nothing\n" },
	{ "s { a = }\nb = 2", "1 s { }; 2 b = [2]; ", "f:1: unexpected '}'\n" },
	{ "s { a = = 1 }\nb = 2", "1 s { }; 2 b = [2]; ",
	  "f:1: unexpected '='\n" },
	{ "= { b = 1\nc = 2 }\nd = 3", "3 d = [3]; ", "f:1: unexpected '='\n" },
	{ "include\na = 1", "2 a = [1]; ", "f:1: include needs a path\n" },
	{ "a = ,\nb = {,}\nc = {a b}\nd = 1", "4 d = [1]; ",
	  "f:1: unexpected ','\n"
	  "f:2: the list of b is not closed\n"
	  "f:3: the list of c is not closed\n" },
	{ "a{b{c{d{e{f{g{h{i{j=1}}}}}}}}}\nk = 1",
	  "1 a { 1 b { 1 c { 1 d { 1 e { 1 f { 1 g { 1 h { }; }; }; }; }; }; "
	  "}; }; 2 k = [1]; ", "f:1: sections are nested more than 8 deep\n" },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct config_errors e = { .len = 0 };
		struct config_node *first = NULL;
		char *tree;

		assert_int_equal(config_tree_read(rows[i].text,
						  strlen(rows[i].text), "f",
						  &first, &e), 0);
		tree = dumped(first);
		if (strcmp(tree, rows[i].tree) ||
		    strcmp(e.text, rows[i].errors))
			fail_msg("%s\n: %s\n%snot %s\n%s", rows[i].text, tree,
				 e.text, rows[i].tree, rows[i].errors);
		free(tree);
		config_tree_free(&first);
		assert_null(first);
	}
}

static void test_nul(void **state)
{
	static const char text[] = "a = 1\n\0\nb = 2";
	struct config_errors e = { .len = 0 };
	struct config_node *first;
	char *tree;

	(void)state;
	assert_int_equal(config_tree_read(text, sizeof(text) - 1, "f", &first,
					  &e), 0);
	tree = dumped(first);
	assert_string_equal(tree, "1 a = [1]; 3 b = [2]; ");
	assert_string_equal(e.text, "f:2: a NUL byte\n");
	free(tree);
	config_tree_free(&first);
}

/* Cut anywhere, it ends, and nothing behind the end is read. */
static void test_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		for (size_t len = 0; len < strlen(rows[i].text); len++) {
			struct config_errors e = { .len = 0 };
			struct config_node *first;
			char *text = malloc(len + !len);

			assert_non_null(text);
			memcpy(text, rows[i].text, len);
			assert_int_equal(config_tree_read(text, len, "f",
							  &first, &e), 0);
			free(text);
			config_tree_free(&first);
		}
	}
}

static void test_without_memory(void **state)
{
	static const char text[] = "a = 1, 2\ns t { b += 3 }\ninclude x\n";
	bool failed = true;

	(void)state;
	for (unsigned i = 1; failed; i++) {
		struct config_errors e = { .len = 0 };
		struct config_node *first;
		int err;

		alloc_fail_at(i);
		err = config_tree_read(text, strlen(text), "f", &first, &e);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(!err, !failed);
		assert_int_equal(!first, failed);
		config_tree_free(&first);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_nul),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
