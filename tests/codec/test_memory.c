/*
 * Every function of libscd that allocates, with each of its allocations
 * failing in turn: it says so, leaves its results alone and nothing behind,
 * and works when there is memory again. A function that is not in the table is
 * found by lint (allocations_are_tested).
 */
#include <stdlib.h>
#include <string.h>

#include "codec/kind/kind.h"
#include "codec/scd.h"
#include "codec/table.h"
#include "tests/codec/alloc.h"
#include "tests/codec/lent.h"
#include "tests/codec/list_sample.h"
#include "tests/codec/random.h"
#include "tests/codec/sample.h"
#include "tests/unit.h"

enum { NBITS = 1 << 16, NONES = 9000, NKEYS = 500 };

/* Bytes of one thing or another. */
struct blob {
	uint8_t *bytes;
	size_t len;
};

/* What the functions are called with; made anew for each call. */
struct fixture {
	struct scd_digest_info ids;
	struct scd_bloom bloom, next, squid;
	struct scd_counting *counting;
	struct scd_admission *admission;
	struct scd__summary *open, *sealed;
	struct blob full, first, second, conditional, counters, mask, image;
	struct blob summary;
	struct scd_list *list;
	struct scd_list_change change;
	struct blob list_full, list_delta, list_frame;
	struct scd_list *aged; /* the same list with ages */
	struct blob list_ages;
	struct scd_table *table;
	const struct scd__kind *kind;
};

static const struct scd__kind_goal goal = {.nkeys = NKEYS, .fp = .01};

static struct scd_key some_key(uint64_t i)
{
	uint64_t seed = i;

	return (struct scd_key){random_next(&seed), random_next(&seed)};
}

static int add_keys(struct scd__summary *s, uint64_t n)
{
	int error = SCD_OK;

	for (uint64_t i = 0; !error && i < n; i++) {
		struct scd_key key = some_key(i);

		error = scd__summary_add(s, &key);
	}
	return error;
}

static void must(int error)
{
	assert_int_equal(error, SCD_OK);
}

static void make_summaries(struct fixture *f)
{
	const struct scd_key key = some_key(0);

	must(scd__summary_new(f->kind, &goal, &f->open));
	must(scd__summary_add(f->open, &key));
	must(scd__summary_new(f->kind, &goal, &f->sealed));
	must(add_keys(f->sealed, NKEYS));
	must(scd__summary_seal(f->sealed));
	must(scd__summary_encode(f->sealed, &f->summary.bytes,
				 &f->summary.len));
}

static void make_deltas(struct fixture *f)
{
	struct scd_digest_info on = sample_ids(3, 2);

	must(scd_delta_encode(&f->bloom, &f->next, &f->ids, &f->first.bytes,
			      &f->first.len));
	must(scd_delta_encode(&f->next, &f->bloom, &on, &f->second.bytes,
			      &f->second.len));
	must(scd_delta_encode_conditional(&f->bloom, &f->next, &f->ids,
					  &f->conditional.bytes,
					  &f->conditional.len));
}

static void make_counting(struct fixture *f)
{
	must(scd_counting_new(&f->counting, NBITS, 4));
	for (uint64_t i = 0; i < NKEYS; i++) {
		struct scd_key key = some_key(i);

		scd_counting_add(f->counting, &key);
	}
	must(scd_counting_encode(f->counting, &f->ids, &f->counters.bytes,
				 &f->counters.len));
}

static void make_squid(struct fixture *f)
{
	const struct scd_squid_info info = {0};

	must(scd_bloom_init(&f->squid, NBITS, SCD_SQUID_HASH));
	f->squid.hashing = SCD_HASHING_SQUID;
	must(scd_squid_encode(&f->squid, &info, &f->mask.bytes,
			      &f->mask.len));
}

