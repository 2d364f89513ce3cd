/*
 * The machine of a reply in slices: every pair of the table with every set of
 * facts, and the pairs that are not in it.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "digestd/node/node_slices.h"
#include "tests/unit.h"

#define S(state) (1u << NODE_SLICES_##state)

/* Where a step may lead to; 0: the pair is impossible. */
/* clang-format off */
static const unsigned successors[NODE_SLICES_STATES][NODE_SLICES_EVENTS] = {
	[NODE_SLICES_BETWEEN] = {
		/* BETWEEN: it is fetched, or looked for again */
		[NODE_SLICES_FOUND]   = S(BETWEEN) | S(READING) | S(HERE) |
					S(BROKEN),
		[NODE_SLICES_FETCHED] = S(BETWEEN) | S(FOLLOWING) |
					S(PASSING) | S(PAUSED) | S(BROKEN),
		[NODE_SLICES_LEFT]    = S(CLOSED),
	},
	[NODE_SLICES_READING] = {
		[NODE_SLICES_READ]    = S(BETWEEN) | S(HERE) | S(BROKEN),
		[NODE_SLICES_LEFT]    = S(CLOSED),
	},
	[NODE_SLICES_HERE] = {
		[NODE_SLICES_TAKEN]   = S(BETWEEN) | S(READING),
		[NODE_SLICES_LEFT]    = S(CLOSED),
	},
	[NODE_SLICES_FOLLOWING] = {
		[NODE_SLICES_TAKEN]   = S(BETWEEN) | S(READING),
		[NODE_SLICES_ENDED]   = S(BETWEEN) | S(PAUSED) | S(BROKEN),
		[NODE_SLICES_LEFT]    = S(CLOSED),
	},
	[NODE_SLICES_PASSING] = {
		[NODE_SLICES_TAKEN]   = S(BETWEEN) | S(READING),
		[NODE_SLICES_ENDED]   = S(BETWEEN) | S(PAUSED) | S(BROKEN),
		[NODE_SLICES_LEFT]    = S(CLOSED),
	},
	[NODE_SLICES_PAUSED] = {
		[NODE_SLICES_TIMER]   = S(BETWEEN),
		[NODE_SLICES_LEFT]    = S(CLOSED),
	},
	[NODE_SLICES_BROKEN] = {
		[NODE_SLICES_LEFT]    = S(CLOSED),
	},
	[NODE_SLICES_CLOSED] = {
		[NODE_SLICES_READ]    = S(CLOSED),
		[NODE_SLICES_ENDED]   = S(CLOSED),
	},
};
/* clang-format on */

enum { FACT_BITS = 12 }; /* that describe(), below, takes */

static bool describe(unsigned facts, struct node_slices *s,
		     struct node_slices_input *in)
{
	s->may_fetch = facts & 1;
	s->tries = facts & 2 ? NODE_SLICES_TRIES : 0;
	s->pauses = facts & 4	 ? NODE_SLICES_PAUSES :
		    facts & 2048 ? NODE_SLICES_PATIENCE :
				   0;
	in->place = (enum node_slices_place)(facts >> 3 & 3);
	in->flight = (enum node_slices_flight)(facts >> 5 & 7);
	in->failed = facts & 256;
	in->more = facts & 512;
	in->no_memory = facts & 1024;
	return in->place <= NODE_SLICES_ON_DISK &&
	       in->flight <= NODE_SLICES_NO_WINDOW;
}

static void check_step(const struct node_slices *before,
		       const struct node_slices *s,
		       enum node_slices_action action)
{
	/* nobody fetches for a peer, nor for ever */
	if (action == NODE_SLICES_FETCH)
		assert_true(before->may_fetch &&
			    s->tries < NODE_SLICES_TRIES &&
			    s->joins < NODE_SLICES_JOINS);
	if (action == NODE_SLICES_PASS)
		assert_true(s->tries < NODE_SLICES_TRIES &&
			    s->pauses >= NODE_SLICES_PATIENCE);
	assert_true(s->pauses <= NODE_SLICES_PAUSES);
	/* each state is left by what its action leads to */
	assert_int_equal(action == NODE_SLICES_LOOK ||
				 action == NODE_SLICES_FETCH ||
				 action == NODE_SLICES_PASS,
			 s->state == NODE_SLICES_BETWEEN);
	assert_int_equal(action == NODE_SLICES_SEND,
			 s->state == NODE_SLICES_HERE ||
				 s->state == NODE_SLICES_FOLLOWING ||
				 s->state == NODE_SLICES_PASSING);
	assert_int_equal(action == NODE_SLICES_PAUSE,
			 s->state == NODE_SLICES_PAUSED);
	assert_int_equal(action == NODE_SLICES_FAIL,
			 s->state == NODE_SLICES_BROKEN);
	assert_int_equal(action == NODE_SLICES_CLOSE,
			 s->state == NODE_SLICES_CLOSED);
	assert_int_equal(action == NODE_SLICES_WAIT ||
				 action == NODE_SLICES_READ_ON,
			 s->state == NODE_SLICES_READING);
}

