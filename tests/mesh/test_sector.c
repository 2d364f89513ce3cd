/*
 * Sectors: they divide all keys among the nodes of a location, and whoever
 * follows one has what the owner's catalog has of it, by frames from any
 * generation and by full digests.
 */
#include <stdlib.h>

#include "digestd/mesh/leases.h"
#include "digestd/mesh/list_history.h"
#include "digestd/mesh/peerset.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { INSTANCE = 9, MOST = 1 << 15, SECTORS = 5 };

static void by_names(void **state)
{
	static const char *const names[] = { "c", "a", "b", "c" };
	static const struct {
		const char *self;
		size_t n;
		unsigned number, count;
	} rows[] = {
		{ "a", 0, 0, 1 }, { "a", 3, 0, 3 }, { "b", 3, 1, 3 },
		{ "c", 3, 2, 3 }, { "c", 4, 2, 3 }, { "d", 3, 3, 4 },
		{ "b", 2, 1, 3 }, { "a", 1, 0, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct sector s =
			sector_of(rows[i].self, names, rows[i].n);

		assert_int_equal(s.number, rows[i].number);
		assert_int_equal(s.count, rows[i].count);
	}
}

/* Each key is in one sector, which begins where the one before it ends. */
static void every_key_in_one(void **state)
{
	static const struct sector all = { 0, 0 };
	uint64_t random = 3;

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		const unsigned count = 1 + i % SECTOR_COUNT_MAX;
		const struct scd_key key = { random_next(&random), 1 };
		const uint64_t f = scd_fingerprint(&key, SCD_LIST_MAX_WIDTH);
		const struct sector s = { sector_number(f, count), count };
		const struct sector next = { s.number + 1, count };
		const struct sector other = { (s.number + 1) % count, count };
		const struct scd_key within = sector_key(&s, &key);

		assert_true(s.number < count && sector_has(&s, &key));
		assert_true(sector_has(&all, &key));
		assert_int_equal(sector_has(&other, &key), count == 1);
		assert_true(sector_begin(&s) <= f && f < sector_begin(&next));
		assert_int_equal(scd_fingerprint(&within, SCD_LIST_MAX_WIDTH),
				 sector_within(f, count));
	}
	assert_int_equal(sector_width(30, 1), 30);
	assert_int_equal(sector_width(30, 64), 24);
	assert_int_equal(sector_width(20, 1000), 16);
	assert_int_equal(sector_width(9, 4), 9);
}

/* A catalog with its keys, and its history. */
struct cut_owner {
	struct catalog *catalog;
	struct list_history *history;
	struct scd_key *keys;
	size_t nkeys;
	uint64_t random;
};

static void cut_owner_new(struct cut_owner *o)
{
	const struct list_shape shape = { 1. / 1500, 0 };

	*o = (struct cut_owner){ .random = 11 };
	o->keys = malloc(MOST * sizeof(*o->keys));
	assert_non_null(o->keys);
	assert_int_equal(catalog_new(&o->catalog, 1 << 12, 3), SCD_OK);
	catalog_note_changes(o->catalog);
	assert_int_equal(list_history_new(&o->history, INSTANCE, &shape),
			 SCD_OK);
}

static void cut_owner_free(struct cut_owner *o)
{
	list_history_free(&o->history);
	catalog_free(&o->catalog);
	free(o->keys);
}

static void cut_owner_change(struct cut_owner *o, size_t removed, size_t added)
{
	for (size_t i = 0; i < removed && o->nkeys; i++) {
		size_t at = random_next(&o->random) % o->nkeys;

		catalog_remove(o->catalog, &o->keys[at]);
		o->keys[at] = o->keys[--o->nkeys];
	}
	for (size_t i = 0; i < added; i++) {
		struct scd_key *key = &o->keys[o->nkeys++];

		*key = (struct scd_key){ random_next(&o->random), 5 };
		catalog_add(o->catalog, key);
	}
}

static int cut_owner_publish(struct cut_owner *o)
{
	struct list_publication *p;
	struct catalog_snapshot snapshot;
	int error;

	catalog_snapshot_changes(o->catalog, 0, &snapshot);
	error = list_history_publish(o->history, &snapshot, &p);
	catalog_snapshot_free(&snapshot);
	if (!error)
		list_publication_free(p);
	return error;
}

/* Somebody who follows a sector. */
struct cut_reader {
	struct sector sector;
	struct scd_list *list;
	uint64_t generation;
	unsigned fulls, frames;
	size_t full_bytes;
};

static void cut_reader_take_frame(struct cut_reader *r,
				  const struct blob *blob)
{
	struct scd_list_change change;
	size_t used;

	assert_int_equal(scd_list_frame_decode(blob->bytes, blob->len, NULL,
					       r->list, &used, &r->generation,
					       &change),
			 SCD_OK);
	assert_int_equal(used, blob->len);
	assert_int_equal(scd_list_change(r->list, &change, r->generation),
			 SCD_OK);
	scd_list_change_free(&change);
	r->frames++;
}

