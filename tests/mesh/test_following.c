/*
 * Following one peer: each event in each state; and peers that come, go and
 * lie at random, on a clock, beside somebody who looks every millisecond
 * whether the peer may be asked.
 */
#include "digestd/mesh/following.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { NOW_MS = 100000, LATER_MS = NOW_MS + 700 };

static const struct following_policy policy = {
	.fetch = {.poll_ms = 1000,
		  .backoff_min_ms = 100,
		  .backoff_max_ms = 1600,
		  .max_age_ms = 5000,
		  .silence_ms = 3000},
	.health = {.failures = 1,
		   .open_min_ms = 1000,
		   .open_max_ms = 8000,
		   .quarantine_ms = 30000},
};

/* Events, with what they bring. */
enum { SAME_INSTANCE = 7, OTHER_INSTANCE = 8 };

static struct following_event plain(enum following_event_kind kind)
{
	return (struct following_event){.kind = kind};
}

static struct following_event ended(bool whole, unsigned status)
{
	struct following_event event = plain(FOLLOWING_ENDED);

	event.answer.reached = true;
	event.answer.whole = whole;
	event.answer.status = status;
	return event;
}

/* Nothing is new but that it is about to end. */
static struct following_event drains(void)
{
	struct following_event event = ended(true, 304);

	event.answer.drains = true;
	return event;
}

static struct following_event decoded(bool delta, uint64_t instance)
{
	struct following_event event = plain(FOLLOWING_DECODED);

	event.digest.delta = delta;
	event.digest.instance = instance;
	event.digest.fp = .02;
	return event;
}

/* Frames came, for the list that views have. */
static struct following_event applied(double fp)
{
	struct following_event event = decoded(true, SAME_INSTANCE);

	event.digest.in_place = true;
	event.digest.fp = fp;
	return event;
}

static struct following_event stream(void)
{
	struct following_event event = ended(true, 226);

	event.kind = FOLLOWING_STREAM;
	return event;
}

static struct following_event outcome(enum peer_outcome kind)
{
	struct following_event event = plain(FOLLOWING_OUTCOME);

	event.outcome.kind = kind;
	event.outcome.rtt_ms = kind == OUTCOME_FAILED ? -1 : 1;
	return event;
}

/* What the row's event is. */
enum what {
	EARLY,    /* DUE, but nothing is */
	FETCH_IT, /* DUE, and the next fetch is */
	FULL,
	DELTA,
	SAME,
	NONSENSE,
	DRAINS,
	CUT_OFF,
	STREAM,
	FRAMES,
	QUIET,
	APPLIED,
	REFUSED,
	UNABLE,
	NEW_FULL,
	NEW_DELTA,
	RESTARTED,
	WELL,
	BROKEN,
	LOOKUPS,
	HELD,
	FREED, /* of a peer that is not in quarantine */
};

static struct following_event event_of(enum what what)
{
	switch (what) {
	case EARLY:
	case FETCH_IT:
		return plain(FOLLOWING_DUE);
	case FULL:
		return ended(true, 200);
	case DELTA:
		return ended(true, 226);
	case SAME:
		return ended(true, 304);
	case NONSENSE:
		return ended(true, 404);
	case DRAINS:
		return drains();
	case CUT_OFF:
		return ended(false, 200);
	case STREAM:
		return stream();
	case FRAMES:
		return plain(FOLLOWING_FRAMES);
	case QUIET:
		return plain(FOLLOWING_QUIET);
	case APPLIED:
		return applied(.02);
	case REFUSED:
		return plain(FOLLOWING_REFUSED);
	case UNABLE:
		return plain(FOLLOWING_UNABLE);
	case NEW_FULL:
		return decoded(false, SAME_INSTANCE);
	case NEW_DELTA:
		return decoded(true, SAME_INSTANCE);
	case RESTARTED:
		return decoded(false, OTHER_INSTANCE);
	case WELL:
		return outcome(OUTCOME_HIT);
	case BROKEN:
		return outcome(OUTCOME_FAILED);
	case LOOKUPS:
		return (struct following_event){.kind = FOLLOWING_LOOKUPS,
						.lookups = 10};
	case HELD:
		return plain(FOLLOWING_HELD);
	case FREED:
		return plain(FOLLOWING_FREED);
	}
	return plain(FOLLOWING_DUE);
}

