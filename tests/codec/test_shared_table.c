/*
 * Shared tables: against a dumb twin to which the same random changes are made,
 * with the room that a table has, peers and their order, life and death; and
 * files that are damaged or were made to harm, which no lookup may read beyond.
 */
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

#include "codec/filter/shared_table_state.h"
#include "tests/codec/random.h"
#include "tests/rounds.h"

enum {
	NKEYS = 600,
	NPEERS = 5,
	NCHANGES = 20000,
	NOW_MS = 5000000,
	MAX_TWINS = 3,
};

static const uint8_t secret[SCD_SECRET_BYTES] = { 1, 2, 3, 4 };

/* Memory of exactly so many bytes: a sanitizer sees what is read beyond. */
static void *memory_new(size_t bytes)
{
	void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);

	assert_non_null(memory);
	memset(memory, 0, bytes);
	return memory;
}

static void *table_new(uint64_t nlines)
{
	const struct scd__shared_shape shape = { .nlines = nlines,
						 .secret = { 1, 2, 3, 4 },
						 .salt = 99 };
	void *memory = memory_new(scd__shared_table_bytes(nlines));

	scd__shared_table_format(memory, &shape);
	scd__shared_table_publish(memory);
	scd__shared_table_beat(memory, NOW_MS);
	return memory;
}

static struct scd_shared_table open_table(const void *memory, uint64_t nlines)
{
	struct scd_shared_table t;

	assert_int_equal(scd_shared_table_open(
				 memory, scd__shared_table_bytes(nlines), &t),
			 SCD_OK);
	return t;
}

static void name_peer(void *memory, unsigned peer, const char *name,
		      uint32_t rtt_us)
{
	const struct scd__shared_peer about = { name, rtt_us };

	scd__shared_table_set_peer(memory, peer, &about);
}

static struct scd_key key_of(unsigned i)
{
	uint64_t seed = i;
	const uint64_t lo = random_next(&seed);

	return (struct scd_key){ lo, random_next(&seed) };
}

static bool names(const struct scd_shared_table *t, const struct scd_key *key,
		  unsigned peer)
{
	unsigned found[64];
	const size_t n = scd_shared_table_lookup(t, key, NOW_MS, found, 64);

	for (size_t i = 0; i < n; i++) {
		if (found[i] == peer)
			return true;
	}
	return false;
}

/* Some peers have wide lists, and some narrow ones. */
static unsigned width_of(unsigned peer)
{
	return peer % 2 ? 30 : 17 + peer;
}

/* Of each peer and key, how many entries there are. */
static unsigned counts[NPEERS][NKEYS];

static void change_one(void *memory, uint64_t *seed)
{
	const unsigned peer = (unsigned)(random_next(seed) % NPEERS);
	const unsigned i = (unsigned)(random_next(seed) % NKEYS);
	const struct scd_key key = key_of(i);
	const unsigned width = width_of(peer);
	const uint64_t f = scd_fingerprint(&key, width);

	if (random_next(seed) % 2 && counts[peer][i] < MAX_TWINS) {
		assert_int_equal(scd__shared_table_insert(memory, peer, width,
							  f),
				 SCD_OK);
		counts[peer][i]++;
	} else if (counts[peer][i]) {
		assert_true(scd__shared_table_remove(memory, peer, width, f));
		counts[peer][i]--;
	}
}

static void a_table_is_what_its_twin_is(void **state)
{
	const uint64_t nlines = scd__shared_table_lines_for(
		(uint64_t)NPEERS * NKEYS * MAX_TWINS);
	void *memory = table_new(nlines);
	const struct scd_shared_table t = open_table(memory, nlines);
	uint64_t widths = 0, seed = 7;
	unsigned lies = 0;

	(void)state;
	memset(counts, 0, sizeof(counts));
	for (unsigned p = 0; p < NPEERS; p++) {
		widths |= UINT64_C(1) << width_of(p);
		name_peer(memory, p, "peer", 0);
	}
	scd__shared_table_set_widths(memory, widths);
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < NCHANGES / 20; i++)
			change_one(memory, &seed);
		for (unsigned i = 0; i < NPEERS * NKEYS; i++) {
			const struct scd_key key = key_of(i / NPEERS);
			const bool has = counts[i % NPEERS][i / NPEERS];
			const bool says = names(&t, &key, i % NPEERS);

			assert_true(says || !has);
			lies += says && !has;
		}
	}
	/* 600 keys in 2^17 fingerprints: .5 %, of which there are some */
	assert_true(lies < 20 * NPEERS * NKEYS / 100);
	free(memory);
}

