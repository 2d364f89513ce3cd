/*
 * What a publisher does and when: every task with every event, in every state;
 * and random catalogs beside the dumbest publisher, who looks at them every
 * millisecond.
 */
#include <inttypes.h>

#include "digestd/mesh/publication_schedule.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { NOW_MS = 100000, K = 1024, NBITS = 64 * K, NHASH = 3 };

static const struct publication_policy policy = {
	.publish = {.share = .01, .min_ms = 100, .max_ms = 10000},
	.resize = {NBITS, 4 * NBITS, 8, 60000},
	.resizable = true,
};

/* What the catalog is like when an event comes. The last four are of lists:
 * nobody asks for arrays any more, or ever has, or does again. */
enum catalog_kind {
	QUIET,
	DUE,
	CROWDED,
	CROWDED_AND_DUE,
	UNASKED,
	BARE,
	BARE_AND_DUE,
	BARE_AND_ASKED,
};

static struct publication_event event_of(enum publication_event_kind kind,
					 enum catalog_kind catalog)
{
	bool due = catalog == DUE || catalog == CROWDED_AND_DUE ||
		   catalog == BARE_AND_DUE;
	bool few = catalog == QUIET || catalog == DUE;

	return (struct publication_event){
		.kind = kind,
		.arrays = catalog < UNASKED || catalog == BARE_AND_ASKED,
		.catalog = {.nbits = catalog <= UNASKED ? NBITS : 0,
			    .nhash = NHASH,
			    .nkeys = few ? NBITS / 8 : 4 * NBITS / 8},
		.catalog_due_ms = due ? NOW_MS : INT64_MAX,
	};
}

