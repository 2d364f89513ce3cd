/*
 * Leases: who gets one, and who is sent to whom; who owns a key; and the texts
 * in which nodes say so.
 */

#include "digestd/mesh/leases.h"
#include "digestd/mesh/peerset.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { A = 0xa, B = 0xb, C = 0xc, NODES = 16, KEYS = 16000 };

static const struct scd_key key = { 12345, 67891 };

static void check_ask(struct leases *l, uint64_t who, uint64_t not,
		      int64_t now_ms, enum lease_word word, uint64_t holder)
{
	const struct lease_wish wish = { true, who, not };
	const struct lease_answer answer = leases_ask(l, &key, &wish, now_ms);

	assert_int_equal(answer.word, word);
	assert_int_equal(answer.holder, holder);
}

static void one_gets_it(void **state)
{
	const int64_t end_ms = 1 + LEASES_TERM_MS;
	struct leases *l = leases_new(100);

	(void)state;
	assert_non_null(l);
	check_ask(l, A, 0, 1, LEASE_YOURS, 0);
	check_ask(l, B, 0, 1, LEASE_ELSEWHERE, A);
	check_ask(l, A, 0, 2, LEASE_YOURS, 0); /* and begins anew */
	check_ask(l, C, 0, end_ms, LEASE_ELSEWHERE, A);
	check_ask(l, C, 0, end_ms + 1, LEASE_YOURS, 0);
	leases_free(&l);
	assert_null(l);
}

/* Whom the others were sent to in vain: the next one gets it. */
static void who_has_it_not(void **state)
{
	struct leases *l = leases_new(100);

	(void)state;
	check_ask(l, A, 0, 1, LEASE_YOURS, 0);
	check_ask(l, B, C, 1, LEASE_ELSEWHERE, A);
	check_ask(l, B, A, 1, LEASE_YOURS, 0);
	check_ask(l, C, A, 1, LEASE_ELSEWHERE, B);
	leases_free(&l);
}

static void alone(void **state)
{
	struct leases *l = leases_new(100);

	(void)state;
	assert_false(leases_is_alone(l, &key, 1));
	check_ask(l, A, 0, 1, LEASE_YOURS, 0);
	assert_false(leases_is_alone(l, &key, 1));
	leases_set_alone(l, &key, 2);
	assert_true(leases_is_alone(l, &key, 2));
	check_ask(l, A, 0, 1 + LEASES_ALONE_MS, LEASE_ALONE, 0);
	assert_false(leases_is_alone(l, &key, 2 + LEASES_ALONE_MS));
	check_ask(l, B, 0, 2 + LEASES_ALONE_MS, LEASE_YOURS, 0);
	leases_set_shared(l, &key); /* who has the lease keeps it */
	check_ask(l, C, 0, 2 + LEASES_ALONE_MS, LEASE_ELSEWHERE, B);
	leases_set_alone(l, &key, 1);
	leases_set_shared(l, &key);
	assert_false(leases_is_alone(l, &key, 1));
	leases_free(&l);
}

/* What there is no room for is forgotten, the oldest first. */
static void many(void **state)
{
	struct leases *l = leases_new(64);
	const struct lease_wish mine = { true, A, 0 }, yours = { true, B, 0 };
	unsigned kept = 0;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		const struct scd_key k = { i * 977, i + 1 };

		assert_int_equal(leases_ask(l, &k, &mine, (int64_t)i).word,
				 LEASE_YOURS);
	}
	for (uint64_t i = 1000; i-- > 0;) { /* each that asks takes room */
		const struct scd_key k = { i * 977, i + 1 };

		kept += leases_ask(l, &k, &yours, 1000).word ==
			LEASE_ELSEWHERE;
	}
	assert_in_range(kept, 1, 64);
	leases_free(&l);
}

static struct peerset *view_of(unsigned n, unsigned without)
{
	struct peerset_peer peers[NODES] = { { 0 } };
	struct peerset *view;

	for (unsigned i = 0; i < n; i++) {
		struct scd_bloom bloom;

		assert_int_equal(scd_bloom_init(&bloom, 512, 3), SCD_OK);
		peers[i] = (struct peerset_peer){
			.id = i, .usable = i != without, .leases = true,
			.name = "", .url = "",
			.digest = peer_digest_take(&bloom),
		};
		peers[i].digest->instance = i + 1;
	}
	view = peerset_new(peers, n);
	for (unsigned i = 0; i < n; i++)
		peer_digest_unref(peers[i].digest);
	assert_non_null(view);
	return view;
}

/* Among some of them; a node that does not count itself agrees with the others
 * who count it not. */
