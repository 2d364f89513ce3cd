/*
 * The machine of a fill: the table, pair by pair, and what must hold after
 * every step, whatever the facts are.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "digestd/node/node_fill.h"
#include "tests/unit.h"

#define S(state) (1u << NODE_##state)

/* Where a step may lead to; 0: the pair is impossible. */
/* clang-format off */
static const unsigned successors[NODE_FILL_STATES][NODE_EVENTS] = {
	[NODE_LANDED] = {
		[NODE_ROOM] = S(LANDED), [NODE_LEFT] = S(LANDED),
	},
	[NODE_ASK_PEER] = {
		/* ASK_PEER: until node_fill_admitted() */
		[NODE_HEAD]  = S(ASK_PEER) | S(COLLECT_PEER) | S(CUT) |
			       S(LANDED),
		[NODE_BROKE] = S(LANDED),
		[NODE_TIMER] = S(ASK_PEER),
		[NODE_LEFT]  = S(ASK_PEER) | S(LANDED),
	},
	[NODE_COLLECT_PEER] = {
		[NODE_MORE]  = S(COLLECT_PEER) | S(SHOW_PEER) | S(LANDED),
		[NODE_END]   = S(LANDED),
		[NODE_BROKE] = S(LANDED),
		[NODE_TIMER] = S(LANDED),
		[NODE_LEFT]  = S(COLLECT_PEER) | S(LANDED),
	},
	[NODE_SHOW_PEER] = {
		[NODE_MORE]  = S(SHOW_PEER) | S(LANDED),
		[NODE_END]   = S(LANDED),
		[NODE_BROKE] = S(REJOIN) | S(LANDED),
		[NODE_TIMER] = S(SHOW_PEER) | S(REJOIN),
		[NODE_ROOM]  = S(SHOW_PEER),
		[NODE_LEFT]  = S(SHOW_PEER) | S(LANDED),
	},
	[NODE_REJOIN] = {
		[NODE_HEAD]  = S(REJOIN) | S(LANDED),
		[NODE_MORE]  = S(REJOIN) | S(SHOW_ORIGIN) | S(LANDED),
		[NODE_END]   = S(LANDED),
		[NODE_BROKE] = S(LANDED),
		[NODE_ROOM]  = S(REJOIN),
		[NODE_LEFT]  = S(REJOIN) | S(LANDED),
	},
	[NODE_ASK_ORIGIN] = {
		[NODE_HEAD]  = S(ASK_ORIGIN) | S(SHOW_ORIGIN) | S(CUT) |
			       S(LANDED),
		[NODE_BROKE] = S(LANDED),
		[NODE_TIMER] = S(ASK_ORIGIN) | S(LANDED),
		[NODE_LEFT]  = S(ASK_ORIGIN) | S(LANDED),
		[NODE_UP]    = S(ASK_ORIGIN) | S(LANDED),
	},
	[NODE_COLLECT_ORIGIN] = {
		[NODE_MORE]  = S(COLLECT_ORIGIN) | S(SHOW_ORIGIN) | S(LANDED),
		[NODE_END]   = S(LANDED),
		[NODE_BROKE] = S(LANDED),
		[NODE_TIMER] = S(SHOW_ORIGIN),
		[NODE_LEFT]  = S(COLLECT_ORIGIN) | S(LANDED),
		[NODE_UP]    = S(COLLECT_ORIGIN) | S(LANDED),
	},
	[NODE_SHOW_ORIGIN] = {
		[NODE_MORE]  = S(SHOW_ORIGIN) | S(LANDED),
		[NODE_END]   = S(LANDED),
		[NODE_BROKE] = S(LANDED),
		[NODE_ROOM]  = S(SHOW_ORIGIN),
		[NODE_LEFT]  = S(SHOW_ORIGIN) | S(LANDED),
		[NODE_UP]    = S(SHOW_ORIGIN) | S(LANDED),
	},
	[NODE_CUT] = {
		[NODE_MORE]  = S(CUT) | S(LANDED),
		[NODE_END]   = S(LANDED),
		[NODE_BROKE] = S(LANDED),
		[NODE_TIMER] = S(CUT) | S(LANDED),
		[NODE_LEFT]  = S(CUT),
	},
};
/* clang-format on */

