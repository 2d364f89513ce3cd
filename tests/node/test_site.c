/*
 * Sites and rules: which site a host is of, and what counts there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/node/site.h"
#include "tests/unit.h"

enum { SITES = 5 };

/* One with these names, blanks between them, and room for 8 rules. */
static void make_site(struct sites *s, const char *names)
{
	struct site *site = &s->at[s->n++];
	char *copy = strdup(names), *rest = copy, *name;

	site->names = calloc(8, sizeof(*site->names));
	site->rules = calloc(8, sizeof(*site->rules));
	assert_true(copy && site->names && site->rules);
	while ((name = strsep(&rest, " ")))
		site->names[site->nnames++] = strdup(name);
	site->nrules = 1;
	free(copy);
}

static struct sites *make_sites(const char *const names[SITES])
{
	struct sites *s = sites_new(SITES);
	const char *twice;

	assert_non_null(s);
	for (size_t i = 0; i < SITES && names[i]; i++)
		make_site(s, names[i]);
	assert_int_equal(sites_index(s, &twice), 0);
	return s;
}

static const struct {
	const char *host;
	int site; /* -1: none */
} hosts[] = {
	{ "www.example.com", 0 },
	{ "a.example.org", 0 },
	{ "example.org", -1 },
	{ "b.a.example.org", 0 },
	{ "www.deep.example.org", 1 },
	{ "deep.example.org", 0 },
	{ "example.com", 2 },
	{ "www.example.com:8080", 3 },
	{ "x.example.com:8080", 3 },
	{ "x.example.com", -1 },
	{ "www.example.comm", -1 },
	{ "www.example.co", -1 },
	{ "", -1 },
	{ ".example.org", 0 },
	{ "[::1]:80", -1 },
};

static void test_hosts(void **state)
{
	static const char *const names[SITES] = {
		"www.example.com *.example.org", "*.deep.example.org",
		"example.com", "*.example.com:8080",
	};
	static const char *const star[SITES] = { "a.b", "*" };
	struct sites *s = make_sites(names);

	(void)state;
	for (size_t i = 0; i < NROWS(hosts); i++) {
		const struct site *found = sites_find(s, hosts[i].host,
						      strlen(hosts[i].host));

		if ((found ? (int)(found - s->at) : -1) != hosts[i].site)
			fail_msg("%s", hosts[i].host);
	}
	sites_unref(s);
	s = make_sites(star);
	assert_ptr_equal(sites_find(s, "a.b", 3), &s->at[0]);
	assert_ptr_equal(sites_find(s, "x.a.b", 5), &s->at[1]);
	assert_ptr_equal(sites_find(s, "", 0), &s->at[1]);
	sites_unref(sites_ref(s));
	sites_unref(s);
	assert_null(sites_find(NULL, "a", 1));
	sites_unref(NULL);
	assert_null(sites_ref(NULL));
}

static void test_claimed_twice(void **state)
{
	struct sites *s = sites_new(2);
	const char *twice;

	(void)state;
	make_site(s, "a *.b c");
	make_site(s, "d *.b");
	assert_int_equal(sites_index(s, &twice), -EEXIST);
	assert_string_equal(twice, "*.b");
	sites_unref(s);
}

/* Rules of fresh_default, each with its number; the last that counts wins. */
static const struct {
	enum site_rule_kind kind;
	const char *text;
	unsigned status;
} rules[] = {
	{ SITE_RULE_ALL, NULL, 0 },
	{ SITE_RULE_PATH, "/a/**", 0 },
	{ SITE_RULE_PATH, "/a/b/*", 0 },
	{ SITE_RULE_TYPE, "video/*", 0 },
	{ SITE_RULE_STATUS, NULL, 404 },
	{ SITE_RULE_PATH, "/last", 0 },
};

static const struct {
	const char *path;
	struct site_answer answer;
	int winner; /* -1: it is not set */
	bool most;  /* fresh_most, which all of them set, too */
} answers[] = {
	{ "/", { 0, NULL }, 0, true },
	{ "/a/x", { 0, NULL }, 1, true },
	{ "/a/b/c", { 0, NULL }, 2, true },
	{ "/a/b/c?d/e", { 0, NULL }, 2, true },
	{ "/a/b/c/d", { 0, NULL }, 1, true },
	{ "/a/x", { 200, "video/mp4" }, 3, true },
	{ "/a/x", { 200, "Video/MP4; codecs=\"a\"" }, 3, true },
	{ "/a/x", { 200, "text/html" }, 1, true },
	{ "/a/x", { 0, "video/mp4" }, 1, true },
	{ "/a/x", { 404, "video/mp4" }, 4, true },
	{ "/a/x", { 404, NULL }, 4, true },
	/* no lifetime for errors, but by a rule of that status */
	{ "/last", { 404, NULL }, 4, true },
	{ "/last", { 500, NULL }, -1, true },
	{ "/last", { 302, NULL }, -1, true },
	{ "/last", { 301, NULL }, 5, true },
	{ "/last", { 200, NULL }, 5, true },
};

