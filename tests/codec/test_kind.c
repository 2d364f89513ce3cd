/*
 * All kinds of digests, through their one interface: nothing that was added
 * is missed, other keys are found as often as predicted, the bytes are those
 * that theory allows, and decoders survive whatever they are given.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/kind/kind.h"
#include "codec/kind/kind_wire.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { KEYS = 10000, FEW = 150, TRIES = 200000 };

struct blob {
	uint8_t *bytes;
	size_t len;
};

/* The same number always gives the same key. */
static struct scd_key key_of(uint64_t number)
{
	uint64_t seed = number << 20;
	struct scd_key key = {random_next(&seed), random_next(&seed)};

	return key;
}

static struct scd__summary *made(const struct scd__kind *kind,
				 const struct scd__kind_goal *goal)
{
	struct scd__summary *s;

	assert_int_equal(scd__summary_new(kind, goal, &s), SCD_OK);
	for (uint64_t i = 0; i < goal->nkeys; i++) {
		struct scd_key key = key_of(i);

		assert_int_equal(scd__summary_add(s, &key), SCD_OK);
	}
	assert_int_equal(scd__summary_seal(s), SCD_OK);
	return s;
}

static struct blob encoded(const struct scd__summary *s)
{
	struct blob blob;

	assert_int_equal(scd__summary_encode(s, &blob.bytes, &blob.len),
			 SCD_OK);
	return blob;
}

static uint64_t count(const struct scd__summary *s, uint64_t first,
		      uint64_t end)
{
	uint64_t found = 0;

	for (uint64_t i = first; i < end; i++) {
		struct scd_key key = key_of(i);

		found += scd__summary_has(s, &key);
	}
	return found;
}

/*
 * Kind, goal, and what KEYS keys may take: bits an object on the wire (the
 * body and some for the header) and in memory.
 */
static const struct {
	const char *kind;
	double fp, bits;
	double least_wire, most_wire, most_memory;
} sizes[] = {
	/* clang-format off */
	{"bloom", .02, 0, 8.1, 8.25, 8.3},
	{"bloom", .01, 0, 9.5, 9.7, 9.75},
	{"bloom", .001, 0, 14.3, 14.5, 14.55},
	{"bloom", 0, 8, 8, 8.05, 8.1},
	{"compressed", .02, 0, 6.9, 7.15, 49.7},
	{"compressed", .01, 0, 8.8, 9.05, 19.1},
	{"compressed", .001, 0, 12.5, 12.75, 62.4},
	{"compressed", 0, 8, 7.3, 8.15, 64.1},
	{"golomb", .02, 0, 6.9, 7.15, 9.3},
	{"golomb", .01, 0, 7.9, 8.15, 10.3},
	{"golomb", .001, 0, 11.3, 11.6, 13.8},
	{"golomb", 0, 8, 7.8, 8.1, 10.3},
	{"blocked", .02, 0, 8.33, 8.45, 8.55},
	{"blocked", .01, 0, 9.9, 10, 10.1},
	{"blocked", .001, 0, 15.49, 15.6, 15.7},
	{"blocked", 0, 8, 8, 8.1, 8.3},
	{"squid", .02, 0, 9, 9.15, 9.1},
	{"squid", .001, 0, 21, 21.15, 21.1},
	{"squid", 0, 5, 5, 5.15, 5.1},
	/* clang-format on */
};

static void sizes_are_those_of_theory(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(sizes); i++) {
		const struct scd__kind *kind = scd__kind_find(sizes[i].kind);
		const struct scd__kind_goal goal = {
			.nkeys = KEYS,
			.fp = sizes[i].fp,
			.bits = sizes[i].bits,
		};
		struct scd__summary *s = made(kind, &goal);
		struct blob blob = encoded(s);
		double wire = 8.0 * (double)blob.len / KEYS;
		double memory = 8.0 * (double)scd__summary_memory(s) / KEYS;

		if (wire < sizes[i].least_wire || wire > sizes[i].most_wire ||
		    memory > sizes[i].most_memory)
			fail_msg("%s, %g: %g bits on the wire, %g in memory",
				 kind->name, goal.fp, wire, memory);
		free(blob.bytes);
		scd__summary_free(&s);
	}
}