enum {
	REPLIES = NODE_REPLY_STORED | NODE_REPLY_WHOLE | NODE_REPLY_STALE |
		  NODE_REPLY_ERROR | NODE_REPLY_BUSY | NODE_REPLY_STREAM,
	NEED_SOURCE = NODE_RESUME | NODE_UPLOAD | NODE_TAKE | NODE_REFUSE |
		      NODE_SET_TIMER | NODE_ADMIT,
	FACT_BITS = 17, /* that describe(), below, takes */
};

/* Whether there is a fill with slices of these facts. */
static bool has_slices(const struct node_fill *f,
		       const struct node_fill_input *in)
{
	bool asks = f->state == NODE_ASK_PEER || f->state == NODE_ASK_ORIGIN;

	if (f->state == NODE_CUT &&
	    (f->keep == NODE_KEEP_YES || f->taken_over ||
	     f->purpose == NODE_FOR_PROBE))
		return false;
	if (f->purpose == NODE_FOR_PASSING)
		return f->client && f->keep != NODE_KEEP_YES &&
		       !f->taken_over && in->event != NODE_UP &&
		       (f->state == NODE_ASK_ORIGIN ||
			f->state == NODE_SHOW_ORIGIN) &&
		       (in->event != NODE_HEAD ||
			in->head == NODE_HEAD_UNUSABLE ||
			in->head >= NODE_HEAD_NOMEM);
	if (f->purpose == NODE_FOR_SLICES)
		return !f->client && f->keep != NODE_KEEP_YES &&
		       (asks || f->state == NODE_CUT) &&
		       (in->event != NODE_HEAD ||
			in->head == NODE_HEAD_UNUSABLE ||
			in->head >= NODE_HEAD_NOMEM);
	if (!asks || in->event != NODE_HEAD)
		return true;
	return in->head == NODE_HEAD_SLICES ? f->client :
					      in->head != NODE_HEAD_CHANGED;
}

/* A fill in a state, and an event, of numbered facts. Returns false where there
 * is no such fill. */
static bool describe(unsigned facts, struct node_fill *f,
		     struct node_fill_input *in)
{
	f->keep = facts & 1 ? NODE_KEEP_YES : NODE_KEEP_NO;
	f->client = facts & 2;
	f->peer_cut = f->state == NODE_CUT && (facts & 8 ||
					       in->event == NODE_TIMER);
	f->purpose = facts & 8192 ? NODE_FOR_PASSING :
		     facts & 4096 && facts & 4 ? NODE_FOR_COPY :
		     facts & 4096 ? NODE_FOR_SLICES :
		     facts & 16384 ? NODE_FOR_RENEWAL :
		     facts & 4	  ? NODE_FOR_PROBE :
				    NODE_FOR_CLIENT;
	f->get = facts & 8;
	f->strong_tag = facts & 8;
	f->taken_over = facts & 16 || f->state == NODE_REJOIN;
	f->body_len = facts & 32 ? 1000 : -1;
	f->received = f->state == NODE_CUT && facts & 64 ? 6000 : 600;
	f->cut = 600;
	f->rejoined = facts & 64 ? 600 : 100;
	f->credit = facts & 128 ? 0 : 500;
	f->max_bytes = facts & 256 ? 100 : 1000000;
	in->head = (enum node_head)(facts >> 9 & 7);
	/* whose slices pass, asks again by itself */
	in->retry = facts & 32768 && f->purpose != NODE_FOR_PASSING;
	if (facts & 65536)
		in->head = NODE_HEAD_RETRY;
	in->room = facts & 512;
	/* for slices nothing is asked about */
	in->stale_usable = in->room && f->purpose != NODE_FOR_PASSING;
	in->same = in->too_large = in->no_memory = facts & 1024;
	in->wanted = in->by_close = in->completes = facts & 2048;
	/* a client that has waited for long enough has seen nothing yet */
	in->renews = in->event == NODE_LEFT && facts & 512 &&
		     f->purpose == NODE_FOR_CLIENT &&
		     (node_fill_asks(f) || f->state == NODE_COLLECT_PEER ||
		      f->state == NODE_COLLECT_ORIGIN);
	in->len = 400;
	in->waiting = facts & 512 ? 0 : 1000;
	in->window = 1000;
	in->status = 502;
	if (!has_slices(f, in))
		return false;
	if (f->purpose == NODE_FOR_RENEWAL && (f->client || facts & 4))
		return false;
	if (f->purpose == NODE_FOR_COPY &&
	    (f->client || f->state == NODE_CUT || f->taken_over ||
	     f->state > NODE_SHOW_PEER ||
	     (in->event == NODE_HEAD && in->head == NODE_HEAD_SLICES)))
		return false;
	if (f->purpose == NODE_FOR_PROBE &&
	    (f->client || f->keep == NODE_KEEP_YES ||
	     (f->state != NODE_ASK_PEER && f->state != NODE_COLLECT_PEER)))
		return false;
	if (f->keep == NODE_KEEP_YES &&
	    (f->state == NODE_LANDED || f->state == NODE_ASK_PEER ||
	     f->state == NODE_ASK_ORIGIN))
		return false;
	if (!f->client && (in->event == NODE_UP || in->event == NODE_LEFT))
		return false;
	if (in->head == NODE_HEAD_RETRY &&
	    (f->state != NODE_ASK_ORIGIN || f->purpose == NODE_FOR_PASSING))
		return false;
	if (in->event == NODE_HEAD && f->state == NODE_ASK_ORIGIN)
		return (f->client || in->head != NODE_HEAD_STALE) &&
		       (in->head != NODE_HEAD_UNUSABLE ||
			node_fill_is_for_slices(f));
	return true;
}

