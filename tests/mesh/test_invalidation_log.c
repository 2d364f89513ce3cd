/*
 * The log of invalidations: what is of what, what is older than what, whom a
 * node tells what, and a model of it, the dumbest there is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/mesh/invalidation_log.h"
#include "tests/unit.h"

enum { OWN = 1, PEER = 2, THIRD = 3, SMALL = 8 };

static const uint8_t secret[SCD_SECRET_BYTES] = "a cluster's key";
static const struct invalidation all = {.kind = INVALIDATION_ALL};
static struct invalidation_log *entries;

static int set_up(void **state)
{
	(void)state;
	return invalidation_log_new(OWN, secret, SMALL, &entries);
}

static int tear_down(void **state)
{
	(void)state;
	invalidation_log_free(&entries);
	return 0;
}

static struct scd_key key_of(const char *uri)
{
	struct scd_key key;

	scd_key_make(secret, "GET", uri, strlen(uri), &key);
	return key;
}

/* "http://..." is a key, "^http://..." a prefix, "*" all; else a tag. */
static struct invalidation of(const char *what)
{
	struct scd_key key;

	if (!strcmp(what, "*"))
		return all;
	if (*what == '^')
		return invalidation_of_prefix(secret, what + 1);
	if (!strstr(what, "://"))
		return invalidation_of_tag(
			secret, (struct field_part){what, strlen(what)});
	key = key_of(what);
	return invalidation_of_key(&key);
}

/* Of an initiator, by its number; walked over at once. Returns its count. */
static uint64_t add_of(const char *what, uint64_t source, uint64_t seq)
{
	const struct invalidation_position at = {source, seq};
	const struct invalidation i = of(what);
	uint64_t added;

	invalidation_log_open(entries);
	invalidation_log_add(entries, &i, &at, 0);
	added = invalidation_log_now(entries);
	invalidation_log_settle(entries, added, added);
	return added;
}

static uint64_t add(const char *what)
{
	return add_of(what, OWN, 0);
}

/* With the fields of a message's text; null: they are not known. */
static struct invalidation_newest newest(const char *uri, const char *tags)
{
	const struct scd_key key = key_of(uri);
	struct fields fields;
	const struct invalidation_subject subject = {&key, uri,
						     tags ? &fields : NULL};
	struct invalidation_newest found;

	fields_init(&fields);
	if (tags && *tags)
		assert_int_equal(fields_add(&fields, "Cache-Tag", tags), 0);
	found = invalidation_log_newest(entries, &subject);
	fields_free(&fields);
	return found;
}

static void test_what_is_of_what(void **state)
{
	/* clang-format off */
	static const struct {
		const char *what, *uri, *tags;
		bool is;
	} rows[] = {
		{ "http://h/a", "http://h/a", "", true },
		{ "http://h/a", "https://h/a", "", false },
		{ "http://h/a", "http://h/ab", "", false },
		{ "^http://h/a", "http://h/ab", "", true },
		{ "^http://h/a", "https://h/a", "", true },
		{ "^http://h/a", "http://h/", "", false },
		{ "^http://h/", "http://h2/", "", false },
		{ "red", "http://h/", "green, red", true },
		{ "red", "http://h/", "reddish", false },
		{ "red", "http://h/", "", false },
		{ "red", "http://h/", NULL, true }, /* it could have it */
		{ "http://h/a", "http://h/b", NULL, false },
		{ "*", "http://h/", "", true },
	};
	/* clang-format on */

	for (size_t i = 0; i < NROWS(rows); i++) {
		uint64_t added;

		tear_down(state);
		assert_int_equal(set_up(state), 0);
		assert_int_equal(newest(rows[i].uri, rows[i].tags).added, 0);
		added = add(rows[i].what);
		print_message("# %s, %s\n", rows[i].what, rows[i].uri);
		assert_int_equal(newest(rows[i].uri, rows[i].tags).added,
				 rows[i].is ? added : 0);
	}
}

/* What is fetched is older than an entry from when that is added; what is found
 * until the store has been walked over. */