/* A peer whose digest is here, and good until NOW_MS + 5000; or a new one. */
static struct following peer_in(enum following_state state, bool known,
				bool due)
{
	struct following_event event;
	struct following f;

	following_init(&f, 1, NOW_MS);
	if (known) {
		f.state = FOLLOWING_DECODING;
		event = decoded(false, SAME_INSTANCE);
		following_step(&f, &policy, &event, NOW_MS);
	}
	f.next.due_ms = due ? NOW_MS : LATER_MS;
	f.state = state;
	f.conditional = known;
	f.heard_ms = f.apply_ms = NOW_MS; /* of a stream */
	return f;
}

#define ACTS(...)                                                              \
	{                                                                      \
		__VA_ARGS__                                                    \
	}
#define END(result) .ended = true, .with = FETCHED_##result
#define VIEW        .view = true

/* clang-format off */
static const struct {
	enum following_state state;
	bool known; /* its digest is here */
	enum what what;
	enum following_state after;
	struct following_actions acts; /* due_ms: from now on; -1: never */
	bool jitter;                   /* in due_ms, a quarter */
} rows[] = {
#define ROW(state, known, what, after, ...) \
	{ FOLLOWING_##state, known, what, FOLLOWING_##after, __VA_ARGS__ },
#define LATER .due_ms = 700
#define NEVER .due_ms = -1
#define AGED .due_ms = 5001
#define SILENT .due_ms = 3000
ROW(WAITING, false, EARLY,      WAITING,  ACTS(LATER), false)
ROW(WAITING, false, FETCH_IT,   FETCHING, ACTS(.fetch = true, NEVER), false)
ROW(WAITING, true,  FETCH_IT,   FETCHING, ACTS(.fetch = true, .conditional = true, .stream = true, AGED), false)
ROW(WAITING, true,  EARLY,      WAITING,  ACTS(LATER), false)
ROW(WAITING, true,  WELL,       WAITING,  ACTS(LATER), false)
ROW(WAITING, true,  BROKEN,     WAITING,  ACTS(.health = true, VIEW, LATER), false)
ROW(WAITING, true,  LOOKUPS,    WAITING,  ACTS(LATER), false)
ROW(WAITING, false, LOOKUPS,    WAITING,  ACTS(LATER), false)
ROW(WAITING, true,  HELD,       WAITING,  ACTS(.health = true, VIEW, LATER), false)
ROW(WAITING, true,  FREED,      WAITING,  ACTS(LATER), false)

ROW(FETCHING, false, EARLY,     FETCHING, ACTS(NEVER), false)
ROW(FETCHING, true,  EARLY,     FETCHING, ACTS(AGED), false)
ROW(FETCHING, false, FULL,      DECODING, ACTS(.decode = true, NEVER), false)
ROW(FETCHING, true,  DELTA,     DECODING, ACTS(.decode = true, AGED), false)
ROW(FETCHING, true,  SAME,      WAITING,  ACTS(END(SAME), .due_ms = 0), false)
ROW(FETCHING, true,  DRAINS,    WAITING,  ACTS(.drains = true, VIEW, END(SAME), .due_ms = 0), false)
ROW(FETCHING, false, SAME,      WAITING,  ACTS(END(FAILED), .due_ms = 100), true)
ROW(FETCHING, true,  NONSENSE,  WAITING,  ACTS(END(FAILED), .due_ms = 100), true)
ROW(FETCHING, true,  CUT_OFF,   WAITING,  ACTS(END(FAILED), .due_ms = 100), true)
ROW(FETCHING, true,  REFUSED,   WAITING,  ACTS(END(UNFIT), .due_ms = 0), false)
ROW(FETCHING, true,  UNABLE,    WAITING,  ACTS(END(FAILED), .due_ms = 100), true)
ROW(FETCHING, true,  WELL,      FETCHING, ACTS(AGED), false)
ROW(FETCHING, true,  BROKEN,    FETCHING, ACTS(.health = true, VIEW, .due_ms = 1000), false)
ROW(FETCHING, true,  LOOKUPS,   FETCHING, ACTS(AGED), false)
ROW(FETCHING, true,  HELD,      FETCHING, ACTS(.health = true, VIEW, AGED), false)
ROW(FETCHING, true,  FREED,     FETCHING, ACTS(AGED), false)

ROW(DECODING, false, EARLY,     DECODING, ACTS(NEVER), false)
ROW(DECODING, true,  REFUSED,   WAITING,  ACTS(END(UNFIT), .due_ms = 0), false)
ROW(DECODING, true,  UNABLE,    WAITING,  ACTS(END(FAILED), .due_ms = 100), true)
ROW(DECODING, false, NEW_FULL,  WAITING,  ACTS(.install = true, VIEW, END(FULL), .due_ms = 0), false)
ROW(DECODING, true,  NEW_FULL,  WAITING,  ACTS(.install = true, VIEW, END(FULL), .due_ms = 0), false)
ROW(DECODING, true,  NEW_DELTA, WAITING,  ACTS(.install = true, VIEW, END(DELTA), .due_ms = 0), false)
ROW(DECODING, true,  RESTARTED, WAITING,  ACTS(.install = true, VIEW, END(FULL), .due_ms = 0), false)
ROW(DECODING, true,  WELL,      DECODING, ACTS(AGED), false)
ROW(DECODING, true,  BROKEN,    DECODING, ACTS(.health = true, VIEW, .due_ms = 1000), false)
ROW(DECODING, true,  LOOKUPS,   DECODING, ACTS(AGED), false)
ROW(DECODING, true,  HELD,      DECODING, ACTS(.health = true, VIEW, AGED), false)
ROW(DECODING, true,  FREED,     DECODING, ACTS(AGED), false)

ROW(FETCHING, true,   STREAM,    STREAMING, ACTS(SILENT), false)
ROW(STREAMING, true,  EARLY,     STREAMING, ACTS(SILENT), false)
ROW(STREAMING, true,  FRAMES,    APPLYING,  ACTS(.decode = true, AGED), false)
ROW(STREAMING, true,  QUIET,     STREAMING, ACTS(SILENT), false)
ROW(STREAMING, true,  DELTA,     WAITING,   ACTS(END(STREAM), .due_ms = 0), false)
ROW(STREAMING, true,  CUT_OFF,   WAITING,   ACTS(END(FAILED), .due_ms = 100), true)
ROW(STREAMING, true,  REFUSED,   WAITING,   ACTS(END(UNFIT), .due_ms = 0), false)
ROW(STREAMING, true,  UNABLE,    WAITING,   ACTS(END(FAILED), .due_ms = 100), true)
ROW(STREAMING, true,  WELL,      STREAMING, ACTS(SILENT), false)
ROW(STREAMING, true,  BROKEN,    STREAMING, ACTS(.health = true, VIEW, .due_ms = 1000), false)
ROW(STREAMING, true,  LOOKUPS,   STREAMING, ACTS(SILENT), false)
ROW(STREAMING, true,  HELD,      STREAMING, ACTS(.health = true, VIEW, SILENT), false)
ROW(STREAMING, true,  FREED,     STREAMING, ACTS(SILENT), false)

ROW(APPLYING, true,   EARLY,     APPLYING,  ACTS(AGED), false)
ROW(APPLYING, true,   QUIET,     APPLYING,  ACTS(AGED), false)
ROW(APPLYING, true,   APPLIED,   STREAMING, ACTS(.install = true, SILENT), false)
ROW(APPLYING, true,   NEW_DELTA, STREAMING, ACTS(.install = true, VIEW, SILENT), false)
ROW(APPLYING, true,   DELTA,     APPLYING,  ACTS(AGED), false)
ROW(APPLYING, true,   REFUSED,   WAITING,   ACTS(END(UNFIT), .due_ms = 0), false)
ROW(APPLYING, true,   UNABLE,    WAITING,   ACTS(END(FAILED), .due_ms = 100), true)
ROW(APPLYING, true,   WELL,      APPLYING,  ACTS(AGED), false)
ROW(APPLYING, true,   BROKEN,    APPLYING,  ACTS(.health = true, VIEW, .due_ms = 1000), false)
ROW(APPLYING, true,   LOOKUPS,   APPLYING,  ACTS(AGED), false)
ROW(APPLYING, true,   HELD,      APPLYING,  ACTS(.health = true, VIEW, AGED), false)
ROW(APPLYING, true,   FREED,     APPLYING,  ACTS(AGED), false)
#undef ROW
};
/* clang-format on */

static bool due_right(int64_t due_ms, int64_t wanted_ms, bool jitter)
{
	int64_t wait_ms = due_ms - NOW_MS;

	if (wanted_ms < 0)
		return due_ms == INT64_MAX;
	return jitter ? wait_ms >= wanted_ms * 3 / 4 &&
				wait_ms <= wanted_ms * 5 / 4
		      : wait_ms == wanted_ms;
}

static bool acts_alike(const struct following_actions *a,
		       const struct following_actions *b)
{
	return a->install == b->install && a->ended == b->ended &&
	       a->with == b->with && a->fetch == b->fetch &&
	       a->conditional == b->conditional && a->stream == b->stream &&
	       a->decode == b->decode &&
	       a->restarted == b->restarted && a->drains == b->drains &&
	       a->health == b->health &&
	       a->view == b->view;
}

static void test_steps(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct following_event event = event_of(rows[i].what);
		struct following_actions acts;
		struct following f = peer_in(rows[i].state, rows[i].known,
					     rows[i].what == FETCH_IT);

		acts = following_step(&f, &policy, &event, NOW_MS);
		if (f.state != rows[i].after ||
		    !acts_alike(&acts, &rows[i].acts) ||
		    !due_right(acts.due_ms, rows[i].acts.due_ms,
			       rows[i].jitter))
			fail_msg("row %zu: state %d, due in %d ms", i, f.state,
				 (int)(acts.due_ms - NOW_MS));
	}
}