static void make_admission(struct fixture *f)
{
	must(scd_admission_new(&f->admission, NKEYS));
	f->image.len = scd_admission_image_bytes(f->admission);
	f->image.bytes = malloc(f->image.len);
	assert_non_null(f->image.bytes);
	must(scd_admission_save(f->admission, f->image.bytes, f->image.len));
}

static void make_lists(struct fixture *f)
{
	f->list = list_sample(20, 1200, 1);
	f->change = list_sample_change(f->list, 2, 200, 300);
	must(scd_list_encode(f->list, &f->list_full.bytes, &f->list_full.len));
	must(scd_list_delta_encode(f->list, &f->change, 2,
				   &f->list_delta.bytes, &f->list_delta.len));
	must(scd_list_frame_encode(f->list, &f->change, 2,
				   &f->list_frame.bytes, &f->list_frame.len));
	f->aged = list_sample(20, 1200, 1);
	must(scd_list_keep_ages(f->aged));
	must(scd_list_ages_encode(f->aged, &f->list_ages.bytes,
				  &f->list_ages.len));
	must(scd_table_new(&f->table, 1));
}

static void make(struct fixture *f, const struct scd__kind *kind)
{
	*f = (struct fixture){.ids = sample_ids(2, 1), .kind = kind};
	f->bloom = sample_bloom(1, NBITS, NONES);
	f->next = sample_next(&f->bloom, 2, 300);
	must(scd_digest_encode(&f->bloom, &f->ids, &f->full.bytes,
			       &f->full.len));
	make_deltas(f);
	make_counting(f);
	make_squid(f);
	make_admission(f);
	make_summaries(f);
	make_lists(f);
}

static void release(struct fixture *f)
{
	struct blob *blobs[] = {&f->full,	 &f->first,    &f->second,
				&f->conditional, &f->counters, &f->mask,
				&f->image,	 &f->summary,  &f->list_full,
				&f->list_delta,	 &f->list_frame,
				&f->list_ages};

	for (size_t i = 0; i < NROWS(blobs); i++)
		free(blobs[i]->bytes);
	scd_bloom_free(&f->bloom);
	scd_bloom_free(&f->next);
	scd_bloom_free(&f->squid);
	scd_counting_free(&f->counting);
	scd_admission_free(&f->admission);
	scd_table_free(&f->table);
	scd_list_free(&f->list);
	scd_list_free(&f->aged);
	scd_list_change_free(&f->change);
	scd__summary_free(&f->open);
	scd__summary_free(&f->sealed);
}

/* What calls give; a failed one leaves it as it is here. */
static struct {
	struct scd_bloom bloom;
	struct scd_digest_info info;
	struct blob blob;
	void *object;
} out;

static void clear_out(void)
{
	memset(&out, 0, sizeof(out));
}

static int is_clear(void)
{
	return !out.bloom.bits && out.bloom.nbits == 0 &&
	       out.info.nbits == 0 && !out.blob.bytes && out.blob.len == 0 &&
	       !out.object;
}

/* The calls. Each releases what it was given. */

static int keep_bloom(int error)
{
	if (!error)
		scd_bloom_free(&out.bloom);
	return error;
}

static int keep_blob(int error)
{
	if (!error)
		free(out.blob.bytes);
	return error;
}

static int bloom_init(struct fixture *f)
{
	(void)f;
	return keep_bloom(scd_bloom_init(&out.bloom, NBITS, 4));
}

static int bloom_copy(struct fixture *f)
{
	return keep_bloom(scd_bloom_copy(&f->bloom, &out.bloom));
}

static int bloom_fold(struct fixture *f)
{
	return keep_bloom(scd_bloom_fold(&f->bloom, NBITS / 4, &out.bloom));
}

static int digest_encode(struct fixture *f)
{
	return keep_blob(scd_digest_encode(&f->bloom, &f->ids,
					   &out.blob.bytes, &out.blob.len));
}