static void test_walks(void **state)
{
	const struct invalidation_position own = {OWN, 0};
	const struct invalidation prefix = of("^http://h/"), tag = of("red");
	uint64_t first, last;

	(void)state;
	invalidation_log_open(entries);
	invalidation_log_add(entries, &prefix, &own, 0);
	first = invalidation_log_now(entries);
	invalidation_log_add(entries, &tag, &own, 0);
	last = invalidation_log_now(entries);
	assert_int_equal(newest("http://h/a", "").added, first);
	assert_true(newest("http://h/a", "").settled == UINT64_MAX);
	assert_true(newest("http://other/", NULL).settled == UINT64_MAX);
	add("^http://h/a"); /* another walk, which ends sooner */
	assert_true(newest("http://h/a", "").settled == UINT64_MAX);
	invalidation_log_settle(entries, first, last);
	assert_int_equal(newest("http://h/b", "").settled,
			 invalidation_log_now(entries));
	assert_int_equal(newest("http://other/", "red").settled,
			 invalidation_log_now(entries));
	assert_int_equal(newest("http://other/", "").settled, 0);
}

/* Own ones are had once they are settled; a peer's when it has been said. */
static void test_positions(void **state)
{
	const struct invalidation_position one = {OWN, 1}, two = {OWN, 2};
	const struct invalidation_position peer = {PEER, 7};
	const struct invalidation prefix = of("^http://h/");
	const struct invalidation_position own = {OWN, 0};

	(void)state;
	add("http://h/a");
	assert_true(invalidation_log_has(entries, &one));
	assert_false(invalidation_log_has(entries, &two));
	invalidation_log_open(entries);
	assert_int_equal(invalidation_log_add(entries, &prefix, &own, 0), 2);
	assert_true(invalidation_log_has(entries, &one));
	assert_false(invalidation_log_has(entries, &two));
	invalidation_log_settle(entries, invalidation_log_now(entries),
				invalidation_log_now(entries));
	assert_true(invalidation_log_has(entries, &two));
	assert_false(invalidation_log_has(entries, &peer));
	add_of("http://h/b", PEER, 7);
	assert_false(invalidation_log_has(entries, &peer));
	invalidation_log_reach(entries, &peer);
	assert_true(invalidation_log_has(entries, &peer));
}

static size_t need_of(const char *uri, struct invalidation_position *need)
{
	const struct scd_key key = key_of(uri);
	const struct invalidation_subject subject = {&key, uri, NULL};

	return invalidation_log_need(entries, &subject, need);
}

static void test_what_peers_need(void **state)
{
	struct invalidation_position need[INVALIDATION_NEED_MAX];
	const struct invalidation_position floor = {PEER, 9};

	(void)state;
	add("http://h/a");
	add_of("http://h/a", PEER, 8);
	add_of("^http://h/", PEER, 9);
	assert_int_equal(need_of("http://other/", need), 0);
	assert_int_equal(need_of("http://h/a", need), 2);
	assert_int_equal(need_of("http://h/b", need), 1);
	assert_true(need[0].source == PEER && need[0].seq == 9);
	invalidation_log_hear_floor(entries, &floor, 9);
	assert_int_equal(need_of("http://h/b", need), 0);
	assert_int_equal(need_of("http://h/a", need), 1);
	assert_true(need[0].source == OWN && need[0].seq == 1);
	add_of("red", PEER, 10); /* anything may have it */
	assert_int_equal(need_of("http://other/", need), 1);
	for (uint64_t i = 0; i < INVALIDATION_NEED_MAX; i++)
		add_of("http://h/a", 20 + i, 1);
	assert_true(need_of("http://h/a", need) > INVALIDATION_NEED_MAX);
}

static void hear_floor(uint64_t floor, uint64_t upto)
{
	const struct invalidation_position at = {PEER, floor};
	const struct invalidation_position reached = {PEER, upto};

	invalidation_log_hear_floor(entries, &at, upto);
	invalidation_log_reach(entries, &reached);
}

