/*
 * The digest resources: each form in which a reply goes out, of arrays and of
 * lists, and what it is then; each of them without memory for one of its
 * fields; deltas by name; and what else a request for a digest does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/mesh/list_history.h"
#include "digestd/os/loop.h"
#include "digestd/peers/digest_api.h"
#include "digestd/peers/digest_request.h"
#include "tests/os/call_faults.h"
#include "tests/peers/publish_array.h"
#include "tests/server/exchange_fake.h"
#include "tests/unit.h"

#define CURRENT "/scd/v1/digest"
#define DELTA "/scd/v1/delta/00000000000000ab/"
#define TAG(generation) "\"00000000000000ab-" #generation "\""
#define LIST_TAG(generation) "\"00000000000000ab-" #generation "-list\""

enum { INSTANCE = 0xab, NBITS = 1 << 15, NHASH = 3, NEWEST = 3, MANY = 10 };

CALL_WRAPPER(int, fields_add_n, (struct fields *a, const char *b, size_t c,
				 const char *d, size_t e),
	     (a, b, c, d, e), -ENOMEM)

static struct loop *loop;
static struct generations *generations;
static struct scd_bloom array;
static struct digest_api *api;
static struct publication *newest; /* one user more */

static int set_up(void **state)
{
	(void)state;
	return loop_new(&loop) || generations_new(&generations, INSTANCE, 4) ||
			       scd_bloom_init(&array, NBITS, NHASH) ||
			       digest_api_new(&api, 60, &digest_paths_held) ?
		       -1 :
		       0;
}

static int tear_down(void **state)
{
	(void)state;
	publication_unref(newest);
	newest = NULL;
	digest_api_free(&api);
	scd_bloom_free(&array);
	generations_free(&generations);
	loop_free(&loop);
	return 0;
}

static struct blob *blob_of(const char *text)
{
	char *copy = strdup(text);

	assert_non_null(copy);
	return blob_take((uint8_t *)copy, strlen(copy));
}

/* The list of a generation: the full one is of the generation before the last
 * one, with its ages, and there are two frames, by rank and by age. */
static struct list_publication *list_of(uint64_t generation)
{
	struct list_publication *l =
		calloc(1, sizeof(*l) + 2 * sizeof(l->steps[0]));

	assert_non_null(l);
	l->generation = generation;
	l->full_generation = generation - 1;
	l->full = blob_of("the whole list, which is long");
	l->ages = blob_of("ages ");
	l->nsteps = 2;
	for (unsigned i = 0; i < 2; i++) {
		l->steps[i].from = generation - 2 + i;
		l->steps[i].frame = blob_of(i ? "rank2" : "rank1 ");
		l->steps[i].aged = blob_of(i ? "age2" : "age1 ");
	}
	return l;
}

/* The next generation, without its list. */
static struct publication *make(uint64_t generation)
{
	struct publication *p = publish_array(generations, &array, generation);

	publication_unref(newest);
	newest = publication_ref(p);
	return p;
}

/* All that a node can say of itself, and three generations, with a list. */
static void publish_all(void)
{
	static const char name[TOKEN_BYTES] = "abcd";

	digest_api_name_hash(api, name);
	digest_api_say_leases(api, true);
	digest_api_suspect(api, 0xabc, 0, INT64_MAX);
	for (uint64_t g = 1; g <= NEWEST; g++) {
		struct publication *p = make(g);

		if (g == NEWEST)
			p->list = list_of(g);
		digest_api_publish(api, p);
	}
	assert_int_equal(newest->ndeltas, 2);
	assert_true(newest->deltas[0].xor && newest->deltas[1].xor);
	if (!newest->deltas[0].conditional) /* as large as it happens to be */
		newest->deltas[0].conditional = blob_of("conditional");
}

/* What a request has. */
struct query {
	const char *target, *tags, *forms, *accept;
};

static void query_make(struct exchange *x, const struct query *q)
{
	exchange_fake_make(x, loop, "GET", q->target);
	if ((q->tags && fields_add(&x->fields, "If-None-Match", q->tags)) ||
	    (q->forms && fields_add(&x->fields, "A-IM", q->forms)) ||
	    (q->accept && fields_add(&x->fields, "Accept", q->accept)))
		fail();
}

static void query_ask(struct exchange *x, const struct query *q)
{
	query_make(x, q);
	digest_api_handler.on_request(api, x);
}

static void query_end(struct exchange *x)
{
	digest_api_handler.on_done(api, x, EXCHANGE_DONE);
	exchange_fake_free(x);
}

static unsigned status_of(const struct query *q)
{
	struct exchange x;
	unsigned status;

	query_ask(&x, q);
	status = x.status;
	query_end(&x);
	return status;
}