static unsigned bits_of(uint32_t set)
{
	return (unsigned)__builtin_popcount(set);
}

/* What renews is not given up for want of a client. */
static void check_renewal(const struct node_fill *before,
			  const struct node_fill *f)
{
	assert_int_equal(f->purpose, NODE_FOR_RENEWAL);
	assert_false(f->client);
	if (node_fill_asks(before) || before->keep == NODE_KEEP_YES)
		assert_int_equal(f->state, before->state);
}

static void check_step(const struct node_fill *before,
		       const struct node_fill *f,
		       const struct node_fill_step *step)
{
	bool landed = f->state == NODE_LANDED;
	bool had_source = before->state != NODE_LANDED;
	uint32_t does = step->actions;

	/* who has left is not answered, and nobody is answered twice */
	if (!before->client)
		assert_false(does & (REPLIES | NODE_WAKE));
	assert_true(bits_of(does & (REPLIES | NODE_CONFIRM)) <= 1);
	/* whose slices pass, has a reply, and is told of the end */
	if (before->purpose == NODE_FOR_PASSING) {
		assert_false(does & (REPLIES | NODE_STORE | NODE_COUNT_MISS));
		if (landed && f->client)
			assert_true(does & NODE_WAKE);
	}
	/* nobody asks, resumes or times what is gone */
	if (landed || does & NODE_STOP)
		assert_false(does & NEED_SOURCE);
	assert_false(does & NODE_TAKE && does & NODE_REFUSE);
	/* the end is told, and leaves nothing behind */
	if (landed && had_source && !(does & NODE_REPLY_ERROR))
		assert_true(step->then == NODE_THEN_END ||
			    step->then == NODE_THEN_NEXT);
	if (landed)
		assert_int_equal(f->keep, NODE_KEEP_NO);
	if (step->then == NODE_THEN_NEXT)
		assert_true(before->client ||
			    before->purpose == NODE_FOR_SLICES ||
			    before->purpose == NODE_FOR_RENEWAL ||
			    before->state == NODE_ASK_ORIGIN ||
			    before->state == NODE_COLLECT_ORIGIN);
	/* who has joined is let go, by one or the other */
	if (landed && had_source && step->then == NODE_THEN_END &&
	    before->purpose != NODE_FOR_PROBE)
		assert_int_equal(bits_of(does & (NODE_STORE | NODE_LAND)), 1);
	/* what broke off is not stored, nor a whole reply */
	if (f->result == NODE_BROKEN)
		assert_false(does & (NODE_STORE | NODE_REPLY_STORED |
				     NODE_REPLY_WHOLE));
	/* what is cut: its head, and slices that are whole */
	if (does & NODE_STORE_SLICE)
		assert_true(does & NODE_TAKE && f->state == NODE_CUT);
	if (does & NODE_STORE && f->state != NODE_CUT)
		assert_true(f->result == NODE_WHOLE &&
			    before->keep == NODE_KEEP_YES);
}