/* Each row of the table at some rates. */
static void for_each(void (*check)(const struct scd__kind *kind,
				   const struct scd__kind_goal *goal),
		     uint64_t nkeys)
{
	static const double rates[] = {.3, .02, .01, .001, .00001};
	const struct scd__kind *kind;

	for (size_t i = 0; (kind = scd__kind_at(i)); i++) {
		for (size_t j = 0; j < NROWS(rates); j++) {
			struct scd__kind_goal goal = {
				.nkeys = nkeys,
				.fp = rates[j],
			};

			check(kind, &goal);
		}
	}
}

/* Found as predicted from what is in it; and that is what was asked for. */
static void check_found(const struct scd__kind *kind,
			const struct scd__kind_goal *goal)
{
	struct scd__summary *s = made(kind, goal);
	double fp = scd__summary_fp(s), expected = fp * TRIES, found;

	assert_int_equal(count(s, 0, KEYS), KEYS);
	found = (double)count(s, KEYS, KEYS + TRIES);
	if (fabs(found - expected) > 5 * sqrt(expected + 1))
		fail_msg("%s, %g: %g found, %g expected", kind->name, goal->fp,
			 found, expected);
	if (fp > goal->fp * 1.15)
		fail_msg("%s: %g, asked for %g", kind->name, fp, goal->fp);
	scd__summary_free(&s);
}

static void found_as_predicted(void **state)
{
	(void)state;
	for_each(check_found, KEYS);
}

static void check_round_trip(const struct scd__kind *kind,
			     const struct scd__kind_goal *goal)
{
	struct scd__summary *s = made(kind, goal), *back = NULL;
	struct blob one = encoded(s), two;

	assert_int_equal(
		scd__summary_decode(kind, one.bytes, one.len, SIZE_MAX, &back),
		SCD_OK);
	two = encoded(back);
	assert_int_equal(one.len, two.len);
	assert_memory_equal(one.bytes, two.bytes, one.len);
	assert_true(scd__summary_memory(s) == scd__summary_memory(back));
	assert_true(scd__summary_fp(s) == scd__summary_fp(back));
	for (uint64_t i = 0; i < 3 * goal->nkeys; i++) {
		struct scd_key key = key_of(i);

		assert_true(scd__summary_has(s, &key) ==
			    scd__summary_has(back, &key));
	}
	free(one.bytes);
	free(two.bytes);
	scd__summary_free(&s);
	scd__summary_free(&back);
}

static void round_trips(void **state)
{
	(void)state;
	for_each(check_round_trip, 1);
	for_each(check_round_trip, FEW);
	for_each(check_round_trip, KEYS);
}

/* Nothing in it, one key in it twice, ten times as many as expected. */
static void odd_contents(void **state)
{
	static const uint64_t contents[] = {0, 1, 10 * FEW};
	const struct scd__kind *kind;

	(void)state;
	for (size_t i = 0; (kind = scd__kind_at(i)); i++) {
		for (size_t j = 0; j < NROWS(contents); j++) {
			const struct scd__kind_goal goal = {FEW, .01, 0, 0};
			struct scd__summary *s, *back;
			struct blob blob;
			int error;

			assert_int_equal(scd__summary_new(kind, &goal, &s),
					 SCD_OK);
			for (uint64_t k = 0; k < 2 * contents[j]; k++) {
				struct scd_key key = key_of(k / 2);

				scd__summary_add(s, &key);
			}
			assert_int_equal(scd__summary_seal(s), SCD_OK);
			assert_int_equal(scd__summary_seal(s), SCD_OK);
			assert_true(count(s, 0, contents[j]) == contents[j]);
			error = scd__summary_encode(s, &blob.bytes, &blob.len);
			if (error) {
				assert_int_equal(error, SCD_ELIMIT);
				scd__summary_free(&s);
				continue;
			}
			assert_int_equal(scd__summary_decode(kind, blob.bytes,
							     blob.len, SIZE_MAX,
							     &back),
					 SCD_OK);
			assert_true(count(back, 0, contents[j]) == contents[j]);
			if (contents[j] == 0)
				assert_int_equal(count(back, 0, 1000), 0);
			free(blob.bytes);
			scd__summary_free(&s);
			scd__summary_free(&back);
		}
	}
}

