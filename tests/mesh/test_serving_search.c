/*
 * All that may happen to three nodes, one object and one strict purge of it,
 * state by state: messages that are late or never come, crashes that lose logs
 * and what was granted, restarts, leases that run out, clocks that differ by
 * less than they are trusted to, fetches under way, and a majority that has
 * lost its logs. Majorities and the fence are those that ship.
 *
 * The promise: who asks after the purge has been acknowledged gets nothing
 * older. With all rules no state breaks it; without any one of them some state
 * does.
 *
 *	fence	it is acknowledged when each node has applied it, or has no
 *		lease: a majority of clear logs, or a grant's time after it was
 *		in a majority of logs
 *	major	a lease is of a majority's renewals, whose logs are merged
 *	recover	who has lost its log is in no majority, until so many others
 *		whose logs are whole have told it that one knows
 *	epoch	or, if there are not so many, until a majority has heard from
 *		it that nothing older counts
 *	sync	a restart begins without a lease
 *	forget	and does not know whom it has renewed a lease before
 *	drift	a grant outlasts the lease that is made of it
 *	sent	a lease runs from when it was asked for
 *	need	a peer that lacks what the asker has does not answer it
 *	close	what the purge overtook is not stored
 *	join	nor joined
 *
 * Node 0 purges. What is stored on disk outlives a crash.
 */
#include <stdlib.h>
#include <string.h>

#include "digestd/mesh/serving_lease.h"
#include "tests/mesh/state_set.h"

enum { NODES = 3, ALL_NODES = 7, STATES_MAX = 1 << 21, STATES_LONG = 1 << 23 };

enum rules {
	FENCE = 1, MAJOR = 2, RECOVER = 4, EPOCH = 8, SYNC = 16, FORGET = 32,
	DRIFT = 64, SENT = 128, NEED = 256, CLOSE = 512, JOIN = 1024,
	EVERY_RULE = 2047,
};

enum { OLD = 1, NEW = 2, FROM_ORIGIN = 1, FROM_PEER = 2 };
enum purge_phase { NOT_YET, CHANGED, ISSUED, LOGGED, WAITED, ACKNOWLEDGED };

/* Of nodes, a bit for each. */
struct search_node {
	uint8_t up, whole; /* whole: its log is */
	uint8_t knows;	   /* the purge */
	uint8_t copy;
	uint8_t lease, of; /* it has one, and whose renewals it is of */
	uint8_t asks;	   /* for one: who has renewed it since it asked */
	uint8_t told;	   /* since its start: by whom, with a whole log */
	uint8_t heard;	   /* by whom, with any */
	uint8_t grants;	   /* whose leases it has renewed */
	uint8_t forgot;	   /* whose it had before it crashed, */
	uint8_t unsure;	   /* and it may yet have forgotten some */
	uint8_t epoch;	   /* who has its epoch in the log; 0: none */
};

/* An acknowledgement says nothing of grants: they may be to anybody. */
enum { ANYBODY = 128 };

struct search_state {
	uint8_t phase, crashes;
	uint8_t told, logged; /* what acknowledgements say: who has applied the
				 purge, in a whole log, and */
	uint8_t granted[NODES]; /* to whom there were grants */
	uint8_t late; /* who had renewals before LOGGED */
	/* one fetch: of which node, + 1; of whom it asks, what has come, what
	 * the node knew then, see search_knowledge(); its client came after
	 * ACKNOWLEDGED, and others may join it */
	uint8_t fetches, from, got, knew, after, joined;
	struct search_node n[NODES];
};

static struct search {
	struct state_set seen;
	unsigned rules, crashes;
	uint8_t fetches; /* which nodes fetch */
	bool broken;
} search;

static bool rule(enum rules r)
{
	return search.rules & r;
}

static unsigned count(uint8_t nodes)
{
	return (unsigned)__builtin_popcount(nodes);
}

static uint8_t bit(unsigned node)
{
	return (uint8_t)(1 << node);
}

/* Who has something that is older than the purge, or may get it. */
static uint8_t search_old(const struct search_state *s)
{
	uint8_t old = 0;

	for (unsigned i = 0; i < NODES; i++)
		old |= s->n[i].copy == OLD ? bit(i) : 0;
	return search.fetches && (old || s->phase == NOT_YET || s->got == OLD) ?
		       ALL_NODES : old;
}

/* What does not matter any more is the same in all states: for one, a copy that
 * is not old. */