/* The table has each event in each state in which it can be. */
static void test_all_steps(void **state)
{
	(void)state;
	for (unsigned i = 0; i < FOLLOWING_STATES * FOLLOWING_EVENTS; i++) {
		unsigned in = i / FOLLOWING_EVENTS, kind = i % FOLLOWING_EVENTS;
		bool listed = false;

		for (size_t n = 0; n < NROWS(rows); n++)
			listed |= rows[n].state == in &&
				  event_of(rows[n].what).kind == kind;
		if (following_expects(in, kind) != listed)
			fail_msg("state %u, event %u", in, kind);
	}
}

static struct following_actions step_at(struct following *f,
					struct following_event event,
					int64_t now_ms)
{
	return following_step(f, &policy, &event, now_ms);
}

/* Frames that come too soon wait for their time, and no longer. */
static void test_frames_have_a_pace(void **state)
{
	struct following f = peer_in(FOLLOWING_STREAMING, true, false);
	struct following_actions acts;

	(void)state;
	assert_true(step_at(&f, plain(FOLLOWING_FRAMES), NOW_MS).decode);
	step_at(&f, applied(.02), NOW_MS + 1);
	acts = step_at(&f, plain(FOLLOWING_FRAMES), NOW_MS + 2);
	assert_false(acts.decode);
	assert_int_equal(acts.due_ms, NOW_MS + FETCH_PACE_MS);
	acts = step_at(&f, plain(FOLLOWING_DUE), NOW_MS + FETCH_PACE_MS - 1);
	assert_false(acts.decode);
	acts = step_at(&f, plain(FOLLOWING_DUE), NOW_MS + FETCH_PACE_MS);
	assert_true(acts.decode);
	assert_int_equal(f.state, FOLLOWING_APPLYING);
}

