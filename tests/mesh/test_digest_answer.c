/*
 * What a node answers to a request for its digest: the rules of PROTOCOL.md.
 */
#include <stdlib.h>

#include "digestd/mesh/digest_answer.h"
#include "digestd/store/blob.h"
#include "tests/unit.h"

enum { INSTANCE = 7, OTHER = 8, CURRENT = 10, BOTH = 3 };

/* clang-format off */
/* To who has these generations, and takes deltas as XOR (1), conditional ones
 * (2), or both. There are deltas from 9 as XOR, from 8 in both forms of which
 * the conditional one is smaller, and from 6 as a conditional one. */
static const struct {
	const char *label;
	struct digest_tag tags[4]; /* up to instance 0 */
	unsigned takes;
	int64_t wait_s, max_wait_s;
	struct digest_answer answer; /* without its blob */
} rows[] = {
#define HAS(...) { __VA_ARGS__ }
#define GEN(n) { INSTANCE, n, false }
#define LIST(n) { INSTANCE, n, true }
#define FULL { .kind = DIGEST_ANSWER_FULL }
#define SAME { .kind = DIGEST_ANSWER_UNCHANGED }
#define WAIT(s) { .kind = DIGEST_ANSWER_WAIT, .wait_s = s }
#define XOR(n) { .kind = DIGEST_ANSWER_DELTA, .from = n }
#define CONDITIONAL(n) \
	{ .kind = DIGEST_ANSWER_DELTA, .from = n, .conditional = true }
	{ "nothing", HAS({0, 0, false}), BOTH, 0, 60, FULL },
	{ "nothing, and waits", HAS({0, 0, false}), BOTH, 30, 60, FULL },
	{ "the current one", HAS(GEN(10)), BOTH, 0, 60, SAME },
	{ "the current one of another instance", HAS({OTHER, 10, false}), BOTH, 0, 60, FULL },
	{ "the current one, and waits", HAS(GEN(10)), BOTH, 30, 60, WAIT(30) },
	{ "waits for longer than it may", HAS(GEN(10)), BOTH, 90, 60, WAIT(60) },
	{ "nobody waits any more", HAS(GEN(10)), BOTH, 30, 0, SAME },
	{ "the current one among others", HAS(GEN(9), GEN(10)), BOTH, 0, 60, SAME },
	{ "an older one does not wait", HAS(GEN(9)), BOTH, 30, 60, XOR(9) },
	{ "it takes no delta", HAS(GEN(9)), 0, 0, 60, FULL },
	{ "it takes none in this form", HAS(GEN(9)), 2, 0, 60, FULL },
	{ "the smaller form", HAS(GEN(8)), BOTH, 0, 60, CONDITIONAL(8) },
	{ "the form that it takes", HAS(GEN(8)), 1, 0, 60, XOR(8) },
	{ "the other form", HAS(GEN(8)), 2, 0, 60, CONDITIONAL(8) },
	{ "conditional only", HAS(GEN(6)), BOTH, 0, 60, CONDITIONAL(6) },
	{ "conditional only, not taken", HAS(GEN(6)), 1, 0, 60, FULL },
	{ "the newest of several", HAS(GEN(6), GEN(8), GEN(9)), BOTH, 0, 60, XOR(9) },
	{ "the newest in a form that it takes", HAS(GEN(6), GEN(9)), 2, 0, 60, CONDITIONAL(6) },
	{ "one from which there is none", HAS(GEN(7)), BOTH, 0, 60, FULL },
	{ "one that has not been", HAS(GEN(11)), BOTH, 30, 60, FULL },
	{ "an older one of another instance", HAS({OTHER, 9, false}), BOTH, 0, 60, FULL },
};
/* clang-format on */

static struct blob *blob_of(size_t len)
{
	return blob_take(calloc(1, len), len);
}

static void publication_make(struct publication *p)
{
	*p = (struct publication){
		.instance = INSTANCE,
		.generation = CURRENT,
		.full = blob_of(100),
		.ndeltas = 3,
		.deltas = {{9, blob_of(10), NULL},
			   {8, blob_of(20), blob_of(18)},
			   {6, NULL, blob_of(30)}},
	};
}

static void publication_drop(struct publication *p)
{
	blob_unref(p->full);
	for (unsigned i = 0; i < p->ndeltas; i++) {
		blob_unref(p->deltas[i].xor);
		blob_unref(p->deltas[i].conditional);
	}
}

static struct digest_ask ask_of(size_t row)
{
	struct digest_ask ask = {
		.takes = {rows[row].takes & 1, rows[row].takes & 2},
		.wait_s = rows[row].wait_s,
	};

	for (; rows[row].tags[ask.ntags].instance; ask.ntags++)
		ask.tags[ask.ntags] = rows[row].tags[ask.ntags];
	return ask;
}

/* What is sent with an answer. */
static struct blob *body_of(const struct publication *p,
			    const struct digest_answer *a)
{
	for (unsigned i = 0; a->kind == DIGEST_ANSWER_DELTA; i++) {
		if (p->deltas[i].from == a->from)
			return a->conditional ? p->deltas[i].conditional
					      : p->deltas[i].xor
				;
	}
	return a->kind == DIGEST_ANSWER_FULL ? p->full : NULL;
}