/* clang-format off */
static const struct {
	enum publication_state state;
	enum publication_task_kind task;
	enum publication_event_kind event;
	enum catalog_kind catalog;
	enum publication_task_kind next;
	enum publication_state after;
	int64_t wait_ms; /* of a next task to wait; -1: for changes only */
} rows[] = {
#define STATE(name) PUBLICATION_##name
#define ROW(state, task, event, catalog, next, after, wait_ms) \
	{ STATE(state), STATE(task), STATE(event), catalog, STATE(next), \
	  STATE(after), wait_ms },
ROW(IDLE, WAIT, DUE, QUIET,                  WAIT, IDLE, -1)
ROW(IDLE, WAIT, DUE, DUE,                    BEGIN_COPY, IDLE, 0)
ROW(IDLE, WAIT, DUE, CROWDED,                BEGIN_REBUILD, IDLE, 0)
ROW(IDLE, WAIT, DUE, CROWDED_AND_DUE,        BEGIN_REBUILD, IDLE, 0)
ROW(IDLE, WAIT, DUE, UNASKED,                DROP_FILTER, IDLE, 0)
ROW(IDLE, WAIT, DUE, BARE,                   WAIT, IDLE, -1)
ROW(IDLE, WAIT, DUE, BARE_AND_DUE,           BEGIN_COPY, IDLE, 0)
ROW(IDLE, WAIT, DUE, BARE_AND_ASKED,         BEGIN_REBUILD, IDLE, 0)
ROW(IDLE, WAIT, CHANGED, QUIET,              WAIT, IDLE, 20)
ROW(REBUILDING, WAIT, DUE, QUIET,            REBUILD_PART, REBUILDING, 0)
ROW(REBUILDING, WAIT, DUE, DUE,              REBUILD_PART, REBUILDING, 0)
ROW(REBUILDING, WAIT, CHANGED, QUIET,        WAIT, REBUILDING, 50)
ROW(COPYING, WAIT, DUE, DUE,                 COPY_SLICE, COPYING, 0)
ROW(COPYING, WAIT, CHANGED, QUIET,           WAIT, COPYING, 50)
ROW(COPYING_IN_REBUILD, WAIT, DUE, QUIET,    COPY_SLICE, COPYING_IN_REBUILD, 0)
ROW(COPYING_IN_REBUILD, WAIT, CHANGED, QUIET, WAIT, COPYING_IN_REBUILD, 50)

ROW(IDLE, DROP_FILTER, DONE, BARE,           WAIT, IDLE, -1)
ROW(IDLE, DROP_FILTER, DONE, BARE_AND_DUE,   BEGIN_COPY, IDLE, 0)

ROW(IDLE, BEGIN_REBUILD, DONE, CROWDED,      WAIT, REBUILDING, 1)
ROW(IDLE, BEGIN_REBUILD, DONE, CROWDED_AND_DUE, BEGIN_COPY, REBUILDING, 0)
ROW(IDLE, BEGIN_REBUILD, FAILED, CROWDED,    WAIT, IDLE, 60000)
ROW(IDLE, BEGIN_REBUILD, FAILED, CROWDED_AND_DUE, BEGIN_COPY, IDLE, 0)

ROW(REBUILDING, REBUILD_PART, MORE, QUIET,   WAIT, REBUILDING, 1)
ROW(REBUILDING, REBUILD_PART, MORE, DUE,     BEGIN_COPY, REBUILDING, 0)
ROW(REBUILDING, REBUILD_PART, DONE, QUIET,   WAIT, IDLE, -1)
ROW(REBUILDING, REBUILD_PART, DONE, DUE,     BEGIN_COPY, IDLE, 0)

ROW(IDLE, BEGIN_COPY, DONE, DUE,             COPY_SLICE, COPYING, 0)
ROW(IDLE, BEGIN_COPY, FAILED, DUE,           WAIT, IDLE, 60000)
ROW(REBUILDING, BEGIN_COPY, DONE, DUE,       COPY_SLICE, COPYING_IN_REBUILD, 0)
ROW(REBUILDING, BEGIN_COPY, FAILED, DUE,     WAIT, REBUILDING, 1)

ROW(COPYING, COPY_SLICE, MORE, DUE,          WAIT, COPYING, 1)
ROW(COPYING, COPY_SLICE, DONE, QUIET,        PUBLISH, IDLE, 0)
ROW(COPYING_IN_REBUILD, COPY_SLICE, MORE, DUE, WAIT, COPYING_IN_REBUILD, 1)
ROW(COPYING_IN_REBUILD, COPY_SLICE, DONE, QUIET, PUBLISH, REBUILDING, 0)

ROW(IDLE, PUBLISH, DONE, QUIET,              WAIT, IDLE, -1)
ROW(IDLE, PUBLISH, FAILED, QUIET,            WAIT, IDLE, 60000)
ROW(REBUILDING, PUBLISH, DONE, QUIET,        WAIT, REBUILDING, 1)
ROW(REBUILDING, PUBLISH, FAILED, QUIET,      WAIT, REBUILDING, 1)
#undef ROW
#undef STATE
};
/* clang-format on */

static void test_steps(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct publication_event event =
			event_of(rows[i].event, rows[i].catalog);
		struct publication_schedule s;
		struct publication_task next;
		int64_t wait_ms;

		publication_schedule_init(&s, NOW_MS);
		s.state = rows[i].state;
		s.task = (struct publication_task){
			.kind = rows[i].task,
			.due_ms = NOW_MS + 50,
		};
		next = publication_schedule_step(&s, &policy, &event, NOW_MS);
		wait_ms = next.due_ms == INT64_MAX ? -1 : next.due_ms - NOW_MS;
		if (next.kind != rows[i].next || s.state != rows[i].after ||
		    (next.kind == PUBLICATION_WAIT &&
		     wait_ms != rows[i].wait_ms))
			fail_msg("row %zu: task %d in %d ms, state %d", i,
				 next.kind, (int)wait_ms, s.state);
		if (next.kind == PUBLICATION_BEGIN_REBUILD)
			assert_int_equal(next.nbits, 4 * NBITS);
	}
}