/* A stream that is over while its last frames are decoded: they count. */
static void test_stream_ends_meanwhile(void **state)
{
	static const struct {
		bool whole;
		enum fetched with;
	} ends[] = {{true, FETCHED_STREAM}, {false, FETCHED_FAILED}};

	(void)state;
	for (size_t i = 0; i < NROWS(ends); i++) {
		struct following f = peer_in(FOLLOWING_APPLYING, true, false);
		struct following_actions acts;

		step_at(&f, ended(ends[i].whole, 226), NOW_MS + 10);
		acts = step_at(&f, applied(.02), NOW_MS + 20);
		assert_true(acts.install && acts.ended);
		assert_int_equal(acts.with, ends[i].with);
		assert_int_equal(following_confirmed_ms(&f), NOW_MS + 20);
	}
}

/* Somebody in between collects what comes: after one such stream it is asked as
 * ever. */
static void test_silent_stream(void **state)
{
	struct following f = peer_in(FOLLOWING_STREAMING, true, false);
	struct following_actions acts;

	(void)state;
	acts = step_at(&f, plain(FOLLOWING_DUE), NOW_MS + 2999);
	assert_false(acts.ended);
	acts = step_at(&f, plain(FOLLOWING_DUE), NOW_MS + 3000);
	assert_true(acts.ended);
	assert_int_equal(acts.with, FETCHED_FAILED);
	acts = step_at(&f, plain(FOLLOWING_DUE), NOW_MS + 3200);
	assert_true(acts.fetch && acts.conditional);
	assert_false(acts.stream);
}

