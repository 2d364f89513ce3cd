/*
 * The event loop.
 *
 * A handler may end any watch while the events of its turn are being handed
 * out, so loop_unwatch() also strikes the watch from the batch in hand.
 */
#include "digestd/os/loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "digestd/os/call_queue.h"
#include "digestd/os/timer_heap.h"

enum {
	LOOP_BATCH = 256, /* events taken from the kernel at once */
	NS_PER_S = 1000000000,
};

struct loop {
	int epoll_fd;
	bool runs; /* in the thread that has it in loop_here */
	int64_t now_us, now_ms, wall_s, wall_ms, steady_s;
	atomic_bool stopping;

	struct epoll_event batch[LOOP_BATCH];
	int batch_len;

	struct loop_timer *timers; /* the heap's root: the next one due */
	struct call_queue deferred;
	void (*waits)(void *arg, bool waits); /* null: nobody wants to know */
	void *waits_arg;

	struct loop_watch inbox_watch;
	pthread_mutex_t inbox_lock; /* guards inbox */
	struct call_queue inbox;
};

/* The loop that runs in this thread. */
static __thread const struct loop *loop_here;

/* While a loop runs it belongs to its thread, with all that is in it. */
static bool loop_is_mine(const struct loop *loop)
{
	return !loop->runs || loop_here == loop;
}

static int64_t loop_read_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* By how much the wall clock was ahead of CLOCK_BOOTTIME at first [ns]. */
static int64_t loop_ahead_ns;
static pthread_once_t loop_ahead_is_read = PTHREAD_ONCE_INIT;

static void loop_read_ahead(void)
{
	loop_ahead_ns = loop_read_ns(CLOCK_REALTIME) -
			loop_read_ns(CLOCK_BOOTTIME);
}

static void loop_read_clocks(struct loop *loop)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	loop->now_us = (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
	loop->now_ms = loop->now_us / 1000;
	clock_gettime(CLOCK_REALTIME, &ts);
	loop->wall_s = ts.tv_sec;
	loop->wall_ms = (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
	loop->steady_s = (loop_ahead_ns + loop_read_ns(CLOCK_BOOTTIME)) /
			 NS_PER_S;
}

static void loop_run_calls(struct call_queue *q)
{
	while (q->head) {
		struct loop_call *c = q->head;

		call_queue_remove(q, c);
		c->run(c->arg);
	}
}

static void loop_inbox_ready(void *arg, unsigned events)
{
	struct loop *loop = arg;
	struct call_queue calls;
	uint64_t count;

	(void)events;
	if (read(loop->inbox_watch.fd, &count, sizeof(count)) < 0)
		return; /* somebody's events were coalesced: nothing there */
	pthread_mutex_lock(&loop->inbox_lock);
	call_queue_take(&calls, &loop->inbox);
	pthread_mutex_unlock(&loop->inbox_lock);
	loop_run_calls(&calls);
}

static int loop_open_inbox(struct loop *loop)
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = loop_watch(loop, &loop->inbox_watch, fd, LOOP_READ,
			 loop_inbox_ready, loop);
	if (err)
		close(fd);
	return err;
}

int loop_new(struct loop **out)
{
	struct loop *loop = calloc(1, sizeof(*loop));
	int err;

	if (!loop)
		return -ENOMEM;
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0) {
		err = -errno;
		free(loop);
		return err;
	}
	call_queue_init(&loop->deferred);
	call_queue_init(&loop->inbox);
	pthread_mutex_init(&loop->inbox_lock, NULL);
	pthread_once(&loop_ahead_is_read, loop_read_ahead);
	loop_read_clocks(loop);
	err = loop_open_inbox(loop);
	if (err) {
		loop_free(&loop);
		return err;
	}
	*out = loop;
	return 0;
}