static void test_answers(void **state)
{
	struct publication p;

	(void)state;
	publication_make(&p);
	for (size_t i = 0; i < NROWS(rows); i++) {
		const struct digest_answer *wanted = &rows[i].answer;
		struct digest_ask ask = ask_of(i);
		struct digest_answer a =
			digest_answer_to(&ask, &p, rows[i].max_wait_s);

		if (a.kind != wanted->kind || a.wait_s != wanted->wait_s ||
		    a.from != wanted->from ||
		    a.conditional != wanted->conditional ||
		    a.blob != body_of(&p, wanted))
			fail_msg("%s: %d", rows[i].label, a.kind);
	}
	publication_drop(&p);
}

/* Of lists only: who wants an array waits for one, as long as anybody may. */
static void test_array_that_is_not_there(void **state)
{
	static const struct {
		const char *label;
		int64_t wait_s, max_wait_s;
		struct digest_answer answer;
	} cases[] = {
		{ "it does not wait for news", 0, 60,
		  WAIT(DIGEST_ARRAY_WAIT_S) },
		{ "it does", 30, 60, WAIT(DIGEST_ARRAY_WAIT_S) },
		{ "waits are short", 0, 2, WAIT(2) },
		{ "nobody waits any more", 30, 0,
		  { .kind = DIGEST_ANSWER_NO_ARRAY } },
	};
	struct list_publication list = { .generation = CURRENT };
	const struct publication p = {
		.instance = INSTANCE, .generation = CURRENT, .list = &list};

	(void)state;
	for (size_t i = 0; i < NROWS(cases); i++) {
		const struct digest_ask ask = {
			.takes = {true, true}, .wait_s = cases[i].wait_s};
		struct digest_answer a =
			digest_answer_to(&ask, &p, cases[i].max_wait_s);

		if (a.kind != cases[i].answer.kind ||
		    a.wait_s != cases[i].answer.wait_s || a.list)
			fail_msg("%s: %d", cases[i].label, a.kind);
	}
}

/* Who wants ages gets them with the generation that they are of, also if that
 * is the current one, and does not wait; who has them, frames by age. */
static void test_ages(void **state)
{
	static const struct {
		const char *label;
		uint64_t has;
		bool takes_aged, takes_ages;
		struct digest_answer answer;
	} cases[] = {
#define FRAMES(n) .kind = DIGEST_ANSWER_DELTA, .from = n
		{ "by rank", 8, false, false, { FRAMES(8), .step = 0 } },
		{ "has ages", 9, true, false,
		  { FRAMES(9), .step = 1, .aged = true } },
		{ "has ages, and all", 10, true, false, WAIT(30) },
		{ "wants ages of that one", 8, false, true,
		  { FRAMES(8), .step = 0, .aged = true, .ages = true } },
		{ "wants ages of another one", 9, false, true,
		  { FRAMES(9), .step = 1 } },
		{ "wants ages, and has all", 10, false, true, WAIT(30) },
	};
	struct list_publication *list =
		calloc(1, sizeof(*list) + 2 * sizeof(list->steps[0]));
	const struct publication p = {
		.instance = INSTANCE, .generation = CURRENT, .list = list};

	(void)state;
	assert_non_null(list);
	*list = (struct list_publication){ .generation = CURRENT,
					   .full = blob_of(1000),
					   .full_generation = 8,
					   .ages = blob_of(500),
					   .nsteps = 2 };
	list->steps[0] = (struct list_step){ 8, blob_of(20), blob_of(15), 0 };
	list->steps[1] = (struct list_step){ 9, blob_of(20), NULL, 0 };
	for (size_t i = 0; i < NROWS(cases); i++) {
		const struct digest_ask ask = {
			.tags = { LIST(cases[i].has) },
			.ntags = 1,
			.takes_lists = true,
			.takes_frames = true,
			.takes_aged = cases[i].takes_aged,
			.takes_ages = cases[i].takes_ages,
			.wait_s = 30,
		};
		const struct digest_answer *wanted = &cases[i].answer;
		struct digest_answer a = digest_answer_to(&ask, &p, 60);
		struct blob *body;

		if (a.kind != wanted->kind || a.from != wanted->from ||
		    a.step != wanted->step || a.aged != wanted->aged ||
		    a.ages != wanted->ages || a.wait_s != wanted->wait_s)
			fail_msg("%s: %d", cases[i].label, a.kind);
		if (a.kind != DIGEST_ANSWER_DELTA)
			continue;
		body = digest_answer_frames(&a, &p);
		assert_int_equal(body->len,
				 (a.ages ? 500 : 0) + 20 +
					 (a.step ? 0 : a.aged ? 15 : 20));
		blob_unref(body);
	}
	list_publication_free(list);
}

static void test_before_the_first(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct digest_ask ask = ask_of(i);
		struct digest_answer a =
			digest_answer_to(&ask, NULL, rows[i].max_wait_s);

		assert_int_equal(a.kind, DIGEST_ANSWER_NONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_array_that_is_not_there),
		cmocka_unit_test(test_ages),
		cmocka_unit_test(test_before_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