static void walk_pair(enum node_slices_state state,
		      enum node_slices_event event, unsigned *met)
{
	for (unsigned facts = 0; facts < 1u << FACT_BITS; facts++) {
		struct node_slices s = {.state = state};
		struct node_slices_input in = {.event = event};
		enum node_slices_action action;
		struct node_slices before;

		if (!describe(facts, &s, &in))
			continue;
		before = s;
		action = node_slices_step(&s, &in);
		*met |= 1u << s.state;
		check_step(&before, &s, action);
	}
}

static void every_pair(void **arg)
{
	(void)arg;
	for (int i = 0; i < NODE_SLICES_STATES; i++) {
		for (int e = 0; e < NODE_SLICES_EVENTS; e++) {
			enum node_slices_state s = (enum node_slices_state)i;
			enum node_slices_event event =
				(enum node_slices_event)e;
			unsigned met = 0;

			assert_int_equal(node_slices_handles(s, event),
					 successors[i][e] != 0);
			if (successors[i][e])
				walk_pair(s, event, &met);
			if (met != successors[i][e])
				fail_msg("%s %s leads to %x, not %x",
					 node_slices_state_name(s),
					 node_slices_event_name(event), met,
					 successors[i][e]);
		}
	}
}

/* Whether a step ends the process. */
static bool is_asserted(enum node_slices_state state,
			enum node_slices_event event)
{
	const struct rlimit none = {0, 0};
	int status = 0;
	pid_t child = fork();

