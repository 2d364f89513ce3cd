/*
 * A site with policies, for tests.
 */
#ifndef TESTS_PROXY_ONE_SITE_H
#define TESTS_PROXY_ONE_SITE_H

#include <stdlib.h>
#include <string.h>

#include "digestd/node/site.h"
#include "tests/unit.h"

/* A site "h" with this policy, and another one for its paths /p* (null: the
 * same). The policies are borrowed. */
static inline struct sites *one_site(const struct policy *all,
				     const struct policy *paths)
{
	struct sites *made = sites_new(1);
	const char *twice;
	struct site *site;

	made->n = 1;
	site = made->at;
	site->names = calloc(1, sizeof(char *));
	site->names[0] = strdup("h");
	site->nnames = 1;
	site->rules = calloc(2, sizeof(struct site_rule));
	site->rules[0].policy = *all;
	site->nrules = 1;
	if (paths) {
		site->rules[1].kind = SITE_RULE_PATH;
		assert_int_equal(path_pattern_init(&site->rules[1].pattern,
						   "/p*"), 0);
		site->rules[1].policy = *paths;
		site->nrules = 2;
	}
	assert_int_equal(sites_index(made, &twice), 0);
	return made;
}

#endif