enum body { NONE, FULL, XOR, CONDITIONAL, LIST };

static const struct {
	const char *label;
	struct query query;
	unsigned status;
	const char *etag, *im, *base;
	enum body body;
	const char *text; /* of a list */
} rows[] = {
	{ "the array", { CURRENT, NULL, NULL, NULL }, 200, TAG(3), NULL, NULL,
	  FULL, NULL },
	{ "no other array", { CURRENT, TAG(3), NULL, NULL }, 304, TAG(3), NULL,
	  NULL, NONE, NULL },
	{ "a delta", { CURRENT, TAG(2), "scd", NULL }, 226, TAG(3), "scd",
	  TAG(2), XOR, NULL },
	{ "a conditional one",
	  { CURRENT, TAG(2), "scd, scd-conditional", NULL }, 226, TAG(3),
	  "scd-conditional", TAG(2), CONDITIONAL, NULL },
	{ "the list", { CURRENT, NULL, NULL, DIGEST_TYPE_LIST }, 200,
	  LIST_TAG(2), NULL, NULL, LIST, "the whole list, which is long" },
	{ "no other list", { CURRENT, LIST_TAG(3), NULL, DIGEST_TYPE_LIST },
	  304, LIST_TAG(3), NULL, NULL, NONE, NULL },
	{ "frames", { CURRENT, LIST_TAG(1), "scd-frames", DIGEST_TYPE_LIST },
	  226, LIST_TAG(3), "scd-frames", LIST_TAG(1), LIST, "rank1 rank2" },
	{ "frames by age", { CURRENT, LIST_TAG(1), "scd-frames, scd-aged",
			     DIGEST_TYPE_LIST },
	  226, LIST_TAG(3), "scd-aged", LIST_TAG(1), LIST, "age1 age2" },
	{ "ages, and frames", { CURRENT, LIST_TAG(2), "scd-frames, scd-ages",
				DIGEST_TYPE_LIST },
	  226, LIST_TAG(3), "scd-ages", LIST_TAG(2), LIST, "ages age2" },
	{ "a delta by name", { DELTA "2-3", NULL, NULL, NULL }, 200, NULL,
	  NULL, NULL, XOR, NULL },
	{ "frames by name", { DELTA "1-3-list", NULL, NULL, NULL }, 200, NULL,
	  NULL, NULL, LIST, "rank1 rank2" },
};

static bool is_field(const struct exchange *x, const char *name,
		     const char *value)
{
	const char *got = fields_get(&x->reply, name);

	return value ? got && !strcmp(got, value) : !got;
}

static bool is_body(const struct exchange *x, size_t row)
{
	const struct blob *wanted[] = {
		[FULL] = newest->full,
		[XOR] = newest->deltas[0].xor,
		[CONDITIONAL] = newest->deltas[0].conditional,
	};
	const struct blob *blob;

	if (rows[row].body == NONE)
		return !x->body_len;
	if (rows[row].body == LIST)
		return !strcmp(x->body, rows[row].text);
	blob = wanted[rows[row].body];
	return x->body_len == blob->len &&
	       !memcmp(x->body, blob->bytes, blob->len);
}

static void each_form_is_what_it_says(void **state)
{
	(void)state;
	publish_all();
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct exchange x;

		query_ask(&x, &rows[i].query);
		if (x.status != rows[i].status || !is_body(&x, i) ||
		    !is_field(&x, "ETag", rows[i].etag) ||
		    !is_field(&x, "IM", rows[i].im) ||
		    !is_field(&x, "Delta-Base", rows[i].base))
			fail_msg("%s: %u", rows[i].label, x.status);
		query_end(&x);
	}
}

/* A reply that lacks a field would mean something else: the connection ends.
 * And so it does with what is no digest. */
static void no_reply_lacks_a_field(void **state)
{
	static const struct query put = { CURRENT, NULL, NULL, NULL };
	struct exchange x;

	(void)state;
	publish_all();
	for (size_t i = 0; i < NROWS(rows); i++) {
		bool failed = true;
		unsigned n;

		for (n = 1; failed; n++) {
			query_make(&x, &rows[i].query);
			call_fail_at("fields_add_n", n, ENOMEM);
			digest_api_handler.on_request(api, &x);
			failed = call_failed();
			call_fail_at("", 0, 0);
			assert_int_equal(x.answers, 1);
			if (x.aborted != failed)
				fail_msg("%s: field %u", rows[i].label, n);
			query_end(&x);
		}
		assert_true(n > 2);
	}
	query_make(&x, &put);
	x.request.method = "PUT";
	call_fail_at("fields_add_n", 1, ENOMEM);
	digest_api_handler.on_request(api, &x);
	call_fail_at("", 0, 0);
	assert_true(x.aborted);
	query_end(&x);
}