static int digest_encode_with(struct fixture *f)
{
	const struct scd_threads threads = {.run = lent_run_backwards};
	const struct scd_work work = {.threads = &threads};

	return keep_blob(scd_digest_encode_with(&f->bloom, &f->ids, &work,
						&out.blob.bytes,
						&out.blob.len));
}

static int digest_decode(struct fixture *f)
{
	return keep_bloom(scd_digest_decode(f->full.bytes, f->full.len, NULL,
					    &out.info, &out.bloom));
}

static int delta_encode(struct fixture *f)
{
	return keep_blob(scd_delta_encode(&f->bloom, &f->next, &f->ids,
					  &out.blob.bytes, &out.blob.len));
}

static int delta_encode_conditional(struct fixture *f)
{
	return keep_blob(scd_delta_encode_conditional(
		&f->bloom, &f->next, &f->ids, &out.blob.bytes,
		&out.blob.len));
}

static int apply(struct fixture *f, const struct blob *delta)
{
	const struct scd_base base = {.bloom = &f->bloom,
				      .instance = SAMPLE_INSTANCE,
				      .generation = 1};

	return keep_bloom(scd_delta_apply(delta->bytes, delta->len, NULL,
					  &base, &out.info, &out.bloom));
}

static int delta_apply(struct fixture *f)
{
	return apply(f, &f->first);
}

static int delta_apply_conditional(struct fixture *f)
{
	return apply(f, &f->conditional);
}

static int delta_compose(struct fixture *f)
{
	const struct scd_delta first = {f->first.bytes, f->first.len};
	const struct scd_delta second = {f->second.bytes, f->second.len};

	return keep_blob(scd_delta_compose(&first, &second, NULL,
					   &out.blob.bytes, &out.blob.len));
}

static int counting_new(struct fixture *f)
{
	struct scd_counting *c = NULL;
	int error = scd_counting_new(&c, NBITS, 4);

	(void)f;
	out.object = c;
	if (!error)
		scd_counting_free(&c);
	return error;
}

static int counting_encode(struct fixture *f)
{
	return keep_blob(scd_counting_encode(f->counting, &f->ids,
					     &out.blob.bytes, &out.blob.len));
}

static int counting_decode(struct fixture *f)
{
	struct scd_counting *c = NULL;
	int error = scd_counting_decode(f->counters.bytes, f->counters.len,
					NULL, &out.info, &c);

	out.object = c;
	if (!error)
		scd_counting_free(&c);
	return error;
}

static int squid_encode(struct fixture *f)
{
	const struct scd_squid_info info = {0};

	return keep_blob(scd_squid_encode(&f->squid, &info, &out.blob.bytes,
					  &out.blob.len));
}

static int squid_decode(struct fixture *f)
{
	return keep_bloom(scd_squid_decode(f->mask.bytes, f->mask.len, NULL,
					   &out.bloom));
}

static int index_new(struct fixture *f)
{
	struct scd_index *x = NULL;
	int error = scd_index_new(&x, 1024, 64);

	(void)f;
	out.object = x;
	if (!error)
		scd_index_free(&x);
	return error;
}

static int admission_new(struct fixture *f)
{
	struct scd_admission *a = NULL;
	int error = scd_admission_new(&a, NKEYS);

	(void)f;
	out.object = a;
	if (!error)
		scd_admission_free(&a);
	return error;
}

static int admission_load(struct fixture *f)
{
	struct scd_admission *a = NULL;
	int error = scd_admission_load(&a, f->image.bytes, f->image.len,
				       UINT64_C(1) << 20);

	out.object = a;
	if (!error)
		scd_admission_free(&a);
	return error;
}

static int summary_new(struct fixture *f)
{
	struct scd__summary *s = NULL;
	int error = scd__summary_new(f->kind, &goal, &s);

	out.object = s;
	if (!error)
		scd__summary_free(&s);
	return error;
}