/* Asks; false: there was nothing new. */
static bool cut_reader_ask(struct cut_reader *r, struct cut_owner *o)
{
	struct sector_digest d;

	assert_int_equal(list_history_sector(o->history, &r->sector,
					     r->generation, &d),
			 SCD_OK);
	assert_int_equal(d.instance, INSTANCE);
	if (!d.blob) {
		assert_int_equal(d.generation, r->generation);
		return false;
	}
	if (d.from) {
		assert_int_equal(d.from, r->generation);
		cut_reader_take_frame(r, d.blob);
	} else {
		scd_list_free(&r->list);
		assert_int_equal(scd_list_decode(d.blob->bytes, d.blob->len,
						 NULL, NULL, &r->list),
				 SCD_OK);
		r->fulls++;
		r->full_bytes = d.blob->len;
	}
	r->generation = d.generation;
	blob_unref(d.blob);
	return true;
}

/* It has all keys of its sector, and no more entries than these. */
static void cut_reader_check(const struct cut_reader *r,
			     const struct cut_owner *o)
{
	struct scd_digest_info info;
	size_t n = 0;

	for (size_t i = 0; i < o->nkeys; i++) {
		struct scd_key within;

		if (!sector_has(&r->sector, &o->keys[i]))
			continue;
		within = sector_key(&r->sector, &o->keys[i]);
		assert_true(scd_list_has(r->list, &within));
		n++;
	}
	scd_list_info(r->list, &info);
	assert_int_equal(info.nones, n);
	assert_int_equal(info.generation, r->generation);
}

static void cut_readers_free(struct cut_reader *r)
{
	for (unsigned i = 0; i < SECTORS; i++)
		scd_list_free(&r[i].list);
}

/* Readers that ask each time, seldom, and hardly ever, of a cache that changes
 * a little, much, and grows. */
static void followed(void **state)
{
	struct cut_reader r[SECTORS] = { 0 };
	struct cut_owner o;

	(void)state;
	cut_owner_new(&o);
	for (unsigned i = 0; i < SECTORS; i++)
		r[i].sector = (struct sector){ i, SECTORS };
	for (unsigned round = 0; round < 200; round++) {
		cut_owner_change(&o, round % 7 * 10, round == 60 ? 20000 :
				 round < 2 ? 2000 : round % 5 * 12);
		assert_int_equal(cut_owner_publish(&o), SCD_OK);
		for (unsigned i = 0; i < SECTORS; i++) {
			if (round % (1 + 7 * i))
				continue;
			assert_true(cut_reader_ask(&r[i], &o));
			assert_false(cut_reader_ask(&r[i], &o));
			cut_reader_check(&r[i], &o);
		}
	}
	/* the first; as nothing was kept before it; and wider twice */
	assert_in_range(r[0].fulls, 1, 4);
	assert_int_equal(r[0].fulls + r[0].frames, 200);
	assert_in_range(r[4].fulls, 1, 4);
	assert_int_equal(r[4].fulls + r[4].frames, 7);
	cut_readers_free(r);
	cut_owner_free(&o);
}

/* A sector costs its share of the bytes of all. */
static void share_of_the_bytes(void **state)
{
	struct cut_reader all = { .sector = { 0, 1 } },
			  part = { .sector = { 3, 16 } };
	struct cut_owner o;

	(void)state;
	cut_owner_new(&o);
	cut_owner_change(&o, 0, 30000);
	assert_int_equal(cut_owner_publish(&o), SCD_OK);
	assert_true(cut_reader_ask(&all, &o));
	assert_true(cut_reader_ask(&part, &o));
	cut_reader_check(&all, &o);
	cut_reader_check(&part, &o);
	assert_in_range(part.full_bytes, all.full_bytes / 20,
			all.full_bytes / 13);
	scd_list_free(&all.list);
	scd_list_free(&part.list);
	cut_owner_free(&o);
}

/* A node elsewhere, of whose objects those of a sector are known here. */
static struct peerset_peer peer_elsewhere(struct peer_table *table,
					  const struct cut_reader *r,
					  const struct blob *blob)
{
	const struct peer_digest_bytes bytes = { blob->bytes, blob->len, NULL,
						 NULL, NULL };
	struct peerset_peer p = { .id = 7, .usable = true, .leases = true,
				  .sector = r->sector, .name = "q",
				  .url = "" };
	struct scd_digest_info info;
	struct peer_slot slot;

	assert_true(peer_table_claim(table, &slot));
	assert_int_equal(peer_digest_read_list(&bytes, &slot, &info,
					       &p.digest),
			 SCD_OK);
	return p;
}

/* A node of this location that holds nothing. */
static struct peerset_peer peer_here(unsigned number, bool usable)
{
	struct peerset_peer p = { .id = 2, .usable = usable, .leases = true,
				  .owns = { number, 2 }, .name = "b",
				  .url = "" };
	struct scd_bloom bloom;