/* The table has all that can be, and nothing else. */
static void test_all_steps(void **state)
{
	(void)state;
	for (unsigned i = 0;
	     i < PUBLICATION_STATES * PUBLICATION_TASKS * PUBLICATION_EVENTS;
	     i++) {
		unsigned event = i % PUBLICATION_EVENTS;
		unsigned task = i / PUBLICATION_EVENTS % PUBLICATION_TASKS;
		unsigned in = i / PUBLICATION_EVENTS / PUBLICATION_TASKS;
		bool listed = false;

		for (size_t n = 0; n < NROWS(rows); n++)
			listed |= rows[n].state == in && rows[n].task == task &&
				  rows[n].event == event;
		if (publication_schedule_expects(in, task, event) != listed)
			fail_msg("state %d, task %d, event %d", in, task,
				 event);
	}
}

/* When so many keys of so many have changed, it waits for so many in all. */
/* A copy that was not published is made again: with the next changes, and
 * without any when there may be memory. */
static void test_published_again(void **state)
{
	const struct publication_event failed =
		event_of(PUBLICATION_FAILED, QUIET);
	const struct publication_event quiet = event_of(PUBLICATION_DUE, QUIET);
	const struct publication_event due = event_of(PUBLICATION_DUE, DUE);
	const struct publication_event done =
		event_of(PUBLICATION_DONE, QUIET);
	const int64_t again_ms = NOW_MS + PUBLICATION_RETRY_MS;

	(void)state;
	for (int changed = 0; changed < 2; changed++) {
		struct publication_schedule s;
		struct publication_task next;

		publication_schedule_init(&s, NOW_MS);
		s.task.kind = PUBLICATION_PUBLISH;
		publication_schedule_step(&s, &policy, &failed, NOW_MS);
		next = publication_schedule_step(&s, &policy, &quiet,
						 again_ms - 1);
		assert_int_equal(next.kind, PUBLICATION_WAIT);
		next = publication_schedule_step(
			&s, &policy, changed ? &due : &quiet,
			changed ? NOW_MS + 1 : again_ms);
		assert_int_equal(next.kind, PUBLICATION_BEGIN_COPY);
		s.task.kind = PUBLICATION_PUBLISH;
		next = publication_schedule_step(&s, &policy, &done, again_ms);
		assert_int_equal(next.kind, PUBLICATION_WAIT);
		assert_int_equal(next.due_ms, INT64_MAX);
	}
}

static void test_changes_waited_for(void **state)
{
	static const struct {
		const char *label;
		uint64_t nkeys, changed, wanted;
		bool resizable;
	} changes[] = {
		{"the first", 100000, 0, 1, false},
		{"most of the share", 100000, 10, 990, false},
		{"the rest of it", 100000, 995, 999, false},
		{"one, of few keys", 10, 0, 1, false},
		{"it is due when it may be", 1000, 10, UINT64_MAX / 2 + 10,
		 false},
		{"another size may be due before", 6400, 10, 63, true},
		{"the filter is empty", 0, 0, 1, true},
		{"the share is due before", 8000, 10, 79, true},
	};

	(void)state;
	for (size_t i = 0; i < NROWS(changes); i++) {
		struct publication_policy p = policy;
		struct publication_event event =
			event_of(PUBLICATION_DUE, QUIET);
		struct publication_schedule s;
		struct publication_task next;

		p.resizable = changes[i].resizable;
		publication_schedule_init(&s, NOW_MS);
		event.catalog.nkeys = changes[i].nkeys;
		event.catalog.changed = changes[i].changed;
		next = publication_schedule_step(&s, &p, &event, NOW_MS);
		assert_int_equal(next.kind, PUBLICATION_WAIT);
		if (next.changes != changes[i].wanted)
			fail_msg("%s: %" PRIu64, changes[i].label,
				 next.changes);
	}
}

/* A catalog whose keys come and go, and its publisher, on a clock of theirs. */
struct model {
	uint64_t random;
	struct publication_policy policy;
	struct publication_schedule schedule;
	struct publication_task task;
	struct catalog *catalog;
	uint64_t first, next; /* the keys in it */
	struct scd_bloom copy;
	int64_t now_ms;
	int64_t due_since_ms;     /* -1: nothing is due */
	int64_t crowded_since_ms; /* -1: the filter is large enough */
	uint64_t crowded_keys;
	unsigned published, rebuilt, dropped, looks;
	bool told;   /* that it has changed */
	bool arrays; /* are asked for */
	bool changes_only;
};