/* More than were expected. */
static int summary_add(struct fixture *f)
{
	return add_keys(f->open, 5 * NKEYS);
}

/* It may be tried again. */
static int summary_seal(struct fixture *f)
{
	const struct scd_key key = some_key(0);
	int error = scd__summary_seal(f->open);

	if (error) {
		alloc_fail_at(0);
		must(scd__summary_seal(f->open));
	}
	assert_true(scd__summary_has(f->open, &key));
	return error;
}

static int summary_encode(struct fixture *f)
{
	return keep_blob(
		scd__summary_encode(f->sealed, &out.blob.bytes, &out.blob.len));
}

static int summary_decode(struct fixture *f)
{
	struct scd__summary *s = NULL;
	int error = scd__summary_decode(f->kind, f->summary.bytes,
					f->summary.len, SIZE_MAX, &s);

	out.object = s;
	if (!error)
		scd__summary_free(&s);
	return error;
}

static int list_new(struct fixture *f)
{
	struct scd_list *list = NULL;
	int error = scd_list_new(&list, 20, 1);

	(void)f;
	out.object = list;
	if (!error)
		scd_list_free(&list);
	return error;
}

/* What fails leaves the list, and it may be tried again. */
static int list_change(struct fixture *f)
{
	const uint64_t before = list_sample_sum(f->list);
	int error = scd_list_change(f->list, &f->change, 2);

	if (error) {
		alloc_fail_at(0);
		assert_true(list_sample_sum(f->list) == before);
		must(scd_list_change(f->list, &f->change, 2));
	}
	return error;
}

static int list_change_sort(struct fixture *f)
{
	return scd_list_change_sort(&f->change);
}

static int list_encode(struct fixture *f)
{
	return keep_blob(scd_list_encode(f->list, &out.blob.bytes,
					 &out.blob.len));
}

static int list_decode(struct fixture *f)
{
	struct scd_list *list = NULL;
	int error = scd_list_decode(f->list_full.bytes, f->list_full.len, NULL,
				    &out.info, &list);

	out.object = list;
	if (!error)
		scd_list_free(&list);
	return error;
}

static int list_delta_encode(struct fixture *f)
{
	return keep_blob(scd_list_delta_encode(f->list, &f->change, 2,
					       &out.blob.bytes,
					       &out.blob.len));
}

static int list_delta_decode(struct fixture *f)
{
	struct scd_list_change c = {0};
	int error = scd_list_delta_decode(f->list_delta.bytes,
					  f->list_delta.len, NULL, f->list,
					  &out.info, &c);

	assert_true(!error || (!c.removed && !c.added && !c.nadded));
	if (!error)
		scd_list_change_free(&c);
	return error;
}

static int list_frame_encode(struct fixture *f)
{
	return keep_blob(scd_list_frame_encode(f->list, &f->change, 2,
					       &out.blob.bytes,
					       &out.blob.len));
}

static int list_frame_decode(struct fixture *f)
{
	struct scd_list_change c = {0};
	uint64_t generation = 0;
	int error = scd_list_frame_decode(f->list_frame.bytes,
					  f->list_frame.len, NULL, f->list,
					  &out.blob.len, &generation, &c);

	assert_true(!error || (!c.removed && !c.added && !generation));
	if (!error)
		scd_list_change_free(&c);
	return error;
}

static int list_keep_ages(struct fixture *f)
{
	int error = scd_list_keep_ages(f->list);

	assert_true(scd_list_has_ages(f->list) == !error);
	return error;
}

static int list_ages_encode(struct fixture *f)
{
	return keep_blob(scd_list_ages_encode(f->aged, &out.blob.bytes,
					      &out.blob.len));
}

static int list_ages_decode(struct fixture *f)
{
	int error = scd_list_ages_decode(f->list_ages.bytes, f->list_ages.len,
					 f->list, &out.blob.len);

	assert_true(scd_list_has_ages(f->list) == !error);
	return error;
}