static void walk_pair(enum node_fill_state state, enum node_event event,
		      unsigned *met)
{
	for (unsigned facts = 0; facts < 1u << FACT_BITS; facts++) {
		struct node_fill f = { .state = state };
		struct node_fill_input in = { .event = event };
		struct node_fill before;
		struct node_fill_step step;

		if (!describe(facts, &f, &in))
			continue;
		before = f;
		step = node_fill_step(&f, &in);
		if (!(successors[state][event] & 1u << f.state))
			fail_msg("%s %s leads to %s",
				 node_fill_state_name(state),
				 node_event_name(event),
				 node_fill_state_name(f.state));
		*met |= 1u << f.state;
		check_step(&before, &f, &step);
		if (in.renews)
			check_renewal(&before, &f);
	}
}

/* Every pair leads where the table here says, to all of these, and what holds
 * always holds. */
static void every_pair(void **arg)
{
	(void)arg;
	for (int s = 0; s < NODE_FILL_STATES; s++) {
		for (int e = 0; e < NODE_EVENTS; e++) {
			enum node_fill_state state = (enum node_fill_state)s;
			enum node_event event = (enum node_event)e;
			unsigned met = 0;

			assert_int_equal(node_fill_handles(state, event),
					 successors[s][e] != 0);
			if (!successors[s][e])
				continue;
			walk_pair(state, event, &met);
			if (met != successors[s][e])
				fail_msg("%s %s leads to %x, not %x",
					 node_fill_state_name(state),
					 node_event_name(event), met,
					 successors[s][e]);
		}
	}
}

/* Of a peer whose answer is cut, the first slice that is whole is a hit, and
 * nothing else: one that breaks off before has failed. */
static void a_header_of_slices_is_no_hit(void **arg)
{
	struct node_fill f = { .state = NODE_ASK_PEER, .client = true };
	struct node_fill_input in = { .event = NODE_HEAD,
				      .head = NODE_HEAD_SLICES };
	uint32_t does;

	(void)arg;
	assert_false(node_fill_step(&f, &in).actions & NODE_RECORD_HIT);
	assert_int_equal(f.state, NODE_CUT);
	in = (struct node_fill_input){ .event = NODE_MORE,
				       .room = true, .len = 100 };
	assert_false(node_fill_step(&f, &in).actions & NODE_RECORD_HIT);
	in.completes = true;
	does = node_fill_step(&f, &in).actions;
	assert_true(does & NODE_RECORD_HIT && does & NODE_STORE_SLICE);
	does = node_fill_step(&f, &in).actions;
	assert_true(!(does & NODE_RECORD_HIT) && does & NODE_STORE_SLICE);
}

