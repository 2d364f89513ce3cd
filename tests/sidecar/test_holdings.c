/*
 * The holdings and the lines that change them: a set against the dumbest twin,
 * its catalog through a rebuild, the keys for Squids, a table of lines; and
 * each allocation failing.
 */
#include <errno.h>
#include <string.h>

#include "codec/counting.h"
#include "codec/error.h"
#include "codec/squid.h"
#include "digestd/mesh/catalog.h"
#include "digestd/sidecar/feed_lines.h"
#include "digestd/sidecar/holdings.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { NKEYS = 60, MAX_KEYS = 40, STEPS = 20000, NBITS = 1 << 14 };

static const struct holdings_settings settings = {
	.max_keys = MAX_KEYS, .nbits = NBITS, .nhash = 3
};

static struct holdings_key key_of(unsigned n)
{
	uint64_t random = n + 1;
	uint64_t lo = random_next(&random);

	return (struct holdings_key){ .own = { lo, random_next(&random) },
				      .squid = { n, ~lo } };
}

static struct holdings *new_holdings(void)
{
	struct holdings *h;

	assert_int_equal(holdings_new(&settings, &h), 0);
	return h;
}

/* One step of the twin, which counts what is held of each key. */
static void step(struct holdings *h, unsigned *twin, unsigned *n, unsigned what,
		 unsigned i)
{
	const struct holdings_key key = key_of(i);
	const bool room = twin[i] || *n < MAX_KEYS;

	switch (what) {
	case 0:
		assert_int_equal(holdings_insert(h, &key), room);
		*n += room && !twin[i];
		twin[i] = twin[i] ? twin[i] : room;
		break;
	case 1:
		assert_int_equal(holdings_take(h, &key), room);
		*n += room && !twin[i];
		twin[i] += room;
		break;
	case 2:
		holdings_drop(h, &key.own);
		*n -= twin[i] == 1;
		twin[i] -= twin[i] > 0;
		break;
	default:
		holdings_evict(h, &key.own);
		*n -= twin[i] > 0;
		twin[i] = 0;
		break;
	}
	assert_int_equal(holdings_have(h, &key.own), twin[i] > 0);
}

static void test_model(void **state)
{
	unsigned twin[NKEYS] = { 0 }, n = 0;
	struct holdings *h = new_holdings();
	struct catalog_stats catalog;
	struct holdings_stats now;
	uint64_t random = 3;

	(void)state;
	for (unsigned i = 0; i < STEPS; i++) {
		step(h, twin, &n, (unsigned)random_below(&random, 4),
		     (unsigned)random_below(&random, NKEYS));
		holdings_stats(h, &now);
		holdings_catalog_stats(h, &catalog);
		assert_int_equal(now.keys, n);
		assert_int_equal(catalog.nkeys, n);
		assert_int_equal(now.inserted - now.evicted, n);
	}
	assert_true(now.refused > 0);
	holdings_reset(h);
	holdings_catalog_stats(h, &catalog);
	assert_int_equal(catalog.nkeys, 0);
	assert_int_equal(catalog.nones, 0);
	holdings_free(&h);
	assert_null(h);
	holdings_free(&h);
}

/* While it moves to another size, keys come and go; then it has those that are
 * held, and no others. */
static void test_rebuild(void **state)
{
	struct holdings *h = new_holdings();
	const struct publisher_source source = holdings_source(h);
	unsigned twin[NKEYS] = { 0 }, n = 0;
	struct catalog_snapshot snapshot;
	uint64_t random = 5, bits;
	struct scd_counting *expected;

	(void)state;
	for (unsigned i = 0; i < 30; i++)
		step(h, twin, &n, 0, i);
	assert_int_equal(source.rebuild(source.arg, 4 * NBITS), 0);
	do {
		step(h, twin, &n, (unsigned)random_below(&random, 4),
		     (unsigned)random_below(&random, NKEYS));
	} while (!source.rebuild_part(source.arg));
	assert_int_equal(scd_counting_new(&expected, 4 * NBITS, 3), 0);
	for (unsigned i = 0; i < NKEYS; i++) {
		const struct holdings_key key = key_of(i);

		if (twin[i])
			scd_counting_add(expected, &key.own);
	}
	assert_int_equal(catalog_snapshot(source.lock(source.arg), 0,
					  &snapshot), 0);
	source.unlock(source.arg);
	bits = scd_bloom_bytes(&snapshot.bloom);
	assert_memory_equal(snapshot.bloom.bits,
			    scd_counting_bloom(expected)->bits, bits);
	scd_bloom_free(&snapshot.bloom);
	scd_counting_free(&expected);
	holdings_free(&h);
}

