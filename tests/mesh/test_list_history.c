/*
 * The history of a list: whoever has any of its generations, or none, gets to
 * the newest one by the frames and the full digest that a publication has; and
 * it has what the catalog has. Also with failing allocations.
 */
#include <stdlib.h>

#include "codec/digest.h"
#include "codec/list.h"
#include "digestd/mesh/list_history.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { INSTANCE = 9, NBITS = 1 << 12, READERS = 8, MOST = 1 << 17 };

#define FP (1. / 1500)

/* A catalog with its keys, and what is published of it. */
struct owner {
	struct catalog *catalog;
	struct list_history *history;
	struct list_publication *published; /* last; null: nothing */
	struct scd_key *keys;
	size_t nkeys;
	uint64_t random;
};

static struct owner owner_of(uint64_t expected)
{
	const struct list_shape shape = { FP, expected };
	struct owner o = { .random = 7 };

	o.keys = malloc(MOST * sizeof(*o.keys));
	assert_non_null(o.keys);
	assert_int_equal(catalog_new(&o.catalog, NBITS, 3), SCD_OK);
	catalog_note_changes(o.catalog);
	assert_int_equal(list_history_new(&o.history, INSTANCE, &shape),
			 SCD_OK);
	return o;
}

static void owner_free(struct owner *o)
{
	list_publication_free(o->published);
	list_history_free(&o->history);
	catalog_free(&o->catalog);
	free(o->keys);
}

static void owner_add(struct owner *o, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct scd_key *key = &o->keys[o->nkeys++];

		key->lo = random_next(&o->random);
		key->hi = random_next(&o->random);
		catalog_add(o->catalog, key);
	}
}

static void owner_remove(struct owner *o, size_t n)
{
	for (size_t i = 0; i < n && o->nkeys; i++) {
		size_t at = random_next(&o->random) % o->nkeys;

		catalog_remove(o->catalog, &o->keys[at]);
		o->keys[at] = o->keys[--o->nkeys];
	}
}

static int owner_publish(struct owner *o)
{
	struct catalog_snapshot snapshot;
	struct list_publication *p;
	int error;

	catalog_snapshot_changes(o->catalog, 0, &snapshot);
	assert_int_equal(snapshot.nkeys, o->nkeys);
	error = list_history_publish(o->history, &snapshot, &p);
	catalog_snapshot_free(&snapshot);
	if (error)
		return error;
	list_publication_free(o->published);
	o->published = p;
	return SCD_OK;
}

/* Somebody who has a generation, or nothing. */
struct reader {
	struct scd_list *list;
	uint64_t generation;
	unsigned fulls;
};

static void reader_take_full(struct reader *r, const struct list_publication *p)
{
	struct scd_digest_info info;

	scd_list_free(&r->list);
	assert_int_equal(scd_list_decode(p->full->bytes, p->full->len, NULL,
					 &info, &r->list),
			 SCD_OK);
	assert_int_equal(info.generation, p->full_generation);
	r->generation = info.generation;
	r->fulls++;
}

static void reader_take_frames(struct reader *r,
			       const struct list_publication *p)
{
	size_t step = list_publication_find(p, r->generation);
	struct blob *frames;

	if (step == p->nsteps)
		return;
	frames = list_publication_frames(p, step);
	assert_non_null(frames);
	assert_int_equal(frames->len, list_publication_bytes(p, step));
	for (size_t at = 0, used; at < frames->len; at += used) {
		struct scd_list_change change;

		assert_int_equal(
			scd_list_frame_decode(frames->bytes + at,
					      frames->len - at, NULL, r->list,
					      &used, &r->generation, &change),
			SCD_OK);
		assert_int_equal(
			scd_list_change(r->list, &change, r->generation),
			SCD_OK);
		scd_list_change_free(&change);
	}
	blob_unref(frames);
}

/* Gets to what is published now, and checks it. */
static void reader_follow(struct reader *r, const struct owner *o)
{
	const struct list_publication *p = o->published;
	struct scd_digest_info info;

	if (!r->list || (r->generation != p->generation &&
			 list_publication_find(p, r->generation) == p->nsteps))
		reader_take_full(r, p);
	reader_take_frames(r, p);
	assert_int_equal(r->generation, p->generation);
	scd_list_info(r->list, &info);
	assert_int_equal(info.nones, o->nkeys);
	assert_int_equal(p->nkeys, o->nkeys);
	for (size_t i = 0; i < o->nkeys; i++)
		assert_true(scd_list_has(r->list, &o->keys[i]));
}

/* Keys, and how many of them come and go before each generation. */
static const struct {
	const char *label;
	size_t keys, come, go;
	unsigned rounds;
	bool few_fulls; /* readers that pause get frames */
} churns[] = {
	{ "nothing changes", 100, 0, 0, 20, true },
	{ "empty", 0, 0, 0, 20, true },
	{ "one of few", 100, 1, 1, 60, true },
	{ "1 % of many", 40000, 400, 400, 40, true },
	{ "grows from nothing", 0, 300, 20, 60, false },
	{ "most goes", 20000, 0, 400, 49, false },
	{ "all is replaced", 3000, 3000, 3000, 5, false },
};

