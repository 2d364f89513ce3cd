/*
 * Deltas of lists: there and back, sizes against the entropy, cost by the
 * change alone, damaged input, and bases that are others.
 */
#include <math.h>
#include <string.h>

#include "codec/bloom.h"
#include "codec/delta.h"
#include "codec/wire/frame.h"
#include "tests/codec/alloc.h"
#include "tests/codec/list_sample.h"
#include "tests/rounds.h"

/* An encoded delta. */
struct blob {
	uint8_t *bytes;
	size_t len;
};

static struct blob encode(const struct scd_list *base,
			  const struct scd_list_change *c)
{
	struct scd_digest_info info;
	struct blob b;

	scd_list_info(base, &info);
	assert_int_equal(scd_list_delta_encode(base, c, info.generation + 3,
					       &b.bytes, &b.len),
			 SCD_OK);
	return b;
}

/* Reads a delta that is good, and applies it. */
static void apply(const struct blob *b, struct scd_list *list)
{
	struct scd_list_change c;
	struct scd_digest_info info, after;

	assert_int_equal(
		scd_list_delta_decode(b->bytes, b->len, NULL, list, &info, &c),
		SCD_OK);
	assert_int_equal(scd_list_change(list, &c, info.generation), SCD_OK);
	scd_list_info(list, &after);
	assert_true(after.checksum == info.checksum);
	assert_true(after.nones == info.nones);
	assert_true(after.generation == info.generation);
	scd_list_change_free(&c);
}

static double choose(double n, double k)
{
	return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(2) / 8;
}

/* What ranks and entries take at least [bytes]. */
static double entropy(unsigned width, double n, double go, double come)
{
	return choose(n, go) + choose(ldexp(1, (int)width) + come - 1, come);
}

/* Payloads to the byte, and a list that follows. */
static void sizes_are_those_of_the_entropy(void **state)
{
	static const struct {
		unsigned width;
		size_t n, go, come, bytes;
	} rows[] = {
		/* clang-format off */
		{ 20, 1000, 0, 0, 0 },
		{ 20, 1000, 1, 0, 2 },
		{ 20, 1000, 0, 1, 3 },
		{ 20, 1000, 1, 1, 4 },
		{ 20, 1000, 10, 10, 32 },
		{ 20, 1000, 500, 500, 904 },
		{ 20, 1000, 501, 0, 127 },
		{ 20, 1000, 1000, 7, 17 },
		{ 20, 0, 0, 1000, 1435 },
		{ 24, 10000, 100, 100, 336 },
		{ 24, 10000, 8000, 8000, 13372 },
		{ 27, 100000, 1, 1, 6 },
		{ 27, 100000, 1000, 1000, 3319 },
		{ 27, 100000, 20000, 20000, 44406 },
		{ 40, 100000, 1000, 1000, 4945 },
		/* clang-format on */
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct scd_list *list =
			list_sample(rows[i].width, rows[i].n, i);
		struct scd_list *follower =
			list_sample(rows[i].width, rows[i].n, i);
		struct scd_list_change c = list_sample_change(
			list, i + 100, rows[i].go, rows[i].come);
		struct blob b = encode(list, &c);
		const size_t len = b.len - SCD_DIGEST_HEADER_BYTES;

		if (len != rows[i].bytes)
			fail_msg("width %u, %zu entries, %zu go, %zu come: "
				 "%zu bytes, not %zu",
				 rows[i].width, rows[i].n, rows[i].go,
				 rows[i].come, len, rows[i].bytes);
		assert_true((double)len <=
			    1.001 * entropy(rows[i].width, (double)rows[i].n,
					    (double)rows[i].go,
					    (double)rows[i].come) +
				    3);
		apply(&b, follower);
		assert_int_equal(scd_list_change(list, &c, 4), SCD_OK);
		list_sample_same(list, follower);
		free(b.bytes);
		scd_list_change_free(&c);
		scd_list_free(&follower);
		scd_list_free(&list);
	}
}