static void test_keys(void **state)
{
	struct holdings *h = new_holdings();
	static const char same[] = "HTTP://User@WWW.Example.com:80/a#x";
	static const char uri[] = "http://www.example.com/a";
	static char longest[HOLDINGS_URI_BYTES + 2];
	struct holdings_key one, other;

	(void)state;
	assert_int_equal(holdings_key(h, uri, strlen(uri), &one), 0);
	assert_int_equal(holdings_key(h, same, strlen(same), &other), 0);
	assert_memory_equal(&one, &other, sizeof(one));
	assert_int_equal(holdings_key(h, "/a", 2, &one), -EINVAL);
	assert_int_equal(holdings_key(h, "", 0, &one), -EINVAL);
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "http://h/", 9);
	assert_int_equal(holdings_key(h, longest, HOLDINGS_URI_BYTES, &one), 0);
	assert_int_equal(holdings_key(h, longest, HOLDINGS_URI_BYTES + 1, &one),
			 -EINVAL);
	holdings_free(&h);
}

static void test_lines(void **state)
{
	static const struct {
		const char *line;
		enum feed_word word;
		const char *fault;
	} rows[] = {
		{ "", FEED_NOTHING, NULL },
		{ "\r", FEED_NOTHING, NULL },
		{ "insert http://h/", FEED_INSERT, NULL },
		{ "insert http://h/\r", FEED_INSERT, NULL },
		{ "evict https://h/x?y", FEED_EVICT, NULL },
		{ "reset", FEED_RESET, NULL },
		{ "reset ", FEED_RESET, NULL },
		{ "ack", FEED_ACK, NULL },
		{ "ack a b", FEED_ACK, NULL },
		{ "ack \x01", FEED_ACK, "not a text of up to 64 characters" },
		{ "ack \x7f", FEED_ACK, "not a text of up to 64 characters" },
		{ "ack 0123456789012345678901234567890123456789012345678901234"
		  "567890123", FEED_ACK, NULL },
		{ "ack 0123456789012345678901234567890123456789012345678901234"
		  "5678901234", FEED_ACK,
		  "not a text of up to 64 characters" },
		{ "insert", FEED_INSERT, "not an http or https URL" },
		{ "insert  http://h/", FEED_INSERT,
		  "not an http or https URL" },
		{ "insert ftp://h/", FEED_INSERT,
		  "not an http or https URL" },
		{ "reset all", FEED_RESET, "reset has no argument" },
		{ "inserts http://h/", FEED_NOTHING,
		  "not insert, evict, reset or ack" },
		{ " reset", FEED_NOTHING, "not insert, evict, reset or ack" },
	};
	struct holdings *h = new_holdings();

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct feed_line line;
		const char *fault = feed_line_read(h, rows[i].line,
						   strlen(rows[i].line), &line);

		assert_int_equal(line.word, rows[i].word);
		if (rows[i].fault)
			assert_string_equal(fault, rows[i].fault);
		else
			assert_null(fault);
	}
	holdings_free(&h);
}

static void test_answer(void **state)
{
	static const char ack[] = "ack some text";
	struct holdings *h = new_holdings();
	char text[FEED_ANSWER_BYTES];
	struct feed_line line;
	size_t len;

	(void)state;
	assert_null(feed_line_read(h, ack, strlen(ack), &line));
	assert_true(feed_line_apply(h, &line));
	len = feed_line_answer(&line, 12, 3, text);
	assert_string_equal(text, "ack some text held 12 refused 3\n");
	assert_int_equal(len, strlen(text));
	line.text_len = FEED_ACK_BYTES;
	line.text = "0123456789012345678901234567890123456789012345678901234567"
		    "890123";
	len = feed_line_answer(&line, UINT64_MAX, UINT64_MAX, text);
	assert_true(len < sizeof(text));
	holdings_free(&h);
}

/* Without memory for another size it stays as it is, and can be rebuilt
 * later. */