/* At the load at which a table is made anew, everything still had room. */
static void a_table_has_room_until_it_is_full(void **state)
{
	enum { NLINES = 4096 };
	void *memory = table_new(NLINES);
	uint64_t n = 0;

	(void)state;
	for (; !scd__shared_table_is_full(NLINES, n); n++) {
		const struct scd_key key = key_of((unsigned)n);

		assert_int_equal(scd__shared_table_insert(
					 memory, (unsigned)(n % 64), 40,
					 scd_fingerprint(&key, 40)),
				 SCD_OK);
	}
	assert_true(n > NLINES * SCD__SHARED_TABLE_SLOTS / 2);
	assert_true(scd__shared_table_lines_for(n) > NLINES);
	free(memory);
}

/* Beyond that it says that there is none, and leaves what it has. */
static void a_table_without_room_says_so(void **state)
{
	void *memory = table_new(SCD__SHARED_TABLE_MIN_LINES);
	const struct scd_shared_table t =
		open_table(memory, SCD__SHARED_TABLE_MIN_LINES);
	struct scd_key first = key_of(0);
	int error = SCD_OK;

	(void)state;
	name_peer(memory, 1, "one", 0);
	scd__shared_table_set_widths(memory, UINT64_C(1) << 40);
	for (unsigned i = 0; !error; i++) {
		const struct scd_key key = key_of(i);

		assert_true(i <= SCD__SHARED_TABLE_MIN_LINES *
					 SCD__SHARED_TABLE_SLOTS);
		error = scd__shared_table_insert(memory, 1, 40,
						 scd_fingerprint(&key, 40));
	}
	assert_int_equal(error, SCD_ENOMEM);
	assert_true(names(&t, &first, 1));
	free(memory);
}

/* A list of one fingerprint, many times over, takes nobody's room. */
static void twins_without_end_are_refused(void **state)
{
	void *memory = table_new(SCD__SHARED_TABLE_MIN_LINES);
	unsigned n = 0;

	(void)state;
	while (scd__shared_table_insert(memory, 3, 20, 5) == SCD_OK)
		n++;
	assert_int_equal(n, SCD__SHARED_TABLE_TWINS);
	assert_int_equal(scd__shared_table_insert(memory, 3, 20, 5),
			 SCD_ELIMIT);
	assert_int_equal(scd__shared_table_insert(memory, 4, 20, 5), SCD_OK);
	for (; n; n--)
		assert_true(scd__shared_table_remove(memory, 3, 20, 5));
	assert_false(scd__shared_table_remove(memory, 3, 20, 5));
	free(memory);
}

/* All have the key: the near ones come first, and not always the same one. */
static void the_nearest_come_first(void **state)
{
	void *memory = table_new(SCD__SHARED_TABLE_MIN_LINES);
	const struct scd_shared_table t =
		open_table(memory, SCD__SHARED_TABLE_MIN_LINES);
	unsigned first[4] = { 0 }, out[4];

	(void)state;
	scd__shared_table_set_widths(memory, UINT64_C(1) << 30);
	name_peer(memory, 0, "far", 40000);
	name_peer(memory, 1, "near", 100);
	name_peer(memory, 2, "as near", 200);
	for (unsigned i = 0; i < 100; i++) {
		const struct scd_key key = key_of(i);

		for (unsigned p = 0; p < 4; p++)
			scd__shared_table_insert(memory, p, 30,
						 scd_fingerprint(&key, 30));
		/* 3 has no name: it may not be asked */
		assert_int_equal(scd_shared_table_lookup(&t, &key, NOW_MS, out,
							 4),
				 3);
		assert_int_equal(out[2], 0);
		first[out[0]]++;
		assert_int_equal(scd_shared_table_lookup(&t, &key, NOW_MS,
							 &out[1], 1),
				 1);
		assert_int_equal(out[1], out[0]);
		for (unsigned p = 0; p < 4; p++)
			scd__shared_table_remove(memory, p, 30,
						 scd_fingerprint(&key, 30));
	}
	assert_true(first[1] > 25 && first[2] > 25);
	free(memory);
}

