/*
 * Computed sizes of digests beside those of digests that libscd makes of random
 * keys: each form of filters and of lists, from a handful of objects to many,
 * within 0.5 % and 6 bytes. And what receivers of lists keep.
 */
#include "tests/unit.h"

#include <stdlib.h>

#include "cachesim/protocol/digest_sizes.h"
#include "cachesim/protocol/protocol.h"
#include "codec/bloom.h"
#include "codec/delta.h"
#include "codec/list.h"
#include "codec/mix.h"
#include "codec/table.h"
#include "tests/codec/random.h"

enum { MOST = 60000 };

static uint64_t keys[2 * MOST]; /* what is replaced, what stays, what comes */

static void close_to(uint64_t computed, uint64_t coded)
{
	assert_in_range(computed, coded - coded / 200 - 6,
			coded + coded / 200 + 6);
}

static void make_keys(void)
{
	uint64_t random = 7;

	for (size_t i = 0; i < NROWS(keys); i++)
		keys[i] = random_next(&random);
}

static struct scd_bloom filter_of(uint64_t nbits, unsigned nhash, size_t first,
				  size_t n)
{
	struct scd_bloom b;

	assert_int_equal(scd_bloom_init(&b, nbits, nhash), 0);
	for (size_t i = first; i < first + n; i++) {
		struct scd_key key = scd__key_of_hash(keys[i]);

		scd_bloom_add(&b, &key);
	}
	return b;
}

static struct digest_flips flips_of(const struct scd_bloom *a,
				    const struct scd_bloom *b)
{
	struct digest_flips f = { .nbits = a->nbits,
				  .nones = scd_bloom_ones(a) };

	for (size_t i = 0; i < scd_bloom_bytes(a); i++) {
		unsigned from = a->bits[i], to = b->bits[i];

		f.ncleared += (unsigned)__builtin_popcount(from & ~to);
		f.nset += (unsigned)__builtin_popcount(to & ~from);
	}
	return f;
}

typedef int encoder(const struct scd_bloom *base, const struct scd_bloom *next,
		    const struct scd_digest_info *ids, uint8_t **out,
		    size_t *out_len);

static size_t coded(encoder *encode, const struct scd_bloom *a,
		    const struct scd_bloom *b)
{
	const struct scd_digest_info ids = { .instance = 1,
					     .generation = 2,
					     .base_generation = 1 };
	uint8_t *bytes;
	size_t len;

	assert_int_equal(encode(a, b, &ids, &bytes, &len), 0);
	free(bytes);
	return len;
}

static int encode_full(const struct scd_bloom *base,
		       const struct scd_bloom *next,
		       const struct scd_digest_info *ids, uint8_t **out,
		       size_t *out_len)
{
	struct scd_digest_info own = *ids;

	(void)base;
	own.base_generation = 0;
	return scd_digest_encode(next, &own, out, out_len);
}

static void arrays_are_as_long(void **state)
{
	static const struct {
		size_t n, replaced;
		uint64_t bits;
		unsigned nhash;
	} rows[] = {
		{ 1, 1, 64, 4 },          { 10, 1, 14, 2 },
		{ 100, 3, 32, 3 },        { 1000, 10, 8, 6 },
		{ 1000, 10, 14, 2 },      { 1000, 0, 32, 3 },
		{ 4000, 40, 14, 2 },      { 4000, 400, 92, 1 },
		{ 20000, 200, 32, 3 },    { 20000, 10000, 8, 4 },
		{ 60000, 600, 14, 2 },    { 60000, 60000, 16, 11 },
		{ 60000, 3000, 48, 3 },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		uint64_t nbits = rows[i].n * rows[i].bits;
		struct scd_bloom a = filter_of(nbits, rows[i].nhash, 0,
					       rows[i].n);
		struct scd_bloom b = filter_of(nbits, rows[i].nhash,
					       rows[i].replaced, rows[i].n);
		struct digest_flips f = flips_of(&a, &b);

		close_to(digest_size_of_array(nbits, scd_bloom_ones(&b)),
			 coded(encode_full, &a, &b));
		close_to(digest_size_of_array(nbits, f.ncleared + f.nset),
			 coded(scd_delta_encode, &a, &b));
		close_to(digest_size_of_conditional(&f),
			 coded(scd_delta_encode_conditional, &a, &b));
		scd_bloom_free(&a);
		scd_bloom_free(&b);
	}
}

static uint64_t *fingerprints_of(unsigned width, size_t first, size_t n)
{
	uint64_t *out = malloc((n + 1) * sizeof(*out));

	assert_non_null(out);
	for (size_t i = 0; i < n; i++)
		out[i] = keys[first + i] >> (64 - width);
	return out;
}

