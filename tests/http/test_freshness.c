/*
 * Age, lifetime, and whether a stored response may be used. All responses come
 * in at NOW_S unless a row says otherwise.
 */
#include "tests/unit.h"

#include "digestd/http/freshness.h"
#include "tests/http/message.h"
#include "digestd/http/response_facts.h"

enum { NOW_S = 784111777 }; /* Sun, 06 Nov 1994 08:49:37 GMT */

#define DATE "Date: Sun, 06 Nov 1994 08:49:37 GMT\n"

static void setup_at(struct freshness *f, unsigned status, const char *response,
		     const struct exchange_times *times)
{
	struct fields fields;
	struct response_facts facts;

	message_must(&fields, response);
	response_facts_read(&facts, status, &fields, "cache1");
	freshness_init(f, &facts, times);
	fields_free(&fields);
}

static void setup(struct freshness *f, unsigned status, const char *response,
		  int64_t delay_s)
{
	struct exchange_times times = { NOW_S - delay_s, NOW_S, 0, NULL };

	setup_at(f, status, response, &times);
}

static const struct {
	const char *response;
	int64_t delay_s, age_s;
} ages[] = {
	{ DATE, 0, 0 },
	{ NULL, 0, 0 },
	{ DATE "Age: 7", 0, 7 },
	{ DATE "Age: 7", 3, 10 }, /* on its way for 3 seconds */
	{ DATE, 3, 3 },
	{ "Date: Sun, 06 Nov 1994 08:49:27 GMT", 0, 10 },
	{ "Date: Sun, 06 Nov 1994 08:49:27 GMT\nAge: 4", 0, 10 },
	{ "Date: Sun, 06 Nov 1994 08:49:27 GMT\nAge: 4", 7, 11 },
	{ "Date: Sun, 06 Nov 1994 08:59:37 GMT", 0, 0 }, /* a fast clock */
	{ "Date: Sun, 06 Nov 1994 08:59:37 GMT\nAge: 5", 0, 5 },
	{ "Date: yesterday\nAge: 5", 0, 5 },
	{ DATE, -5, 0 }, /* the clock was set back */
	{ DATE "Age: 2147483647", 0, 2147483647 },
	{ DATE "Age: 2147483648", 0, 2147483647 },
	{ DATE "Age: 99999999999999999999", 0, 2147483647 },
};

/* Responses that come when the wall clock says NOW_S. */
static const struct {
	const char *response;
	int64_t age_s, lifetime_s;
} dated[] = {
	{ DATE "Cache-Control: max-age=60", 0, 60 },
	{ "Date: Sun, 06 Nov 1994 08:49:27 GMT\nCache-Control: max-age=60", 10,
	  60 },
	{ DATE "Expires: Sun, 06 Nov 1994 08:50:37 GMT", 0, 60 },
	{ "Expires: Sun, 06 Nov 1994 08:50:37 GMT", 0, 60 },
	{ "Last-Modified: Sun, 06 Nov 1994 08:39:37 GMT", 0, 60 },
};

static void dates_are_of_the_wall_clock(void **state)
{
	static const int64_t ahead_s[] = { 0, 3600, -3600, 800000000 };

	(void)state;
	for (size_t i = 0; i < NROWS(dated) * NROWS(ahead_s); i++) {
		const int64_t ahead = ahead_s[i / NROWS(dated)];
		const size_t row = i % NROWS(dated);
		struct exchange_times times = { NOW_S - ahead, NOW_S - ahead,
						ahead, NULL };
		struct freshness f;

		setup_at(&f, 200, dated[row].response, &times);
		/* that the wall clock is set now changes nothing */
		if (freshness_age(&f, times.response_s + 7) !=
			    dated[row].age_s + 7 ||
		    freshness_left(&f, times.response_s) !=
			    dated[row].lifetime_s - dated[row].age_s)
			fail_msg("row %zu, %lld s ahead: age %lld, left %lld",
				 row, (long long)ahead,
				 (long long)freshness_age(
					 &f, times.response_s + 7),
				 (long long)freshness_left(&f,
							   times.response_s));
	}
}