/* Whether a step ends the process. */
static bool is_asserted(enum node_fill_state state, enum node_event event)
{
	const struct rlimit none = { 0, 0 };
	int status = 0;
	pid_t child = fork();

	if (!child) {
		struct node_fill f = { .state = state };
		const struct node_fill_input in = { .event = event };

		setrlimit(RLIMIT_CORE, &none);
		signal(SIGABRT, SIG_DFL);
		close(STDERR_FILENO);
		node_fill_step(&f, &in);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void impossible_pairs(void **arg)
{
	(void)arg;
	for (int s = 0; s < NODE_FILL_STATES; s++) {
		for (int e = 0; e < NODE_EVENTS; e++) {
			if (!successors[s][e])
				assert_true(is_asserted(
					(enum node_fill_state)s,
					(enum node_event)e));
		}
	}
}

/* What a peer confirms is its answer, and nobody waits for a body; what it does
 * not, goes to the origin, for who has no client, too. */
static void a_peer_confirms(void **arg)
{
	/* clang-format off */
	static const struct {
		enum node_purpose purpose;
		bool client;
		enum node_head head;
		uint32_t actions;
		enum node_fill_then then;
	} rows[] = {
		{ NODE_FOR_CLIENT, true, NODE_HEAD_CONFIRMS, NODE_CONFIRM | NODE_RECORD_HIT, NODE_THEN_END },
		{ NODE_FOR_RENEWAL, false, NODE_HEAD_CONFIRMS, NODE_CONFIRM | NODE_RECORD_HIT, NODE_THEN_END },
		{ NODE_FOR_PROBE, false, NODE_HEAD_CONFIRMS, NODE_RECORD_VERDICT, NODE_THEN_END },
		{ NODE_FOR_CLIENT, true, NODE_HEAD_UNUSABLE, NODE_RECORD_VERDICT, NODE_THEN_NEXT },
		{ NODE_FOR_CLIENT, false, NODE_HEAD_UNUSABLE, NODE_RECORD_VERDICT, NODE_THEN_END },
		{ NODE_FOR_RENEWAL, false, NODE_HEAD_UNUSABLE, NODE_RECORD_VERDICT, NODE_THEN_NEXT },
	};
	/* clang-format on */
	const uint32_t all = NODE_CONFIRM | NODE_RECORD_HIT |
			     NODE_RECORD_VERDICT | NODE_RECORD_ERROR;

	(void)arg;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct node_fill f = { .state = NODE_ASK_PEER,
				       .client = rows[i].client,
				       .purpose = rows[i].purpose };
		const struct node_fill_input in = { .event = NODE_HEAD,
						    .head = rows[i].head };
		const struct node_fill_step step = node_fill_step(&f, &in);

		if ((step.actions & all) != rows[i].actions ||
		    step.then != rows[i].then || f.state != NODE_LANDED)
			fail_msg("row %zu", i);
	}
}

/* A peer of 1,000 bytes breaks off after 600; the origin sends all, in pieces
 * of 350: the second is in part new. */
static void a_takeover(void **arg)
{
	struct node_fill f = {
		.state = NODE_SHOW_PEER, .keep = NODE_KEEP_YES, .get = true,
		.client = true, .body_len = 1000, .received = 600,
		.credit = UINT64_MAX, .max_bytes = 10000,
	};
	struct node_fill_input in = { .event = NODE_BROKE };

	(void)arg;
	assert_int_equal(node_fill_step(&f, &in).then, NODE_THEN_TAKE_OVER);
	assert_int_equal(f.state, NODE_REJOIN);
	assert_true(node_fill_compares(&f));
	in = (struct node_fill_input){ .event = NODE_HEAD };
	node_fill_step(&f, &in);
	in = (struct node_fill_input){
		.event = NODE_MORE, .len = 350, .room = true, .same = true
	};
	assert_int_equal(node_fill_repeated(&f, 350), 350);
	assert_int_equal(node_fill_step(&f, &in).actions, 0);
	assert_int_equal(node_fill_repeated(&f, 350), 250);
	assert_int_equal(node_fill_step(&f, &in).actions, NODE_AGAIN);
	assert_int_equal(f.state, NODE_SHOW_ORIGIN);
	assert_false(node_fill_compares(&f)); /* they were, and come again */
	assert_int_equal(node_fill_repeated(&f, 350), 250);
	assert_int_equal(node_fill_step(&f, &in).actions,
			 NODE_TAKE | NODE_WAKE);
	assert_int_equal(f.received, 700);
	assert_int_equal(node_fill_repeated(&f, 300), 0);
	in.len = 300;
	node_fill_step(&f, &in);
	in = (struct node_fill_input){ .event = NODE_END };
	assert_int_equal(node_fill_step(&f, &in).actions,
			 NODE_STORE | NODE_WAKE | NODE_COUNT_MISS |
				 NODE_CLEAR_TIMER);
	assert_int_equal(f.result, NODE_WHOLE);
}

/* The piece that is new in part is refused, while the client is behind: it
 * comes again with what is repeated of it. */
static void a_takeover_without_credit(void **arg)
{
	struct node_fill f = {
		.state = NODE_REJOIN, .get = true, .client = true,
		.taken_over = true, .strong_tag = true, .body_len = 1000,
		.received = 600, .cut = 600, .rejoined = 500,
		.credit = UINT64_MAX, .max_bytes = 10000,
	};
	struct node_fill_input in = {
		.event = NODE_MORE, .len = 300, .room = true, .same = true,
		.waiting = 64, .window = 64,
	};

	(void)arg;
	assert_false(node_fill_compares(&f)); /* its tag has said it */
	assert_int_equal(node_fill_step(&f, &in).actions, NODE_AGAIN);
	assert_int_equal(node_fill_step(&f, &in).actions, NODE_REFUSE);
	assert_int_equal(f.credit, 0);
	assert_int_equal(f.received, 600);
	in.event = NODE_ROOM;
	in.waiting = 33;
	assert_int_equal(node_fill_step(&f, &in).actions, 0);
	in.waiting = 32;
	assert_int_equal(node_fill_step(&f, &in).actions, NODE_RESUME);
	assert_int_equal(f.credit, 32);
	in.event = NODE_MORE;
	assert_int_equal(node_fill_repeated(&f, 300), 100);
	assert_int_equal(node_fill_step(&f, &in).actions,
			 NODE_TAKE | NODE_WAKE);
	assert_int_equal(f.received, 800);
}

/* A peer that stands still has its time from its last byte on, or from when
 * the client took one; one that sends enough, for as long as it does. */
static void the_pace_of_a_peer(void **arg)
{
	struct node_fill f = {
		.state = NODE_SHOW_PEER, .client = true, .get = true,
		.strong_tag = true, .body_len = 10000, .received = 100,
		.credit = 0, .pace_ms = 200,
	};
	struct node_fill_input in = { .event = NODE_TIMER, .now_ms = 1000 };

	(void)arg;
	assert_int_equal(node_fill_step(&f, &in).actions, NODE_SET_TIMER);
	assert_int_equal(f.due_ms, 1200);
	f.credit = 1;
	f.received += NODE_WATCH_BYTES;
	f.received_ms = 1150;
	in.now_ms = 1200;
	assert_int_equal(node_fill_step(&f, &in).actions, NODE_SET_TIMER);
	assert_int_equal(f.due_ms, 1350);
	f.received += NODE_WATCH_BYTES - 1;
	in.now_ms = 1350;
	assert_int_equal(node_fill_step(&f, &in).then, NODE_THEN_TAKE_OVER);
}

/* What waits for a reply in one piece: a peer's from when it was asked, an
 * origin's for a moment, and only if it is not stored. */
static void the_time_to_collect(void **arg)
{
	static const struct {
		enum node_fill_state state;
		bool keep, receiving;
		int64_t due_ms; /* 0: no timer */
	} rows[] = {
		{ NODE_ASK_PEER, false, false, 1100 },
		{ NODE_ASK_PEER, true, false, 1100 },
		{ NODE_ASK_ORIGIN, false, false, 1050 + NODE_DELAY_MS },
		{ NODE_ASK_ORIGIN, true, false, 0 },
		{ NODE_ASK_ORIGIN, false, true, 0 },
	};

	(void)arg;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct node_fill f = { .state = rows[i].state, .client = true,
				       .body_len = 10, .asked_ms = 1000,
				       .pace_ms = 100 };
		const struct node_fill_admission in = {
			.now_ms = 1050, .keep = rows[i].keep, .room = true,
			.receiving = rows[i].receiving, .early_bytes = 100,
		};
		uint32_t actions = node_fill_admitted(&f, &in).actions;

		assert_int_equal(!!(actions & NODE_SET_TIMER),
				 rows[i].due_ms != 0);
		assert_int_equal(f.due_ms, rows[i].due_ms);
	}
}

