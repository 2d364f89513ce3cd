/*
 * The event loop of a world, in place of digestd/os/loop.c: no descriptors, no
 * threads, virtual time. Timers of all loops are in one heap.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "digestd/os/call_queue.h"
#include "digestd/os/loop.h"
#include "digestd/os/timer_heap.h"
#include "cachesim/world/node_set.h"
#include "cachesim/world/nodes.h"
#include "cachesim/world/world.h"

enum { WALL_S = 1700000000 }; /* when the world begins */

struct loop {
	struct call_queue posted, deferred;
	size_t nwaiting; /* calls in both */
	int place;       /* whose it is */
	int64_t ahead_s; /* its node's wall clock */
	int64_t started_ahead_s; /* the same when the node was started */
	struct loop_watch *signals; /* null: not watched */
	void (*waits)(void *arg, bool waits);
	void *waits_arg;
	struct loop *next, **link;
	struct loop *next_here, **link_here; /* of the loops of its place */
};

static struct loop *loops;
static struct loop *loops_at[NODES_MAX]; /* of each place */
static struct node_set loops_places;     /* that have some */
static struct node_set loops_ran;        /* see world_loop_runs() */
static bool loops_ran_known;
static size_t loops_waiting; /* calls in all loops */
static struct loop_timer *loop_timers;
int64_t world_loop_ahead_s;

static void loop_queue_call(struct loop *loop, struct call_queue *q,
			    struct loop_call *c)
{
	call_queue_push(q, c);
	loop->nwaiting++;
	loops_waiting++;
}

static void loop_unqueue_call(struct loop *loop, struct call_queue *q,
			      struct loop_call *c)
{
	call_queue_remove(q, c);
	loop->nwaiting--;
	loops_waiting--;
}

/* Posted ones go before deferred ones. */
static bool loop_run_first(struct loop *loop)
{
	struct call_queue *q =
		loop->posted.head ? &loop->posted : &loop->deferred;
	struct loop_call *c = q->head;

	if (!c)
		return false;
	loop_unqueue_call(loop, q, c);
	c->run(c->arg);
	return true;
}

static bool loop_has_calls(const struct loop *loop)
{
	return loop->posted.head || loop->deferred.head;
}

void world_loop_runs(int place)
{
	loops_ran_known = true;
	if (place >= 0 && place < NODES_MAX) /* others are no nodes */
		node_set_add(&loops_ran, (unsigned)place);
}

static void loop_wait_at(unsigned place)
{
	struct loop *next;

	for (struct loop *loop = loops_at[place]; loop; loop = next) {
		next = loop->next_here;
		if (!loop->waits)
			continue;
		loop->waits(loop->waits_arg, true);
		loop->waits(loop->waits_arg, false);
	}
}

/* Between two events all loops wait; where nothing was done, there is nothing
 * new to do. */
void world_loop_wait(void)
{
	const struct node_set ran = loops_ran_known ? loops_ran : loops_places;
	unsigned place = node_set_from(&ran, 0);

	loops_ran = (struct node_set){ 0 };
	loops_ran_known = false;
	for (; place < NODES_MAX; place = node_set_from(&ran, place + 1))
		loop_wait_at(place);
}

bool world_loop_run_one(void)
{
	uint32_t waiting = 0, chosen;
	struct loop *loop;

	if (!loops_waiting)
		return false;
	for (loop = loops; loop; loop = loop->next)
		waiting += loop_has_calls(loop);
	chosen = waiting > 1 ? world_below(CHOICE_LOOP, waiting) : 0;
	for (loop = loops; loop; loop = loop->next) {
		if (loop_has_calls(loop) && chosen-- == 0)
			break;
	}
	world_loop_runs(loop->place);
	return loop_run_first(loop);
}

int64_t world_loop_due_ms(void)
{
	return loop_timers ? loop_timers->due_ms : INT64_MAX;
}

void world_loop_fire(void)
{
	struct loop_timer *t = loop_timers;

	timer_heap_remove(&loop_timers, t);
	world_loop_runs(t->loop->place);
	t->fire(t->arg);
}

int loop_new(struct loop **out)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return -ENOMEM;
	call_queue_init(&loop->posted);
	call_queue_init(&loop->deferred);
	loop->place = nodes_place;
	loop->ahead_s = world_loop_ahead_s;
	loop->started_ahead_s = world_loop_ahead_s;
	loop->next = loops;
	loop->link = &loops;
	if (loop->next)
		loop->next->link = &loop->next;
	loops = loop;
	loop->next_here = loops_at[loop->place];
	loop->link_here = &loops_at[loop->place];
	if (loop->next_here)
		loop->next_here->link_here = &loop->next_here;
	loops_at[loop->place] = loop;
	node_set_add(&loops_places, (unsigned)loop->place);
	*out = loop;
	return 0;
}