/* They rise, and fall when an initiator says so later; what is heard late of
 * one changes nothing. */
static void test_floors(void **state)
{
	struct invalidation_position need[INVALIDATION_NEED_MAX];

	(void)state;
	add_of("http://h/a", PEER, 3);
	hear_floor(2, 3);
	assert_int_equal(need_of("http://h/a", need), 1);
	hear_floor(3, 3);
	assert_int_equal(need_of("http://h/a", need), 0);
	hear_floor(2, 3);
	assert_int_equal(need_of("http://h/a", need), 0);
	hear_floor(0, 4);
	assert_int_equal(need_of("http://h/a", need), 1);
	hear_floor(3, 3);
	assert_int_equal(need_of("http://h/a", need), 1);
	hear_floor(4, 4);
	assert_int_equal(need_of("http://h/a", need), 0);
	invalidation_log_hold_floors(entries, true);
	assert_int_equal(need_of("http://h/a", need), 1);
	assert_int_equal(need_of("http://h/b", need), 0);
	for (uint64_t i = 0; i < INVALIDATION_NEED_MAX - 1; i++) {
		const struct invalidation_position floor = {20 + i, 1};

		add_of("http://h/a", 20 + i, 1);
		invalidation_log_hear_floor(entries, &floor, 1);
		invalidation_log_reach(entries, &floor);
	}
	assert_int_equal(need_of("http://h/a", need), INVALIDATION_NEED_MAX);
	add_of("http://h/a", THIRD, 1); /* there is no room for all of them */
	assert_int_equal(need_of("http://h/a", need), 1);
	assert_true(need[0].source == THIRD);
	invalidation_log_hold_floors(entries, false);
	assert_int_equal(need_of("http://h/a", need), 1);
}

/* Its own: a lower one has a number that others have not heard of. */
static void test_own_floor(void **state)
{
	struct invalidation_position need[INVALIDATION_NEED_MAX];

	(void)state;
	add("http://h/a");
	invalidation_log_set_floor(entries, 1);
	assert_int_equal(need_of("http://h/a", need), 0);
	assert_int_equal(invalidation_log_source(entries, 0).position, 1);
	invalidation_log_set_floor(entries, 0);
	assert_int_equal(need_of("http://h/a", need), 1);
	assert_int_equal(invalidation_log_source(entries, 0).position, 2);
	invalidation_log_set_floor(entries, 2);
	assert_int_equal(invalidation_log_source(entries, 0).position, 2);
}

/* A member comes when the log has lost what all had applied. */
static void test_lost_below_the_floor(void **state)
{
	char uri[32];

	(void)state;
	for (int i = 1; i <= SMALL; i++) {
		snprintf(uri, sizeof(uri), "http://h/%d", i);
		add(uri);
	}
	invalidation_log_set_floor(entries, SMALL);
	add("http://h/0");
	invalidation_log_set_floor(entries, 0);
	assert_int_equal(invalidation_log_source(entries, 0).lost, 1);
}

static size_t since(uint64_t source, uint64_t seq, uint64_t *first)
{
	const struct invalidation_position behind = {source, seq};
	struct invalidation_entry out[2 * SMALL];
	size_t n = invalidation_log_since(entries, &behind, out, 2 * SMALL);

	*first = n ? out[0].seq : 0;
	return n;
}

static void test_what_others_are_told(void **state)
{
	uint64_t first;

	(void)state;
	assert_int_equal(since(OWN, 0, &first), 0);
	assert_int_equal(since(THIRD, 0, &first), 0);
	add("http://h/a");
	add_of("http://h/b", PEER, 4);
	add("http://h/b");
	add("http://h/a"); /* says more than the first */
	assert_int_equal(invalidation_log_count(entries), 3);
	assert_int_equal(since(OWN, 0, &first), 2);
	assert_int_equal(first, 2);
	assert_int_equal(since(OWN, 2, &first), 1);
	assert_int_equal(first, 3);
	assert_int_equal(since(OWN, 3, &first), 0);
	assert_int_equal(since(PEER, 3, &first), 1);
	assert_int_equal(first, 4);
}