/* A list of keys, from one number on. */
static struct scd_list *list_of(unsigned width, size_t first, size_t n)
{
	struct scd_list_change c = { .nadded = n };
	struct scd_list *list;

	c.added = fingerprints_of(width, first, n);
	assert_int_equal(scd_list_new(&list, width, 1), 0);
	assert_int_equal(scd_list_change_sort(&c), 0);
	assert_int_equal(scd_list_change(list, &c, 1), 0);
	scd_list_change_free(&c);
	return list;
}

static void check_list(const struct scd_list *list, unsigned width, size_t n,
		       struct scd_list_change c, uint64_t generation)
{
	const struct digest_change d = {
		.width = width,
		.n = n,
		.nremoved = c.nremoved,
		.nadded = c.nadded,
		.generation = generation,
	};
	uint8_t *bytes;
	size_t len;

	assert_int_equal(scd_list_encode(list, &bytes, &len), 0);
	free(bytes);
	close_to(digest_size_of_list(width, n), len);
	assert_int_equal(
		scd_list_frame_encode(list, &c, generation, &bytes, &len), 0);
	free(bytes);
	close_to(digest_size_of_frame(&d), len);
}

static void lists_are_as_long(void **state)
{
	static const struct {
		size_t n, removed, added;
		unsigned width;
		uint64_t generation;
	} rows[] = {
		{ 1, 0, 1, 8, 2 },	     { 10, 1, 0, 12, 64 },
		{ 100, 3, 3, 20, 2 },	     { 1000, 10, 10, 15, 2 },
		{ 1000, 999, 1, 20, 3 },     { 4000, 40, 40, 22, 64 },
		{ 20000, 200, 100, 25, 2 },  { 60000, 600, 600, 26, 2 },
		{ 60000, 50000, 9, 21, 2 },  { 60000, 6000, 60000, 40, 2 },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		unsigned width = rows[i].width;
		size_t n = rows[i].n;
		struct scd_list *list = list_of(width, 0, n);
		struct scd_list_change c = { .nremoved = rows[i].removed,
					     .nadded = rows[i].added };

		c.removed = fingerprints_of(width, 0, c.nremoved);
		c.added = fingerprints_of(width, n, c.nadded);
		assert_int_equal(scd_list_change_sort(&c), 0);
		check_list(list, width, n, c, rows[i].generation);
		scd_list_change_free(&c);
		scd_list_free(&list);
	}
}

/* What a protocol says that a proxy keeps of others, each with n objects. */
static uint64_t memory_of_lists(unsigned nproxies, size_t n, uint64_t *own)
{
	static uint32_t objects[MOST];
	const struct protocol_config config = {
		.nproxies = nproxies,
		.nviews = 1,
		.nobjects = (uint32_t)n,
		.hash = keys,
		.digest = { .expected = n, .fp = .001 },
	};
	const struct protocol_changes c = { .added = objects, .nadded = n };
	struct protocol_publication *out;
	struct protocol_state *s;
	uint64_t peers;

	for (uint32_t i = 0; i < n; i++)
		objects[i] = i;
	assert_int_equal(protocol_new(&s, protocol_find("lists"), &config), 0);
	for (unsigned p = 0; p < nproxies; p++) {
		assert_int_equal(s->protocol->publish(s, p, &c, &out), 0);
		protocol_unref(s, out);
	}
	s->protocol->memory(s, 0, &peers, own);
	protocol_free(&s);
	return peers;
}

/* Lists, and the table of all peers, as a node has them: within a fifth. */
static void memory_is_as_much(void **state)
{
	enum { PEERS = 15, EACH = 4000 };
	unsigned width = scd_list_width(EACH, .001);
	struct scd_list *list[PEERS];
	struct scd_table *table;
	uint64_t lists = 0, bytes, own;
	uint64_t peers = memory_of_lists(PEERS + 1, EACH, &own);

	(void)state;
	assert_int_equal(scd_table_new(&table, PEERS), 0);
	for (unsigned i = 0; i < PEERS; i++) {
		list[i] = list_of(width, i * (size_t)EACH, EACH);
		lists += scd_list_memory(list[i]);
		assert_int_equal(scd_table_set(table, i, list[i]), 0);
		scd_table_reclaim(table, scd_table_epoch(table));
	}
	bytes = lists + scd_table_memory(table);
	assert_in_range(peers, bytes * 8 / 10, bytes * 12 / 10);
	assert_in_range(own * PEERS, lists * 8 / 10, lists * 12 / 10);
	scd_table_free(&table);
	for (unsigned i = 0; i < PEERS; i++)
		scd_list_free(&list[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrays_are_as_long),
		cmocka_unit_test(lists_are_as_long),
		cmocka_unit_test(memory_is_as_much),
	};

	make_keys();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