static void test_rebuild_without_memory(void **state)
{
	struct holdings *h = new_holdings();
	const struct publisher_source source = holdings_source(h);
	const struct holdings_key key = key_of(1);
	struct catalog_stats catalog;

	(void)state;
	assert_true(holdings_insert(h, &key));
	alloc_fail_at(1);
	assert_int_equal(source.rebuild(source.arg, 4 * NBITS), SCD_ENOMEM);
	alloc_fail_at(0);
	holdings_catalog_stats(h, &catalog);
	assert_int_equal(catalog.nbits, NBITS);
	assert_int_equal(catalog.nkeys, 1);
	assert_int_equal(source.rebuild(source.arg, 4 * NBITS), 0);
	while (!source.rebuild_part(source.arg))
		;
	holdings_catalog_stats(h, &catalog);
	assert_int_equal(catalog.nbits, 4 * NBITS);
	assert_int_equal(catalog.nkeys, 1);
	holdings_free(&h);
}

static struct {
	struct scd_key keys[NKEYS];
	unsigned n;
} squids;

static void note_squid_key(void *to, const struct scd_key *key)
{
	assert_ptr_equal(to, &squids);
	assert_true(squids.n < NKEYS);
	squids.keys[squids.n++] = *key;
}

/* What Squids are told of: all that is held, by Squid's keys. */
static void walk_as_squid(struct holdings *h)
{
	const struct squid_source source = holdings_squid_source(h);
	struct keypart part = { .count = source.parts(source.arg) };

	squids.n = 0;
	for (; part.number < part.count; part.number++)
		source.walk(source.arg, &part, 0, note_squid_key, &squids);
	assert_int_equal(source.count(source.arg), squids.n);
}

static void test_squid_keys(void **state)
{
	static const char one[] = "http://h/1", other[] = "http://h/2";
	struct holdings_settings with_squid = settings;
	struct holdings_key keys[2];
	struct scd_key expected;
	struct holdings *h;

	(void)state;
	with_squid.squid = true;
	assert_int_equal(holdings_new(&with_squid, &h), 0);
	walk_as_squid(h);
	assert_int_equal(squids.n, 0);
	assert_int_equal(holdings_key(h, one, strlen(one), &keys[0]), 0);
	assert_int_equal(holdings_key(h, other, strlen(other), &keys[1]), 0);
	assert_true(holdings_insert(h, &keys[0]));
	assert_true(holdings_insert(h, &keys[0]));
	assert_true(holdings_insert(h, &keys[1]));
	walk_as_squid(h);
	assert_int_equal(squids.n, 2);
	holdings_evict(h, &keys[1].own);
	walk_as_squid(h);
	assert_int_equal(squids.n, 1);
	assert_int_equal(scd_squid_key("GET", one, strlen(one), &expected),
			 SCD_OK);
	assert_memory_equal(&squids.keys[0], &expected, sizeof(expected));
	holdings_free(&h);
}

/* Without its changes a list is published as if nothing were held. */
static void test_lists_are_made_of_changes(void **state)
{
	const struct holdings_key keys[] = { key_of(0), key_of(1), key_of(2) };
	struct holdings_settings lists = settings;
	struct catalog_snapshot snapshot;
	struct publisher_source source;
	struct holdings *h;

	(void)state;
	lists.lists = true;
	assert_int_equal(holdings_new(&lists, &h), 0);
	source = holdings_source(h);
	for (unsigned i = 0; i < 3; i++)
		holdings_insert(h, &keys[i]);
	holdings_evict(h, &keys[0].own);
	catalog_snapshot_changes(source.lock(source.arg), 0, &snapshot);
	source.unlock(source.arg);
	assert_false(snapshot.lost);
	assert_int_equal(snapshot.changes.nadded, 3);
	assert_int_equal(snapshot.changes.nremoved, 1);
	catalog_snapshot_free(&snapshot);
	holdings_free(&h);
}

static void test_every_allocation(void **state)
{
	bool failed = true;

	(void)state;
	for (unsigned n = 1; failed; n++) {
		struct holdings *h = NULL;
		int err;

		alloc_fail_at(n);
		err = holdings_new(&settings, &h);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(err, failed ? -ENOMEM : 0);
		holdings_free(&h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_rebuild),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_answer),
		cmocka_unit_test(test_rebuild_without_memory),
		cmocka_unit_test(test_squid_keys),
		cmocka_unit_test(test_lists_are_made_of_changes),
		cmocka_unit_test(test_every_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
