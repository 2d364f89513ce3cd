/*
 * The machine of a request: every pair of the table with every set of facts,
 * and the pairs that are not in it.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "digestd/http/cachecontrol.h"
#include "digestd/http/fields.h"
#include "digestd/http/freshness.h"
#include "digestd/node/node_request.h"
#include "tests/unit.h"

#define S(state) (1u << NODE_##state)

/* Where a step may lead to; 0: the pair is impossible. */
/* clang-format off */
static const unsigned successors[NODE_REQUEST_STATES][NODE_EVENTS] = {
	[NODE_READING] = {
		[NODE_READ]  = S(WAITING) | S(SENDING),
		[NODE_LEFT]  = S(CLOSED),
	},
	[NODE_WAITING] = {
		[NODE_HEAD]  = S(WAITING) | S(FOLLOWING) | S(SENDING),
		[NODE_END]   = S(READING) | S(SENDING),
		[NODE_BROKE] = S(SENDING),
		[NODE_TIMER] = S(WAITING) | S(SENDING),
		[NODE_LEFT]  = S(CLOSED),
		[NODE_UP]    = S(WAITING),
	},
	[NODE_FOLLOWING] = {
		[NODE_MORE]  = S(FOLLOWING),
		[NODE_END]   = S(SENDING),
		[NODE_BROKE] = S(SENDING),
		[NODE_LEFT]  = S(CLOSED),
		[NODE_UP]    = S(FOLLOWING),
	},
	[NODE_SENDING] = {
		[NODE_READ]  = S(SENDING) | S(WAITING),
		[NODE_LEFT]  = S(CLOSED),
	},
	[NODE_CLOSED] = {
		[NODE_READ]  = S(CLOSED),
		[NODE_HEAD]  = S(CLOSED),
		[NODE_MORE]  = S(CLOSED),
		[NODE_END]   = S(CLOSED),
	},
};
/* clang-format on */

enum { FACT_BITS = 13 }; /* that describe(), below, takes */

static void describe(unsigned facts, struct node_request *q,
		     struct node_request_input *in)
{
	q->from_peer = facts & 1;
	q->alone = facts & 2;
	q->reading = facts & 4;
	q->waiting = facts & 8;
	in->found = (enum node_found)(facts >> 4 & 3);
	in->damaged = facts & 64;
	in->only_if_cached = facts & 128;
	in->no_memory = facts & 256;
	in->shareable = facts & 512;
	in->own = in->usable = facts & 1024;
	in->waits = facts & 2048;
	in->beside = facts & 4096;
}

static bool is_reply(enum node_request_action action)
{
	switch (action) {
	case NODE_DO_REPLY_STORED:
	case NODE_DO_REPLY_STORED_AND_RENEW:
	case NODE_DO_REPLY_STALE:
	case NODE_DO_REPLY_NOT_HERE:
	case NODE_DO_REPLY_ONLY_IF_CACHED:
	case NODE_DO_REPLY_BUSY:
		return true;
	case NODE_DO_NOTHING:
	case NODE_DO_FIND:
	case NODE_DO_JOIN:
	case NODE_DO_ASK:
	case NODE_DO_FOLLOW:
	case NODE_DO_SEND:
	case NODE_DO_WAKE:
	case NODE_DO_WAKE_LAST:
	case NODE_DO_UPLOAD:
	case NODE_DO_LEAVE:
	case NODE_DO_END:
		break;
	}
	return false;
}

static void check_step(const struct node_request *before,
		       const struct node_request_input *in,
		       const struct node_request *q,
		       enum node_request_action action)
{
	bool asks = action == NODE_DO_ASK || action == NODE_DO_JOIN;