static void deltas_have_names(void **state)
{
	static const struct {
		const char *target;
		unsigned status;
	} names[] = {
		{ DELTA "2-3-list", 200 },
		{ DELTA "3-3-list", 404 },
		{ DELTA "2-4-list", 404 },
		{ "/scd/v1/delta/00000000000000ac/2-3-list", 404 },
		{ DELTA "1-2-list", 404 }, /* there was no list yet */
		{ DELTA "1-2", 200 },
	};

	(void)state;
	publish_all();
	for (size_t i = 0; i < NROWS(names); i++) {
		const struct query q = { names[i].target, NULL, NULL, NULL };

		if (status_of(&q) != names[i].status)
			fail_msg("%s", names[i].target);
	}
}

/* A delta that is there in the conditional form only has no name, and no link;
 * who does not take that form gets the full digest. */
static void a_delta_in_one_form(void **state)
{
	static const struct query other = { CURRENT, TAG(2), "scd", NULL };
	static const struct query one = { CURRENT, TAG(2), "scd-conditional",
					  NULL };
	static const struct query name = { DELTA "2-3", NULL, NULL, NULL };
	struct exchange x;

	(void)state;
	publish_all();
	blob_unref(newest->deltas[0].xor);
	newest->deltas[0].xor = NULL;
	query_ask(&x, &other);
	assert_int_equal(x.status, 200);
	assert_int_equal(fields_lines(&x.reply, "Link"), 1);
	query_end(&x);
	assert_int_equal(status_of(&one), 226);
	assert_int_equal(status_of(&name), 404);
}

/* They are kept for a while: of some publications. */
static void old_deltas_are_forgotten(void **state)
{
	static const struct query old = { DELTA "1-2", NULL, NULL, NULL };
	static const struct query recent = { DELTA "8-9", NULL, NULL, NULL };

	(void)state;
	for (uint64_t g = 1; g <= MANY; g++)
		digest_api_publish(api, make(g));
	assert_int_equal(status_of(&old), 404);
	assert_int_equal(status_of(&recent), 200);
}

/* Another process answers from now on: nobody waits here, and nobody is told
 * that this node drains. */
static void what_is_handed_over_waits_for_nothing(void **state)
{
	static const struct query same = { CURRENT, TAG(3), "scd", NULL };
	struct exchange x[2];

	(void)state;
	publish_all();
	for (unsigned i = 0; i < 2; i++) {
		query_make(&x[i], &same);
		assert_int_equal(fields_add(&x[i].fields, "Prefer", "wait=60"),
				 0);
		digest_api_handler.on_request(api, &x[i]);
		if (!i) {
			assert_int_equal(x[i].answers, 0);
			digest_api_hand_over(api);
			assert_int_equal(loop_turn(loop, 0), 0);
		}
		assert_int_equal(x[i].status, 304);
		assert_true(is_field(&x[i], DIGEST_NODE, "leases"));
	}
	query_end(&x[0]);
	query_end(&x[1]);
}

static unsigned nintroductions;

static void on_introduction(void *arg, const char *text,
			    const struct sockaddr *from)
{
	assert_ptr_equal(arg, &nintroductions);
	assert_string_equal(text, "http://n2:8080");
	assert_null(from);
	nintroductions++;
}

/* Who asks for a digest may say who it is; with a delta it does not. */
static void askers_introduce_themselves(void **state)
{
	static const struct {
		const char *target;
		unsigned heard;
	} asked[] = { { CURRENT, 1 },
		      { "/scd/v1/sector/0-2", 1 },
		      { DELTA "2-3", 0 } };

	(void)state;
	publish_all();
	for (unsigned listens = 0; listens < 2; listens++) {
		if (listens)
			digest_api_on_introduction(api, on_introduction,
						   &nintroductions);
		for (size_t i = 0; i < NROWS(asked); i++) {
			const struct query q = { asked[i].target, NULL, NULL,
						 NULL };
			struct exchange x;

			nintroductions = 0;
			query_make(&x, &q);
			assert_int_equal(fields_add(&x.fields,
						    DIGEST_INTRODUCTION,
						    "http://n2:8080"), 0);
			digest_api_handler.on_request(api, &x);
			assert_int_equal(nintroductions,
					 listens * asked[i].heard);
			query_end(&x);
		}
	}
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_form_is_what_it_says),
		TEST(no_reply_lacks_a_field),
		TEST(deltas_have_names),
		TEST(a_delta_in_one_form),
		TEST(old_deltas_are_forgotten),
		TEST(what_is_handed_over_waits_for_nothing),
		TEST(askers_introduce_themselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