static void peers_come_and_go(void **state)
{
	void *memory = table_new(SCD__SHARED_TABLE_MIN_LINES), *next;
	struct scd_shared_table t =
		open_table(memory, SCD__SHARED_TABLE_MIN_LINES);
	const struct scd_key key = key_of(1);
	char name[SCD_SHARED_TABLE_NAME_BYTES];

	(void)state;
	scd__shared_table_set_widths(memory, UINT64_C(1) << 30);
	scd__shared_table_insert(memory, 1022, 30, scd_fingerprint(&key, 30));
	assert_int_equal(scd_shared_table_name(&t, 1022, name), 0);
	name_peer(memory, 1022, "cache2", 7);
	assert_true(names(&t, &key, 1022));
	assert_int_equal(scd_shared_table_name(&t, 1022, name), 6);
	assert_string_equal(name, "cache2");
	assert_int_equal(scd_shared_table_name(&t, 1023, name), 0);
	next = table_new(SCD__SHARED_TABLE_MIN_LINES);
	scd__shared_table_copy_peers(next, memory);
	scd__shared_table_set_peer(memory, 1022, NULL);
	assert_false(names(&t, &key, 1022));
	free(memory);
	t = open_table(next, SCD__SHARED_TABLE_MIN_LINES);
	assert_int_equal(scd_shared_table_name(&t, 1022, name), 6);
	free(next);
}

static void a_table_lives_as_long_as_its_writer(void **state)
{
	void *memory = table_new(SCD__SHARED_TABLE_MIN_LINES);
	const struct scd_shared_table t =
		open_table(memory, SCD__SHARED_TABLE_MIN_LINES);
	static const struct {
		int64_t after_ms;
		enum scd_shared_table_state wanted;
	} rows[] = {
		{ 0, SCD_SHARED_TABLE_LIVE },
		{ SCD_SHARED_TABLE_SILENT_MS, SCD_SHARED_TABLE_LIVE },
		{ SCD_SHARED_TABLE_SILENT_MS + 1, SCD_SHARED_TABLE_SILENT },
		{ -5, SCD_SHARED_TABLE_LIVE },
		{ -SCD_SHARED_TABLE_SILENT_MS - 1, SCD_SHARED_TABLE_SILENT },
	};
	const struct scd_key key = key_of(1);
	unsigned out[1];

	(void)state;
	name_peer(memory, 0, "one", 0);
	scd__shared_table_set_widths(memory, UINT64_C(1) << 30);
	scd__shared_table_insert(memory, 0, 30, scd_fingerprint(&key, 30));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const uint64_t now_ms = (uint64_t)(NOW_MS + rows[i].after_ms);

		assert_int_equal(scd_shared_table_state(&t, now_ms),
				 rows[i].wanted);
		assert_int_equal(scd_shared_table_lookup(&t, &key, now_ms, out,
							 1),
				 rows[i].wanted == SCD_SHARED_TABLE_LIVE);
	}
	scd__shared_table_retire(memory);
	assert_int_equal(scd_shared_table_state(&t, NOW_MS),
			 SCD_SHARED_TABLE_RETIRED);
	assert_true(names(&t, &key, 0));
	/* no other one need come after it */
	assert_int_equal(scd_shared_table_state(
				 &t, NOW_MS + SCD_SHARED_TABLE_SILENT_MS + 1),
			 SCD_SHARED_TABLE_SILENT);
	assert_int_equal(scd_shared_table_lookup(
				 &t, &key,
				 NOW_MS + SCD_SHARED_TABLE_SILENT_MS + 1, out,
				 1),
			 0);
	free(memory);
}

/* A URI's key is that of nodes, in any spelling. */
static void keys_are_those_of_nodes(void **state)
{
	static char text[SCD_SHARED_TABLE_URI_BYTES + 1];
	void *memory = table_new(SCD__SHARED_TABLE_MIN_LINES);
	const struct scd_shared_table t =
		open_table(memory, SCD__SHARED_TABLE_MIN_LINES);
	struct scd_key key, wanted;

	(void)state;
	scd_key_make(secret, "GET", "http://h/a", 10, &wanted);
	assert_int_equal(scd_shared_table_key(&t, "HTTP://H:80/a", 13, &key),
			 SCD_OK);
	assert_memory_equal(&key, &wanted, sizeof(key));
	assert_int_equal(scd_shared_table_key(&t, "/a", 2, &key), SCD_EURI);
	memset(text, 'a', sizeof(text));
	memcpy(text, "http://h/", 9);
	assert_int_equal(scd_shared_table_key(&t, text, sizeof(text), &key),
			 SCD_ELIMIT);
	assert_int_equal(scd_shared_table_key(&t, text, sizeof(text) - 1, &key),
			 SCD_OK);
	free(memory);
}