static void search_simplify(struct search_state *s)
{
	uint8_t old = search_old(s);

	for (unsigned i = 0; i < NODES; i++) {
		struct search_node *n = &s->n[i];

		if (!(old & bit(i)))
			n->lease = n->of = n->asks = 0;
		n->grants &= old;
		n->forgot &= old;
	}
	for (unsigned i = 0; i < NODES; i++) {
		struct search_node *n = &s->n[i];

		if (n->whole)
			n->told = n->heard = 0;
		if (s->phase == ACKNOWLEDGED) /* there is no fence any more */
			n->grants = n->forgot = n->unsure = 0;
	}
	if (s->phase == ACKNOWLEDGED) {
		s->told = s->logged = s->late = 0;
		memset(s->granted, 0, sizeof(s->granted));
	}
}

static void search_put(struct search_state *s)
{
	if (s->got == NEW) {
		s->fetches = s->from = s->got = 0;
		s->knew = s->after = s->joined = 0;
	}
	search_simplify(s);
	if (!search_old(s))
		return; /* nothing can go wrong any more */
	state_set_put(&search.seen, s);
}

/* The purge */

static void search_apply(struct search_state *t, unsigned node)
{
	t->n[node].knows = 1;
	t->n[node].copy = 0;
}

/* What a node's acknowledgement says. */
static void search_acknowledges(struct search_state *t, unsigned node)
{
	const struct search_node *n = &t->n[node];
	bool sure = !n->unsure || !rule(FORGET);

	t->told |= bit(node);
	if (n->whole)
		t->logged |= bit(node);
	t->granted[node] = sure ? n->grants : ANYBODY;
}

static enum serving_fence search_fence(const struct search_state *s)
{
	struct serving_ack acks[NODES];

	for (unsigned i = 0; i < NODES; i++)
		acks[i] = (struct serving_ack){s->told & bit(i),
					       s->logged & bit(i),
					       !(s->granted[i] & ~s->told)};
	return serving_fence(acks, NODES);
}

/* Renewals that were made before a majority has logged it: leases of them are
 * those that the fence waits for. */
static void search_note_late(struct search_state *t)
{
	if (t->phase != ISSUED || search_fence(t) == SERVING_FENCE_OPEN)
		return;
	t->phase = LOGGED;
	for (unsigned i = 0; i < NODES; i++) {
		if (t->n[i].lease || t->n[i].asks)
			t->late |= bit(i);
	}
}

/* A grant's time has passed: leases from before have run out. */
static bool search_has_waited(const struct search_state *s)
{
	for (unsigned i = 0; i < NODES; i++) {
		if (s->late & bit(i) && (s->n[i].lease || s->n[i].asks))
			return false;
	}
	return true;
}

static bool search_may_acknowledge(const struct search_state *s)
{
	if (!rule(FENCE))
		return s->told & 1;
	return search_fence(s) == SERVING_FENCE_CLOSED || s->phase == WAITED;
}

static void search_purges(const struct search_state *s)
{
	struct search_state t = *s;

	if (s->phase == NOT_YET) {
		t.phase = CHANGED;
		search_put(&t);
		return;
	}
	if (!s->n[0].up || s->phase == ACKNOWLEDGED)
		return;
	if (s->phase == CHANGED) {
		t.phase = ISSUED;
		search_apply(&t, 0);
		search_acknowledges(&t, 0);
		search_note_late(&t);
		search_put(&t);
		return;
	}
	if (s->phase == LOGGED && search_has_waited(s)) {
		t.phase = WAITED;
		search_put(&t);
	}
	if (search_may_acknowledge(s)) {
		t = *s;
		t.phase = ACKNOWLEDGED;
		search_put(&t);
	}
}

/* A message arrives, and is answered; or asks again. */
static void search_tells(const struct search_state *s, unsigned node)
{
	struct search_state t = *s;

	if (s->phase < ISSUED || s->phase == ACKNOWLEDGED || !s->n[0].up ||
	    !s->n[0].knows || (node && s->told & bit(node)))
		return;
	search_apply(&t, node);
	search_acknowledges(&t, node);
	search_note_late(&t);
	search_put(&t);
}

/* Leases */

static void search_merge(struct search_state *t, unsigned node, unsigned from)
{
	if (!rule(MAJOR))
		return;
	if (t->n[from].knows && !t->n[node].knows)
		search_apply(t, node);
	for (unsigned i = 0; i < NODES; i++) {
		if (t->n[i].epoch & bit(from) && !(t->n[i].epoch & bit(node))) {
			t->n[i].epoch |= bit(node);
			t->n[node].copy = 0;
		}
	}
}

static bool search_is_majority(uint8_t others, bool self)
{
	return count(others) + self >= serving_majority(NODES);
}

/* A renewal is answered by another node, which with the node itself is a
 * majority. Another one, or one beside a lease, would let it do nothing that it
 * cannot without: the lease may run out, and what was asked for. */
