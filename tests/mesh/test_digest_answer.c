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
		cmocka_unit_test(test_before_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