static void test_rules(void **state)
{
	static const char *const names[SITES] = { "h" };
	struct sites *s = make_sites(names);
	struct site *site = &s->at[0];

	(void)state;
	for (size_t i = 0; i < NROWS(rules); i++) {
		struct site_rule *rule = &site->rules[i];

		rule->kind = rules[i].kind;
		rule->status = rules[i].status;
		if (rules[i].text)
			assert_int_equal(path_pattern_init(&rule->pattern,
							   rules[i].text), 0);
		rule->policy = (struct policy){
			.set = 1 << POLICY_fresh_default_s |
			       1 << POLICY_fresh_most_s,
			.fresh_default_s = (int64_t)i,
			.fresh_most_s = 100,
		};
	}
	site->nrules = NROWS(rules);
	for (size_t i = 0; i < NROWS(answers); i++) {
		struct policy p;
		struct freshness_rules f;

		site_policy(site, answers[i].path, &answers[i].answer, &p);
		f = policy_freshness(&p);
		if (f.default_s != answers[i].winner || f.most_s != 100)
			fail_msg("%s, %u: %lld", answers[i].path,
				 answers[i].answer.status,
				 (long long)f.default_s);
		assert_int_equal(f.least_s, -1);
		assert_int_equal(f.on_error_s, -1);
		assert_int_equal(f.renew_s, -1);
	}
	sites_unref(s);
}

/* Setting by setting. */
static void test_merge(void **state)
{
	struct policy p = { .set = 1 << POLICY_pass | 1 << POLICY_sort,
			    .pass = true, .sort = true };
	const struct policy more = {
		.set = 1 << POLICY_pass | 1 << POLICY_stale_on_error_s |
		       1 << POLICY_stale_while_revalidate_s |
		       1 << POLICY_fresh_least_s,
		.stale_on_error_s = 7, .stale_while_revalidate_s = 8,
		.fresh_least_s = 9,
	};
	struct freshness_rules f;

	(void)state;
	policy_merge(&p, &more);
	assert_false(p.pass);
	assert_true(p.sort);
	assert_true(policy_has(&p, POLICY_pass));
	assert_false(policy_has(&p, POLICY_keep));
	f = policy_freshness(&p);
	assert_int_equal(f.on_error_s, 7);
	assert_int_equal(f.renew_s, 8);
	assert_int_equal(f.least_s, 9);
	assert_int_equal(f.default_s, -1);
}

/* By rules of the site, of /keep and of /sort; its second name has a port. */
static const struct {
	const char *uri, *stored;
} forms[] = {
	{ "http://h/a", NULL },
	{ "http://H:80/a?utm_a=1&b=2", "http://h/a?b=2" },
	{ "https://h/a?utm_a=1", "https://h/a" },
	{ "http://h/a?b=2&a=1", NULL },
	{ "http://h/sort?b=2&utm_a=1&a=1", "http://h/sort?a=1&b=2" },
	{ "http://h/keep?utm_a=1&id=7&b=1", "http://h/keep?id=7" },
	{ "http://h/keep?b=1", "http://h/keep" },
	{ "http://h:8080/a?utm_a=1&b=2", "http://h:8080/a?b=2" },
	/* of no site */
	{ "http://h:81/a?utm_a=1&b=2", NULL },
	{ "http://i/sort?b&a", NULL },
	/* what servers may tell apart */
	{ "http://h/./a/../a?%75tm_a=1&utm_b", "http://h/./a/../a?%75tm_a=1" },
	{ "http://h/%73ort?b&a", NULL },
};

static void set_key_rules(struct site *site)
{
	struct site_rule *r = site->rules;

	r[0].kind = SITE_RULE_ALL;
	r[0].policy = (struct policy){ .set = 1 << POLICY_drop,
				       .drop = "utm_*" };
	r[1].kind = SITE_RULE_PATH;
	r[1].policy = (struct policy){ .set = 1 << POLICY_keep, .keep = "id" };
	assert_int_equal(path_pattern_init(&r[1].pattern, "/keep"), 0);
	r[2].kind = SITE_RULE_PATH;
	r[2].policy = (struct policy){ .set = 1 << POLICY_sort, .sort = true };
	assert_int_equal(path_pattern_init(&r[2].pattern, "/sort"), 0);
	site->nrules = 3;
}

static void test_normalise(void **state)
{
	static const char *const names[SITES] = { "h h:8080" };
	struct sites *s = make_sites(names);

	(void)state;
	set_key_rules(&s->at[0]);
	for (size_t i = 0; i < NROWS(forms); i++) {
		const char *uri = forms[i].uri;
		const char *stored = forms[i].stored ? forms[i].stored : uri;
		struct target t;

		assert_int_equal(target_resolve(&t, uri, strlen(uri), NULL), 0);
		for (int times = 0; times < 2; times++) {
			assert_int_equal(sites_normalise(s, &t), 0);
			assert_string_equal(t.uri, stored);
			assert_int_equal(t.uri_len, strlen(stored));
		}
		assert_int_equal(sites_normalise(NULL, &t), 0);
		assert_string_equal(t.uri, stored);
		target_free(&t);
	}
	sites_unref(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_claimed_twice),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_normalise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
