/*
 * All that may happen to three nodes, one object and two invalidations, state
 * by state: messages that are late or never come, crashes that lose logs and
 * keep disks, restarts, fetches under way. What a node knows is a log as it
 * ships, and what it makes of it are the log's answers.
 *
 * The promise: once all nodes have acknowledged an invalidation, nobody who
 * asks after that gets anything older. With all rules no state breaks it;
 * without any one of them some state does.
 *
 *	close	what an invalidation overtook is not stored
 *	join	nor joined
 *	need	a peer that has not applied what the asker has does not answer
 *	all	it is acknowledged when each node has applied it
 *	heard	who has not heard from all peers since it started keeps nothing
 *		that comes from a peer, and lets nobody join it, for a while
 *	young	by the end of which nothing counts any more that it has
 *		acknowledged in another life
 *
 * An invalidation is of the key, a prefix or a tag, in turn.
 */
#include <stdlib.h>
#include <string.h>

#include "digestd/mesh/invalidation_log.h"
#include "tests/mesh/state_set.h"

enum { NODES = 3, FROM_ORIGIN = 1, FROM_PEER = 2,
       STATES_MAX = 1 << 21, STATES_LONG = 1 << 23 };

enum rules {
	CLOSE = 1, JOIN = 2, NEED = 4, ALL = 8, HEARD = 16, YOUNG = 32,
	EVERY_RULE = 63,
};

/* Versions are counted from 1, so that 0 is none. An invalidation that has been
 * applied is a digit of `log`, base 3, the latest one last. */
struct search_node {
	uint8_t up, heard; /* heard: a bit for each node, or 7 after a while */
	uint8_t log, copy;
	uint8_t from, got;	/* of its fetch: whom it asks, what has come */
	uint8_t asked, need;	/* the count then; what it needs: a log */
	uint8_t after, unsure; /* clients of it came after so many; not heard */
};

struct search_state {
	uint8_t version, crashes;
	uint8_t phase[2], told[2]; /* 1: issued, 2: acknowledged; by whom, */
	uint8_t former[2];	   /* and by whom of them in another life */
	struct search_node n[NODES];
};

static const uint8_t secret[SCD_SECRET_BYTES] = "search";
static const char uri[] = "http://h/a";
static struct scd_key key;
static struct fields fields;
static struct invalidation_log *logs[NODES][9];

static struct search {
	struct state_set seen;
	unsigned rules, invalidations, crashes;
	bool broken;
} search;

/* Logs */

static struct invalidation search_invalidation(unsigned j)
{
	switch (j % 3) {
	case 0:
		return invalidation_of_key(&key);
	case 1:
		return invalidation_of_prefix(secret, "http://h/");
	}
	return invalidation_of_tag(secret, (struct field_part){ "red", 3 });
}

static void search_apply(struct invalidation_log *log, unsigned j)
{
	const struct invalidation of = search_invalidation(j);
	const struct invalidation_position at = { j + 1, 1 };
	uint64_t added;

	invalidation_log_open(log);
	invalidation_log_add(log, &of, &at, 0);
	added = invalidation_log_now(log);
	invalidation_log_settle(log, added, added);
	invalidation_log_reach(log, &at);
}

/* Of digits: 1 or 2 for the first or second invalidation. */
static struct invalidation_log *search_log(unsigned node, unsigned digits)
{
	struct invalidation_log **log = &logs[node][digits];

	if (*log)
		return *log;
	assert_int_equal(invalidation_log_new(node + 1, secret, 8, log), 0);
	if (digits / 3)
		search_apply(*log, digits / 3 - 1);
	if (digits % 3)
		search_apply(*log, digits % 3 - 1);
	return *log;
}

static struct invalidation_subject search_subject(void)
{
	return (struct invalidation_subject){ &key, uri, &fields };
}

static bool search_overtaken(unsigned node, const struct search_node *n)
{
	const struct invalidation_subject subject = search_subject();

	return invalidation_log_newest(search_log(node, n->log), &subject)
		       .added > n->asked;
}

/* Whether a peer has what a log needs that has these digits. */
static bool search_meets(unsigned asker, unsigned digits, unsigned peer,
			 unsigned log)
{
	struct invalidation_position need[INVALIDATION_NEED_MAX];
	const struct invalidation_subject subject = search_subject();
	size_t n = invalidation_log_need(search_log(asker, digits), &subject,
					 need);
	bool meets = true;

	for (size_t i = 0; i < n; i++)
		meets &= invalidation_log_has(search_log(peer, log), &need[i]);
	return meets;
}