	/* who is answered sends, and who sends is not answered again, but for
	 * a body that could not be read */
	if (is_reply(action))
		assert_int_equal(q->state, NODE_SENDING);
	if (is_reply(action) && before->state == NODE_SENDING)
		assert_true(in->damaged);
	/* a peer gets what is stored, here or beside this node, or waits for
	 * what others fetch */
	if (before->from_peer && before->state == NODE_READING)
		assert_true(in->event == NODE_LEFT ||
			    action == NODE_DO_REPLY_STORED ||
			    action == NODE_DO_REPLY_NOT_HERE ||
			    (action == NODE_DO_JOIN && in->waits) ||
			    (action == NODE_DO_ASK && in->beside));
	if (before->from_peer && action == NODE_DO_ASK)
		assert_true(in->event == NODE_READ && in->beside &&
			    !in->no_memory);
	/* a peer never gets what is stale, and who gets it waits for nothing */
	if (action == NODE_DO_REPLY_STALE)
		assert_true(!q->from_peer && in->usable && !q->waiting);
	if (asks) {
		assert_int_equal(q->state, NODE_WAITING);
		assert_false(in->event == NODE_READ && in->only_if_cached &&
			     !before->from_peer);
	}
	/* who has waited once goes alone */
	if (action == NODE_DO_JOIN)
		assert_false(before->alone);
	if (action == NODE_DO_FIND)
		assert_true(q->alone);
	/* its fill has ended: nobody takes its body any more, or UP */
	if (action == NODE_DO_WAKE_LAST)
		assert_true(before->state == NODE_FOLLOWING &&
			    in->event != NODE_MORE);
	assert_int_equal(node_request_drops_upload(q),
			 q->state == NODE_SENDING);
	assert_false(node_request_drops_upload(q) &&
		     node_request_handles(q->state, NODE_UP));
	if (before->state == NODE_FOLLOWING && q->state == NODE_SENDING)
		assert_int_equal(action, NODE_DO_WAKE_LAST);
	/* nothing is done for who is gone */
	if (before->state == NODE_CLOSED)
		assert_int_equal(action, NODE_DO_END);
}

static void walk_pair(enum node_request_state state, enum node_event event,
		      unsigned *met)
{
	for (unsigned facts = 0; facts < 1u << FACT_BITS; facts++) {
		struct node_request q = { .state = state };
		struct node_request_input in = { .event = event };
		enum node_request_action action;
		struct node_request before;

		describe(facts, &q, &in);
		before = q;
		action = node_request_step(&q, &in);
		*met |= 1u << q.state;
		check_step(&before, &in, &q, action);
	}
}

static void every_pair(void **arg)
{
	(void)arg;
	for (int s = 0; s < NODE_REQUEST_STATES; s++) {
		for (int e = 0; e < NODE_EVENTS; e++) {
			enum node_request_state q = (enum node_request_state)s;
			enum node_event event = (enum node_event)e;
			unsigned met = 0;

			assert_int_equal(node_request_handles(q, event),
					 successors[s][e] != 0);
			if (successors[s][e])
				walk_pair(q, event, &met);
			if (met != successors[s][e])
				fail_msg("%s %s leads to %x, not %x",
					 node_request_state_name(q),
					 node_event_name(event), met,
					 successors[s][e]);
		}
	}
}

