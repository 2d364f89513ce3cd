/*
 * Which names of certificates stand for what clients ask for.
 */
#include "digestd/tls/tls_name.h"
#include "tests/unit.h"

#define NONE TLS_MATCH_NONE
#define WILD TLS_MATCH_WILDCARD
#define EXACT TLS_MATCH_EXACT

static const struct {
	const char *label, *certified, *asked;
	enum tls_match match;
} rows[] = {
	{ "the same", "www.example.com", "www.example.com", EXACT },
	{ "of one label", "localhost", "localhost", EXACT },
	{ "upper case", "WWW.example.com", "www.EXAMPLE.com", EXACT },
	{ "a dot at the end", "www.example.com", "www.example.com.", EXACT },
	{ "at both", "www.example.com.", "www.example.com.", EXACT },
	{ "another", "www.example.com", "www.example.org", NONE },
	{ "the beginning", "www.example.com", "www.example", NONE },
	{ "the end", "example.com", "www.example.com", NONE },
	{ "a wildcard", "*.example.com", "www.example.com", WILD },
	{ "in upper case", "*.Example.com", "www.eXample.com", WILD },
	{ "with a dot at the end", "*.example.com", "www.example.com.", WILD },
	{ "for no label", "*.example.com", "example.com", NONE },
	{ "for an empty label", "*.example.com", ".example.com", NONE },
	{ "for two labels", "*.example.com", "a.b.example.com", NONE },
	{ "for another", "*.example.com", "www.example.org", NONE },
	{ "for itself", "*.example.com", "*.example.com", EXACT },
	{ "of one label", "*", "localhost", NONE },
	{ "and a dot only", "*.", "www.", NONE },
	{ "a part of a label", "w*.example.com", "www.example.com", NONE },
	{ "another part", "*w.example.com", "www.example.com", NONE },
	{ "not the first label", "www.*.com", "www.example.com", NONE },
	{ "two of them", "*.*.com", "www.example.com", NONE },
	{ "an A-label", "*.example.com", "xn--bcher-kva.example.com", WILD },
	{ "nothing is certified", "", "www.example.com", NONE },
	{ "nothing is asked for", "www.example.com", "", NONE },
	{ "neither", "", "", NONE },
	{ "the root", ".", ".", NONE },
};

static void names(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		print_message("# %s\n", rows[i].label);
		assert_int_equal(tls_name_match(rows[i].certified,
						rows[i].asked), rows[i].match);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
