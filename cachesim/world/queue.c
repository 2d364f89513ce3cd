/*
 * The queue of events: a binary heap, by time, then by order of scheduling.
 */
#include <stdlib.h>

#include "cachesim/world/world.h"

int64_t world_now_us;

static struct {
	struct world_event **heap; /* from 1 */
	size_t n, cap;
	uint64_t number;
	uint64_t sum;
} queue;

static bool queue_is_before(const struct world_event *a,
			    const struct world_event *b)
{
	return a->at_us != b->at_us ? a->at_us < b->at_us :
				      a->number < b->number;
}

static void queue_put(size_t i, struct world_event *e)
{
	queue.heap[i] = e;
	e->place = i;
}

static void queue_up(size_t i, struct world_event *e)
{
	for (; i > 1 && queue_is_before(e, queue.heap[i / 2]); i /= 2)
		queue_put(i, queue.heap[i / 2]);
	queue_put(i, e);
}

static void queue_down(size_t i, struct world_event *e)
{
	size_t child;

	for (; (child = 2 * i) <= queue.n; i = child) {
		if (child < queue.n &&
		    queue_is_before(queue.heap[child + 1], queue.heap[child]))
			child++;
		if (!queue_is_before(queue.heap[child], e))
			break;
		queue_put(i, queue.heap[child]);
	}
	queue_put(i, e);
}

void world_cancel(struct world_event *e)
{
	size_t i = e->place;
	struct world_event *last;

	if (!i)
		return;
	e->place = 0;
	last = queue.heap[queue.n--];
	if (last == e)
		return;
	if (i > 1 && queue_is_before(last, queue.heap[i / 2]))
		queue_up(i, last);
	else
		queue_down(i, last);
}

void world_at(struct world_event *e, int64_t at_us, void (*run)(void *arg),
	      void *arg)
{
	world_cancel(e);
	if (queue.n + 2 > queue.cap) {
		queue.cap = queue.cap ? 2 * queue.cap : 1024;
		queue.heap = realloc(queue.heap,
				     queue.cap * sizeof(struct world_event *));
		if (!queue.heap)
			world_fail("the world itself is out of memory");
	}
	e->at_us = at_us > world_now_us ? at_us : world_now_us;
	e->number = queue.number++;
	e->run = run;
	e->arg = arg;
	queue_up(++queue.n, e);
}

void world_reset(void)
{
	while (queue.n)
		world_cancel(queue.heap[1]);
	queue.number = 0;
	queue.sum = 0;
	world_now_us = 0;
}

bool world_step(void)
{
	struct world_event *e = queue.n ? queue.heap[1] : NULL;
	int64_t timer_ms = world_loop_due_ms();

	if (world_loop_run_one())
		return true;
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