static void age(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(ages); i++) {
		struct freshness f;

		setup(&f, 200, ages[i].response, ages[i].delay_s);
		if (freshness_age(&f, NOW_S) != ages[i].age_s)
			fail_msg("row %zu: %lld", i,
				 (long long)freshness_age(&f, NOW_S));
		assert_int_equal(freshness_age(&f, NOW_S + 100),
				 ages[i].age_s + 100);
		assert_int_equal(freshness_age(&f, NOW_S - ages[i].age_s - 9),
				 0);
	}
}

static const struct {
	unsigned status;
	const char *response;
	int64_t lifetime_s;
	bool explicit;
} lifetimes[] = {
	{ 200, DATE "Cache-Control: max-age=60", 60, true },
	{ 599, DATE "Cache-Control: max-age=60", 60, true },
	{ 200, DATE "Cache-Control: s-maxage=30, max-age=60", 30, true },
	{ 200, DATE "Cache-Control: max-age=3600, s-maxage=0", 0, true },
	{ 200,
	  DATE "Cache-Control: max-age=60\n"
	       "Expires: Sun, 06 Nov 1994 08:49:47 GMT",
	  60, true },
	{ 200,
	  DATE "Cache-Control: public\nExpires: Sun, 06 Nov 1994 08:49:47 GMT",
	  10, true },
	{ 200, DATE "Expires: Sunday, 06-Nov-94 08:49:47 GMT", 10, true },
	{ 200, DATE "Expires: Sun Nov  6 08:49:47 1994", 10, true },
	{ 200, DATE "Expires: Sun, 06 Nov 1994 08:49:37 GMT", 0, true },
	{ 200, DATE "Expires: Sun, 06 Nov 1994 08:49:27 GMT", -10, true },
	{ 200, DATE "Expires: 0", 0, true },
	{ 200, DATE "Expires: -1", 0, true },
	{ 200, DATE "Expires: ", 0, true },
	{ 200, DATE "Expires: Sun, 06 Nov 1994 08:49:47 UTC", 0, true },
	{ 200,
	  DATE "Expires: Sun, 06 Nov 1994 08:49:47 GMT\n"
	       "Expires: Sun, 06 Nov 1994 08:49:47 GMT",
	  0, true },
	/* counted from Date, whatever this clock says */
	{ 200,
	  "Date: Sun, 06 Nov 1994 09:49:37 GMT\n"
	  "Expires: Sun, 06 Nov 1994 09:49:47 GMT",
	  10, true },
	{ 200, "Expires: Sun, 06 Nov 1994 08:49:47 GMT", 10, true },
	{ 200, "Date: x\nExpires: Sun, 06 Nov 1994 08:49:47 GMT", 10, true },
	/* a tenth of the time since the last change, a day at most */
	{ 200, DATE "Last-Modified: Sun, 06 Nov 1994 08:47:57 GMT", 10, false },
	{ 404, DATE "Last-Modified: Sun, 06 Nov 1994 08:47:57 GMT", 10, false },
	{ 200, DATE "Last-Modified: Sun, 06 Nov 1984 08:47:57 GMT",
	  FRESHNESS_HEURISTIC_MAX_S, false },
	{ 200, DATE "Last-Modified: Sun, 06 Nov 1994 08:59:37 GMT", 0, false },
	{ 200, DATE "Last-Modified: long ago", 0, false },
	{ 200, DATE, 0, false },
	{ 302, DATE "Last-Modified: Sun, 06 Nov 1994 08:47:57 GMT", 0, false },
	{ 599, DATE "Last-Modified: Sun, 06 Nov 1994 08:47:57 GMT", 0, false },
	{ 302,
	  DATE "Last-Modified: Sun, 06 Nov 1994 08:47:57 GMT\n"
	       "Cache-Control: public",
	  10, false },
};

static void lifetime(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(lifetimes); i++) {
		struct freshness f;

		setup(&f, lifetimes[i].status, lifetimes[i].response, 0);
		if (f.lifetime_s != lifetimes[i].lifetime_s ||
		    f.explicit != lifetimes[i].explicit)
			fail_msg("row %zu: %lld", i, (long long)f.lifetime_s);
	}
}