/* One that says that it has no news is there, and what is here is current: but
 * not if there are frames that wait. */
static void test_quiet_stream(void **state)
{
	struct following f = peer_in(FOLLOWING_STREAMING, true, false);

	(void)state;
	step_at(&f, plain(FOLLOWING_QUIET), NOW_MS + 2999);
	assert_int_equal(following_confirmed_ms(&f), NOW_MS + 2999);
	assert_false(step_at(&f, plain(FOLLOWING_DUE), NOW_MS + 5998).ended);
	assert_true(following_usable(&f));
	step_at(&f, plain(FOLLOWING_FRAMES), NOW_MS + 5998);
	step_at(&f, applied(.02), NOW_MS + 5998);
	step_at(&f, plain(FOLLOWING_FRAMES), NOW_MS + 5999);
	step_at(&f, plain(FOLLOWING_QUIET), NOW_MS + 6000);
	assert_int_equal(following_confirmed_ms(&f), NOW_MS + 5998);
	assert_true(step_at(&f, plain(FOLLOWING_DUE), NOW_MS + 8998).decode);
	assert_false(step_at(&f, plain(FOLLOWING_DUE), NOW_MS + 8999).ended);
	step_at(&f, applied(.02), NOW_MS + 8999);
	assert_true(step_at(&f, plain(FOLLOWING_DUE), NOW_MS + 9000).ended);
}

/* The same where not even its header came; but not after another failure. */
static void test_late_header(void **state)
{
	struct following f = peer_in(FOLLOWING_WAITING, true, true);
	struct following_event failure = ended(false, 0);

	(void)state;
	assert_true(step_at(&f, plain(FOLLOWING_DUE), NOW_MS).stream);
	step_at(&f, failure, NOW_MS + 10);
	assert_true(step_at(&f, plain(FOLLOWING_DUE), NOW_MS + 200).stream);
	failure.answer.late = true;
	step_at(&f, failure, NOW_MS + 900);
	assert_false(step_at(&f, plain(FOLLOWING_DUE), NOW_MS + 1900).stream);
}

/* What changes in place is in the view already, but for the chance that it is
 * wrong, as far as that matters. */
static void test_view_of_frames(void **state)
{
	struct following f = peer_in(FOLLOWING_APPLYING, true, false);

	(void)state;
	assert_false(step_at(&f, applied(.021), NOW_MS).view);
	f.state = FOLLOWING_APPLYING;
	assert_false(step_at(&f, applied(.024), NOW_MS).view);
	f.state = FOLLOWING_APPLYING;
	assert_true(step_at(&f, applied(.026), NOW_MS).view);
	f.state = FOLLOWING_APPLYING;
	assert_true(step_at(&f, applied(.02), NOW_MS).view);
	f.state = FOLLOWING_APPLYING; /* nobody has asked for too long */
	assert_true(step_at(&f, plain(FOLLOWING_DUE), NOW_MS + 6000).view);
	assert_true(step_at(&f, applied(.02), NOW_MS + 6000).view);
}

/* What drains is not asked, from its first word until another one; a failure
 * says neither. */
