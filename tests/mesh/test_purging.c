/*
 * One purge: each event in each state, and all orders in which events can come.
 */
#include "digestd/mesh/purging.h"
#include "tests/unit.h"

/* clang-format off */
static const struct {
	enum purging_state state;
	size_t peers; /* that have not answered */
	bool left;
	enum purging_event_kind event;
	enum purging_state after;
	enum purging_action action;
} rows[] = {
#define ROW(state, peers, left, event, after, action) \
	{ PURGING_##state, peers, left, PURGING_##event, PURGING_##after, \
	  PURGING_##action },
ROW(WALKING, 0, false, PART,      WALKING, WALK)
ROW(WALKING, 2, false, PART,      WALKING, WALK)
ROW(WALKING, 0, true,  PART,      WALKING, WALK)
ROW(WALKING, 2, true,  PART,      WALKING, WALK)
ROW(WALKING, 0, false, LAST_PART, SYNCING, SYNC)
ROW(WALKING, 2, false, LAST_PART, SYNCING, SYNC)
ROW(WALKING, 0, true,  LAST_PART, SYNCING, SYNC)
ROW(WALKING, 2, true,  LAST_PART, SYNCING, SYNC)
ROW(WALKING, 2, false, PEER,      WALKING, WAIT)
ROW(WALKING, 2, true,  PEER,      WALKING, WAIT)
ROW(WALKING, 0, false, LEFT,      WALKING, WAIT)
ROW(WALKING, 2, false, LEFT,      WALKING, WAIT)
ROW(SYNCING, 0, false, SYNCED,    DONE,    ANSWER)
ROW(SYNCING, 0, true,  SYNCED,    DONE,    END)
ROW(SYNCING, 2, false, SYNCED,    WAITING, WAIT)
ROW(SYNCING, 2, true,  SYNCED,    WAITING, WAIT)
ROW(SYNCING, 2, false, PEER,      SYNCING, WAIT)
ROW(SYNCING, 2, true,  PEER,      SYNCING, WAIT)
ROW(SYNCING, 0, false, LEFT,      SYNCING, WAIT)
ROW(SYNCING, 2, false, LEFT,      SYNCING, WAIT)
ROW(WAITING, 2, false, PEER,      WAITING, WAIT)
ROW(WAITING, 2, true,  PEER,      WAITING, WAIT)
ROW(WAITING, 1, false, PEER,      DONE,    ANSWER)
ROW(WAITING, 1, true,  PEER,      DONE,    END)
ROW(WAITING, 2, false, LEFT,      WAITING, WAIT)
#undef ROW
};
/* clang-format on */

static void test_steps(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		const struct purging_event event = {rows[i].event, 3};
		struct purging p;
		enum purging_action action;

		purging_init(&p, rows[i].peers);
		p.state = rows[i].state;
		p.left = rows[i].left;
		action = purging_step(&p, &event);
		if (p.state != rows[i].after || action != rows[i].action)
			fail_msg("row %zu: state %d, action %d", i, p.state,
				 action);
	}
}

/* The table has all that can be, and nothing else. */
static void test_all_steps(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PURGING_STATES * PURGING_EVENTS * 4; i++) {
		struct purging p = {.state = i / 4 / PURGING_EVENTS,
				    .peers = i & 1 ? 2 : 0,
				    .left = i & 2};
		unsigned event = i / 4 % PURGING_EVENTS;
		bool listed = false;

		if (p.state == PURGING_WAITING && !p.peers)
			continue; /* it is done then */
		for (size_t n = 0; n < NROWS(rows); n++)
			listed |= rows[n].state == p.state &&
				  rows[n].peers == p.peers &&
				  rows[n].left == p.left &&
				  rows[n].event == event;
		if (purging_expects(&p, event) != listed)
			fail_msg("state %d, %zu peers, left %d, event %u",
				 p.state, p.peers, p.left, event);
	}
}

/* What has happened to a purge of so many parts, whose client may leave. */
struct course {
	struct purging purging;
	size_t parts;
	bool leaves, synced;
	enum purging_action last;
};

static unsigned follow_courses(const struct course *course);

static unsigned follow_event(const struct course *course,
			     enum purging_event_kind kind)
{
	struct purging_event event = {kind, 0};
	struct course next = *course;

	if (kind == PURGING_PART)
		event.purged = 1;
	next.parts -= kind == PURGING_PART || kind == PURGING_LAST_PART;
	next.synced |= kind == PURGING_SYNCED;
	next.leaves &= kind != PURGING_LEFT;
	next.last = purging_step(&next.purging, &event);
	return follow_courses(&next);
}

/* Lets everything happen that can, in each order; how many orders there are. */
static unsigned follow_courses(const struct course *course)
{
	const struct purging *p = &course->purging;
	bool ended =
		course->last == PURGING_ANSWER || course->last == PURGING_END;
	unsigned orders = 0;

	assert_int_equal(ended, !course->parts && course->synced && !p->peers);
	assert_int_equal(ended, p->state == PURGING_DONE);
	if (ended) {
		assert_int_equal(course->last == PURGING_ANSWER, !p->left);
		assert_int_equal(p->purged, 2);
		return 1;
	}
	if (course->parts)
		orders += follow_event(course, course->parts > 1
						       ? PURGING_PART
						       : PURGING_LAST_PART);
	else if (!course->synced)
		orders += follow_event(course, PURGING_SYNCED);
	if (p->peers)
		orders += follow_event(course, PURGING_PEER);
	if (course->leaves)
		orders += follow_event(course, PURGING_LEFT);
	return orders;
}

/* It ends once, after all of its parts, the disk and all peers; and answers
 * its client unless that has left. */
static void test_all_orders(void **state)
{
	static const unsigned orders[] = {1, 5, 15, 35};

	(void)state;
	for (size_t peers = 0; peers < NROWS(orders); peers++) {
		struct course course = {.parts = 3, .last = PURGING_WAIT};

		purging_init(&course.purging, peers);
		assert_int_equal(follow_courses(&course), orders[peers]);
		course.leaves = true;
		assert_true(follow_courses(&course) > 4 * orders[peers]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_all_steps),
		cmocka_unit_test(test_all_orders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