/* What there is no room for is held against all that was born before. */
static void test_full(void **state)
{
	struct invalidation_position need[INVALIDATION_NEED_MAX];
	char uri[32];

	(void)state;
	for (int i = 1; i <= SMALL + 3; i++) {
		snprintf(uri, sizeof(uri), "http://h/%d", i);
		add(uri);
		if (i == 2)
			invalidation_log_set_floor(entries, 2);
	}
	assert_int_equal(invalidation_log_count(entries), SMALL);
	assert_int_equal(invalidation_log_source(entries, 0).lost, 3);
	assert_true(newest("http://other/", "").added >= 3);
	assert_true(newest("http://other/", "").added <=
		    invalidation_log_now(entries) - SMALL);
	assert_int_equal(need_of("http://other/", need), 1);
	assert_int_equal(need[0].seq, 3);
}

/* Initiators come and go; those that are forgotten still count here. */
static void test_many_initiators(void **state)
{
	const struct invalidation_position last = {5000, 1};

	(void)state;
	add_of("http://h/kept", 100, 1);
	for (uint64_t i = 0; i < INVALIDATION_LOG_SOURCES; i++) {
		const struct invalidation_position p = {1000 + i, 1};

		invalidation_log_reach(entries, &p);
	}
	invalidation_log_reach(entries, &last);
	assert_int_equal(invalidation_log_sources(entries),
			 INVALIDATION_LOG_SOURCES);
	assert_int_equal(invalidation_log_source(entries, 0).source, OWN);
	assert_true(invalidation_log_has(entries, &last));
	assert_int_equal(newest("http://h/kept", "").added, 1);
}

/* The twin: all entries there ever were, in a list. */

enum { MODEL_MAX = 4000, URIS = 12, TAGS = 4 };

static struct {
	struct {
		char what[32];
		uint64_t added;
	} at[MODEL_MAX];
	size_t n;
} model;

static bool model_is(const char *what, const char *uri, const char *tag)
{
	if (!strcmp(what, "*"))
		return true;
	if (*what == '^')
		return !strncmp(uri, what + 1, strlen(what + 1));
	return !strcmp(what, strstr(what, "://") ? uri : tag);
}

static uint64_t model_newest(const char *uri, const char *tag)
{
	uint64_t found = 0;

	for (size_t i = 0; i < model.n; i++) {
		if (model_is(model.at[i].what, uri, tag))
			found = model.at[i].added;
	}
	return found;
}

static void model_name(char *what, size_t cap)
{
	switch (rand() % 8) {
	case 0:
		snprintf(what, cap, "^http://h/%.*s", rand() % 2 + 1, "11");
		return;
	case 1:
		snprintf(what, cap, "t%d", rand() % TAGS);
		return;
	case 2:
		if (!(rand() % 16)) {
			snprintf(what, cap, "*");
			return;
		}
		/* fall through */
	default:
		snprintf(what, cap, "http://h/%d", rand() % URIS);
	}
}

static void test_model(void **state)
{
	char uri[32], tag[8];

	(void)state;
	srand(1);
	invalidation_log_free(&entries);
	assert_int_equal(invalidation_log_new(OWN, secret, MODEL_MAX, &entries),
			 0);
	for (model.n = 0; model.n < MODEL_MAX;) {
		char *what = model.at[model.n].what;

		model_name(what, sizeof(model.at[0].what));
		model.at[model.n++].added = add(what);
		snprintf(uri, sizeof(uri), "http://h/%d", rand() % URIS);
		snprintf(tag, sizeof(tag), "t%d", rand() % TAGS);
		assert_int_equal(newest(uri, tag).added,
				 model_newest(uri, tag));
	}
	assert_true(invalidation_log_count(entries) <
		    400); /* others are gone */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_is_of_what, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_walks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_positions, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_what_peers_need, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_floors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_own_floor, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_lost_below_the_floor,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_others_are_told,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many_initiators, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_model, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