void loop_free(struct loop **loop)
{
	struct loop *l = *loop;

	if (!l)
		return;
	assert(!l->runs);
	if (l->inbox_watch.active)
		close(l->inbox_watch.fd);
	close(l->epoll_fd);
	pthread_mutex_destroy(&l->inbox_lock);
	free(l);
	*loop = NULL;
}

/* Turns timers and deferred calls into how long the kernel may wait. */
static int loop_wait_time(const struct loop *loop, int wait_ms)
{
	int64_t left;

	if (loop->deferred.head)
		return 0;
	if (!loop->timers)
		return wait_ms;
	left = loop->timers->due_ms - loop->now_ms;
	if (left <= 0)
		return 0;
	if (wait_ms >= 0 && wait_ms < left)
		return wait_ms;
	return left < INT_MAX ? (int)left : INT_MAX;
}

static unsigned loop_from_epoll(uint32_t events)
{
	return (events & EPOLLIN ? LOOP_READ : 0u) |
	       (events & EPOLLOUT ? LOOP_WRITE : 0u) |
	       (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR) ? LOOP_HANGUP : 0u);
}

static uint32_t loop_to_epoll(unsigned events)
{
	return (events & LOOP_READ ? (uint32_t)EPOLLIN : 0u) |
	       (events & LOOP_WRITE ? (uint32_t)EPOLLOUT : 0u) |
	       (events & LOOP_HANGUP ? (uint32_t)EPOLLRDHUP : 0u) |
	       (events & LOOP_EDGE ? (uint32_t)EPOLLET : 0u);
}

static void loop_hand_out(struct loop *loop)
{
	for (int i = 0; i < loop->batch_len; i++) {
		struct epoll_event *e = &loop->batch[i];
		struct loop_watch *w = e->data.ptr;

		if (w)
			w->ready(w->arg, loop_from_epoll(e->events));
	}
	loop->batch_len = 0;
}

static void loop_fire_timers(struct loop *loop)
{
	while (loop->timers && loop->timers->due_ms <= loop->now_ms) {
		struct loop_timer *t = loop->timers;

		loop_timer_clear(loop, t);
		t->fire(t->arg);
	}
}

/*
 * Runs what is deferred now, not what these calls defer in turn: a call that
 * always defers itself again must not keep the loop from its descriptors.
 */
static void loop_run_deferred(struct loop *loop)
{
	struct loop_call last = { 0 };

	if (!loop->deferred.head)
		return;
	call_queue_push(&loop->deferred, &last);
	while (loop->deferred.head != &last) {
		struct loop_call *c = loop->deferred.head;

		call_queue_remove(&loop->deferred, c);
		c->run(c->arg);
	}
	call_queue_remove(&loop->deferred, &last);
}

void loop_on_wait(struct loop *loop, void (*waits)(void *arg, bool waits),
		  void *arg)
{
	assert(loop_is_mine(loop));
	loop->waits = waits;
	loop->waits_arg = arg;
}

static int loop_wait(struct loop *loop, int wait_ms)
{
	int n;

	if (loop->waits)
		loop->waits(loop->waits_arg, true);
	n = epoll_wait(loop->epoll_fd, loop->batch, LOOP_BATCH,
		       loop_wait_time(loop, wait_ms));
	if (loop->waits)
		loop->waits(loop->waits_arg, false);
	return n;
}

int loop_turn(struct loop *loop, int wait_ms)
{
	int n;

	assert(loop_is_mine(loop));
	n = loop_wait(loop, wait_ms);
	if (n < 0 && errno != EINTR)
		return -errno;
	loop->batch_len = n > 0 ? n : 0;
	loop_read_clocks(loop);
	loop_hand_out(loop);
	loop_fire_timers(loop);
	loop_run_deferred(loop);
	return 0;
}

int loop_run(struct loop *loop)
{
	int err = 0;

	assert(!loop->runs && !loop_here);
	loop->runs = true;
	loop_here = loop;
	while (!err && !atomic_load(&loop->stopping))
		err = loop_turn(loop, -1);
	atomic_store(&loop->stopping, false);
	loop_here = NULL;
	loop->runs = false;
	return err;
}