static void check_refused(const struct scd__kind *kind, const uint8_t *bytes,
			  size_t len)
{
	struct scd__summary *s = NULL;
	uint8_t *copy = malloc(len ? len : 1); /* of that size: sanitizers */

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	assert_int_not_equal(scd__summary_decode(kind, copy, len, SIZE_MAX, &s),
			     SCD_OK);
	assert_null(s);
	free(copy);
}

static void check_truncated(const struct scd__kind *kind,
			    const struct scd__kind_goal *goal)
{
	struct scd__summary *s = made(kind, goal);
	struct blob blob = encoded(s);
	uint8_t *more = calloc(1, blob.len + 1);

	for (size_t len = 0; len < blob.len; len++)
		check_refused(kind, blob.bytes, len);
	assert_non_null(more);
	memcpy(more, blob.bytes, blob.len);
	check_refused(kind, more, blob.len + 1);
	free(more);
	free(blob.bytes);
	scd__summary_free(&s);
}

static void truncated_is_refused(void **state)
{
	(void)state;
	for_each(check_truncated, FEW);
}

/* Makes the checksum of a kind's own wire right, where there is one. */
static void reseal(struct blob *blob)
{
	struct scd__kind_header h = {.letter = blob->bytes[3],
				     .parameter = blob->bytes[4]};

	if (blob->len < SCD__KIND_HEADER_BYTES || blob->bytes[0] != 'S' ||
	    blob->bytes[2] != 'K')
		return;
	for (int i = 7; i >= 0; i--) {
		h.nkeys = h.nkeys << 8 | blob->bytes[8 + i];
		h.size = h.size << 8 | blob->bytes[16 + i];
	}
	scd__kind_wire_seal(blob->bytes, blob->len - SCD__KIND_HEADER_BYTES,
			    &h);
}

/* What damaged bytes decode to, if they do, is a summary like any other. */
static void check_usable(const struct scd__kind *kind, const struct blob *blob)
{
	const size_t max = 1 << 20;
	struct scd__summary *s = NULL;
	struct blob again;
	double fp;

	alloc_bytes();
	if (scd__summary_decode(kind, blob->bytes, blob->len, max, &s)) {
		assert_null(s);
		assert_true(alloc_bytes() <= 2 * max);
		return;
	}
	assert_true(scd__summary_memory(s) <= max);
	fp = scd__summary_fp(s);
	assert_true(fp >= 0 && fp <= 1);
	assert_true(count(s, 0, 20) <= 20);
	assert_int_equal(scd__summary_encode(s, &again.bytes, &again.len),
			 SCD_OK);
	free(again.bytes);
	scd__summary_free(&s);
}

static void check_damaged(const struct scd__kind *kind,
			  const struct scd__kind_goal *goal)
{
	struct scd__summary *s = made(kind, goal);
	struct blob blob = encoded(s), bad = {malloc(blob.len), blob.len};
	uint64_t seed = 5;

	assert_non_null(bad.bytes);
	for (int round = 0; round < 3000; round++) {
		/* every second time in the header, where it does most harm */
		size_t within = round % 2 ? blob.len : 32;

		memcpy(bad.bytes, blob.bytes, blob.len);
		for (uint64_t n = random_below(&seed, 4) + 1; n > 0; n--)
			bad.bytes[random_below(&seed, within)] ^=
				(uint8_t)(1u << random_below(&seed, 8));
		check_usable(kind, &bad);
		reseal(&bad);
		check_usable(kind, &bad);
	}
	free(bad.bytes);
	free(blob.bytes);
	scd__summary_free(&s);
}