static void test_drains(void **state)
{
	struct following f = peer_in(FOLLOWING_FETCHING, true, false);

	(void)state;
	step_at(&f, drains(), NOW_MS);
	assert_true(following_drains(&f) && !following_usable(&f));
	step_at(&f, plain(FOLLOWING_DUE), NOW_MS + 2000);
	assert_false(step_at(&f, drains(), NOW_MS + 2000).drains);
	step_at(&f, plain(FOLLOWING_DUE), NOW_MS + 4000);
	step_at(&f, ended(false, 0), NOW_MS + 4000);
	assert_true(following_drains(&f) && !following_usable(&f));
	step_at(&f, plain(FOLLOWING_DUE), NOW_MS + 5000);
	step_at(&f, ended(true, 200), NOW_MS + 5000);
	step_at(&f, decoded(false, OTHER_INSTANCE), NOW_MS + 5000);
	assert_true(!following_drains(&f) && following_usable(&f));
}

/* What an operator says holds until he says otherwise. */
static void test_held(void **state)
{
	struct following f = peer_in(FOLLOWING_WAITING, true, false);

	(void)state;
	step_at(&f, plain(FOLLOWING_HELD), NOW_MS);
	assert_false(step_at(&f, plain(FOLLOWING_HELD), NOW_MS).health);
	assert_false(following_usable(&f));
	step_at(&f, outcome(OUTCOME_WRONG), NOW_MS + 1);
	step_at(&f, plain(FOLLOWING_DUE), NOW_MS + 90000);
	f.state = FOLLOWING_DECODING;
	step_at(&f, decoded(false, OTHER_INSTANCE), NOW_MS + 90000);
	assert_false(following_usable(&f));
	assert_true(step_at(&f, plain(FOLLOWING_FREED), NOW_MS + 90001).view);
	assert_true(following_usable(&f));
	assert_false(step_at(&f, plain(FOLLOWING_FREED), NOW_MS + 90001).view);
}

/* Whom a start waits for, and whom not. */
static void test_settled(void **state)
{
	struct following f = peer_in(FOLLOWING_FETCHING, false, false);
	struct following_event unreached = ended(false, 0);

	(void)state;
	unreached.answer.reached = false;
	step_at(&f, ended(true, 503), NOW_MS); /* it has none yet */
	assert_false(following_has_settled(&f));
	f.state = FOLLOWING_FETCHING;
	step_at(&f, unreached, NOW_MS);
	assert_false(following_has_settled(&f)); /* it may be starting, too */
	f.state = FOLLOWING_FETCHING;
	step_at(&f, unreached, NOW_MS);
	assert_true(following_has_settled(&f));

	f = peer_in(FOLLOWING_FETCHING, false, false);
	step_at(&f, ended(true, 401), NOW_MS);
	assert_true(following_has_settled(&f));
	f = peer_in(FOLLOWING_DECODING, false, false);
	assert_false(following_has_settled(&f));
	step_at(&f, decoded(false, SAME_INSTANCE), NOW_MS);
	assert_true(following_has_settled(&f));
}

/* Who has waited because of failures asks at once when the peer has been heard
 * of; who waits for anything else goes on doing so. */
static void test_wake(void **state)
{
	struct following f = peer_in(FOLLOWING_FETCHING, false, false);

	(void)state;
	step_at(&f, ended(false, 0), NOW_MS);
	assert_false(step_at(&f, plain(FOLLOWING_DUE), NOW_MS + 1).fetch);
	following_wake(&f, &policy, NOW_MS + 1);
	assert_true(step_at(&f, plain(FOLLOWING_DUE), NOW_MS + 1).fetch);
	f = peer_in(FOLLOWING_WAITING, true, false);
	following_wake(&f, &policy, NOW_MS + 1);
	assert_false(step_at(&f, plain(FOLLOWING_DUE), NOW_MS + 1).fetch);
}

/* A body that is refused is asked for in full next, until it is there: a
 * confirmation of what nobody has offered is none. */