/* Of twins, one goes: it is told as the first of them. */
static void one_twin_goes(void **state)
{
	uint64_t twins[] = {3, 5, 5, 5, 5, 9}, two[] = {5, 5}, one[] = {5};
	const struct scd_list_change all = {.added = twins, .nadded = 6};
	const struct scd_list_change go = {.removed = two, .nremoved = 2};
	struct scd_list *list = list_sample(20, 0, 1);
	struct scd_list_change read;
	uint64_t *entries;
	struct blob b;

	(void)state;
	assert_int_equal(scd_list_change(list, &all, 1), SCD_OK);
	b = encode(list, &go);
	assert_int_equal(
		scd_list_delta_decode(b.bytes, b.len, NULL, list, NULL, &read),
		SCD_OK);
	assert_int_equal(read.nremoved, 2);
	assert_memory_equal(read.removed, two, sizeof(two));
	apply(&b, list);
	entries = list_sample_entries(list);
	assert_int_equal(list_sample_count(list), 4);
	assert_memory_equal(entries, twins, sizeof(one) * 3);
	assert_int_equal(entries[3], 9);
	free(entries);
	free(b.bytes);
	scd_list_change_free(&read);
	scd_list_free(&list);
}

/* Generations that follow each other, as a follower sees them. */
static void deltas_follow_each_other(void **state)
{
	struct scd_list *list = list_sample(22, 5000, 7);
	struct scd_list *follower = list_sample(22, 5000, 7);

	(void)state;
	for (uint64_t i = 0; i < 40; i++) {
		struct scd_list_change c =
			list_sample_change(list, i, i * 7 % 300, i * 11 % 400);
		struct scd_digest_info info;
		struct blob b = encode(list, &c);

		scd_list_info(list, &info);
		assert_int_equal(scd_list_change(list, &c, info.generation + 3),
				 SCD_OK);
		apply(&b, follower);
		list_sample_same(list, follower);
		free(b.bytes);
		scd_list_change_free(&c);
	}
	scd_list_free(&follower);
	scd_list_free(&list);
}

/* A delta that is read for a list which is not its base. */
static void other_bases_are_refused(void **state)
{
	struct scd_list *list = list_sample(20, 900, 8);
	struct scd_list *others[4] = {list_sample(20, 900, 9),
				      list_sample(21, 900, 8),
				      list_sample(20, 900, 8), NULL};
	struct scd_list_change none = {0};
	struct scd_list_change c = list_sample_change(list, 1, 20, 30);
	struct scd_list_change read = {.nadded = 99};
	struct blob b = encode(list, &c);

	(void)state;
	/* The same entries: of another generation, and another instance. */
	assert_int_equal(scd_list_change(others[2], &none, 2), SCD_OK);
	assert_int_equal(scd_list_new(&others[3], 20, LIST_INSTANCE + 1),
			 SCD_OK);
	for (size_t i = 0; i < NROWS(others); i++) {
		assert_int_equal(scd_list_delta_decode(b.bytes, b.len, NULL,
						       others[i], NULL, &read),
				 SCD_EBASE);
		assert_int_equal(read.nadded, 99);
		scd_list_free(&others[i]);
	}
	assert_int_equal(scd_list_delta_encode(list, &c, 1, &b.bytes, &b.len),
			 SCD_EINVAL); /* generations go up */
	free(b.bytes);
	scd_list_change_free(&c);
	scd_list_free(&list);
}

/* The header's own sum put right. */
static void seal(struct blob *b)
{
	struct scd__writer w = scd__writer(b->bytes + 88, 8);

	scd__write_u64(&w, scd__frame_checksum(b->bytes));
}