static void model_told(void *arg)
{
	((struct model *)arg)->told = true;
}

static enum publication_event_kind model_do(struct model *m)
{
	struct catalog_snapshot snapshot;
	struct scd_counting *filter;
	struct catalog_stats now;

	catalog_stats(m->catalog, &now);
	switch (m->task.kind) {
	case PUBLICATION_DROP_FILTER:
		filter = catalog_drop_filter(m->catalog);
		assert_non_null(filter);
		scd_counting_free(&filter);
		m->dropped++;
		return PUBLICATION_DONE;
	case PUBLICATION_BEGIN_REBUILD:
		assert_int_equal(
			scd_counting_new(&filter, m->task.nbits, NHASH), 0);
		catalog_rebuild(m->catalog, filter, 1);
		return PUBLICATION_DONE;
	case PUBLICATION_REBUILD_PART:
		for (uint64_t i = m->first; i < m->next; i++)
			catalog_rebuild_key(m->catalog,
					    &(struct scd_key){i * 77, i});
		assert_true(catalog_rebuild_next(m->catalog, &filter));
		scd_counting_free(&filter);
		m->rebuilt++;
		return PUBLICATION_DONE;
	case PUBLICATION_BEGIN_COPY:
		assert_true(
			catalog_due(m->catalog, &m->policy.publish, m->now_ms));
		m->changes_only = !now.nbits || !m->arrays;
		if (m->changes_only)
			return PUBLICATION_DONE;
		assert_int_equal(scd_bloom_init(&m->copy, now.nbits, NHASH), 0);
		catalog_snapshot_begin(m->catalog, &m->copy);
		return PUBLICATION_DONE;
	case PUBLICATION_COPY_SLICE:
		if (m->changes_only)
			catalog_snapshot_changes(m->catalog, m->now_ms,
						 &snapshot);
		else
			assert_true(catalog_snapshot_slice(
				m->catalog, m->now_ms, &snapshot));
		catalog_snapshot_free(&snapshot);
		m->published++;
		m->due_since_ms = -1;
		return PUBLICATION_DONE;
	case PUBLICATION_PUBLISH:
	case PUBLICATION_WAIT:
		break;
	}
	return PUBLICATION_DONE;
}

static void model_step(struct model *m, enum publication_event_kind kind)
{
	struct publication_event event = {.kind = kind, .arrays = m->arrays};

	catalog_stats(m->catalog, &event.catalog);
	event.catalog_due_ms = catalog_due_ms(m->catalog, &m->policy.publish);
	m->task = publication_schedule_step(&m->schedule, &m->policy, &event,
					    m->now_ms);
}

static void model_run_publisher(struct model *m)
{
	if (m->told) {
		m->told = false;
		model_step(m, PUBLICATION_CHANGED);
	}
	if (m->task.due_ms > m->now_ms)
		return;
	m->looks++;
	model_step(m, PUBLICATION_DUE);
	while (m->task.kind != PUBLICATION_WAIT)
		model_step(m, model_do(m));
	catalog_notify(m->catalog, m->task.changes, model_told, m);
}

static void model_change_keys(struct model *m, unsigned n, bool grows,
			      bool shrinks)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t key = m->next;

		if (grows || m->next == m->first) {
			catalog_add(m->catalog,
				    &(struct scd_key){key * 77, key});
			m->next++;
		}
		key = m->first;
		if (shrinks && m->next > m->first) {
			catalog_remove(m->catalog,
				       &(struct scd_key){key * 77, key});
			m->first++;
		}
	}
}

enum { LATE_MS = PUBLICATION_PACE_MS + 2 * PUBLICATION_PART_MS };

/* A generation that is due is published within a pace, though nobody looks
 * meanwhile. */