static void test_full_after_refusal(void **state)
{
	struct following f = peer_in(FOLLOWING_FETCHING, true, false);
	struct following_event event = plain(FOLLOWING_REFUSED);
	struct following_actions acts;

	(void)state;
	acts = following_step(&f, &policy, &event, NOW_MS);
	assert_int_equal(acts.due_ms, NOW_MS);
	event = plain(FOLLOWING_DUE);
	acts = following_step(&f, &policy, &event, NOW_MS);
	assert_true(acts.fetch && !acts.conditional);
	event = ended(true, 304);
	acts = following_step(&f, &policy, &event, NOW_MS);
	assert_int_equal(acts.with, FETCHED_FAILED);
	event = plain(FOLLOWING_DUE);
	acts = following_step(&f, &policy, &event, acts.due_ms);
	assert_true(acts.fetch && !acts.conditional);
	event = ended(true, 200);
	following_step(&f, &policy, &event, NOW_MS + 1000);
	event = decoded(false, SAME_INSTANCE);
	acts = following_step(&f, &policy, &event, NOW_MS + 1000);
	event = plain(FOLLOWING_DUE);
	acts = following_step(&f, &policy, &event, acts.due_ms);
	assert_true(acts.fetch && acts.conditional);
}

/* One fetch of its digest; *now_ms is when the next one is due. */
static void fetch_once(struct following *f, int64_t *now_ms,
		       const struct following_event *answer, bool usable)
{
	struct following_event event = plain(FOLLOWING_DUE);
	bool before = following_usable(f);
	struct following_actions acts;

	assert_true(following_step(f, &policy, &event, *now_ms).fetch);
	acts = following_step(f, &policy, answer, *now_ms);
	assert_int_equal(following_usable(f), usable);
	assert_int_equal(acts.view, usable != before);
	*now_ms = f->next.due_ms;
}

/* Who cannot be reached is not asked either, long before its digest is old. */
static void test_gone(void **state)
{
	struct following f = peer_in(FOLLOWING_WAITING, true, true);
	const struct following_event nobody = plain(FOLLOWING_ENDED);
	const struct following_event same = ended(true, 304);
	const struct following_event busy = ended(true, 503);
	int64_t now_ms = NOW_MS;

	(void)state;
	for (unsigned i = 1; i < FOLLOWING_GONE; i++)
		fetch_once(&f, &now_ms, &nobody, true);
	fetch_once(&f, &now_ms, &busy, true); /* there is somebody */
	for (unsigned i = 1; i < FOLLOWING_GONE; i++)
		fetch_once(&f, &now_ms, &nobody, true);
	fetch_once(&f, &now_ms, &nobody, false);
	fetch_once(&f, &now_ms, &nobody, false);
	assert_true(now_ms < NOW_MS + policy.fetch.max_age_ms);
	fetch_once(&f, &now_ms, &same, true);
	assert_int_equal(following_health(&f)->state, HEALTH_GOOD);
}

/* A liar that was restarted is asked again, once. */
static void test_restart(void **state)
{
	struct following f = peer_in(FOLLOWING_DECODING, true, false);
	struct following_event event = outcome(OUTCOME_FALSE_HIT);
	struct following_actions acts;

	(void)state;
	for (int i = 0; i < HEALTH_PATIENCE; i++)
		acts = following_step(&f, &policy, &event, NOW_MS);
	assert_true(acts.health && acts.view);
	assert_false(following_usable(&f));
	event = decoded(false, OTHER_INSTANCE);
	acts = following_step(&f, &policy, &event, NOW_MS);
	assert_true(acts.restarted);
	assert_true(following_usable(&f));
}

/* A peer on a clock, and what a node does about it. */
struct model {
	uint64_t random;
	struct following following;
	int64_t now_ms, due_ms;
	int64_t answer_ms;  /* of the request or the decoding under way */
	int64_t fetched_ms; /* the last one began; -1: none has */
	uint64_t instance;
	bool up, lies, usable;
	unsigned fetches, views, changes;
};

static void model_step(struct model *m, const struct following_event *event)
{
	struct following_actions acts =
		following_step(&m->following, &policy, event, m->now_ms);

	m->due_ms = acts.due_ms;
	m->views += acts.view;
	if (acts.fetch) {
		if (m->fetched_ms >= 0)
			assert_true(m->now_ms - m->fetched_ms >=
				    FETCH_PACE_MS * 3 / 4);
		m->fetched_ms = m->now_ms;
		m->fetches++;
	}
	if (acts.fetch || acts.decode)
		m->answer_ms =
			m->now_ms + (int64_t)random_below(&m->random, 300);
}

