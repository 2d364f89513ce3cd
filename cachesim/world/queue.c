/*
 * The queue of events: by time, then by order of scheduling. What is due later
 * is in a binary heap, which has the times itself, so that comparing them does
 * not touch the events. What is due at once, as most is, is in a list.
 */
#include <stdint.h>
#include <stdlib.h>

#include "cachesim/world/world.h"

/* The place of an event that is in the list. */
static const size_t queue_at_once = SIZE_MAX;

int64_t world_now_us;

struct queue_slot {
	int64_t at_us;
	uint64_t number;
	struct world_event *e;
};

static struct {
	struct queue_slot *heap; /* from 1 */
	size_t n, cap;
	struct world_event *first, **last; /* the list, by number */
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

static void queue_unlink(struct world_event *e)
{
	*e->link = e->next;
	if (e->next)
		e->next->link = e->link;
	else
		queue.last = e->link;
}

void world_unqueue(struct world_event *e)
{
	size_t i = e->place;

	e->place = 0;
	if (i == queue_at_once)
		queue_unlink(e);
	else
		queue_remove(i);
}

static void queue_append(struct world_event *e)
{
	if (!queue.first)
		queue.last = &queue.first;
	e->next = NULL;
	e->link = queue.last;
	*queue.last = e;
	queue.last = &e->next;
	e->place = queue_at_once;
}

static void queue_insert(struct world_event *e)
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

void world_at(struct world_event *e, int64_t at_us, void (*run)(void *arg),
	      void *arg)
{
	world_cancel(e);
	e->at_us = at_us > world_now_us ? at_us : world_now_us;
	e->number = queue.number++;
	e->run = run;
	e->arg = arg;
	if (e->at_us == world_now_us)
		queue_append(e);
	else
		queue_insert(e);
}

/* Null: nothing is due. */
static struct world_event *queue_next(void)
{
	const struct queue_slot *top = queue.n ? &queue.heap[1] : NULL;
	struct world_event *first = queue.first;

	if (!first)
		return top ? top->e : NULL;
	/* time does not pass as long as there is something in the list */
	return top && top->at_us == first->at_us &&
	       top->number < first->number ? top->e : first;
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
