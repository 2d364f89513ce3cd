/*
 * The queue of events: by time, then by order of scheduling.
 *
 * What is due at once, as most is, is in a list. What is due later mostly comes
 * in a few ascending sequences, as delays are constants: of connections, of
 * limits, of arrivals. So there are some lists more, each in order: an event
 * goes to the end of the one whose last event is the latest that is not later.
 * Where none is, it goes into a binary heap, which has the times itself, so
 * that comparing them does not touch the events.
 */
#include <stdint.h>
#include <stdlib.h>

#include "cachesim/world/world.h"

/* The first list is of what is due at once. */
enum { QUEUE_LISTS = 4 };

/* The place of an event that is in a list: this and the list's number. */
static const size_t queue_in_list = SIZE_MAX - QUEUE_LISTS;

int64_t world_now_us;

struct queue_slot {
	int64_t at_us;
	uint64_t number;
	struct world_event *e;
};

struct queue_list {
	struct world_event *first, *last;
};

static struct {
	struct queue_slot *heap; /* from 1 */
	size_t n, cap;
	struct queue_list lists[QUEUE_LISTS];
	uint64_t number;
	uint64_t sum;
} queue;

static bool queue_is_before(const struct queue_slot *a,
			    const struct queue_slot *b)
{
	return a->at_us != b->at_us ? a->at_us < b->at_us :
				      a->number < b->number;
}

static void queue_put(size_t i, const struct queue_slot *slot)
{
	queue.heap[i] = *slot;
	slot->e->place = i;
}

static void queue_up(size_t i, const struct queue_slot *slot)
{
	for (; i > 1 && queue_is_before(slot, &queue.heap[i / 2]); i /= 2)
		queue_put(i, &queue.heap[i / 2]);
	queue_put(i, slot);
}

static void queue_down(size_t i, const struct queue_slot *slot)
{
	size_t child;

	for (; (child = 2 * i) <= queue.n; i = child) {
		if (child < queue.n && queue_is_before(&queue.heap[child + 1],
						       &queue.heap[child]))
			child++;
		if (!queue_is_before(&queue.heap[child], slot))
			break;
		queue_put(i, &queue.heap[child]);
	}
	queue_put(i, slot);
}

static void queue_remove(size_t i)
{
	const struct queue_slot last = queue.heap[queue.n--];

	if (i > queue.n)
		return;
	if (i > 1 && queue_is_before(&last, &queue.heap[i / 2]))
		queue_up(i, &last);
	else
		queue_down(i, &last);
}

static void queue_unlink(struct queue_list *list, struct world_event *e)
{
	if (e->before)
		e->before->next = e->next;
	else
		list->first = e->next;
	if (e->next)
		e->next->before = e->before;
	else
		list->last = e->before;
}

void world_unqueue(struct world_event *e)
{
	size_t i = e->place;

	e->place = 0;
	if (i >= queue_in_list)
		queue_unlink(&queue.lists[i - queue_in_list], e);
	else
		queue_remove(i);
}

static void queue_append(size_t i, struct world_event *e)
{
	struct queue_list *list = &queue.lists[i];

	e->next = NULL;
	e->before = list->last;
	if (list->last)
		list->last->next = e;
	else
		list->first = e;
	list->last = e;
	e->place = queue_in_list + i;
}

/* The list whose end an event may be put to; QUEUE_LISTS: none. */
static size_t queue_list_for(int64_t at_us)
{
	size_t best = QUEUE_LISTS;
	int64_t latest_us = -1;

	for (size_t i = 1; i < QUEUE_LISTS; i++) {
		const struct world_event *last = queue.lists[i].last;
		const int64_t last_us = last ? last->at_us : 0;

		if (last_us <= at_us && last_us > latest_us) {
			latest_us = last_us;
			best = i;
		}
	}
	return best;
}

static void queue_heap(struct world_event *e)
{
	const struct queue_slot slot = { e->at_us, e->number, e };

	if (queue.n + 2 > queue.cap) {
		queue.cap = queue.cap ? 2 * queue.cap : 1024;
		queue.heap = realloc(queue.heap,
				     queue.cap * sizeof(*queue.heap));
		if (!queue.heap)
			world_fail("the world itself is out of memory");
	}
	queue_up(++queue.n, &slot);
}

static void queue_insert(struct world_event *e)
{
	const size_t i = queue_list_for(e->at_us);

	if (i < QUEUE_LISTS)
		queue_append(i, e);
	else
		queue_heap(e);
}

void world_at(struct world_event *e, int64_t at_us, void (*run)(void *arg),
	      void *arg)
{
	world_cancel(e);
	e->at_us = at_us > world_now_us ? at_us : world_now_us;
	e->number = queue.number++;
	e->run = run;
	e->arg = arg;
	if (e->at_us == world_now_us)
		queue_append(0, e);
	else
		queue_insert(e);
}

/* Null: nothing is due. */
static struct world_event *queue_next(void)
{
	struct world_event *next = queue.n ? queue.heap[1].e : NULL;

	for (size_t i = 0; i < QUEUE_LISTS; i++) {
		struct world_event *first = queue.lists[i].first;

		if (first && (!next || first->at_us < next->at_us ||
			      (first->at_us == next->at_us &&
			       first->number < next->number)))
			next = first;
	}
	return next;
}

void world_reset(void)
{
	for (struct world_event *e; (e = queue_next());)
		world_cancel(e);
	queue.number = 0;
	queue.sum = 0;
	world_now_us = 0;
}

bool world_step(void)
{
	struct world_event *e;
	int64_t timer_ms;

	world_loop_wait();
	if (world_loop_run_one())
		return true;
	e = queue_next();
	timer_ms = world_loop_due_ms();
	if (timer_ms != INT64_MAX &&
	    (!e || timer_ms * 1000 <= e->at_us)) {
		if (timer_ms * 1000 > world_now_us)
			world_now_us = timer_ms * 1000;
		world_loop_fire();
		return true;
	}
	if (!e)
		return false;
	world_cancel(e);
	world_now_us = e->at_us;
	e->run(e->arg);
	return true;
}

void world_mix(uint64_t what)
{
	queue.sum = world_hash(queue.sum ^ (uint64_t)world_now_us, what);
}

uint64_t world_sum(void)
{
	return queue.sum;
}