/* What is no table, or says that it is larger than it is. */
static void bad_files_are_refused(void **state)
{
	enum { LINES = SCD__SHARED_TABLE_MIN_LINES };
	static const struct {
		const char *what;
		uint64_t magic, version, nlines;
		int wanted;
	} rows[] = {
		{ "good", SCD__SHARED_MAGIC, 1, LINES, SCD_OK },
		{ "not published", 0, 1, LINES, SCD_EFORMAT },
		{ "another magic", 5, 1, LINES, SCD_EFORMAT },
		{ "version", SCD__SHARED_MAGIC, 2, LINES, SCD_EVERSION },
		{ "no lines", SCD__SHARED_MAGIC, 1, 0, SCD_ELIMIT },
		{ "no power of two", SCD__SHARED_MAGIC, 1, 65, SCD_ELIMIT },
		{ "too few", SCD__SHARED_MAGIC, 1, LINES / 2, SCD_ELIMIT },
		{ "more", SCD__SHARED_MAGIC, 1, UINT64_C(2) * LINES,
		  SCD_ETRUNC },
		{ "2^31", SCD__SHARED_MAGIC, 1, UINT64_C(1) << 31,
		  SCD_ETRUNC },
		{ "2^58", SCD__SHARED_MAGIC, 1, UINT64_C(1) << 58,
		  SCD_ELIMIT },
		{ "2^63", SCD__SHARED_MAGIC, 1, UINT64_C(1) << 63,
		  SCD_ELIMIT },
	};
	void *memory = table_new(LINES);
	struct scd__shared_head *head = memory;
	struct scd_shared_table t;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		head->magic = rows[i].magic;
		head->version = rows[i].version;
		head->nlines = rows[i].nlines;
		if (scd_shared_table_open(memory,
					  scd__shared_table_bytes(LINES),
					  &t) != rows[i].wanted)
			fail_msg("%s", rows[i].what);
	}
	free(memory);
}

static void cut_files_are_refused(void **state)
{
	void *whole = table_new(SCD__SHARED_TABLE_MIN_LINES);
	const size_t bytes =
		scd__shared_table_bytes(SCD__SHARED_TABLE_MIN_LINES);
	struct scd_shared_table t;

	(void)state;
	for (size_t len = 0; len < bytes; len += len < 512 ? 64 : 4032) {
		void *cut = memory_new(len);

		memcpy(cut, whole, len);
		assert_int_equal(scd_shared_table_open(cut, len, &t),
				 SCD_ETRUNC);
		free(cut);
	}
	free(whole);
}

/* Whatever is written to a table after it was opened, lookups stay in it. */
static void garbage_harms_no_lookup(void **state)
{
	const size_t bytes =
		scd__shared_table_bytes(SCD__SHARED_TABLE_MIN_LINES);
	uint64_t seed = 3;

	(void)state;
	for (int round = 0; round < rounds_of(100, 2000); round++) {
		uint64_t *memory = table_new(SCD__SHARED_TABLE_MIN_LINES);
		const struct scd_shared_table t =
			open_table(memory, SCD__SHARED_TABLE_MIN_LINES);
		char name[SCD_SHARED_TABLE_NAME_BYTES];
		unsigned out[64];

		for (size_t i = 0; i < bytes / 8; i++)
			memory[i] = random_next(&seed);
		scd__shared_table_beat(memory, NOW_MS);
		for (unsigned i = 0; i < 50; i++) {
			const struct scd_key key = key_of(i);
			const size_t n = scd_shared_table_lookup(
				&t, &key, NOW_MS, out, 64);

			for (size_t j = 0; j < n; j++)
				assert_true(scd_shared_table_name(
						    &t, out[j], name) <
					    sizeof(name));
		}
		free(memory);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_what_its_twin_is),
		cmocka_unit_test(a_table_has_room_until_it_is_full),
		cmocka_unit_test(a_table_without_room_says_so),
		cmocka_unit_test(twins_without_end_are_refused),
		cmocka_unit_test(the_nearest_come_first),
		cmocka_unit_test(peers_come_and_go),
		cmocka_unit_test(a_table_lives_as_long_as_its_writer),
		cmocka_unit_test(keys_are_those_of_nodes),
		cmocka_unit_test(bad_files_are_refused),
		cmocka_unit_test(cut_files_are_refused),
		cmocka_unit_test(garbage_harms_no_lookup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