/* Whether a step ends the process. */
static bool is_asserted(enum node_request_state state, enum node_event event)
{
	const struct rlimit none = { 0, 0 };
	int status = 0;
	pid_t child = fork();

	if (!child) {
		struct node_request q = { .state = state };
		const struct node_request_input in = { .event = event };

		setrlimit(RLIMIT_CORE, &none);
		signal(SIGABRT, SIG_DFL);
		close(STDERR_FILENO);
		node_request_step(&q, &in);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void impossible_pairs(void **arg)
{
	(void)arg;
	for (int s = 0; s < NODE_REQUEST_STATES; s++) {
		for (int e = 0; e < NODE_EVENTS; e++) {
			if (!successors[s][e])
				assert_true(is_asserted(
					(enum node_request_state)s,
					(enum node_event)e));
		}
	}
}

/* Waits for another's fill, of which nothing is stored: then asks itself. */
static void a_wait_for_nothing(void **arg)
{
	struct node_request q = { .state = NODE_READING };
	const struct node_request_input none = {
		.event = NODE_READ, .shareable = true
	};
	const struct node_request_input landed = { .event = NODE_END };

	(void)arg;
	assert_int_equal(node_request_step(&q, &none), NODE_DO_JOIN);
	assert_int_equal(node_request_joined(&q, NODE_JOINED_WAITS),
			 NODE_DO_NOTHING);
	assert_true(q.waiting);
	assert_int_equal(node_request_step(&q, &landed), NODE_DO_FIND);
	assert_int_equal(node_request_step(&q, &none), NODE_DO_ASK);
	assert_int_equal(q.state, NODE_WAITING);
	assert_false(q.waiting);
}

/* Another worker has stored it between the miss and the joining. */
static void a_miss_that_is_none(void **arg)
{
	struct node_request q = { .state = NODE_READING };
	const struct node_request_input none = {
		.event = NODE_READ, .shareable = true
	};
	const struct node_request_input fresh = {
		.event = NODE_READ, .found = NODE_FOUND_FRESH
	};

	(void)arg;
	assert_int_equal(node_request_step(&q, &none), NODE_DO_JOIN);
	assert_int_equal(node_request_joined(&q, NODE_JOINED_STORED),
			 NODE_DO_NOTHING);
	assert_int_equal(node_request_step(&q, &fresh), NODE_DO_REPLY_STORED);
}

/* The client leaves while the disk reads for it. */
static void a_read_that_comes_late(void **arg)
{
	struct node_request q = { .state = NODE_READING, .reading = true };
	const struct node_request_input left = { .event = NODE_LEFT };
	const struct node_request_input read = { .event = NODE_READ };

	(void)arg;
	assert_int_equal(node_request_step(&q, &left), NODE_DO_LEAVE);
	assert_false(node_request_is_over(&q));
	assert_int_equal(node_request_step(&q, &read), NODE_DO_END);
	assert_true(node_request_is_over(&q));
}

enum { NOW_S = 1000000, NONE = CACHECONTROL_NONE };

/* A response of so many seconds, so old; and the request's Cache-Control. */
/* clang-format off */
static const struct {
	int64_t lifetime_s, age_s, revalidate_s;
	bool never_stale;
	const char *cc; /* null: none */
	enum node_found found;
	enum cachestatus_fwd why; /* of what is to be asked about */
	bool can_follow;
} stored_rows[] = {
	{ 60, 10, NONE, false, NULL, NODE_FOUND_FRESH, 0, true },
	{ 60, 60, NONE, false, NULL, NODE_FOUND_STALE, CACHESTATUS_STALE, false },
	{ 60, 69, 10, false, NULL, NODE_FOUND_WHILE_REVALIDATE, 0, false },
	{ 60, 70, 10, false, NULL, NODE_FOUND_STALE, CACHESTATUS_STALE, false },
	{ 60, 69, 10, true, NULL, NODE_FOUND_STALE, CACHESTATUS_STALE, false },
	{ 60, 70, NONE, false, "max-stale=10", NODE_FOUND_FRESH, 0, false },
	{ 60, 71, NONE, false, "max-stale=10", NODE_FOUND_STALE, CACHESTATUS_STALE, false },
	{ 60, 10, NONE, false, "max-age=10", NODE_FOUND_FRESH, 0, true },
	{ 60, 11, NONE, false, "max-age=10", NODE_FOUND_STALE, CACHESTATUS_REQUEST, false },
	{ 60, 11, NONE, false, "min-fresh=50", NODE_FOUND_STALE, CACHESTATUS_REQUEST, false },
	{ 60, 0, NONE, false, "no-cache", NODE_FOUND_STALE, CACHESTATUS_REQUEST, false },
};
/* clang-format on */

static void what_is_here(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < NROWS(stored_rows); i++) {
		const struct freshness_spans spans = {
			.born_s = NOW_S - stored_rows[i].age_s,
			.lifetime_s = stored_rows[i].lifetime_s,
			.stale_if_error_s = NONE,
			.stale_while_revalidate_s = stored_rows[i].revalidate_s,
		};
		struct freshness freshness = {
			.never_stale = stored_rows[i].never_stale,
		};
		struct cachecontrol cc;
		const struct node_stored stored = {&freshness, &cc, NOW_S};
		struct fields request;

		fields_init(&request);
		if (stored_rows[i].cc)
			assert_int_equal(fields_add(&request, "Cache-Control",
						    stored_rows[i].cc), 0);
		cachecontrol_request(&request, &cc);
		freshness_set(&freshness, &spans);
		if (node_request_found(&stored) != stored_rows[i].found ||
		    node_request_can_follow(&stored, &fields_none, &request) !=
			    stored_rows[i].can_follow)
			fail_msg("row %zu", i);
		if (stored_rows[i].found == NODE_FOUND_STALE)
			assert_int_equal(node_request_why_asked(&stored),
					 stored_rows[i].why);
		fields_free(&request);
	}
}

/* What a peer is told of what has gone stale 20 s ago. */
static void when_a_peer_may_have_it(void **arg)
{
	/* clang-format off */
	static const struct {
		int64_t on_error_s;
		bool never;
		unsigned on_disconnect_s;
		enum cachestatus_usable usable;
	} rows[] = {
		{ NONE, false, 0, CACHESTATUS_USABLE_NO },
		{ NONE, false, 20, CACHESTATUS_USABLE_NO },
		{ NONE, false, 21, CACHESTATUS_USABLE_ON_DISCONNECT },
		{ 21, false, 0, CACHESTATUS_USABLE_ON_ERROR },
		{ 20, false, 60, CACHESTATUS_USABLE_NO },
		{ 21, true, 60, CACHESTATUS_USABLE_NO },
	};
	/* clang-format on */

	(void)arg;
	for (size_t i = 0; i < NROWS(rows); i++) {
		const struct freshness_spans spans = {
			.born_s = NOW_S - 80,
			.lifetime_s = 60,
			.stale_if_error_s = rows[i].on_error_s,
			.stale_while_revalidate_s = NONE,
		};
		struct freshness freshness = { .never_stale = rows[i].never };
		const struct node_stored stored = { &freshness, NULL, NOW_S };

		freshness_set(&freshness, &spans);
		assert_int_equal(node_request_usable(&stored,
						     rows[i].on_disconnect_s),
				 rows[i].usable);
	}
}

/* What was chosen by a field answers only who has the same. */
static void who_may_follow(void **arg)
{
	const struct freshness_spans spans = { .born_s = NOW_S,
					       .lifetime_s = 60 };
	struct freshness freshness = { 0 };
	struct cachecontrol cc;
	const struct node_stored shown = {&freshness, &cc, NOW_S};
	struct fields selecting, same, other;

	(void)arg;
	freshness_set(&freshness, &spans);
	fields_init(&selecting);
	fields_init(&same);
	fields_init(&other);
	assert_int_equal(fields_add(&selecting, "accept", "a/b"), 0);
	assert_int_equal(fields_add(&same, "Accept", "a/b"), 0);
	assert_int_equal(fields_add(&other, "Accept", "a/c"), 0);
	cachecontrol_request(&same, &cc);
	assert_true(node_request_can_follow(&shown, &selecting, &same));
	assert_false(node_request_can_follow(&shown, &selecting, &other));
	fields_free(&selecting);
	fields_free(&same);
	fields_free(&other);
}

/* A peer that waits leads nothing: where there is nothing to wait for, it is
 * told so; and so it is after having waited in vain. */
static void a_peer_waits(void **arg)
{
	struct node_request q = { .from_peer = true, .reading = true };
	struct node_request_input in = { .event = NODE_READ,
					 .only_if_cached = true,
					 .waits = true };

	(void)arg;
	assert_int_equal(node_request_step(&q, &in), NODE_DO_JOIN);
	assert_int_equal(node_request_joined(&q, NODE_JOINED_NOTHING),
			 NODE_DO_REPLY_NOT_HERE);
	assert_int_equal(q.state, NODE_SENDING);

	q = (struct node_request){ .from_peer = true, .reading = true };
	assert_int_equal(node_request_step(&q, &in), NODE_DO_JOIN);
	assert_int_equal(node_request_joined(&q, NODE_JOINED_WAITS),
			 NODE_DO_NOTHING);
	in.event = NODE_END;
	assert_int_equal(node_request_step(&q, &in), NODE_DO_FIND);
	in.event = NODE_READ;
	assert_int_equal(node_request_step(&q, &in), NODE_DO_REPLY_NOT_HERE);
}

/* The cache beside this node is asked at once, whether the peer would wait or
 * not, but for what is stored here. */
static void a_cache_beside_is_asked(void **arg)
{
	struct node_request q = { .from_peer = true, .reading = true };
	struct node_request_input in = { .event = NODE_READ,
					 .only_if_cached = true,
					 .beside = true };

	(void)arg;
	for (int waits = 0; waits < 2; waits++) {
		q = (struct node_request){ .from_peer = true, .reading = true };
		in.waits = waits;
		assert_int_equal(node_request_step(&q, &in), NODE_DO_ASK);
		assert_int_equal(q.state, NODE_WAITING);
	}
	q = (struct node_request){ .from_peer = true, .reading = true };
	in.no_memory = true;
	in.waits = false;
	assert_int_equal(node_request_step(&q, &in), NODE_DO_REPLY_NOT_HERE);
	q = (struct node_request){ .from_peer = true, .reading = true };
	in.found = NODE_FOUND_FRESH;
	assert_int_equal(node_request_step(&q, &in), NODE_DO_REPLY_STORED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_here),
		cmocka_unit_test(when_a_peer_may_have_it),
		cmocka_unit_test(who_may_follow),
		cmocka_unit_test(every_pair),
		cmocka_unit_test(a_peer_waits),
		cmocka_unit_test(a_cache_beside_is_asked),
		cmocka_unit_test(impossible_pairs),
		cmocka_unit_test(a_wait_for_nothing),
		cmocka_unit_test(a_miss_that_is_none),
		cmocka_unit_test(a_read_that_comes_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
