/*
 * Sites in configuration files: what arrives, and what is said of faults.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/config/config_explain.h"
#include "digestd/node/site.h"
#include "tests/codec/alloc.h"
#include "tests/config/config_file.h"
#include "tests/unit.h"

#define BASE "node = a\nlisten_data = :8080\ndefault_origin = http://o\n"
#define AT "%D/conf"

static const struct {
	const char *label, *text, *errors;
} faults[] = {
	{ "no name", BASE "site { }\n",
	  AT ":4: site: needs the names of hosts\n" },
	{ "names that are none", BASE "site \"a/b\" \"*.\" \"a.*\" { }\n",
	  AT ":4: site: \"a/b\" is not a host, nor *.HOST or *\n"
	  AT ":4: site: \"*.\" is not a host, nor *.HOST or *\n" },
	{ "a name twice", BASE "site a b { }\nsite c \"B:80\" { }\n",
	  AT ":5: site: \"b\" is claimed twice, first at " AT ":4\n" },
	{ "two names twice", BASE "site a b { }\nsite b a { }\nsite a { }\n",
	  AT ":5: site: \"b\" is claimed twice, first at " AT ":4\n"
	  AT ":5: site: \"a\" is claimed twice, first at " AT ":4\n"
	  AT ":6: site: \"a\" is claimed twice, first at " AT ":4\n" },
	{ "a type without its second part",
	  BASE "site a { rule type image { } }\n",
	  AT ":4: rule: \"image\" is no type of content such as image/*\n" },
	{ "a name twice in one", BASE "site \"*.a\" \"*.A\" { }\n",
	  AT ":4: site: \"*.a\" is claimed twice, first at " AT ":4\n" },
	{ "two origins", BASE "site a {\norigin x { url = http://b }\n"
	  "origin y { url = http://c }\n}\n",
	  AT ":6: origin: \"y\": the site has an origin\n" },
	{ "17 URLs of an origin", BASE "site a { origin x { url = "
	  "http://b, http://b, http://b, http://b, http://b, http://b, "
	  "http://b, http://b, http://b, http://b, http://b, http://b, "
	  "http://b, http://b, http://b, http://b, http://c } }\n",
	  AT ":4: origin: \"x\": url: more than 16\n" },
	{ "an origin without a URL", BASE "site a { origin x { } }\n",
	  AT ":4: origin: \"x\": url: not given\n" },
	{ "an origin of its own, and of a site", BASE
	  "site a b {\norigin x { url = http://b }\n}\n"
	  "origin b { url = http://c }\n",
	  AT ":7: origin \"b\": the site of this name has an origin, in "
	  AT ":4\n" },
	{ "an origin that is this node", BASE
	  "site a { origin x { url = http://127.0.0.1:8080 } }\n",
	  AT ":4: site: origin: url: \"http://127.0.0.1:8080\" is this node's "
	  "own listen_data\n" },
	{ "unknown settings", BASE "site a {\nfresh_defalt = 1s\n"
	  "rule \"/a\" {\nparse = true\norigin b { }\nkey { drp = a\n}\n}\n}\n",
	  AT ":5: no such option 'fresh_defalt' in section site; is "
	  "'fresh_default' meant?\n"
	  AT ":7: no such option 'parse' in section rule; is 'pass' meant?\n"
	  AT ":8: no such section 'origin' in section rule\n"
	  AT ":9: no such option 'drp' in section key; is 'drop' meant?\n" },
	{ "options of the node", BASE "site a {\norigin_stall = 1s\n"
	  "rule \"/a\" {\nlog_level = debug\n}\n}\n",
	  AT ":5: no such option 'origin_stall' in section site; it is one of "
	  "the node, and stands outside of sections\n"
	  AT ":7: no such option 'log_level' in section rule; it is one of "
	  "the node, and stands outside of sections\n" },
	{ "values that are none", BASE "site a {\nfresh_default = x\n"
	  "pass = 7\nset_cookie = eat\nclient_no_cache = no\n"
	  "max_object_size = 0\nkey { keep = \"a=b\" }\n"
	  "field_drop = Content-Length, \"a b\"\n"
	  "field_set = \"Connection: a\", b\n}\n",
	  AT ":5: fresh_default: \"x\" is not a time in whole seconds such as "
	  "30s\n"
	  AT ":6: pass: \"7\" is not true, yes or on, nor false, no or off\n"
	  AT ":7: set_cookie: \"eat\" is not refuse, strip or allow\n"
	  AT ":8: client_no_cache: \"no\" is not obey, validate or ignore\n"
	  AT ":9: max_object_size: \"0\" is below 1\n"
	  AT ":11: field_drop: \"Content-Length\" is not the name of a field, "
	  "or of one that frames the body\n"
	  AT ":11: field_drop: \"a b\" is not the name of a field, or of one "
	  "that frames the body\n"
	  AT ":12: field_set: \"Connection: a\" is not a field such as \"Name: "
	  "value\", or is one that frames the body\n"
	  AT ":12: field_set: \"b\" is not a field such as \"Name: value\", or "
	  "is one that frames the body\n"
	  AT ":10: keep: \"a=b\" is not the name of an argument\n" },
	{ "rules of nothing", BASE "site a {\nrule { }\nrule a { }\n"
	  "rule status { }\nrule status 99 { }\nrule colour red { }\n"
	  "rule a b c { }\nrule type \"\" { }\n}\n",
	  AT ":5: rule: needs a path, status and a number, or type and a type\n"
	  AT ":6: rule: \"a\" is not a path, which begins with / or *\n"
	  AT ":7: rule: \"status\" is not a path, which begins with / or *\n"
	  AT ":8: rule: \"99\" is not a status from 200 to 599\n"
	  AT ":9: rule: \"colour\" is not status or type\n"
	  AT ":10: rule: \"c\": only a path, status and a number, or type and "
	  "a type stands here\n"
	  AT ":11: rule: \"\" is not a pattern of 1 to 63 bytes\n" },
	{ "rules that come too late", BASE "site a {\nrule status 404 {\n"
	  "pass = true\nclient_no_cache = obey\nkey { sort = true }\n"
	  "purge_addresses = \"::1\"\nstale_wait = 1s\n}\n}\n",
	  AT ":6: pass: is settled before there is an answer\n"
	  AT ":7: client_no_cache: is settled before there is an answer\n"
	  AT ":8: key: is settled before there is an answer\n"
	  AT ":9: purge_addresses: is settled before there is an answer\n"
	  AT ":10: stale_wait: is settled before there is an answer\n" },
	{ "a key twice", BASE "site a {\nkey { sort = true }\n"
	  "key { drop = a }\n}\n",
	  AT ":6: key: is given again, after line 5\n" },
	{ "a setting twice", BASE "site a {\npass = true\npass = true\n}\n",
	  AT ":6: pass is given again, after line 5\n" },
};

static void test_faults(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(faults); i++) {
		struct config *c = NULL;

		assert_int_equal(config_load_finds(faults[i].label,
						   faults[i].text,
						   faults[i].errors, &c),
				 -EINVAL);
	}
}

static struct config *load(const char *text)
{
	struct config *c = NULL;

	assert_int_equal(config_load_finds(text, text, "", &c), 0);
	return c;
}

static void test_values_arrive(void **state)
{
	struct config *c = load(
		"node = a\nlisten_data = :8080\ncache_size = 1M\n"
		"site \"WWW.Example.com:80\" \"*.EXAMPLE.org\" \"*\" {\n"
		"\torigin a { url = http://b }\n\tfresh_least = 1d\n"
		"\tset_cookie = strip\n\tmax_object_size = 1G\n"
		"\tkey { drop = a, \"b*\" }\n"
		"\trule \"/x\" { pass = true\nset_cookie = allow\n"
		"key { keep = \"\" } }\n"
		"\trule type \"Video/*\" { field_set = \"A: b\", \"C: d\" }\n"
		"}\n");
	const struct site *s;

	(void)state;
	assert_int_equal(c->sites->n, 1);
	s = &c->sites->at[0];
	assert_string_equal(s->names[0], "www.example.com");
	assert_string_equal(s->names[1], "*.example.org");
	assert_string_equal(s->names[2], "*");
	assert_string_equal(s->origin, "http://b");
	assert_int_equal(s->nrules, 3);
	assert_int_equal(s->rules[0].policy.fresh_least_s, 86400);
	assert_int_equal(s->rules[0].policy.set_cookie, SET_COOKIE_STRIP);
	assert_int_equal(s->rules[0].policy.max_object_bytes, 1 << 20);
	assert_string_equal(s->rules[0].policy.drop, "a\nb*");
	assert_false(policy_has(&s->rules[0].policy, POLICY_pass));
	assert_true(s->rules[1].policy.pass);
	assert_int_equal(s->rules[1].policy.set_cookie, SET_COOKIE_ALLOW);
	assert_string_equal(s->rules[1].policy.keep, "");
	assert_int_equal(s->rules[2].kind, SITE_RULE_TYPE);
	assert_true(path_pattern_match(&s->rules[2].pattern, "video/mp4", 9));
	assert_string_equal(s->rules[2].policy.field_set, "A: b\nC: d");
	config_free(&c);
}

/* Each that is a number, a time or a flag, where it is set and where not. */
static void test_values_that_are_not_set_stay(void **state)
{
	struct config *c = load(
		BASE "site a {\nfresh_most = 1h\nstale_on_error = 2h\n"
		"stale_while_revalidate = 3m\nmax_object_size = 5K\n"
		"stale_wait = 1500ms\n"
		"key { encodings = true\nsort = true }\n"
		"rule \"/x\" { max_object_size = 100G\nfresh_most = 9s }\n}\n"
		"site b { fresh_default = 4s }\n");
	const struct policy *a = &c->sites->at[0].rules[0].policy;
	const struct policy *x = &c->sites->at[0].rules[1].policy;
	const struct policy *b = &c->sites->at[1].rules[0].policy;

	(void)state;
	assert_int_equal(a->fresh_most_s, 3600);
	assert_int_equal(a->stale_on_error_s, 7200);
	assert_int_equal(a->stale_while_revalidate_s, 180);
	assert_int_equal(a->stale_wait_ms, 1500);
	assert_int_equal(a->max_object_bytes, 5 << 10);
	assert_true(a->encodings && a->sort);
	assert_int_equal(x->fresh_most_s, 9);
	assert_int_equal(x->max_object_bytes, c->cache_size);
	assert_false(policy_has(x, POLICY_stale_on_error_s));
	assert_int_equal(b->fresh_default_s, 4);
	assert_false(policy_has(b, POLICY_encodings));
	assert_false(b->encodings || b->sort);
	config_free(&c);
}

