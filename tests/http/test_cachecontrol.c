/*
 * Cache-Control: directives and what is written where they should stand.
 */
#include "tests/unit.h"

#include "digestd/http/cachecontrol.h"
#include "tests/http/message.h"

#define NONE CACHECONTROL_NONE

/* All that was found, in the order of the structure, as text. */
static const char *describe(const struct cachecontrol *cc, char out[512])
{
	const struct {
		const char *name;
		int64_t value;
	} limits[] = {
		{ "max-age", cc->max_age },
		{ "s-maxage", cc->s_maxage },
		{ "max-stale", cc->max_stale },
		{ "min-fresh", cc->min_fresh },
		{ "stale-if-error", cc->stale_if_error },
		{ "stale-while-revalidate", cc->stale_while_revalidate },
	};
	const struct {
		const char *name;
		bool set;
	} flags[] = {
		{ "no-cache", cc->no_cache },
		{ "no-cache=", cc->no_cache_fields },
		{ "no-store", cc->no_store },
		{ "private", cc->private },
		{ "private=", cc->private_fields },
		{ "public", cc->public },
		{ "must-revalidate", cc->must_revalidate },
		{ "proxy-revalidate", cc->proxy_revalidate },
		{ "must-understand", cc->must_understand },
		{ "only-if-cached", cc->only_if_cached },
	};
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < NROWS(limits); i++) {
		if (limits[i].value != NONE)
			len += (size_t)sprintf(out + len, "%s%s=%lld",
					       len ? " " : "", limits[i].name,
					       (long long)limits[i].value);
	}
	for (size_t i = 0; i < NROWS(flags); i++) {
		if (flags[i].set)
			len += (size_t)sprintf(out + len, "%s%s",
					       len ? " " : "", flags[i].name);
	}
	return out;
}

static const struct {
	const char *value; /* further lines begin with their name */
	const char *found;
} rows[] = {
	{ "", "" },
	{ "max-age=3600", "max-age=3600" },
	{ "MaX-aGe=3600, NO-STORE", "max-age=3600 no-store" },
	{ "max-age=003600", "max-age=3600" },
	{ "max-age=0", "max-age=0" },
	{ "max-age=2147483648", "max-age=2147483647" },
	{ "max-age=99999999999999999999", "max-age=2147483647" },
	{ "s-maxage=1,max-age=2", "max-age=2 s-maxage=1" },
	{ "public,must-revalidate,proxy-revalidate",
	  "public must-revalidate proxy-revalidate" },
	{ "must-understand, no-store", "no-store must-understand" },
	{ "immutable, only-if-cached", "only-if-cached" },
	{ "stale-if-error=60, stale-while-revalidate=30",
	  "stale-if-error=60 stale-while-revalidate=30" },
	{ "min-fresh=20, max-stale=10", "max-stale=10 min-fresh=20" },
	{ "max-stale", "max-stale=9223372036854775807" },
	{ "max-stale=x", "max-stale=0" },
	/* quotes */
	{ "max-age=\"3600\"", "max-age=3600" },
	{ "max-age='3600'", "max-age=0" },
	{ "x=\"max-age=3600\", max-age=1", "max-age=1" },
	{ "max-age=1, x=\"max-age=3600\"", "max-age=1" },
	{ "x=\"a, no-store\"", "" },
	{ "x=\"a\\\", no-store\"", "" },
	{ "x=\"a, no-store", "" },
	/* field names */
	{ "no-cache", "no-cache" },
	{ "no-cache=\"set-cookie, x\", public", "no-cache= public" },
	{ "no-cache=set-cookie", "no-cache=" },
	{ "no-cache, no-cache=\"x\"", "no-cache no-cache=" },
	{ "private=\"x\"", "private=" },
	{ "private, private=\"x\"", "private private=" },
	/* none, or such as a response cannot do without: all of it is meant */
	{ "private=", "private" },
	{ "private=\" , \"", "private" },
	{ "private=\"x y\"", "private" },
	{ "private=\"x", "private" },
	{ "no-cache=\"x, vary\"", "no-cache" },
	{ "no-cache=\"content-encoding\"", "no-cache" },
	/* twice: the smaller, whatever the order */
	{ "max-age=1800, max-age=1", "max-age=1" },
	{ "max-age=1, max-age=1800", "max-age=1" },
	{ "max-age=1800\nCache-Control: max-age=1", "max-age=1" },
	{ "public\nX: private\ncache-control: s-maxage=7",
	  "s-maxage=7 public" },
	/* not a number: stale */
	{ "max-age=a3600", "max-age=0" },
	{ "max-age=3600a", "max-age=0" },
	{ "max-age=-3600", "max-age=0" },
	{ "max-age=3600.0", "max-age=0" },
	{ "max-age=", "max-age=0" },
	{ "max-age", "max-age=0" },
	{ "max-age=3600, max-age=x", "max-age=0" },
	/* unknown and similar */
	{ "foo, bar=1, baz=\"x\"", "" },
	{ "max-ages=1, xmax-age=1, max-age2=1", "" },
	{ "no-store=yes, public=no", "no-store public" },
	{ "no store", "" },
	{ ";max-age=1", "" },
	{ "max-age=10;public", "max-age=0" },
	{ ",,, ,public,,", "public" },
};

static void responses(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		char text[512], found[512];
		struct cachecontrol cc;
		struct fields f;

		snprintf(text, sizeof(text), "Cache-Control: %s",
			 rows[i].value);
		message_must(&f, text);
		cachecontrol_response(&f, &cc);
		assert_string_equal(describe(&cc, found), rows[i].found);
		fields_free(&f);
	}
}

/* Pragma counts in requests that have no Cache-Control at all. */
static void pragma(void **state)
{
	static const struct {
		const char *request;
		bool no_cache;
	} asked[] = {
		{ NULL, false },
		{ "Pragma: no-cache", true },
		{ "pragma: x, No-Cache", true },
		{ "Pragma: foo", false },
		{ "Pragma: no-cache\nCache-Control: max-age=60", false },
		{ "Pragma: no-cache\nCache-Control: ", false },
		{ "Cache-Control: no-cache", true },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(asked); i++) {
		struct cachecontrol cc;
		struct fields f;

		message_must(&f, asked[i].request);
		cachecontrol_request(&f, &cc);
		assert_int_equal(cc.no_cache, asked[i].no_cache);
		cachecontrol_response(&f, &cc);
		if (fields_get(&f, "Pragma"))
			assert_false(cc.no_cache);
		fields_free(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(responses),
		cmocka_unit_test(pragma),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