static const struct {
	struct freshness_spans set, kept;
} cut[] = {
	{ { 0, 0, 0, 0 }, { 0, 0, 0, 0 } },
	{ { NOW_S, 60, 7, 9 }, { NOW_S, 60, 7, 9 } },
	{ { NOW_S, -60, -1, -1 }, { NOW_S, -60, -1, -1 } },
	{ { INT32_MIN, INT32_MAX, 268435455, 268435455 },
	  { INT32_MIN, INT32_MAX, 268435455, 268435455 } },
	{ { 32212254719, INT32_MIN, 0, 0 }, { 32212254719, INT32_MIN, 0, 0 } },
	{ { (int64_t)INT32_MIN - 1, (int64_t)INT32_MAX + 1, 268435456,
	    268435456 },
	  { INT32_MIN, INT32_MAX, 268435455, 268435455 } },
	{ { INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX },
	  { 32212254719, INT32_MAX, 268435455, 268435455 } },
	{ { INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN },
	  { INT32_MIN, INT32_MIN, -1, -1 } },
};

/* What 16 bytes keep of the times and spans that they are given. */
static void what_is_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(cut); i++) {
		struct freshness f = { .explicit = true };
		struct freshness_spans kept;

		freshness_set(&f, &cut[i].set);
		kept = freshness_spans(&f);
		if (memcmp(&kept, &cut[i].kept, sizeof(kept)) != 0)
			fail_msg("row %zu", i);
		assert_true(f.explicit);
		assert_false(f.always_validate || f.never_stale);
	}
}

/* Of several Ages the first counts, and what is no number is ignored. */
static void ages_that_are_not_one_number(void **state)
{
	static const struct {
		const char *age;
		int64_t age_s;
	} cases[] = {
		{ "abc", 0 }, { "-7200", 0 }, { "7200.0", 0 }, { "+1", 0 },
		{ "7200;foo=bar", 0 }, { "", 0 }, { "0, 0", 0 },
		{ "0, 7200", 0 }, { "7200, 0", 7200 }, { "36, 36", 36 },
		{ "0\nAge: 7200", 0 }, { "7200\nAge: 0", 7200 },
		{ "abc, 7200", 0 }, { "7200\nAge: abc", 7200 },
	};
	struct freshness f;

	(void)state;
	for (size_t i = 0; i < NROWS(cases); i++) {
		char text[256];

		snprintf(text, sizeof(text),
			 DATE "Cache-Control: max-age=60\nAge: %s",
			 cases[i].age);
		setup(&f, 200, text, 0);
		if (freshness_age(&f, NOW_S) != cases[i].age_s ||
		    freshness_left(&f, NOW_S) != 60 - cases[i].age_s)
			fail_msg("row %zu", i);
	}
	/* Date still counts */
	setup(&f, 200, "Date: Sun, 06 Nov 1994 08:49:27 GMT\nAge: x\n"
	      "Cache-Control: max-age=60", 0);
	assert_int_equal(freshness_age(&f, NOW_S), 10);
}