/* Lines of one kind, each ended by a newline. */
struct explained {
	enum config_explained_kind kind;
	bool unset; /* also what is not set */
	char text[1024];
};

static void on_explained(void *arg, const struct config_explained *l)
{
	struct explained *e = arg;
	const char *from = l->from ? strrchr(l->from, '/') : NULL;
	const size_t len = strlen(e->text);

	if (l->kind != e->kind)
		return;
	if (l->kind == CONFIG_EXPLAINED_SETTING &&
	    (!l->value || (!l->from && !e->unset)))
		return;
	snprintf(e->text + len, sizeof(e->text) - len, "%s %s, %s, %s\n",
		 l->name, l->value ? l->value : "-",
		 from ? from + 1 : l->from ? l->from : "-",
		 l->rule ? l->rule : "-");
}

static const struct {
	const char *url;
	enum config_explained_kind kind;
	bool unset;
	const char *text;
} explanations[] = {
	{ "http://x.b:80/p?c&utm_a", CONFIG_EXPLAINED_SITE, false,
	  "site a, conf:4, -\n" },
	{ "http://x.b:80/p?c&utm_a", CONFIG_EXPLAINED_ORIGIN, false,
	  "origin http://o, conf:4, -\n" },
	{ "http://x.b:80/p?c&utm_a", CONFIG_EXPLAINED_KEY, false,
	  "key http://x.b/p?c, -, -\n" },
	{ "http://x.b:80/p?c&utm_a", CONFIG_EXPLAINED_SETTING, false,
	  "fresh_least 1m, conf:6, -\n"
	  "purge_addresses 10.0.0.0/8, general, -\n"
	  "key drop utm_*, conf:7, -\n" },
	{ "http://x.b/x", CONFIG_EXPLAINED_SETTING, true,
	  "fresh_least 2m, conf:9, /x\nstale_wait 5000ms, -, -\n"
	  "set_cookie refuse, -, -\n"
	  "client_no_cache validate, -, -\npass true, conf:8, /x\n"
	  "purge_addresses 10.0.0.0/8, general, -\n"
	  "max_object_size 1048576, -, -\nkey drop utm_*, conf:7, -\n"
	  "key encodings false, -, -\nkey sort false, -, -\n" },
	{ "http://x.b/x", CONFIG_EXPLAINED_KEY, true, "key -, -, -\n" },
	{ "http://x.b/x", CONFIG_EXPLAINED_ANSWER, false,
	  "fresh_least 3m, conf:10, status 404\n"
	  "field_set A: b, conf:11, type v/*\n" },
	{ "http://c/?c&utm_a", CONFIG_EXPLAINED_SITE, false,
	  "site -, no site: the general options count, -\n" },
	{ "http://c/?c&utm_a", CONFIG_EXPLAINED_ORIGIN, false,
	  "origin http://d, conf:13, -\n" },
	{ "http://c/?c&utm_a", CONFIG_EXPLAINED_KEY, false,
	  "key http://c/?c&utm_a, -, -\n" },
	{ "http://c/?c&utm_a", CONFIG_EXPLAINED_SETTING, false,
	  "set_cookie allow, conf:13, -\n"
	  "purge_addresses 10.0.0.0/8, general, -\n" },
	{ "http://c/?c&utm_a", CONFIG_EXPLAINED_ANSWER, false, "" },
	{ "http://d/", CONFIG_EXPLAINED_ORIGIN, false,
	  "origin -, none: it is refused with 421, -\n" },
	{ "http://d/", CONFIG_EXPLAINED_SETTING, true,
	  "stale_wait 5000ms, -, -\n"
	  "set_cookie refuse, -, -\nclient_no_cache obey, -, -\n"
	  "pass false, -, -\npurge_addresses 10.0.0.0/8, general, -\n"
	  "max_object_size 1048576, -, -\n"
	  "key encodings false, -, -\nkey sort false, -, -\n" },
};