	assert_int_equal(scd_bloom_init(&bloom, 512, 3), SCD_OK);
	p.digest = peer_digest_take(&bloom);
	assert_non_null(p.digest);
	p.digest->instance = 2;
	return p;
}

static struct peerset *view_of_two(struct peer_table *table,
				   const struct cut_reader *r,
				   const struct blob *blob, bool usable)
{
	struct peerset_peer peers[] = {
		peer_here(1 - r->sector.number, usable),
		peer_elsewhere(table, r, blob),
	};
	struct peerset *view = peerset_new(peers, 2);

	assert_non_null(view);
	assert_int_equal(peerset_count_here(view), 1);
	peer_digest_unref(peers[0].digest);
	peer_digest_unref(peers[1].digest);
	return view;
}

/* Of a key that is held elsewhere its owner here knows it, and is the one that
 * both nodes here ask. */
static void check_owner(const struct peerset *view, const struct scd_key *key,
			bool mine, bool usable)
{
	const struct peerset_keys keys = { .own = key };
	uint64_t holder = 0;
	uint32_t found;

	assert_int_equal(peerset_lookup(view, &keys, &found, 1), mine);
	assert_true(!mine || found == 1);
	assert_int_equal(lease_owner(view, key, 1), mine || !usable ? 1 : 2);
	assert_int_equal(lease_elsewhere(view, key, &holder), mine);
	assert_int_equal(holder, mine ? INSTANCE : 0);
}

static void known_to_its_owner(void **state)
{
	struct cut_reader r = { .sector = { 1, 2 } };
	struct peer_table *table;
	struct peerset *both, *alone;
	struct sector_digest d;
	struct cut_owner o;
	unsigned mine = 0;

	(void)state;
	cut_owner_new(&o);
	cut_owner_change(&o, 0, 1000);
	assert_int_equal(cut_owner_publish(&o), SCD_OK);
	assert_int_equal(list_history_sector(o.history, &r.sector, 0, &d),
			 SCD_OK);
	assert_int_equal(peer_table_new(&table, 4), SCD_OK);
	both = view_of_two(table, &r, d.blob, true);
	alone = view_of_two(table, &r, d.blob, false);
	for (size_t i = 0; i < o.nkeys; i++) {
		const bool is_mine = sector_has(&r.sector, &o.keys[i]);

		check_owner(both, &o.keys[i], is_mine, true);
		check_owner(alone, &o.keys[i], is_mine, false);
		mine += is_mine;
	}
	assert_in_range(mine, 400, 600);
	peerset_unref(both);
	peerset_unref(alone);
	peer_table_unref(table);
	blob_unref(d.blob);
	cut_owner_free(&o);
}

/* What the log has forgotten is sent whole. */
static void forgotten(void **state)
{
	struct cut_reader r = { .sector = { 1, 2 } };
	struct cut_owner o;

	(void)state;
	cut_owner_new(&o);
	cut_owner_change(&o, 0, 1000);
	assert_int_equal(cut_owner_publish(&o), SCD_OK);
	assert_true(cut_reader_ask(&r, &o));
	for (unsigned i = 0; i < 30; i++) {
		cut_owner_change(&o, 400, 400);
		assert_int_equal(cut_owner_publish(&o), SCD_OK);
	}
	assert_true(cut_reader_ask(&r, &o));
	cut_reader_check(&r, &o);
	assert_int_equal(r.fulls, 2);
	r.generation += 77; /* of nobody */
	assert_true(cut_reader_ask(&r, &o));
	assert_int_equal(r.fulls, 3);
	scd_list_free(&r.list);
	cut_owner_free(&o);
}

/* Nothing leaks and nothing is wrong where an allocation fails. */
static void without_memory(void **state)
{
	struct cut_reader r = { .sector = { 1, 3 } };
	struct sector_digest d;
	struct cut_owner o;
	unsigned failures = 1;

	(void)state;
	cut_owner_new(&o);
	cut_owner_change(&o, 0, 500);
	assert_int_equal(list_history_sector(o.history, &r.sector, 0, &d),
			 SCD_EINVAL);
	assert_int_equal(cut_owner_publish(&o), SCD_OK);
	assert_true(cut_reader_ask(&r, &o));
	cut_owner_change(&o, 20, 30);
	assert_int_equal(cut_owner_publish(&o), SCD_OK);
	for (;; failures++) {
		int error;

		alloc_fail_at(failures);
		error = list_history_sector(o.history, &r.sector, r.generation,
					    &d);
		alloc_fail_at(0);
		if (!error)
			break;
		assert_int_equal(error, SCD_ENOMEM);
	}
	assert_true(failures > 5);
	blob_unref(d.blob);
	assert_true(cut_reader_ask(&r, &o));
	cut_reader_check(&r, &o);
	scd_list_free(&r.list);
	cut_owner_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_names),
		cmocka_unit_test(every_key_in_one),
		cmocka_unit_test(followed),
		cmocka_unit_test(share_of_the_bytes),
		cmocka_unit_test(known_to_its_owner),
		cmocka_unit_test(forgotten),
		cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