static void owners_among_some(void **state)
{
	static const uint32_t some[] = { 1, 3, 4, 9 };
	struct peerset *view = view_of(NODES, 3);
	uint64_t random = 7;

	(void)state;
	assert_int_equal(lease_owner_among(view, &key, 0, some, 0), 0);
	assert_int_equal(lease_owner_among(view, &key, 5, some, 0), 5);
	assert_int_equal(lease_owner_among(view, &key, 0, &some[1], 1), 0);
	for (unsigned i = 0; i < KEYS / 10; i++) {
		const struct scd_key k = { random_next(&random), i };
		uint64_t owner = lease_owner_among(view, &k, 0, some, 4);

		assert_true(owner == 2 || owner == 5 || owner == 10);
		/* as one of them sees it */
		assert_int_equal(lease_owner_among(view, &k, 10, some, 3),
				 owner);
	}
	peerset_unref(view);
}

/* All nodes name the same owner, each owns its part, and one that goes leaves
 * the others' keys where they are. */
static void owners(void **state)
{
	struct peerset *view = view_of(NODES, NODES);
	struct peerset *less = view_of(NODES, 3);
	unsigned owned[NODES + 2] = { 0 };
	uint64_t random = 7;

	(void)state;
	for (unsigned i = 0; i < KEYS; i++) {
		const struct scd_key k = { random_next(&random), i };
		uint64_t owner = lease_owner(view, &k, NODES + 1);
		uint64_t then = lease_owner(less, &k, NODES + 1);

		assert_in_range(owner, 1, NODES + 1);
		owned[owner]++;
		if (owner == 4)
			assert_int_not_equal(then, 4);
		else
			assert_int_equal(then, owner);
	}
	for (unsigned i = 1; i <= NODES + 1; i++)
		assert_in_range(owned[i], KEYS / (NODES + 1) * 8 / 10,
				KEYS / (NODES + 1) * 12 / 10);
	assert_int_equal(lease_find(view, 4), 3);
	assert_int_equal(lease_find(less, 4), -1);
	assert_int_equal(lease_find(view, 99), -1);
	peerset_unref(view);
	peerset_unref(less);
}

static const struct {
	struct lease_wish wish;
	const char *text;
} wishes[] = {
	{ { true, 0, 0 }, "wait" },
	{ { true, 0x12ab, 0 }, "for=00000000000012ab" },
	{ { true, 0x12ab, UINT64_MAX },
	  "for=00000000000012ab;not=ffffffffffffffff" },
};

static const char *const no_wishes[] = {
	"", "waits", "wai", "for=", "for=12ab", "for=00000000000012ab;",
	"for=00000000000012ab;not=", "for=0000000000000000",
	"for=00000000000012abc", "for=00000000000012ab;not=1",
	"for=000000000000g2ab", "FOR=00000000000012ab", "yours",
};

static const struct {
	struct lease_answer answer;
	const char *text;
} answers[] = {
	{ { LEASE_YOURS, 0 }, "yours" },
	{ { LEASE_ALONE, 0 }, "alone" },
	{ { LEASE_ELSEWHERE, 0x12ab }, "at=00000000000012ab" },
	{ { LEASE_NONE, 0 }, "" },
};

static const char *const no_answers[] = {
	"your", "yours ", "at=", "at=12ab", "at=0000000000000000",
	"at=00000000000012ab;", "wait",
};

static void texts(void **state)
{
	char text[LEASES_TEXT_BYTES];
	struct lease_wish wish;

	(void)state;
	for (size_t i = 0; i < NROWS(wishes); i++) {
		lease_wish_write(&wishes[i].wish, text);
		assert_string_equal(text, wishes[i].text);
		lease_wish_read(text, &wish);
		assert_true(wish.waits && wish.who == wishes[i].wish.who &&
			    wish.not == wishes[i].wish.not);
	}
	for (size_t i = 0; i < NROWS(no_wishes); i++) {
		lease_wish_read(no_wishes[i], &wish);
		assert_false(wish.waits || wish.who || wish.not);
	}
	for (size_t i = 0; i < NROWS(answers); i++) {
		struct lease_answer answer;

		lease_answer_write(&answers[i].answer, text);
		assert_string_equal(text, answers[i].text);
		answer = lease_answer_read(text);
		assert_int_equal(answer.word, answers[i].answer.word);
		assert_int_equal(answer.holder, answers[i].answer.holder);
	}
	for (size_t i = 0; i < NROWS(no_answers); i++)
		assert_int_equal(lease_answer_read(no_answers[i]).word,
				 LEASE_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_gets_it),
		cmocka_unit_test(who_has_it_not),
		cmocka_unit_test(alone),
		cmocka_unit_test(many),
		cmocka_unit_test(owners),
		cmocka_unit_test(owners_among_some),
		cmocka_unit_test(texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