static void damaged_bytes_do_no_harm(void **state)
{
	(void)state;
	for_each(check_damaged, FEW);
}

static void check_memory_limit(const struct scd__kind *kind,
			       const struct scd__kind_goal *goal)
{
	struct scd__summary *s = made(kind, goal), *back = NULL;
	struct blob blob = encoded(s);
	size_t memory = scd__summary_memory(s);

	assert_int_equal(scd__summary_decode(kind, blob.bytes, blob.len,
					     memory - 1, &back),
			 SCD_ELIMIT);
	assert_null(back);
	assert_int_equal(
		scd__summary_decode(kind, blob.bytes, blob.len, memory, &back),
		SCD_OK);
	free(blob.bytes);
	scd__summary_free(&s);
	scd__summary_free(&back);
}

static void memory_is_limited(void **state)
{
	(void)state;
	for_each(check_memory_limit, FEW);
}

/* Everything once; 0, or the error of the step that failed. */
static int whole_life(const struct scd__kind *kind,
		      const struct scd__kind_goal *goal)
{
	struct scd__summary *s = NULL, *back = NULL;
	struct blob blob = {NULL, 0};
	int error = scd__summary_new(kind, goal, &s);

	for (uint64_t i = 0; !error && i < goal->nkeys + goal->nkeys / 10;
	     i++) {
		struct scd_key key = key_of(i);

		error = scd__summary_add(s, &key);
	}
	if (!error)
		error = scd__summary_seal(s);
	if (!error)
		error = scd__summary_encode(s, &blob.bytes, &blob.len);
	if (!error)
		error = scd__summary_decode(kind, blob.bytes, blob.len,
					    SIZE_MAX, &back);
	free(blob.bytes);
	scd__summary_free(&s);
	scd__summary_free(&back);
	return error;
}

static void check_no_memory(const struct scd__kind *kind,
			    const struct scd__kind_goal *goal)
{
	unsigned n = 0;
	int error;

	do {
		alloc_fail_at(++n);
		error = whole_life(kind, goal);
		if (alloc_failed() && error)
			assert_int_equal(error, SCD_ENOMEM);
		else
			assert_int_equal(error, SCD_OK);
	} while (alloc_failed());
	alloc_fail_at(0);
	assert_true(n > 3);
}

static void memory_fails(void **state)
{
	(void)state;
	for_each(check_no_memory, FEW);
}

static void goals_are_checked(void **state)
{
	static const struct scd__kind_goal wrong[] = {
		{0, .01, 0, 0},   {UINT64_MAX, .01, 0, 0}, {10, 0, 0, 0},
		{10, 1, 0, 0},    {10, -.1, 0, 0},         {10, NAN, 0, 0},
		{10, 0, -1, 0},   {10, 0, NAN, 0},         {10, .01, 0, -1},
		{10, .01, 0, NAN}};
	const struct scd__kind *kind;

	(void)state;
	for (size_t i = 0; (kind = scd__kind_at(i)); i++) {
		const struct scd__kind_goal huge = {UINT64_C(1) << 32, 0, 1e9,
						    1e9};
		struct scd__summary *s = NULL;

		assert_ptr_equal(scd__kind_find(kind->name), kind);
		for (size_t j = 0; j < NROWS(wrong); j++)
			assert_int_equal(scd__summary_new(kind, &wrong[j], &s),
					 SCD_EINVAL);
		assert_int_equal(scd__summary_new(kind, &huge, &s), SCD_EGOAL);
		assert_null(s);
		scd__summary_free(&s);
	}
	assert_null(scd__kind_find("no such kind"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_those_of_theory),
		cmocka_unit_test(found_as_predicted),
		cmocka_unit_test(round_trips),
		cmocka_unit_test(odd_contents),
		cmocka_unit_test(truncated_is_refused),
		cmocka_unit_test(damaged_bytes_do_no_harm),
		cmocka_unit_test(memory_is_limited),
		cmocka_unit_test(memory_fails),
		cmocka_unit_test(goals_are_checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
