/*
 * What a publisher does and when.
 */
#include "digestd/mesh/publication_schedule.h"

#include <assert.h>

/* Keys are counted to see whether a filter fits them: so often, as a share of
 * them, that what is missed in between does not matter. */
enum { RESIZE_SHARE = 64 };

struct publication_task
publication_schedule_init(struct publication_schedule *s, int64_t now_ms)
{
	*s = (struct publication_schedule){
		.task = {.kind = PUBLICATION_WAIT, .due_ms = now_ms},
		.looked_ms = now_ms,
		.retry_rebuild_ms = INT64_MIN,
		.retry_copy_ms = INT64_MIN,
		.again_ms = INT64_MAX,
	};
	return s->task;
}

static bool publication_is_copying(enum publication_state state)
{
	return state == PUBLICATION_COPYING ||
	       state == PUBLICATION_COPYING_IN_REBUILD;
}

bool publication_schedule_expects(enum publication_state state,
				  enum publication_task_kind task,
				  enum publication_event_kind event)
{
	bool done = event == PUBLICATION_DONE;

	switch (task) {
	case PUBLICATION_WAIT:
		return event == PUBLICATION_DUE || event == PUBLICATION_CHANGED;
	case PUBLICATION_DROP_FILTER:
		return state == PUBLICATION_IDLE && done;
	case PUBLICATION_BEGIN_REBUILD:
		return state == PUBLICATION_IDLE &&
		       (done || event == PUBLICATION_FAILED);
	case PUBLICATION_REBUILD_PART:
		return state == PUBLICATION_REBUILDING &&
		       (done || event == PUBLICATION_MORE);
	case PUBLICATION_BEGIN_COPY:
	case PUBLICATION_PUBLISH:
		return !publication_is_copying(state) &&
		       (done || event == PUBLICATION_FAILED);
	case PUBLICATION_COPY_SLICE:
		return publication_is_copying(state) &&
		       (done || event == PUBLICATION_MORE);
	}
	return false;
}

static struct publication_task publication_do(enum publication_task_kind kind)
{
	return (struct publication_task){.kind = kind};
}