	if (!child) {
		struct node_slices s = {.state = state};
		const struct node_slices_input in = {.event = event};

		setrlimit(RLIMIT_CORE, &none);
		signal(SIGABRT, SIG_DFL);
		close(STDERR_FILENO);
		node_slices_step(&s, &in);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void impossible_pairs(void **arg)
{
	(void)arg;
	for (int s = 0; s < NODE_SLICES_STATES; s++) {
		for (int e = 0; e < NODE_SLICES_EVENTS; e++) {
			if (!successors[s][e])
				assert_true(
					is_asserted((enum node_slices_state)s,
						    (enum node_slices_event)e));
		}
	}
}

/* A slice whose fetches all break off ends the reply after two of them, and
 * each slice has its own. */
static void tries_of_a_slice(void **arg)
{
	struct node_slices s;
	struct node_slices_input found = {.event = NODE_SLICES_FOUND};
	struct node_slices_input fetched = {.event = NODE_SLICES_FETCHED,
					    .flight = NODE_SLICES_LEADS};
	struct node_slices_input ended = {.event = NODE_SLICES_ENDED};
	struct node_slices_input taken = {.event = NODE_SLICES_TAKEN};

	(void)arg;
	node_slices_init(&s, true);
	for (int slice = 0; slice < 3; slice++) {
		assert_int_equal(node_slices_step(&s, &found),
				 NODE_SLICES_FETCH);
		assert_int_equal(node_slices_step(&s, &fetched),
				 NODE_SLICES_SEND);
		assert_int_equal(node_slices_step(&s, &ended),
				 NODE_SLICES_LOOK);
		assert_int_equal(node_slices_step(&s, &found),
				 NODE_SLICES_FETCH);
		assert_int_equal(node_slices_step(&s, &fetched),
				 NODE_SLICES_SEND);
		if (slice < 2)
			assert_int_equal(node_slices_step(&s, &taken),
					 NODE_SLICES_LOOK);
	}
	assert_int_equal(node_slices_step(&s, &ended), NODE_SLICES_LOOK);
	assert_int_equal(node_slices_step(&s, &found), NODE_SLICES_FAIL);
}

static void take_no_memory(struct node_slices *s,
			   enum node_slices_action expected)
{
	const struct node_slices_input found = {.event = NODE_SLICES_FOUND};
	const struct node_slices_input fetched = {
		.event = NODE_SLICES_FETCHED, .flight = NODE_SLICES_NO_MEMORY};

	assert_int_equal(node_slices_step(s, &found), NODE_SLICES_FETCH);
	assert_int_equal(node_slices_step(s, &fetched), expected);
}

/* Where memory stays short, a slice waits a moment and then passes; the next
 * one does not wait, until one was stored again. */
static void memory_that_stays_short(void **arg)
{
	const struct node_slices_input timer = {.event = NODE_SLICES_TIMER};
	const struct node_slices_input passes = {
		.event = NODE_SLICES_FETCHED, .flight = NODE_SLICES_PASSES};
	const struct node_slices_input taken = {.event = NODE_SLICES_TAKEN};
	const struct node_slices_input found = {.event = NODE_SLICES_FOUND};
	const struct node_slices_input leads = {.event = NODE_SLICES_FETCHED,
						.flight = NODE_SLICES_LEADS};
	struct node_slices s;

	(void)arg;
	node_slices_init(&s, true);
	for (int i = 0; i < NODE_SLICES_PATIENCE; i++) {
		take_no_memory(&s, NODE_SLICES_PAUSE);
		assert_int_equal(node_slices_step(&s, &timer),
				 NODE_SLICES_LOOK);
	}
	for (int i = 0; i < 3; i++) {
		take_no_memory(&s, NODE_SLICES_PASS);
		assert_int_equal(node_slices_step(&s, &passes),
				 NODE_SLICES_SEND);
		assert_int_equal(s.state, NODE_SLICES_PASSING);
		assert_int_equal(node_slices_step(&s, &taken),
				 NODE_SLICES_LOOK);
	}
	node_slices_step(&s, &found);
	node_slices_step(&s, &leads);
	node_slices_step(&s, &taken);
	take_no_memory(&s, NODE_SLICES_PAUSE);
}

/* What passes breaks off, too: then the reply does, after two tries. */
static void passing_in_vain(void **arg)
{
	const struct node_slices_input passes = {
		.event = NODE_SLICES_FETCHED, .flight = NODE_SLICES_PASSES};
	const struct node_slices_input ended = {.event = NODE_SLICES_ENDED};
	const struct node_slices_input found = {.event = NODE_SLICES_FOUND};
	struct node_slices s;

	(void)arg;
	node_slices_init(&s, true);
	s.pauses = NODE_SLICES_PATIENCE;
	for (int i = 0; i < NODE_SLICES_TRIES; i++) {
		take_no_memory(&s, NODE_SLICES_PASS);
		node_slices_step(&s, &passes);
		assert_int_equal(node_slices_step(&s, &ended),
				 NODE_SLICES_LOOK);
	}
	assert_int_equal(node_slices_step(&s, &found), NODE_SLICES_FAIL);
}

/* Without memory for a window it goes on waiting, and not for ever. */
static void no_memory_at_all(void **arg)
{
	const struct node_slices_input none = {
		.event = NODE_SLICES_FETCHED, .flight = NODE_SLICES_NO_WINDOW};
	const struct node_slices_input timer = {.event = NODE_SLICES_TIMER};
	struct node_slices s;
	unsigned pauses = 0;

	(void)arg;
	node_slices_init(&s, true);
	s.pauses = NODE_SLICES_PATIENCE;
	do {
		take_no_memory(&s, NODE_SLICES_PASS);
		if (node_slices_step(&s, &none) == NODE_SLICES_FAIL)
			break;
		node_slices_step(&s, &timer);
	} while (++pauses < 2 * NODE_SLICES_PAUSES);
	assert_int_equal(pauses, NODE_SLICES_PAUSES - NODE_SLICES_PATIENCE);
}

/* What was fetched too early is fetched one by one, until there is room. */
static void reading_ahead(void **arg)
{
	struct node_slices_input found = { .event = NODE_SLICES_FOUND,
					   .gone = true };
	struct node_slices_input taken = { .event = NODE_SLICES_TAKEN };
	struct node_slices s;

	(void)arg;
	node_slices_init(&s, true);
	assert_int_equal(s.ahead, NODE_SLICES_AHEAD);
	node_slices_step(&s, &found);
	assert_int_equal(s.ahead, 1);
	found.gone = false;
	found.place = NODE_SLICES_IN_MEMORY;
	for (int i = 0; i < NODE_SLICES_AHEAD; i++) {
		node_slices_step(&s, &found);
		assert_int_equal(s.ahead, 1);
		node_slices_step(&s, &taken);
	}
	node_slices_step(&s, &found);
	assert_int_equal(s.ahead, NODE_SLICES_AHEAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pair),
		cmocka_unit_test(impossible_pairs),
		cmocka_unit_test(tries_of_a_slice),
		cmocka_unit_test(memory_that_stays_short),
		cmocka_unit_test(passing_in_vain),
		cmocka_unit_test(no_memory_at_all),
		cmocka_unit_test(reading_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