/* At every length, and with every bit another, the header's sum right. */
static void damage_is_found(void **state)
{
	struct scd_list *list = list_sample(20, 900, 10);
	struct scd_list_change c = list_sample_change(list, 1, 40, 50);
	struct scd_list_change read = {.nadded = 99};
	struct blob b = encode(list, &c);
	unsigned refused[14] = {0};

	(void)state;
	for (size_t i = 0; i < b.len; i++)
		assert_int_not_equal(scd_list_delta_decode(b.bytes, i, NULL,
							   list, NULL, &read),
				     SCD_OK);
	for (size_t bit = 0; bit < 8 * b.len; bit++) {
		int error;

		if (bit >= 8 * 16 && bit < 8 * 24)
			continue; /* the keys: informative */
		if (bit >= 8 * 40 && bit < 8 * 48)
			continue; /* the generation is nowhere else */
		if (bit >= 8 * 88 && bit < 8 * SCD_DIGEST_HEADER_BYTES)
			continue; /* put right below */
		b.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		seal(&b);
		error = scd_list_delta_decode(b.bytes, b.len, NULL, list, NULL,
					      &read);
		assert_true(error < 0);
		refused[-error]++;
		b.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	assert_int_equal(read.nadded, 99);
	assert_true(refused[-SCD_EFORMAT] && refused[-SCD_ECHECKSUM] &&
		    refused[-SCD_EBASE] && refused[-SCD_EVERSION]);
	free(b.bytes);
	scd_list_change_free(&c);
	scd_list_free(&list);
}

static struct blob encode_frame(const struct scd_list *base,
				const struct scd_list_change *c)
{
	struct scd_digest_info info;
	struct blob b;

	scd_list_info(base, &info);
	assert_int_equal(scd_list_frame_encode(base, c, info.generation + 1,
					       &b.bytes, &b.len),
			 SCD_OK);
	return b;
}

/* One after the other on a channel, and what is behind a frame is the next. */
static void frames_follow_each_other(void **state)
{
	struct scd_list *list = list_sample(22, 5000, 12);
	struct scd_list *follower = list_sample(22, 5000, 12);
	static uint8_t channel[200000];
	size_t len = 0, at = 0, used;
	unsigned frames = 0;

	(void)state;
	for (uint64_t i = 0; i < 130; i++) {
		struct scd_list_change c =
			list_sample_change(list, i, i % 9, i * i % 50);
		struct blob b = encode_frame(list, &c);

		assert_true(len + b.len <= sizeof(channel));
		memcpy(channel + len, b.bytes, b.len);
		len += b.len;
		assert_int_equal(scd_list_change(list, &c, i + 2), SCD_OK);
		free(b.bytes);
		scd_list_change_free(&c);
	}
	for (; at < len; at += used, frames++) {
		struct scd_list_change c;
		uint64_t generation;

		assert_int_equal(scd_list_frame_decode(channel + at, len - at,
						       NULL, follower, &used,
						       &generation, &c),
				 SCD_OK);
		assert_int_equal(generation, frames + 2);
		assert_int_equal(scd_list_change(follower, &c, generation),
				 SCD_OK);
		scd_list_change_free(&c);
	}
	assert_int_equal(frames, 130);
	list_sample_same(list, follower);
	scd_list_free(&follower);
	scd_list_free(&list);
}

/* Frames to the byte: nothing but what the reader cannot know. */
static void frames_are_short(void **state)
{
	static const struct {
		unsigned width;
		size_t n, go, come, bytes;
	} rows[] = {
		/* clang-format off */
		{ 20, 1000, 0, 0, 6 },
		{ 20, 1000, 1, 1, 10 },
		{ 24, 10000, 1, 1, 11 },
		{ 27, 100000, 1, 1, 12 },
		{ 30, 1000000, 1, 1, 13 },
		{ 27, 100000, 5, 5, 32 },
		{ 27, 100000, 20, 20, 101 },
		/* clang-format on */
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct scd_list *list;
		struct scd_list_change c;
		struct blob b;

		if (rows[i].n > 100000 && rounds_slowness() > 1)
			continue;
		list = list_sample(rows[i].width, rows[i].n, i);
		c = list_sample_change(list, i + 7, rows[i].go, rows[i].come);
		b = encode_frame(list, &c);
		if (b.len != rows[i].bytes)
			fail_msg("width %u, %zu entries, %zu go, %zu come: "
				 "%zu bytes, not %zu",
				 rows[i].width, rows[i].n, rows[i].go,
				 rows[i].come, b.len, rows[i].bytes);
		free(b.bytes);
		scd_list_change_free(&c);
		scd_list_free(&list);
	}
}

/* Cut at every length, and with every bit another. */
static void damaged_frames_are_refused(void **state)
{
	struct scd_list *list = list_sample(20, 900, 10);
	struct scd_list_change c = list_sample_change(list, 1, 40, 50);
	struct scd_list_change read = {.nadded = 99};
	struct blob b = encode_frame(list, &c);
	uint64_t generation = 7;
	size_t used = 7;

	(void)state;
	for (size_t i = 0; i < b.len; i++)
		assert_int_equal(scd_list_frame_decode(b.bytes, i, NULL, list,
						       &used, &generation,
						       &read),
				 SCD_ETRUNC);
	for (size_t bit = 0; bit < 8 * b.len; bit++) {
		int error;

		if (bit / 8 == 3)
			continue; /* the generation is nowhere else */
		b.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		error = scd_list_frame_decode(b.bytes, b.len, NULL, list, &used,
					      &generation, &read);
		assert_true(error < 0);
		b.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	assert_true(used == 7 && generation == 7 && read.nadded == 99);
	assert_int_equal(scd_list_frame_encode(list, &c, 1, &b.bytes, &b.len),
			 SCD_EINVAL); /* generations go up */
	free(b.bytes);
	scd_list_change_free(&c);
	scd_list_free(&list);
}

/* An array of the same shape, of which the header says that it is the base. */
static void arrays_take_no_deltas_of_lists(void **state)
{
	struct scd_list *list = list_sample(20, 900, 10);
	struct scd_list_change c = list_sample_change(list, 1, 4, 5);
	struct scd_bloom array, out = {0};
	const struct scd_base base = {&array, LIST_INSTANCE, 1, {0}};
	struct blob b = encode(list, &c), full;
	struct scd__writer w = scd__writer(b.bytes + 56, 8);

	(void)state;
	assert_int_equal(scd_bloom_init(&array, 1 << 20, 1), SCD_OK);
	array.hashing = SCD_HASHING_PREFIX;
	scd__write_u64(&w, scd_digest_checksum(&array));
	seal(&b);
	assert_int_equal(
		scd_delta_apply(b.bytes, b.len, NULL, &base, NULL, &out),
		SCD_EBASE);
	assert_int_equal(scd_list_encode(list, &full.bytes, &full.len), SCD_OK);
	assert_int_equal(
		scd_digest_decode(full.bytes, full.len, NULL, NULL, &out),
		SCD_EBASE);
	assert_int_equal(
		scd_delta_apply(full.bytes, full.len, NULL, &base, NULL, &out),
		SCD_EBASE);
	assert_null(out.bits);
	free(full.bytes);
	free(b.bytes);
	scd_bloom_free(&array);
	scd_list_change_free(&c);
	scd_list_free(&list);
}

/* A small change of a large list takes memory for the change alone. */
static void cost_is_that_of_the_change(void **state)
{
	struct scd_list *list = list_sample(30, 300000, 11);
	struct scd_list_change c = list_sample_change(list, 1, 50, 50);
	struct scd_digest_info info;
	struct blob b;

	(void)state;
	alloc_bytes();
	b = encode(list, &c);
	apply(&b, list);
	assert_true(alloc_bytes() < 120000);
	scd_list_info(list, &info);
	assert_int_equal(info.nones, 300000);
	free(b.bytes);
	scd_list_change_free(&c);
	scd_list_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_those_of_the_entropy),
		cmocka_unit_test(one_twin_goes),
		cmocka_unit_test(deltas_follow_each_other),
		cmocka_unit_test(other_bases_are_refused),
		cmocka_unit_test(damage_is_found),
		cmocka_unit_test(frames_follow_each_other),
		cmocka_unit_test(frames_are_short),
		cmocka_unit_test(damaged_frames_are_refused),
		cmocka_unit_test(arrays_take_no_deltas_of_lists),
		cmocka_unit_test(cost_is_that_of_the_change),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