static int64_t publication_later_ms(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t publication_sooner_ms(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* How many keys have to come or go, at least, before a generation is due
 * sooner than it is: each of them may be one that goes. */
static uint64_t publication_changes_left(const struct publish_policy *policy,
					 const struct catalog_stats *now)
{
	double wanted = publish_policy_changes(policy, now->nkeys);
	double left = (wanted - (double)now->changed) / (1 + policy->share);

	if (!now->changed)
		return 1;
	if (left <= 0)
		return UINT64_MAX / 2; /* it is due as soon as it may be */
	return left < 1 ? 1 : (uint64_t)left;
}

/* From how many changes on the wait is over. */
static uint64_t publication_wake_at(const struct publication_policy *policy,
				    const struct catalog_stats *now)
{
	uint64_t left = publication_changes_left(&policy->publish, now);
	uint64_t sized = now->nkeys / RESIZE_SHARE + 1;

	if (policy->resizable && now->nbits && sized < left)
		left = sized;
	return now->changed + left;
}

/* When a snapshot is. */
static int64_t publication_copy_due_ms(const struct publication_schedule *s,
				       const struct publication_event *event)
{
	int64_t due_ms =
		publication_sooner_ms(event->catalog_due_ms, s->again_ms);

	return publication_later_ms(due_ms, s->retry_copy_ms);
}

/* Nothing is under way: until a generation or another size is due. */
static struct publication_task
publication_wait_idle(const struct publication_schedule *s,
		      const struct publication_policy *policy,
		      const struct publication_event *event, int64_t now_ms)
{
	struct publication_task task = publication_do(PUBLICATION_WAIT);
	int64_t resize_ms = INT64_MAX;

	if (policy->resizable && event->arrays && now_ms < s->retry_rebuild_ms)
		resize_ms = s->retry_rebuild_ms;
	else if (policy->resizable)
		resize_ms = resize_due_ms(&s->resize, &policy->resize,
					  &event->catalog);
	task.due_ms = publication_sooner_ms(publication_copy_due_ms(s, event),
					    resize_ms);
	task.due_ms =
		publication_later_ms(task.due_ms, now_ms + PUBLICATION_PACE_MS);
	task.changes = publication_wake_at(policy, &event->catalog);
	return task;
}

static struct publication_task
publication_wait(const struct publication_schedule *s,
		 const struct publication_policy *policy,
		 const struct publication_event *event, int64_t now_ms)
{
	if (s->state == PUBLICATION_IDLE)
		return publication_wait_idle(s, policy, event, now_ms);
	return (struct publication_task){
		.kind = PUBLICATION_WAIT,
		.due_ms = now_ms + PUBLICATION_PART_MS,
		.changes = UINT64_MAX,
	};
}

/* No snapshot is under way: begins one if it is due. */
static struct publication_task
publication_copy_or_wait(const struct publication_schedule *s,
			 const struct publication_policy *policy,
			 const struct publication_event *event, int64_t now_ms)
{
	if (publication_copy_due_ms(s, event) <= now_ms)
		return publication_do(PUBLICATION_BEGIN_COPY);
	return publication_wait(s, policy, event, now_ms);
}

static struct publication_task
publication_look(struct publication_schedule *s,
		 const struct publication_policy *policy,
		 const struct publication_event *event, int64_t now_ms)
{
	uint64_t wanted = event->catalog.nbits;

	if (policy->resizable && !event->arrays && event->catalog.nbits)
		return publication_do(PUBLICATION_DROP_FILTER);
	if (policy->resizable && event->arrays)
		wanted = resize_wanted(&s->resize, &policy->resize,
				       &event->catalog, now_ms);
	if (wanted == event->catalog.nbits || now_ms < s->retry_rebuild_ms)
		return publication_copy_or_wait(s, policy, event, now_ms);
	return (struct publication_task){
		.kind = PUBLICATION_BEGIN_REBUILD,
		.nbits = wanted,
	};
}

/* A wait is over. */
static struct publication_task
publication_go_on(struct publication_schedule *s,
		  const struct publication_policy *policy,
		  const struct publication_event *event, int64_t now_ms)
{
	s->looked_ms = now_ms;
	switch (s->state) {
	case PUBLICATION_IDLE:
		return publication_look(s, policy, event, now_ms);
	case PUBLICATION_REBUILDING:
		return publication_do(PUBLICATION_REBUILD_PART);
	case PUBLICATION_COPYING:
	case PUBLICATION_COPYING_IN_REBUILD:
		return publication_do(PUBLICATION_COPY_SLICE);
	}
	return s->task;
}

/* The catalog has changed during a wait, which ends a pace after the last. */
static struct publication_task
publication_wait_less(const struct publication_schedule *s)
{
	struct publication_task task = s->task;

	if (s->state == PUBLICATION_IDLE)
		task.due_ms = publication_sooner_ms(
			task.due_ms, s->looked_ms + PUBLICATION_PACE_MS);
	task.changes = UINT64_MAX;
	return task;
}

/* A task other than to wait has ended. */
static struct publication_task
publication_take_result(struct publication_schedule *s,
			const struct publication_policy *policy,
			const struct publication_event *event, int64_t now_ms)
{
	bool done = event->kind == PUBLICATION_DONE;
	bool idle =
		s->state == PUBLICATION_IDLE || s->state == PUBLICATION_COPYING;

	switch (s->task.kind) {
	case PUBLICATION_DROP_FILTER:
		return publication_copy_or_wait(s, policy, event, now_ms);
	case PUBLICATION_BEGIN_REBUILD:
		if (done)
			s->state = PUBLICATION_REBUILDING;
		else
			s->retry_rebuild_ms = now_ms + PUBLICATION_RETRY_MS;
		return publication_copy_or_wait(s, policy, event, now_ms);
	case PUBLICATION_REBUILD_PART:
		if (done)
			s->state = PUBLICATION_IDLE;
		return publication_copy_or_wait(s, policy, event, now_ms);
	case PUBLICATION_BEGIN_COPY:
		if (done) {
			s->state = idle ? PUBLICATION_COPYING
					: PUBLICATION_COPYING_IN_REBUILD;
			return publication_do(PUBLICATION_COPY_SLICE);
		}
		s->retry_copy_ms = now_ms + PUBLICATION_RETRY_MS;
		break;
	case PUBLICATION_COPY_SLICE:
		if (done) {
			s->state = idle ? PUBLICATION_IDLE
					: PUBLICATION_REBUILDING;
			return publication_do(PUBLICATION_PUBLISH);
		}
		break;
	case PUBLICATION_PUBLISH:
		/* the catalog counts what was copied as published */
		s->again_ms = done ? INT64_MAX : now_ms + PUBLICATION_RETRY_MS;
		break;
	case PUBLICATION_WAIT:
		break;
	}
	return publication_wait(s, policy, event, now_ms);
}

struct publication_task
publication_schedule_step(struct publication_schedule *s,
			  const struct publication_policy *policy,
			  const struct publication_event *event, int64_t now_ms)
{
	assert(publication_schedule_expects(s->state, s->task.kind,
					    event->kind));
	switch (event->kind) {
	case PUBLICATION_DUE:
		s->task = publication_go_on(s, policy, event, now_ms);
		break;
	case PUBLICATION_CHANGED:
		s->task = publication_wait_less(s);
		break;
	case PUBLICATION_DONE:
	case PUBLICATION_MORE:
	case PUBLICATION_FAILED:
		s->task = publication_take_result(s, policy, event, now_ms);
		break;
	}
	return s->task;
}