static void test_explanations(void **state)
{
	struct config *c = load(
		"node = a\nlisten_data = :8080\ncache_size = 1M\n"
		"site a \"*.b\" {\n"
		"origin x { url = http://o }\n"
		"fresh_least = 1m\n"
		"key { drop = \"utm_*\" }\n"
		"rule \"/x\" { pass = true\nfresh_least = 2m }\n"
		"rule status 404 { fresh_least = 3m }\n"
		"rule type \"v/*\" { field_set = \"A: b\" }\n"
		"}\n"
		"origin c { url = http://d\nset_cookie = allow }\n"
		"purge_addresses = 10.0.0.0/8\n");

	(void)state;
	for (size_t i = 0; i < NROWS(explanations); i++) {
		struct explained e = { explanations[i].kind,
				       explanations[i].unset, "" };
		const char *url = explanations[i].url;
		struct target t;

		assert_int_equal(target_resolve(&t, url, strlen(url), NULL), 0);
		assert_int_equal(config_explain(c, &t, on_explained, &e), 0);
		if (strcmp(e.text, explanations[i].text))
			fail_msg("row %zu: %s", i, e.text);
		target_free(&t);
	}
	config_free(&c);
}

static void test_explained_without_memory(void **state)
{
	struct config *c = load(BASE "site a { key { sort = true } }\n");
	struct explained e = { CONFIG_EXPLAINED_KEY, false, "" };
	struct target t;

	(void)state;
	assert_int_equal(target_resolve(&t, "http://a/?b&a", 13, NULL), 0);
	alloc_fail_at(1);
	assert_int_equal(config_explain(c, &t, on_explained, &e), -ENOMEM);
	alloc_fail_at(0);
	assert_string_equal(t.uri, "http://a/?b&a");
	target_free(&t);
	config_free(&c);
}

static void test_without_memory(void **state)
{
	static const char text[] =
		BASE "site a \"*.b\" {\norigin x { url = http://b }\n"
		"key { drop = a, b }\nrule \"/x\" { pass = true }\n"
		"rule type \"a/*\" { field_set = \"A: b\" }\n}\n";
	bool failed = true;

	(void)state;
	config_write("conf", text, strlen(text), 0600);
	for (unsigned i = 1; failed; i++) {
		struct config_errors found;
		struct config *c = NULL;
		int err;

		alloc_fail_at(i);
		err = config_load(config_path("conf"), &c, &found);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(!err, !failed);
		assert_int_equal(!c, failed);
		assert_int_equal(!found.len, !failed);
		config_free(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_values_arrive),
		cmocka_unit_test(test_values_that_are_not_set_stay),
		cmocka_unit_test(test_explanations),
		cmocka_unit_test(test_explained_without_memory),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests(tests, config_folder_make,
				      config_folder_remove);
}