static bool search_knows(unsigned log, unsigned j)
{
	return log / 3 == j + 1 || log % 3 == j + 1;
}

static uint8_t search_count(unsigned node, unsigned digits)
{
	return (uint8_t)invalidation_log_now(search_log(node, digits));
}

/* States */

static void search_put(const struct search_state *s)
{
	state_set_put(&search.seen, s);
}

/* The version that the last acknowledged invalidation was before. */
static uint8_t search_acknowledged(const struct search_state *s)
{
	for (unsigned j = 2; j; j--) {
		if (s->phase[j - 1] == 2)
			return (uint8_t)j;
	}
	return 0;
}

static void search_hear(struct search_state *s, unsigned node, unsigned j)
{
	struct search_node *n = &s->n[node];

	if (!search_knows(n->log, j)) {
		n->log = (uint8_t)(n->log * 3 + j + 1);
		n->copy = 0;
	}
}

/* The origin changes; the change is known to a node; all have heard of it. */
static void search_changes(const struct search_state *s)
{
	struct search_state t;

	if (s->version < search.invalidations &&
	    (!s->version || s->phase[s->version - 1])) {
		t = *s;
		t.version++;
		search_put(&t);
	}
	for (unsigned j = 0; j < search.invalidations; j++) {
		if (s->version == j + 1 && !s->phase[j] && s->n[j].up) {
			t = *s;
			t.phase[j] = 1;
			t.told[j] = (uint8_t)(1 << j);
			search_hear(&t, j, j);
			search_put(&t);
		}
		if (s->phase[j] == 1 && s->n[j].up &&
		    search_knows(s->n[j].log, j) &&
		    (s->told[j] == 7 || !(search.rules & ALL))) {
			t = *s;
			t.phase[j] = 2;
			t.former[j] = 0;
			search_put(&t);
		}
	}
}

static void search_tells(const struct search_state *s, unsigned node)
{
	for (unsigned j = 0; j < search.invalidations; j++) {
		struct search_state t = *s;

		if (s->phase[j] != 1 || node == j || !s->n[j].up ||
		    !search_knows(s->n[j].log, j) ||
		    s->told[j] >> node & 1)
			continue;
		search_hear(&t, node, j);
		t.told[j] |= (uint8_t)(1 << node);
		search_put(&t);
	}
}

/* A node that has started hears what a peer knows. */
static void search_asks_peers(const struct search_state *s, unsigned node)
{
	for (unsigned m = 0; m < NODES; m++) {
		struct search_state t = *s;

		if (m == node || !s->n[m].up || s->n[node].heard >> m & 1)
			continue;
		for (unsigned j = 0; j < search.invalidations; j++) {
			if (search_knows(s->n[m].log, j))
				search_hear(&t, node, j);
		}
		t.n[node].heard |= (uint8_t)(1 << m);
		search_put(&t);
	}
}

/* The while after a start is over. */
static void search_gives_up_hearing(const struct search_state *s, unsigned node)
{
	struct search_state t = *s;

	if (s->n[node].heard == 7 ||
	    ((search.rules & YOUNG) &&
	     (s->former[0] | s->former[1]) >> node & 1))
		return;
	t.n[node].heard = 7;
	search_put(&t);
}

/* What a node has acknowledged in another life does not count any more. */
static void search_ages(const struct search_state *s, unsigned node)
{
	for (unsigned j = 0; j < search.invalidations; j++) {
		struct search_state t = *s;

		if (!(s->former[j] >> node & 1))
			continue;
		t.former[j] &= (uint8_t)~(1 << node);
		t.told[j] &= (uint8_t)~(1 << node);
		search_put(&t);
	}
}

static bool search_ends(const struct search_state *s, unsigned node)
{
	struct search_state t = *s;
	struct search_node *n = &t.n[node];

	if (!n->up) {
		n->up = 1;
		n->heard = (uint8_t)(1 << node);
		search_put(&t);
		return true;
	}
	if (s->crashes < search.crashes) {
		*n = (struct search_node){ .copy = n->copy };
		t.crashes++;
		for (unsigned j = 0; j < search.invalidations; j++)
			t.former[j] |= s->phase[j] == 1 ?
					       s->told[j] & 1 << node : 0;
		search_put(&t);
	}
	return false;
}

static void search_begins_fetch(const struct search_state *s, unsigned node)
{
	for (unsigned from = 0; from < NODES; from++) {
		struct search_state t = *s;
		struct search_node *n = &t.n[node];

		if (from != node && n->copy)
			continue;
		n->from = from == node ? FROM_ORIGIN :
					 (uint8_t)(FROM_PEER + from);
		n->asked = search_count(node, n->log);
		n->need = n->log;
		n->after = search_acknowledged(s);
		n->unsure = from != node && n->heard != 7;
		search_put(&t);
	}
}