/* A response that comes before the request's body is in: an agreement ends with
 * that, so that it is shown; a refusal goes out in one piece if it is short. */
static void what_comes_early(void **arg)
{
	static const struct {
		bool agrees;
		int64_t body_len;
		enum node_fill_state after;
	} rows[] = {
		{ true, 10, NODE_SHOW_ORIGIN },
		{ true, 0, NODE_SHOW_ORIGIN },
		{ true, -1, NODE_SHOW_ORIGIN },
		{ false, 100, NODE_COLLECT_ORIGIN },
		{ false, 0, NODE_COLLECT_ORIGIN },
		{ false, -1, NODE_SHOW_ORIGIN },
	};

	(void)arg;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct node_fill f = { .state = NODE_ASK_ORIGIN, .client = true,
				       .body_len = rows[i].body_len };
		const struct node_fill_admission in = {
			.room = true, .receiving = true, .early_bytes = 100,
			.agrees = rows[i].agrees,
		};

		node_fill_admitted(&f, &in);
		assert_int_equal(f.state, rows[i].after);
	}
}

/* Where this node had no memory, nothing is held against the peer: another
 * source is asked, or an origin goes on, all the same. */
static void no_peer_is_blamed_for_this_node(void **arg)
{
	static const enum node_fill_state states[] = {
		NODE_ASK_PEER, NODE_COLLECT_PEER, NODE_SHOW_PEER,
	};

	(void)arg;
	for (size_t i = 0; i < 2 * NROWS(states); i++) {
		struct node_fill f = {
			.state = states[i / 2], .get = true, .client = true,
			.strong_tag = true, .body_len = 1000, .received = 600,
		};
		const struct node_fill_input in = {
			.event = NODE_BROKE, .own_fault = i % 2,
		};
		struct node_fill_step step = node_fill_step(&f, &in);

		assert_int_equal(!(step.actions & NODE_RECORD_ERROR), i % 2);
		assert_int_equal(step.then, states[i / 2] == NODE_SHOW_PEER ?
						    NODE_THEN_TAKE_OVER :
						    NODE_THEN_NEXT);
	}
}