static const struct {
	const char *response, *request; /* Cache-Control of both */
	int64_t at_s;			/* after it came */
	enum reuse reuse;
} uses[] = {
	{ "max-age=60", "", 0, REUSE_FRESH },
	{ "max-age=60", "", 59, REUSE_FRESH },
	{ "max-age=60", "", 60, REUSE_VALIDATE },
	{ "max-age=0", "", 0, REUSE_VALIDATE },
	{ "max-age=60", "foo", 10, REUSE_FRESH },
	{ "max-age=60", "no-cache", 0, REUSE_VALIDATE },
	{ "max-age=60", "only-if-cached", 10, REUSE_FRESH },
	{ "max-age=60", "no-store", 10, REUSE_FRESH },
	{ "max-age=60", "max-age=10", 10, REUSE_FRESH },
	{ "max-age=60", "max-age=10", 11, REUSE_VALIDATE },
	{ "max-age=60", "max-age=0", 0, REUSE_VALIDATE },
	{ "max-age=60", "max-age=600", 61, REUSE_VALIDATE },
	{ "max-age=60", "min-fresh=10", 50, REUSE_FRESH },
	{ "max-age=60", "min-fresh=10", 51, REUSE_VALIDATE },
	{ "max-age=60", "max-stale", 600, REUSE_STALE },
	{ "max-age=60", "max-stale=10", 59, REUSE_FRESH },
	{ "max-age=60", "max-stale=10", 70, REUSE_STALE },
	{ "max-age=60", "max-stale=10", 71, REUSE_VALIDATE },
	{ "max-age=60", "max-stale=0", 60, REUSE_STALE },
	{ "max-age=60", "max-stale=10, max-age=65", 66, REUSE_VALIDATE },
	{ "max-age=60", "max-stale=10, min-fresh=1", 65, REUSE_VALIDATE },
	{ "max-age=60, must-revalidate", "max-stale", 59, REUSE_FRESH },
	{ "max-age=60, must-revalidate", "max-stale", 60, REUSE_VALIDATE },
	{ "max-age=60, proxy-revalidate", "max-stale", 60, REUSE_VALIDATE },
	{ "s-maxage=60", "max-stale", 60, REUSE_VALIDATE },
	{ "s-maxage=60", "", 59, REUSE_FRESH },
	{ "max-age=60, stale-while-revalidate=10", "", 59, REUSE_FRESH },
	{ "max-age=60, stale-while-revalidate=10", "", 60, REUSE_RENEW },
	{ "max-age=60, stale-while-revalidate=10", "", 69, REUSE_RENEW },
	{ "max-age=60, stale-while-revalidate=10", "", 70, REUSE_VALIDATE },
	{ "max-age=60, stale-while-revalidate=10", "max-stale=5", 65,
	  REUSE_STALE },
	{ "max-age=60, stale-while-revalidate=10", "max-stale=5", 66,
	  REUSE_RENEW },
	{ "max-age=60, stale-while-revalidate=10", "max-age=60", 61,
	  REUSE_VALIDATE },
	{ "max-age=60, stale-while-revalidate=10", "min-fresh=0", 61,
	  REUSE_VALIDATE },
	{ "max-age=60, stale-while-revalidate=10", "no-cache", 61,
	  REUSE_VALIDATE },
	{ "max-age=60, stale-while-revalidate=10, must-revalidate", "", 61,
	  REUSE_VALIDATE },
	{ "s-maxage=60, stale-while-revalidate=10", "", 61, REUSE_VALIDATE },
	{ "max-age=60, stale-while-revalidate=x", "", 61, REUSE_VALIDATE },
	{ "max-age=60, no-cache", "", 0, REUSE_VALIDATE },
	{ "max-age=60, no-cache", "max-stale", 0, REUSE_VALIDATE },
	{ "max-age=60, no-cache=\"x\"", "", 0, REUSE_FRESH },
	{ "max-age=60, no-cache=\"vary\"", "", 0, REUSE_VALIDATE },
};

static void reuse(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(uses); i++) {
		char text[256];
		struct cachecontrol asked;
		struct freshness f;
		struct fields request;

		snprintf(text, sizeof(text), DATE "Cache-Control: %s",
			 uses[i].response);
		setup(&f, 200, text, 0);
		snprintf(text, sizeof(text), "Cache-Control: %s",
			 uses[i].request);
		message_must(&request, text);
		cachecontrol_request(&request, &asked);
		fields_free(&request);
		if (freshness_reuse(&f, &asked, NOW_S + uses[i].at_s) !=
		    uses[i].reuse)
			fail_msg("row %zu", i);
	}
}

static const struct {
	const char *response;
	int64_t default_s, at_s;
	bool usable;
} errors[] = {
	{ "max-age=60", 0, 59, true },
	{ "max-age=60", 0, 61, false },
	{ "max-age=60", 0, 60, false },
	{ "max-age=60", 30, 89, true },
	{ "max-age=60", 30, 90, false },
	{ "max-age=60, stale-if-error=0", 30, 60, false },
	{ "max-age=60, stale-if-error=10", 0, 69, true },
	{ "max-age=60, stale-if-error=10", 0, 70, false },
	{ "max-age=60, stale-if-error=10", 30, 71, false },
	{ "max-age=60, stale-if-error=10, must-revalidate", 30, 61, false },
	{ "max-age=60, stale-if-error=10, proxy-revalidate", 30, 61, false },
	{ "s-maxage=60, stale-if-error=10", 30, 61, false },
	{ "max-age=60, stale-if-error=10, no-cache", 30, 0, false },
};