/* What comes of a request, or of what it has brought. */
static struct following_event model_answer(struct model *m)
{
	unsigned any = (unsigned)random_below(&m->random, 10);

	if (m->following.state == FOLLOWING_STREAMING)
		return m->up && any < 6	  ? plain(FOLLOWING_FRAMES)
		       : m->up && any < 7 ? plain(FOLLOWING_QUIET)
					  : ended(m->up && any < 9, 226);
	if (m->following.state == FOLLOWING_APPLYING)
		return any < 1	 ? plain(FOLLOWING_REFUSED)
		       : any < 2 ? ended(false, 226)
				 : applied(.02);
	if (m->following.state == FOLLOWING_DECODING)
		return any < 8 ? decoded(any < 4, m->instance)
			       : plain(any < 9 ? FOLLOWING_REFUSED
					       : FOLLOWING_UNABLE);
	if (!m->up)
		return ended(false, 0);
	if (any == 9)
		return plain(FOLLOWING_REFUSED);
	if (any == 8 && m->following.conditional)
		return stream();
	return ended(any, any < 4 ? 304 : any < 7 ? 226 : 200);
}

static void model_ask(struct model *m)
{
	static const enum peer_outcome truth[] = {OUTCOME_HIT, OUTCOME_STALE,
						  OUTCOME_FALSE_HIT};
	struct following_event event = plain(FOLLOWING_LOOKUPS);

	event.lookups = random_below(&m->random, 50);
	model_step(m, &event);
	if (!following_usable(&m->following) || random_below(&m->random, 3))
		return;
	event = outcome(!m->up    ? OUTCOME_FAILED
			: m->lies ? OUTCOME_FALSE_HIT
				  : truth[random_below(&m->random, 3)]);
	model_step(m, &event);
}

/* As of now, told by nobody: what a look at the parts would say. */
static void model_check(struct model *m)
{
	struct peer_health health = *following_health(&m->following);
	bool usable;

	peer_health_tick(&health, m->now_ms);
	usable = peer_health_usable(&health) &&
		 fetch_schedule_usable(&m->following.schedule, &policy.fetch,
				       m->now_ms);
	assert_int_equal(following_usable(&m->following), usable);
	if (usable != m->usable)
		m->changes++;
	m->usable = usable;
	assert_true(m->views >= m->changes);
	assert_true(m->due_ms > m->now_ms);
}

static void model_run_due(struct model *m)
{
	const struct following_event event = plain(FOLLOWING_DUE);

	for (int i = 0; m->due_ms <= m->now_ms; i++) {
		assert_true(i < 10);
		model_step(m, &event);
	}
}

static void model_turn(struct model *m)
{
	struct following_event event;

	model_run_due(m);
	if (m->following.state != FOLLOWING_WAITING &&
	    m->answer_ms <= m->now_ms) {
		event = model_answer(m);
		model_step(m, &event);
	}
	if (random_below(&m->random, 20) == 0)
		model_ask(m);
	model_run_due(m);
	model_check(m);
}

static void test_no_change_is_late(void **state)
{
	unsigned changes = 0, fetches = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 30; seed++) {
		struct model m = {.random = seed, .fetched_ms = -1};

		following_init(&m.following, seed, 0);
		for (; m.now_ms < 100000; m.now_ms++) {
			if (m.now_ms % 4000 == 0) {
				m.up = random_below(&m.random, 3);
				m.lies = random_below(&m.random, 4) == 0;
				m.instance = random_below(&m.random, 2);
			}
			model_turn(&m);
		}
		changes += m.changes;
		fetches += m.fetches;
	}
	assert_in_range(changes, 300, 30000);
	assert_in_range(fetches, 3000, 30000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_all_steps),
		cmocka_unit_test(test_frames_have_a_pace),
		cmocka_unit_test(test_stream_ends_meanwhile),
		cmocka_unit_test(test_silent_stream),
		cmocka_unit_test(test_quiet_stream),
		cmocka_unit_test(test_late_header),
		cmocka_unit_test(test_view_of_frames),
		cmocka_unit_test(test_drains),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_settled),
		cmocka_unit_test(test_wake),
		cmocka_unit_test(test_full_after_refusal),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_no_change_is_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