static void no_probe_is_blamed_for_this_node(void **arg)
{
	(void)arg;
	for (int own_fault = 0; own_fault < 2; own_fault++) {
		struct node_fill f = { .state = NODE_ASK_PEER,
				       .purpose = NODE_FOR_PROBE };
		const struct node_fill_input in = { .event = NODE_BROKE,
						    .own_fault = own_fault };

		assert_int_equal(node_fill_step(&f, &in).actions,
				 NODE_STOP |
					 (own_fault ? 0 : NODE_RECORD_ERROR));
		assert_int_equal(f.state, NODE_LANDED);
	}
}

/* Nor for a header that there was no memory for. */
static void no_peer_is_judged_without_memory(void **arg)
{
	static const enum node_purpose purposes[] = {
		NODE_FOR_CLIENT, NODE_FOR_PROBE,
	};

	(void)arg;
	for (size_t i = 0; i < 2 * NROWS(purposes); i++) {
		const bool probe = purposes[i / 2] == NODE_FOR_PROBE;
		struct node_fill f = { .state = NODE_ASK_PEER, .get = true,
				       .client = !probe,
				       .purpose = purposes[i / 2] };
		const struct node_fill_input in = {
			.event = NODE_HEAD,
			.head = i % 2 ? NODE_HEAD_NOMEM : NODE_HEAD_UNUSABLE,
		};
		struct node_fill_step step = node_fill_step(&f, &in);

		assert_int_equal(!(step.actions & NODE_RECORD_VERDICT), i % 2);
		assert_int_equal(step.then,
				 probe ? NODE_THEN_END : NODE_THEN_NEXT);
	}
}

/* clang-format off */
static const struct {
	int64_t body_len;
	uint64_t received;
	bool memory_is_short, goes_on;
} alone_rows[] = {
	{ 0, 0, false, true },
	{ NODE_ALONE_BYTES, 0, false, true },
	{ NODE_ALONE_BYTES, 0, true, false },
	{ NODE_ALONE_BYTES + 4, 0, false, false },
	{ NODE_ALONE_BYTES + 4, 3 * (NODE_ALONE_BYTES / 4 + 1), false, true },
	{ NODE_ALONE_BYTES + 4, 3 * (NODE_ALONE_BYTES / 4 + 1) - 1, false,
	  false },
	{ NODE_ALONE_BYTES + 4, NODE_ALONE_BYTES + 3, true, false },
	{ -1, NODE_ALONE_UNKNOWN, false, true },
	{ -1, NODE_ALONE_UNKNOWN, true, false },
	{ -1, NODE_ALONE_UNKNOWN + 1, false, false },
};
/* clang-format on */

static void what_goes_on_alone(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < NROWS(alone_rows); i++) {
		const struct node_fill f = {
			.state = NODE_SHOW_ORIGIN, .keep = NODE_KEEP_YES,
			.body_len = alone_rows[i].body_len,
			.received = alone_rows[i].received,
		};

		if (node_fill_goes_on_alone(&f,
					    alone_rows[i].memory_is_short) !=
		    alone_rows[i].goes_on)
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pair),
		cmocka_unit_test(a_header_of_slices_is_no_hit),
		cmocka_unit_test(impossible_pairs),
		cmocka_unit_test(a_peer_confirms),
		cmocka_unit_test(a_takeover),
		cmocka_unit_test(a_takeover_without_credit),
		cmocka_unit_test(the_pace_of_a_peer),
		cmocka_unit_test(the_time_to_collect),
		cmocka_unit_test(what_comes_early),
		cmocka_unit_test(no_peer_is_blamed_for_this_node),
		cmocka_unit_test(no_probe_is_blamed_for_this_node),
		cmocka_unit_test(no_peer_is_judged_without_memory),
		cmocka_unit_test(what_goes_on_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