void loop_free(struct loop **out)
{
	struct loop *loop = *out;

	if (!loop)
		return;
	/* whose calls they are may be gone: nobody looks at them any more */
	loops_waiting -= loop->nwaiting;
	*loop->link = loop->next;
	if (loop->next)
		loop->next->link = loop->link;
	*loop->link_here = loop->next_here;
	if (loop->next_here)
		loop->next_here->link_here = loop->link_here;
	if (!loops_at[loop->place])
		node_set_remove(&loops_places, (unsigned)loop->place);
	free(loop);
	*out = NULL;
}

/* The world turns; nobody waits in a loop. */
int loop_run(struct loop *loop)
{
	(void)loop;
	return 0;
}

int loop_turn(struct loop *loop, int wait_ms)
{
	(void)wait_ms;
	while (loop_run_first(loop))
		continue;
	return 0;
}

void loop_on_wait(struct loop *loop, void (*waits)(void *arg, bool waits),
		  void *arg)
{
	loop->waits = waits;
	loop->waits_arg = arg;
}

void loop_stop(struct loop *loop)
{
	(void)loop;
}

int64_t loop_clock_ms(void)
{
	return world_now_us / 1000;
}

int64_t loop_now_us(const struct loop *loop)
{
	(void)loop;
	return world_now_us;
}

int64_t loop_clock_us(void)
{
	return world_now_us;
}

int64_t loop_now_ms(const struct loop *loop)
{
	(void)loop;
	return world_now_us / 1000;
}

int64_t world_wall_s(void)
{
	return WALL_S + world_now_us / 1000000;
}

int64_t loop_wall_ms(const struct loop *loop)
{
	return loop_wall_s(loop) * 1000;
}

int64_t loop_wall_s(const struct loop *loop)
{
	return world_wall_s() + loop->ahead_s;
}

int64_t loop_steady_s(const struct loop *loop)
{
	return world_wall_s() + loop->started_ahead_s;
}

void world_loop_set_ahead(int place, int64_t ahead_s)
{
	for (struct loop *loop = loops; loop; loop = loop->next) {
		if (loop->place == place)
			loop->ahead_s = ahead_s;
	}
}

void world_loop_signal(int place, int number)
{
	for (struct loop *loop = loops; loop; loop = loop->next) {
		if (loop->place != place || !loop->signals)
			continue;
		if (raise(number))
			world_fail("there are no signals");
		loop->signals->ready(loop->signals->arg, LOOP_READ);
		return;
	}
}

/* Only signals are watched. */
int loop_watch(struct loop *loop, struct loop_watch *w, int fd, unsigned events,
	       void (*ready)(void *arg, unsigned events), void *arg)
{
	(void)events;
	assert(!w->active);
	loop->signals = w;
	*w = (struct loop_watch){ ready, arg, fd, true };
	return 0;
}

int loop_rewatch(struct loop *loop, struct loop_watch *w, unsigned events)
{
	(void)loop;
	(void)w;
	(void)events;
	return -ENOSYS;
}

void loop_unwatch(struct loop *loop, struct loop_watch *w)
{
	if (loop->signals == w)
		loop->signals = NULL;
	w->active = false;
}

void loop_timer_set(struct loop *loop, struct loop_timer *t, int64_t due_ms,
		    void (*fire)(void *arg), void *arg)
{
	int64_t now_ms = world_now_us / 1000;

	assert(!t->link || t->loop == loop);
	timer_heap_remove(&loop_timers, t);
	t->loop = loop;
	/* a real loop fires it in its next turn, not in this one */
	t->due_ms = due_ms > now_ms ? due_ms : now_ms;
	t->fire = fire;
	t->arg = arg;
	timer_heap_insert(&loop_timers, t);
}

void loop_timer_clear(struct loop *loop, struct loop_timer *t)
{
	assert(!t->link || t->loop == loop);
	(void)loop;
	timer_heap_remove(&loop_timers, t);
}

void loop_defer(struct loop *loop, struct loop_call *c)
{
	if (!c->link)
		loop_queue_call(loop, &loop->deferred, c);
}

void loop_undefer(struct loop *loop, struct loop_call *c)
{
	if (c->link)
		loop_unqueue_call(loop, &loop->deferred, c);
}

void loop_post(struct loop *loop, struct loop_call *c)
{
	loop_queue_call(loop, &loop->posted, c);
}