static void test_every_base(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(churns) / sizeof(churns[0]); i++) {
		struct reader readers[READERS] = { { 0 } };
		struct owner o = owner_of(0);

		print_message("%s\n", churns[i].label);
		owner_add(&o, churns[i].keys);
		for (unsigned round = 0; round < churns[i].rounds; round++) {
			owner_remove(&o, churns[i].go);
			owner_add(&o, churns[i].come);
			assert_int_equal(owner_publish(&o), SCD_OK);
			for (unsigned r = 0; r < READERS; r++) {
				/* the last pauses for longest */
				if (round % (r * r + 1) == 0)
					reader_follow(&readers[r], &o);
			}
		}
		for (unsigned r = 0; r < READERS; r++) {
			reader_follow(&readers[r], &o);
			if (churns[i].few_fulls)
				assert_int_equal(readers[r].fulls, 1);
			scd_list_free(&readers[r].list);
		}
		owner_free(&o);
	}
}

/* A list of many is not encoded in full for each change, nor are its frames
 * forgotten before they are larger. */
static void test_costs_what_changed(void **state)
{
	struct owner o = owner_of(0);
	unsigned fulls = 0;
	size_t full_len;

	(void)state;
	owner_add(&o, 1 << 16);
	assert_int_equal(owner_publish(&o), SCD_OK);
	for (unsigned i = 0; i < 200; i++) {
		const uint64_t before = o.published->full_generation;

		owner_remove(&o, 65);
		owner_add(&o, 65);
		assert_int_equal(owner_publish(&o), SCD_OK);
		fulls += o.published->full_generation != before;
	}
	full_len = o.published->full->len;
	assert_true(fulls > 2 && fulls < 20);
	assert_true(list_publication_bytes(o.published, 0) <= full_len);
	assert_true(list_publication_bytes(o.published, 0) > full_len / 2);
	/* 4 to 5 bytes an object, twice */
	assert_true(list_history_memory(o.history) <
		    (size_t)13 * (1 << 16) + 2 * full_len +
			    LIST_HISTORY_STEPS * 32);
	owner_free(&o);
}

/* A reader that pauses: objects that are replaced meanwhile, in so many equal
 * generations, and whether frames lead on for it. */
static const struct {
	const char *label;
	size_t replaced; /* of a thousand */
	unsigned generations;
	bool frames;
} pauses[] = {
	{ "a minute, 1 % a minute", 10, 60, true },
	{ "a minute, 1 % in 10 s", 60, 6, true },
	{ "the same, published ten times a second", 60, 600, true },
	{ "10 s, 2 % a second", 200, 20, true },
	{ "20 s, 2 % a second", 400, 40, true },
	{ "a minute, 2 % a second", 1200, 120, false },
};

static void test_pauses(void **state)
{
	enum { OBJECTS = 1 << 15 };

	(void)state;
	for (size_t i = 0; i < NROWS(pauses); i++) {
		const size_t each = OBJECTS * pauses[i].replaced / 1000 /
				    pauses[i].generations;
		struct reader r = { 0 };
		struct owner o = owner_of(0);

		print_message("%s\n", pauses[i].label);
		owner_add(&o, OBJECTS);
		assert_int_equal(owner_publish(&o), SCD_OK);
		reader_follow(&r, &o);
		for (unsigned n = 0; n < pauses[i].generations; n++) {
			owner_remove(&o, each);
			owner_add(&o, each);
			assert_int_equal(owner_publish(&o), SCD_OK);
		}
		reader_follow(&r, &o);
		assert_int_equal(r.fulls, pauses[i].frames ? 1 : 2);
		scd_list_free(&r.list);
		owner_free(&o);
	}
}

/* The width follows the objects, and what is expected. */
static void test_width(void **state)
{
	struct owner o = owner_of(1000000);

	(void)state;
	assert_int_equal(owner_publish(&o), SCD_OK);
	assert_int_equal(o.published->width,
			 scd_list_width(1000000, FP));
	owner_free(&o);
	o = owner_of(0);
	for (unsigned i = 0; i < 17; i++) {
		owner_add(&o, o.nkeys ? o.nkeys : 1);
		assert_int_equal(owner_publish(&o), SCD_OK);
		assert_true((double)o.nkeys /
				    (double)(UINT64_C(1) << o.published->width)
			    <= FP);
	}
	assert_in_range(o.published->width,
			scd_list_width(1 << 16, FP),
			scd_list_width(1 << 17, FP) + 1);
	owner_remove(&o, o.nkeys);
	assert_int_equal(owner_publish(&o), SCD_OK);
	assert_int_equal(o.published->width,
			 scd_list_width(1024, FP));
	owner_free(&o);
}

/* Without memory it either publishes what there is, later, or says that it
 * never will. */
static void test_no_memory(void **state)
{
	unsigned failed = 0, lost = 0;

	(void)state;
	for (unsigned n = 2; n < 120; n++) {
		struct reader r = { 0 };
		struct owner o = owner_of(0);
		int error;

		owner_add(&o, n % 2 ? 500 : 1500);
		assert_int_equal(owner_publish(&o), SCD_OK);
		alloc_fail_at(n / 2);
		owner_remove(&o, 100);
		owner_add(&o, 100);
		error = owner_publish(&o);
		alloc_fail_at(0);
		failed += error != SCD_OK;
		owner_add(&o, 1);
		error = owner_publish(&o);
		assert_int_equal(error != SCD_OK,
				 list_history_is_lost(o.history));
		lost += error != SCD_OK;
		if (!error)
			reader_follow(&r, &o);
		scd_list_free(&r.list);
		owner_free(&o);
	}
	assert_true(failed > lost && lost > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_base),
		cmocka_unit_test(test_costs_what_changed),
		cmocka_unit_test(test_pauses),
		cmocka_unit_test(test_width),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
