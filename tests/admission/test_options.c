/*
 * Texts that choose an admission policy and its options.
 */
#include <string.h>

#include "cachesim/admission/admission_table.h"
#include "codec/error.h"
#include "tests/unit.h"

/* clang-format off */
static const struct {
	const char *text;
	int expect;
} texts[] = {
	{ "none", 0 },
	{ "", SCD_EINVAL },
	{ "non", SCD_EINVAL },
	{ "nonee", SCD_EINVAL },
	{ "none,", SCD_EINVAL },
	{ "none,window", SCD_EINVAL },
	{ "none,window=1", SCD_EINVAL },
	{ "aged,window=1000", 0 },
	{ "aged,window=10k", 0 },
	{ "aged,window=1e6", SCD_EINVAL },
	{ "aged,window=-1", SCD_EINVAL },
	{ "aged,window= 1", SCD_EINVAL },
	{ "aged,window=1x", SCD_EINVAL },
	{ "aged,window=k", SCD_EINVAL },
	{ "aged,window=.", SCD_EINVAL },
	{ "aged,window=", SCD_EINVAL },
	{ "aged,window=1,", SCD_EINVAL },
	{ "aged,min-uses=2", SCD_EINVAL },
	{ "exact,min-uses=1", SCD_EINVAL },
	{ "exact,min-uses=2,window=7", 0 },
	{ "exact,min-uses=16", SCD_EINVAL },
	{ "probation,ram=2%", 0 },
	{ "probation,ram=.5", 0 },
	{ "probation,ram=1.5.1", SCD_EINVAL },
	{ "probation,ram=1", SCD_EINVAL },
	{ "probation,ram=0", SCD_EINVAL },
	{ "size,size=64K,seed=0", 0 },
	{ "none,=", SCD_EINVAL },
	{ "a-name-that-is-far-too-long-to-be-one,window=1", SCD_EINVAL },
};
/* clang-format on */

static void texts_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(texts); i++) {
		const struct admission_policy *policy;
		struct admission_config c;

		admission_defaults(&c);
		assert_int_equal(admission_parse(texts[i].text, &policy, &c),
				 texts[i].expect);
	}
}

static void options_are_set(void **state)
{
	const struct admission_policy *policy;
	struct admission_config c;

	(void)state;
	admission_defaults(&c);
	assert_int_equal(c.min_uses, 2);
	assert_int_equal(admission_parse("exact,min-uses=3,window=2k", &policy,
					 &c), 0);
	assert_string_equal(policy->name, "exact");
	assert_int_equal(c.min_uses, 3);
	assert_int_equal(c.window, 2048);
	assert_int_equal(admission_parse("probation,ram=12.5%", &policy, &c),
			 0);
	assert_true(c.ram_share > .12499 && c.ram_share < .12501);
}

/* What a policy lists as its options exists, and usual values are in range. */
static void tables_agree(void **state)
{
	(void)state;
	for (size_t i = 0; admission_policies[i]; i++) {
		const char *name = admission_policies[i]->options;

		while (*name) {
			const struct admission_option *o = admission_options;
			size_t len = strcspn(name, " ");

			while (o->name && (strlen(o->name) != len ||
					   memcmp(o->name, name, len) != 0))
				o++;
			assert_non_null(o->name);
			name += len + (name[len] == ' ');
		}
		assert_ptr_equal(admission_find(admission_policies[i]->name),
				 admission_policies[i]);
	}
	for (const struct admission_option *o = admission_options; o->name; o++)
		assert_true(o->usual >= o->least && o->usual <= o->most);
}

static void none_takes_everything(void **state)
{
	const struct admission_item item = { 42, 7 };
	struct admission_config c;
	struct admission_stats stats;
	struct admission *a;

	(void)state;
	admission_defaults(&c);
	c.measure = true;
	assert_int_equal(admission_new(&a, admission_find("none"), &c), 0);
	for (int i = 0; i < 3; i++) {
		admission_request(a, &item, false);
		assert_int_equal(admission_decide(a, &item), ADMISSION_DISK);
	}
	assert_true(admission_admits_all(a));
	admission_stats(a, &stats);
	assert_int_equal(stats.fresh, 1);
	assert_int_equal(stats.false_seen, 0);
	admission_free(&a);
	assert_null(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_read),
		cmocka_unit_test(options_are_set),
		cmocka_unit_test(tables_agree),
		cmocka_unit_test(none_takes_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