static void loop_ring(struct loop *loop)
{
	static const uint64_t one = 1;
	ssize_t n = write(loop->inbox_watch.fd, &one, sizeof(one));

	(void)n; /* it fails only when 2^64 rings are unheard: heard anyway */
}

void loop_stop(struct loop *loop)
{
	atomic_store(&loop->stopping, true);
	loop_ring(loop);
}

int64_t loop_clock_ms(void)
{
	return loop_read_ns(CLOCK_BOOTTIME) / 1000000;
}

int64_t loop_now_us(const struct loop *loop)
{
	return loop->now_us;
}

int64_t loop_clock_us(void)
{
	return loop_read_ns(CLOCK_MONOTONIC) / 1000;
}

int64_t loop_now_ms(const struct loop *loop)
{
	return loop->now_ms;
}

int64_t loop_wall_ms(const struct loop *loop)
{
	return loop->wall_ms;
}

int64_t loop_wall_s(const struct loop *loop)
{
	return loop->wall_s;
}

int64_t loop_steady_s(const struct loop *loop)
{
	return loop->steady_s;
}

int loop_watch(struct loop *loop, struct loop_watch *w, int fd, unsigned events,
	       void (*ready)(void *arg, unsigned events), void *arg)
{
	struct epoll_event e = {.events = loop_to_epoll(events), .data.ptr = w};

	assert(loop_is_mine(loop));
	assert(fd >= 0 && ready);
	assert(!w->active);
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0)
		return -errno;
	w->ready = ready;
	w->arg = arg;
	w->fd = fd;
	w->active = true;
	return 0;
}

int loop_rewatch(struct loop *loop, struct loop_watch *w, unsigned events)
{
	struct epoll_event e = {.events = loop_to_epoll(events), .data.ptr = w};

	assert(loop_is_mine(loop));
	assert(w->active);
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, w->fd, &e) < 0)
		return -errno;
	return 0;
}

void loop_unwatch(struct loop *loop, struct loop_watch *w)
{
	assert(loop_is_mine(loop));
	if (!w->active)
		return;
	/* it may fail when the descriptor was closed behind our back; then
	 * the kernel has forgotten it already */
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
	w->active = false;
	for (int i = 0; i < loop->batch_len; i++) {
		if (loop->batch[i].data.ptr == w)
			loop->batch[i].data.ptr = NULL;
	}
}

void loop_timer_set(struct loop *loop, struct loop_timer *t, int64_t due_ms,
		    void (*fire)(void *arg), void *arg)
{
	assert(loop_is_mine(loop));
	assert(fire);
	assert(!t->link || t->loop == loop);
	timer_heap_remove(&loop->timers, t);
	t->loop = loop;
	t->due_ms = due_ms;
	t->fire = fire;
	t->arg = arg;
	timer_heap_insert(&loop->timers, t);
}

void loop_timer_clear(struct loop *loop, struct loop_timer *t)
{
	assert(loop_is_mine(loop));
	assert(!t->link || t->loop == loop);
	timer_heap_remove(&loop->timers, t);
}

void loop_defer(struct loop *loop, struct loop_call *c)
{
	assert(loop_is_mine(loop));
	assert(c->run);
	if (!c->link)
		call_queue_push(&loop->deferred, c);
}

void loop_undefer(struct loop *loop, struct loop_call *c)
{
	assert(loop_is_mine(loop));
	if (c->link)
		call_queue_remove(&loop->deferred, c);
}

void loop_post(struct loop *loop, struct loop_call *c)
{
	bool first;

	assert(c->run);
	pthread_mutex_lock(&loop->inbox_lock);
	first = !loop->inbox.head;
	call_queue_push(&loop->inbox, c);
	pthread_mutex_unlock(&loop->inbox_lock);
	if (first) /* only saves system calls: the bell rings already */
		loop_ring(loop);
}