static void on_error(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(errors); i++) {
		struct freshness f;
		char text[256];

		snprintf(text, sizeof(text), DATE "Cache-Control: %s",
			 errors[i].response);
		setup(&f, 200, text, 0);
		if (freshness_on_error(&f, errors[i].default_s,
				       NOW_S + errors[i].at_s) !=
		    errors[i].usable)
			fail_msg("row %zu", i);
	}
}

/* What an operator has set: default, least, most, on error, meanwhile. */
static const struct {
	unsigned status;
	const char *response;
	struct freshness_rules rules;
	int64_t lifetime_s, error_s, renew_s;
	bool never_stale;
} ruled[] = {
	{ 200, "", { 60, -1, -1, -1, -1 }, 60, -1, -1, false },
	{ 500, "", { 60, -1, -1, -1, -1 }, 60, -1, -1, false },
	{ 200, "Cache-Control: max-age=5", { 60, -1, -1, -1, -1 }, 5, -1, -1,
	  false },
	{ 200, "Cache-Control: max-age=5", { -1, 60, -1, -1, -1 }, 60, -1, -1,
	  false },
	{ 200, "Cache-Control: max-age=90", { -1, 60, -1, -1, -1 }, 90, -1, -1,
	  false },
	{ 200, "Cache-Control: max-age=90", { -1, -1, 60, -1, -1 }, 60, -1, -1,
	  false },
	{ 200, "Cache-Control: max-age=90", { -1, 70, 60, -1, -1 }, 60, -1, -1,
	  false },
	{ 200, "Cache-Control: max-age=5", { -1, -1, 0, -1, -1 }, 0, -1, -1,
	  false },
	{ 200, "Cache-Control: max-age=5, stale-if-error=3, "
	  "stale-while-revalidate=4", { -1, -1, -1, 60, 70 }, 5, 60, 70,
	  false },
	{ 200, "Cache-Control: max-age=5, stale-if-error=3, "
	  "stale-while-revalidate=4", { -1, -1, -1, 0, 0 }, 5, 0, 0, false },
	{ 200, "Cache-Control: s-maxage=5", { -1, -1, -1, -1, -1 }, 5, -1, -1,
	  true },
	{ 200, "Cache-Control: s-maxage=5", { -1, -1, -1, 60, -1 }, 5, 60, -1,
	  false },
	{ 200, "Cache-Control: s-maxage=5, must-revalidate",
	  { -1, -1, -1, 60, -1 }, 5, 60, -1, true },
	{ 200, "Cache-Control: max-age=5, no-cache", { -1, 60, -1, 60, -1 }, 60,
	  60, -1, true },
};

static void rules_of_an_operator(void **state)
{
	const struct exchange_times times = { NOW_S, NOW_S, 0, NULL };

	(void)state;
	for (size_t i = 0; i < NROWS(ruled); i++) {
		struct response_facts facts;
		struct freshness_spans spans;
		struct fields fields;
		struct freshness f;

		message_must(&fields, ruled[i].response);
		response_facts_read(&facts, ruled[i].status, &fields, NULL);
		facts.rules = ruled[i].rules;
		freshness_init(&f, &facts, &times);
		spans = freshness_spans(&f);
		if (spans.lifetime_s != ruled[i].lifetime_s ||
		    spans.stale_if_error_s != ruled[i].error_s ||
		    spans.stale_while_revalidate_s != ruled[i].renew_s ||
		    f.never_stale != ruled[i].never_stale)
			fail_msg("row %zu", i);
		fields_free(&fields);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(age),
		cmocka_unit_test(dates_are_of_the_wall_clock),
		cmocka_unit_test(lifetime),
		cmocka_unit_test(what_is_cut),
		cmocka_unit_test(ages_that_are_not_one_number),
		cmocka_unit_test(reuse),
		cmocka_unit_test(on_error),
		cmocka_unit_test(rules_of_an_operator),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