static void search_renews(const struct search_state *s, unsigned node,
			  unsigned by)
{
	struct search_state t = *s;
	struct search_node *n = &t.n[node];

	if (!s->n[by].up || (n->whole && (n->asks || n->lease)))
		return;
	n->heard |= bit(by);
	if (s->n[by].whole && !n->asks) {
		n->told |= bit(by);
		n->asks |= bit(by);
		t.n[by].grants |= bit(node);
	}
	search_merge(&t, node, by);
	if (!n->whole && count(n->told) >= serving_recovery(NODES))
		n->whole = 1;
	search_put(&t);
}

/* What it has asked for becomes its lease. */
static void search_takes_lease(const struct search_state *s, unsigned node)
{
	struct search_state t = *s;
	struct search_node *n = &t.n[node];

	if (!n->whole ||
	    !search_is_majority(rule(MAJOR) ? n->asks : ALL_NODES, true))
		return;
	n->lease = 1;
	n->of = n->asks;
	n->asks = 0;
	if (!rule(SENT)) /* as if it had been asked for now */
		t.late &= (uint8_t)~bit(node);
	search_put(&t);
}

/* A lease runs out, or what was asked for does. */
static void search_runs_out(const struct search_state *s, unsigned node)
{
	struct search_state t = *s;
	struct search_node *n = &t.n[node];

	if (n->asks) {
		n->asks = 0;
		search_put(&t);
		t = *s;
	}
	if (n->lease) {
		n->lease = n->of = 0;
		if (!n->asks)
			t.late &= (uint8_t)~bit(node);
		search_put(&t);
	}
}

/* A grant runs out, after the lease that it is for. */
static void search_grants_run_out(const struct search_state *s, unsigned node)
{
	struct search_state t;
	uint8_t runs = 0, in_use = 0;

	for (unsigned i = 0; i < NODES; i++) {
		if ((s->n[i].of | s->n[i].asks) & bit(node) && rule(DRIFT))
			in_use |= bit(i);
	}
	runs = s->n[node].grants & (uint8_t)~in_use;
	for (unsigned i = 0; i < NODES; i++) {
		if (!(runs & bit(i)))
			continue;
		t = *s;
		t.n[node].grants &= (uint8_t)~bit(i);
		search_put(&t);
	}
	if (s->n[node].unsure && !(s->n[node].forgot & in_use)) {
		t = *s;
		t.n[node].unsure = t.n[node].forgot = 0;
		search_put(&t);
	}
}

/* Recovery without enough others: nothing older counts. */
static void search_begins_epoch(const struct search_state *s, unsigned node)
{
	struct search_state t = *s;
	struct search_node *n = &t.n[node];

	if (n->whole || !search_is_majority(n->heard, true))
		return;
	if (!rule(EPOCH) || !rule(RECOVER)) {
		n->whole = 1;
	} else if (!n->epoch) {
		n->epoch = bit(node);
		n->copy = 0;
	} else {
		return;
	}
	search_put(&t);
}

static void search_tells_epoch(const struct search_state *s, unsigned node,
			       unsigned to)
{
	struct search_state t = *s;
	struct search_node *n = &t.n[node];

	if (!n->epoch || n->whole || !s->n[to].up || n->epoch & bit(to))
		return;
	t.n[to].copy = 0;
	n->epoch |= bit(to);
	n->whole = search_is_majority(n->epoch, false);
	search_put(&t);
}

/* Crashes */

static void search_crashes(const struct search_state *s, unsigned node)
{
	struct search_state t = *s;
	struct search_node *n = &t.n[node];
	uint8_t forgot = n->grants | n->forgot;

	if (s->crashes == search.crashes ||
	    (!node && s->phase != NOT_YET && s->phase != ACKNOWLEDGED))
		return; /* nobody waits for the purge any more */
	*n = (struct search_node){ .copy = n->copy, .forgot = forgot,
				   .unsure = 1, .epoch = n->epoch };
	n->lease = rule(SYNC) ? 0 : s->n[node].lease;
	n->whole = !rule(RECOVER);
	for (unsigned i = 0; i < NODES; i++)
		t.n[i].epoch &= (uint8_t)~bit(node);
	t.late &= (uint8_t)~bit(node);
	if (s->fetches == node + 1)
		t.fetches = t.from = t.got = t.knew = t.after = t.joined = 0;
	t.crashes++;
	search_put(&t);
}

static bool search_starts(const struct search_state *s, unsigned node)
{
	struct search_state t = *s;

	if (s->n[node].up)
		return false;
	t.n[node].up = 1;
	search_put(&t);
	return true;
}

/* Fetches */

/* The purge, and epochs. */
static uint8_t search_knowledge(const struct search_state *s, unsigned node)
{
	uint8_t knows = s->n[node].knows;

	for (unsigned i = 0; i < NODES; i++) {
		if (s->n[i].epoch & bit(node))
			knows |= (uint8_t)(2 << i);
	}
	return knows;
}