static void search_peer_answers(const struct search_state *s, unsigned node)
{
	unsigned peer = s->n[node].from - FROM_PEER;
	const struct search_node *p = &s->n[peer];
	struct search_state t = *s;

	if (p->up && p->copy &&
	    (!(search.rules & NEED) ||
	     search_meets(node, s->n[node].need, peer, p->log))) {
		t.n[node].got = p->copy;
		search_put(&t);
	}
	t = *s;
	t.n[node].from = FROM_ORIGIN;
	t.n[node].asked = search_count(node, s->n[node].log);
	t.n[node].unsure = 0;
	search_put(&t);
}

static void search_goes_on(const struct search_state *s, unsigned node)
{
	const struct search_node *n = &s->n[node];
	struct search_state t = *s;
	bool overtaken = search_overtaken(node, n);
	bool unsure = n->unsure && (search.rules & HEARD);

	if (n->after < search_acknowledged(s) && !unsure &&
	    !(overtaken && (search.rules & JOIN))) {
		t.n[node].after = search_acknowledged(s);
		search_put(&t);
	}
	t = *s;
	if (!n->got && n->from == FROM_ORIGIN) {
		t.n[node].got = (uint8_t)(s->version + 1);
		search_put(&t);
	} else if (!n->got) {
		search_peer_answers(s, node);
	} else {
		search.broken |= n->got - 1 < n->after;
		if (!(overtaken && (search.rules & CLOSE)) && !unsure)
			t.n[node].copy = n->got;
		t.n[node].from = t.n[node].got = t.n[node].asked = 0;
		t.n[node].need = t.n[node].after = t.n[node].unsure = 0;
		search_put(&t);
	}
}

static void search_expand(const struct search_state *s)
{
	search_changes(s);
	for (unsigned node = 0; node < NODES; node++) {
		const struct search_node *n = &s->n[node];

		if (search_ends(s, node))
			continue;
		search.broken |= n->copy &&
				 n->copy - 1 < search_acknowledged(s);
		search_tells(s, node);
		search_asks_peers(s, node);
		search_gives_up_hearing(s, node);
		search_ages(s, node);
		if (n->from)
			search_goes_on(s, node);
		else if (!s->n[(node + 1) % NODES].from ||
			 !s->n[(node + 2) % NODES].from)
			search_begins_fetch(s, node);
	}
}

/* Whether the promise holds with these rules in all states. */
static bool search_holds(unsigned rules, unsigned invalidations,
			 unsigned crashes)
{
	struct search_state first = { 0 }, s;

	state_set_clear(&search.seen);
	search.broken = false;
	search.rules = rules;
	search.invalidations = invalidations;
	search.crashes = crashes;
	for (unsigned i = 0; i < NODES; i++)
		first.n[i] = (struct search_node){ .up = 1, .heard = 7 };
	search_put(&first);
	for (uint32_t at = 0; at < search.seen.n && !search.broken; at++) {
		memcpy(&s, state_set_at(&search.seen, at), sizeof(s));
		search_expand(&s);
	}
	print_message("# rules %u: %u states, %s\n", rules, search.seen.n,
		      search.broken ? "an old copy" : "none is old");
	return !search.broken;
}

static int set_up(void **state)
{
	(void)state;
	scd_key_make(secret, "GET", uri, strlen(uri), &key);
	fields_init(&fields);
	if (fields_add(&fields, "Cache-Tag", "red"))
		return -1;
	return state_set_init(&search.seen, sizeof(struct search_state),
			      getenv("SCD_TEST_LONG") ? STATES_LONG :
							STATES_MAX) ?
		       0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NODES * 9; i++)
		invalidation_log_free(&logs[i / 9][i % 9]);
	fields_free(&fields);
	state_set_free(&search.seen);
	return 0;
}

static void test_all_rules(void **state)
{
	(void)state;
	assert_true(search_holds(EVERY_RULE, 1, 1));
	if (!getenv("SCD_TEST_LONG"))
		return;
	assert_true(search_holds(EVERY_RULE, 1, 2));
	assert_true(search_holds(EVERY_RULE, 2, 0));
}

static void test_without_one(void **state)
{
	(void)state;
	for (unsigned rule = CLOSE; rule < EVERY_RULE; rule *= 2)
		assert_false(search_holds(EVERY_RULE & ~rule, 1, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_rules),
		cmocka_unit_test(test_without_one),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
