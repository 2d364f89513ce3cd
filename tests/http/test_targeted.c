/*
 * Targeted cache control: which field counts, and what it says.
 */
#include "tests/unit.h"

#include "digestd/http/response_facts.h"
#include "digestd/http/targeted.h"
#include "tests/codec/alloc.h"
#include "tests/http/message.h"

/* What differs from nothing, in a few letters; null: no targeted field. */
static const char *describe(const char *response)
{
	static char out[200];
	struct cachecontrol cc;
	struct fields f;
	bool any;

	message_must(&f, response);
	any = targeted_read(&f, "cache1", &cc);
	fields_free(&f);
	if (!any)
		return NULL;
	assert_true(cc.targeted);
	snprintf(out, sizeof(out), "%lld %lld%s%s%s%s%s%s",
		 (long long)cc.max_age, (long long)cc.s_maxage,
		 cc.no_store ? " no-store" : "", cc.private ? " private" : "",
		 cc.no_cache ? " no-cache" : "",
		 cc.no_cache_fields ? " no-cache=" : "",
		 cc.public ? " public" : "",
		 cc.must_revalidate ? " must-revalidate" : "");
	return out;
}

#define CDN "CDN-Cache-Control: "
#define SURROGATE "Surrogate-Control: "

static const struct {
	const char *response, *found;
} rows[] = {
	{ NULL, NULL },
	{ "Cache-Control: max-age=60", NULL },
	{ CDN "max-age=60", "60 -1" },
	{ CDN "max-age=60, s-maxage=30", "60 30" },
	{ CDN "no-store, private, public, must-revalidate, immutable",
	  "-1 -1 no-store private public must-revalidate" },
	{ CDN "no-cache", "-1 -1 no-cache" },
	/* field names in it are not looked at: all of it is meant */
	{ CDN "no-cache=\"a, b\"", "-1 -1 no-cache" },
	{ CDN "max-age=60;x=1, foo=(1 2)", "60 -1" },
	{ CDN "foo", "-1 -1" },
	{ CDN "max-age=99999999999", "2147483647 -1" },
	{ CDN "max-age=60\n" CDN "no-store", "60 -1 no-store" },
	/* the last one of a key counts, and false says nothing */
	{ CDN "max-age=1, max-age=60", "60 -1" },
	{ CDN "no-store, no-store=?0, max-age=1, max-age=?0", "-1 -1" },
	{ CDN "no-cache=\"a\", no-cache=?0", "-1 -1" },
	/* what is no whole number is the safe side */
	{ CDN "max-age=60.5", "0 -1" },
	{ CDN "max-age=\"60\"", "0 -1" },
	{ CDN "max-age=a", "0 -1" },
	{ CDN "max-age=-60", "0 -1" },
	{ CDN "max-age", "0 -1" },
	/* no dictionary: as if it were not there */
	{ CDN "", NULL },
	{ CDN "max-age =60", NULL },
	{ CDN "max-age= 60", NULL },
	{ CDN "Max-Age=60", NULL },
	{ CDN "no-store,", NULL },
	{ CDN "no-store\n" CDN "max-age=60;", NULL },
	{ CDN "max-age =60\n" SURROGATE "max-age=30", "30 -1" },
	{ SURROGATE "max-age=30\n" CDN "max-age=60", "60 -1" },
	/* the older one */
	{ SURROGATE "max-age=3600", "3600 -1" },
	{ SURROGATE "MaX-aGe=3600", "3600 -1" },
	{ SURROGATE "max-age=\"3600\"", "3600 -1" },
	{ SURROGATE "max-age=3600+600", "3600 -1" },
	{ SURROGATE "foobar, max-age=3600", "3600 -1" },
	{ SURROGATE "no-store, content=\"ESI/1.0\"", "-1 -1 no-store" },
	{ SURROGATE "max-age=99999999999", "2147483647 -1" },
	{ SURROGATE "max-age=x", "0 -1" },
	{ SURROGATE "max-age=\"", "0 -1" },
	{ SURROGATE "max-age", "0 -1" },
	{ SURROGATE "foobar", NULL },
	{ SURROGATE "", NULL },
	{ SURROGATE "max-age=3600;cache1", "3600 -1" },
	{ SURROGATE "max-age=3600; other; CACHE1", "3600 -1" },
	{ SURROGATE "max-age=3600;", "3600 -1" },
	{ SURROGATE "max-age=3600;other", NULL },
	{ SURROGATE "no-store;other, max-age=30", "30 -1" },
};

static void reading(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		const char *found = describe(rows[i].response);

		if (!found != !rows[i].found ||
		    (found && strcmp(found, rows[i].found)))
			fail_msg("row %zu: %s", i, found ? found : "none");
	}
}

/* A forward proxy reads Cache-Control and Expires only. */
static void for_whom(void **state)
{
	struct fields f;
	struct response_facts a;

	(void)state;
	message_must(&f, "Cache-Control: no-store\nExpires: x\n"
			 CDN "max-age=60");
	response_facts_read(&a, 200, &f, NULL);
	assert_true(a.cc.no_store && a.cc.max_age == CACHECONTROL_NONE);
	assert_string_equal(response_facts_expires(&a), "x");
	response_facts_read(&a, 200, &f, "cache1");
	assert_true(!a.cc.no_store && a.cc.max_age == 60);
	assert_null(response_facts_expires(&a));
	fields_free(&f);
}

static void announcing(void **state)
{
	static char name[400];
	char text[MESSAGE_MAX];
	struct fields f;

	(void)state;
	message_must(&f, "Surrogate-Capability: a=\"Surrogate/1.0\"");
	assert_int_equal(targeted_announce(&f, "cache1"), 0);
	assert_string_equal(message_text(&f, text),
			    "Surrogate-Capability: a=\"Surrogate/1.0\"\n"
			    "Surrogate-Capability: cache1=\"Surrogate/1.0\"\n");
	memset(name, 'a', sizeof(name) - 1);
	assert_int_equal(targeted_announce(&f, name), 0);
	assert_int_equal(fields_count(&f), 2);
	fields_free(&f);
	alloc_fail_at(1);
	assert_int_not_equal(targeted_announce(&f, "cache1"), 0);
	alloc_fail_at(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reading),
		cmocka_unit_test(for_whom),
		cmocka_unit_test(announcing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