/* Who has no lease asks its origin, for one client. */
static void search_begins_fetch(const struct search_state *s, unsigned node)
{
	for (unsigned from = 0; from < NODES; from++) {
		struct search_state t = *s;

		if (from != node && (s->n[node].copy || !s->n[node].lease))
			continue;
		t.fetches = (uint8_t)(node + 1);
		t.from = from == node ? FROM_ORIGIN :
					(uint8_t)(FROM_PEER + from);
		t.knew = search_knowledge(s, node);
		t.after = s->phase == ACKNOWLEDGED;
		t.joined = s->n[node].lease;
		search_put(&t);
	}
}

static void search_peer_answers(const struct search_state *s, unsigned node)
{
	unsigned peer = s->from - FROM_PEER;
	struct search_state t = *s;

	if (s->n[peer].up && s->n[peer].copy &&
	    (!rule(NEED) || !(s->knew & ~search_knowledge(s, peer)))) {
		t.got = s->n[peer].copy;
		search_put(&t);
	}
	t = *s;
	t.from = FROM_ORIGIN;
	t.knew = search_knowledge(s, node);
	search_put(&t);
}

static void search_fetches(const struct search_state *s, unsigned node)
{
	bool overtaken = search_knowledge(s, node) & ~s->knew;
	struct search_state t = *s;

	if (s->joined && s->n[node].lease && s->phase == ACKNOWLEDGED &&
	    !s->after && !(overtaken && rule(JOIN))) {
		t.after = 1;
		search_put(&t);
		t = *s;
	}
	if (!s->got && s->from == FROM_ORIGIN) {
		t.got = s->phase >= CHANGED ? NEW : OLD;
		search_put(&t);
	} else if (!s->got) {
		search_peer_answers(s, node);
	} else {
		search.broken |= s->got == OLD && s->after;
		if (!(overtaken && rule(CLOSE)) && s->got == OLD)
			t.n[node].copy = OLD;
		t.fetches = t.from = t.got = t.knew = t.after = t.joined = 0;
		search_put(&t);
	}
}

/* The search */

static void search_expand_node(const struct search_state *s, unsigned node)
{
	const struct search_node *n = &s->n[node];

	search.broken |= n->lease && n->copy == OLD && s->phase == ACKNOWLEDGED;
	search_tells(s, node);
	for (unsigned other = 0; other < NODES; other++) {
		if (other == node)
			continue;
		search_renews(s, node, other);
		search_tells_epoch(s, node, other);
	}
	search_takes_lease(s, node);
	search_runs_out(s, node);
	search_grants_run_out(s, node);
	search_begins_epoch(s, node);
	search_crashes(s, node);
	if (!s->fetches && search.fetches >> node & 1)
		search_begins_fetch(s, node);
	if (s->fetches == node + 1)
		search_fetches(s, node);
}

/* Whether the promise holds with these rules in all states. */
static bool search_holds(unsigned rules, unsigned crashes, uint8_t fetches)
{
	struct search_state first = { 0 }, s;

	state_set_clear(&search.seen);
	search.broken = false;
	search.rules = rules;
	search.crashes = crashes;
	search.fetches = fetches;
	for (unsigned i = 0; i < NODES; i++)
		first.n[i] = (struct search_node){ .up = 1, .whole = 1,
						   .copy = OLD };
	first.phase = fetches ? NOT_YET : CHANGED;
	search_put(&first);
	for (uint32_t at = 0; at < search.seen.n && !search.broken; at++) {
		memcpy(&s, state_set_at(&search.seen, at), sizeof(s));
		search_purges(&s);
		for (unsigned node = 0; node < NODES; node++) {
			if (!search_starts(&s, node))
				search_expand_node(&s, node);
		}
	}
	print_message("# rules %u: %u states, %s\n", rules, search.seen.n,
		      search.broken ? "an old copy" : "none is old");
	return !search.broken;
}

static int set_up(void **state)
{
	(void)state;
	return state_set_init(&search.seen, sizeof(struct search_state),
			      getenv("SCD_TEST_LONG") ? STATES_LONG :
							STATES_MAX) ?
		       0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	state_set_free(&search.seen);
	return 0;
}

static void test_all_rules(void **state)
{
	(void)state;
	assert_true(search_holds(EVERY_RULE, 1, 0));
	if (!getenv("SCD_TEST_LONG"))
		return;
	assert_true(search_holds(EVERY_RULE, 2, 0));
	assert_true(search_holds(EVERY_RULE, 0, 2));
}

static void test_without_one(void **state)
{
	(void)state;
	for (unsigned one = FENCE; one < EVERY_RULE; one *= 2)
		assert_false(search_holds(
			EVERY_RULE & ~one,
			one & (RECOVER | EPOCH) ? 2 :
			one & (SYNC | FORGET) ? 1 : 0,
			one & (SYNC | NEED | CLOSE | JOIN) ? 2 : 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_rules),
		cmocka_unit_test(test_without_one),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