static int list_aged_frame_encode(struct fixture *f)
{
	return keep_blob(scd_list_aged_frame_encode(f->aged, &f->change, 2,
						    &out.blob.bytes,
						    &out.blob.len));
}

static int table_new(struct fixture *f)
{
	struct scd_table *table = NULL;
	int error = scd_table_new(&table, 70);

	(void)f;
	out.object = table;
	if (!error)
		scd_table_free(&table);
	return error;
}

static int table_reserve(struct fixture *f)
{
	return scd_table_reserve(f->table, 2000000);
}

static int table_set(struct fixture *f)
{
	return scd_table_set(f->table, 0, f->list);
}

/* The functions; lint reads their names here. */
static const struct {
	const char *name;
	int (*call)(struct fixture *f);
} functions[] = {
	{"scd_admission_load", admission_load},
	{"scd_admission_new", admission_new},
	{"scd_bloom_copy", bloom_copy},
	{"scd_bloom_fold", bloom_fold},
	{"scd_bloom_init", bloom_init},
	{"scd_counting_decode", counting_decode},
	{"scd_counting_encode", counting_encode},
	{"scd_counting_new", counting_new},
	{"scd_delta_apply", delta_apply},
	{"scd_delta_apply", delta_apply_conditional},
	{"scd_delta_compose", delta_compose},
	{"scd_delta_encode", delta_encode},
	{"scd_delta_encode_conditional", delta_encode_conditional},
	{"scd_digest_decode", digest_decode},
	{"scd_digest_encode", digest_encode},
	{"scd_digest_encode_with", digest_encode_with},
	{"scd_index_new", index_new},
	{"scd_list_change", list_change},
	{"scd_list_change_sort", list_change_sort},
	{"scd_list_decode", list_decode},
	{"scd_list_delta_decode", list_delta_decode},
	{"scd_list_delta_encode", list_delta_encode},
	{"scd_list_encode", list_encode},
	{"scd_list_frame_decode", list_frame_decode},
	{"scd_list_keep_ages", list_keep_ages},
	{"scd_list_ages_encode", list_ages_encode},
	{"scd_list_ages_decode", list_ages_decode},
	{"scd_list_aged_frame_encode", list_aged_frame_encode},
	{"scd_list_frame_encode", list_frame_encode},
	{"scd_list_new", list_new},
	{"scd_squid_decode", squid_decode},
	{"scd_squid_encode", squid_encode},
	{"scd_table_new", table_new},
	{"scd_table_reserve", table_reserve},
	{"scd_table_set", table_set},
	{"scd__summary_add", summary_add},
	{"scd__summary_decode", summary_decode},
	{"scd__summary_encode", summary_encode},
	{"scd__summary_new", summary_new},
	{"scd__summary_seal", summary_seal},
};

/* Call with the n-th allocation failing; was there one? */
static int fails_at(size_t i, const struct scd__kind *kind, unsigned n)
{
	struct fixture f;
	int error, failed;

	make(&f, kind);
	clear_out();
	alloc_fail_at(n);
	error = functions[i].call(&f);
	alloc_fail_at(0);
	failed = error == SCD_ENOMEM;
	if (failed && !is_clear())
		fail_msg("%s: no memory, but a result", functions[i].name);
	if (!failed)
		assert_int_equal(error, SCD_OK);
	release(&f);
	return failed;
}

/* The summaries of each kind allocate in their own way. */
static void every_allocation_fails(void **state)
{
	const struct scd__kind *kind;

	(void)state;
	for (size_t i = 0; i < NROWS(functions); i++) {
		unsigned failures = 0;

		for (size_t k = 0; (kind = scd__kind_at(k)); k++) {
			unsigned n = 1;

			while (fails_at(i, kind, n))
				n++;
			failures += n - 1;
		}
		if (failures == 0)
			fail_msg("%s allocates nothing", functions[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_allocation_fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