static void model_check_publishing(struct model *m)
{
	if (!catalog_due(m->catalog, &m->policy.publish, m->now_ms))
		m->due_since_ms = -1;
	else if (m->due_since_ms < 0)
		m->due_since_ms = m->now_ms;
	if (m->due_since_ms >= 0)
		assert_in_range(m->now_ms - m->due_since_ms, 0, LATE_MS);
}

/* And a filter that is too small is left before a 64th of the keys come. */
static void model_check_size(struct model *m)
{
	struct catalog_stats now;

	catalog_stats(m->catalog, &now);
	if (!m->arrays || !now.nbits ||
	    !resize_is_crowded(&m->policy.resize, &now) || now.next_nbits ||
	    now.nbits == m->policy.resize.max_bits) {
		m->crowded_since_ms = -1;
	} else if (m->crowded_since_ms < 0) {
		m->crowded_since_ms = m->now_ms;
		m->crowded_keys = now.nkeys;
	}
	if (m->crowded_since_ms >= 0 && now.nkeys > m->crowded_keys &&
	    m->now_ms - m->crowded_since_ms > LATE_MS)
		assert_in_range(now.nkeys - m->crowded_keys, 0, now.nkeys / 64);
}

static void run_model(uint64_t seed, struct model *m)
{
	unsigned n = 0, every = 1;
	bool grows = true, shrinks = false;

	*m = (struct model){
		.policy = policy, .due_since_ms = -1, .crowded_since_ms = -1};
	m->random = seed;
	m->policy.publish.max_ms =
		100 + (int64_t)random_below(&m->random, 5000);
	m->policy.resize = (struct resize_policy){4 * K, 64 * K, 8, 5000};
	m->arrays = seed % 2;
	assert_int_equal(catalog_new(&m->catalog, m->arrays ? 4 * K : 0, NHASH),
			 0);
	catalog_note_changes(m->catalog);
	m->task = publication_schedule_init(&m->schedule, 0);
	for (; m->now_ms < 60000; m->now_ms++) {
		if (m->now_ms % 3000 == 0) {
			n = (unsigned)random_below(&m->random, 4);
			every = 1 + (unsigned)random_below(&m->random, 900);
			grows = random_below(&m->random, 4);
			shrinks = random_below(&m->random, 2);
			m->arrays ^= !random_below(&m->random, 4);
		}
		if (m->now_ms % every == 0)
			model_change_keys(m, n * (1 + every / 10), grows,
					  shrinks);
		model_run_publisher(m);
		model_check_publishing(m);
		model_check_size(m);
	}
	catalog_free(&m->catalog);
}

static void test_nothing_is_late(void **state)
{
	unsigned published = 0, rebuilt = 0, dropped = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct model m;

		run_model(seed, &m);
		published += m.published;
		rebuilt += m.rebuilt;
		dropped += m.dropped;
	}
	assert_in_range(published, 1000, 100000);
	assert_in_range(rebuilt, 20, 1000);
	assert_in_range(dropped, 20, 1000);
}

/* Many changes, and a generation of them once in five seconds, as few of them
 * are a share of the keys: it hardly looks. */
static void test_looks_are_few(void **state)
{
	struct model m = {
		.policy = policy, .due_since_ms = -1, .crowded_since_ms = -1,
		.arrays = true};

	(void)state;
	m.policy.publish = (struct publish_policy){.9, 100, 5000, 0};
	m.policy.resizable = false;
	assert_int_equal(catalog_new(&m.catalog, NBITS, NHASH), 0);
	m.task = publication_schedule_init(&m.schedule, 0);
	model_change_keys(&m, 100000, true, false);
	for (; m.now_ms < 30000; m.now_ms++) {
		model_change_keys(&m, 5, true, true);
		model_run_publisher(&m);
	}
	assert_int_equal(m.published, 6);
	assert_in_range(m.looks, 6, 20);
	catalog_free(&m.catalog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_all_steps),
		cmocka_unit_test(test_published_again),
		cmocka_unit_test(test_changes_waited_for),
		cmocka_unit_test(test_nothing_is_late),
		cmocka_unit_test(test_looks_are_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
