/*
 * The event loop: one thread, one epoll descriptor.
 *
 * A loop carries watched descriptors, timers, calls put off to the next turn,
 * and an inbox through which other threads post calls. Everything but
 * loop_post() and loop_stop() belongs to the loop's own thread.
 *
 * Watches, timers and calls are embedded in their owner's structure and linked
 * in place, so arming one allocates nothing and, but for a watch, cannot fail.
 * The owner disarms them before its memory goes; a handler may disarm or free
 * any of them, its own included.
 *
 * A turn: wait for events, read the clock once, run what is ready, the timers
 * that are due, the inbox, the deferred calls. Time is CLOCK_MONOTONIC.
 */
#ifndef DIGESTD_OS_LOOP_H
#define DIGESTD_OS_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop;

/* What a descriptor is watched for, and what has happened to it. */
enum {
	LOOP_READ = 1,
	LOOP_WRITE = 2,
	LOOP_HANGUP = 4, /* the other side has ended its half, or an error */
	LOOP_EDGE = 8,   /* of a watch: see loop_watch() */
};

/* A watched descriptor. All fields are the loop's; zero is "not watched". */
struct loop_watch {
	void (*ready)(void *arg, unsigned events);
	void *arg;
	int fd;
	bool active;
};

/* A timer. All fields are the loop's; zero is "not armed". */
struct loop_timer {
	struct loop *loop; /* where it was armed last */
	void (*fire)(void *arg);
	void *arg;
	int64_t due_ms;
	struct loop_timer *child, *next; /* pairing heap: first child, next */
	struct loop_timer **link;        /* what points here; null: not armed */
};

/* A call, deferred or posted. Zero is "not queued". */
struct loop_call {
	void (*run)(void *arg);
	void *arg;
	struct loop_call *next, **link; /* the queue's */
};

/*
 * Makes a loop. Returns 0, or a negative errno (-ENOMEM, -EMFILE).
 */
int loop_new(struct loop **out);

/*
 * Frees a loop that does not run; *loop becomes null. What is still watched,
 * armed or queued is forgotten, not run.
 */
void loop_free(struct loop **loop);

/*
 * Runs the loop in the calling thread until loop_stop(); both may be repeated.
 * Returns 0, or a negative errno when the kernel refuses to wait.
 */
int loop_run(struct loop *loop);

/*
 * One turn, waiting at most wait_ms (negative: as long as it takes). Returns
 * as loop_run() does.
 */
int loop_turn(struct loop *loop, int wait_ms);

/*
 * Has a function called around each wait of a turn, however short: with true
 * before it and false behind it. For what a thread lets go of while it waits.
 * Null: none.
 */
void loop_on_wait(struct loop *loop, void (*waits)(void *arg, bool waits),
		  void *arg);

/* Asks a loop to return from loop_run() after its turn. From any thread. */
void loop_stop(struct loop *loop);

/* The time at which this turn began [ms, CLOCK_MONOTONIC]. */
int64_t loop_now_ms(const struct loop *loop);

/* The same [us], and the time of that clock at this moment. */
int64_t loop_now_us(const struct loop *loop);
int64_t loop_clock_us(void);

/* The time at this moment [ms, CLOCK_BOOTTIME], of whatever thread. */
int64_t loop_clock_ms(void);

/* The wall clock [s since 1970], read at the same moment; HTTP dates use it. */
int64_t loop_wall_s(const struct loop *loop);

/* The same in milliseconds. */
int64_t loop_wall_ms(const struct loop *loop);

/*
 * The same in seconds, without what anybody has set since the process made its
 * first loop: it goes on from then at the pace of CLOCK_BOOTTIME, with the time
 * for which the machine was suspended. Ages of responses use it. Alike for all
 * loops.
 */
int64_t loop_steady_s(const struct loop *loop);

/*
 * Watches fd for some of LOOP_READ, LOOP_WRITE and LOOP_HANGUP (level
 * triggered): ready(arg, events) is called in every turn in which one of them
 * holds; LOOP_HANGUP is also reported, unasked, for a broken connection. With
 * LOOP_EDGE beside them (edge triggered) it is called when one of them has
 * become true, or has become so again, and not while it stays so. w must not be
 * active. Returns 0, or a negative errno (-ENOMEM, -ENOSPC).
 */
int loop_watch(struct loop *loop, struct loop_watch *w, int fd, unsigned events,
	       void (*ready)(void *arg, unsigned events), void *arg);

/* Changes what an active watch waits for. Returns 0 or a negative errno. */
int loop_rewatch(struct loop *loop, struct loop_watch *w, unsigned events);

/*
 * Ends a watch, before its descriptor is closed; ready() is not called again,
 * not even for an event of this turn. Nothing happens when it is not active.
 */
void loop_unwatch(struct loop *loop, struct loop_watch *w);

/*
 * Arms a timer, or moves one that is armed: fire(arg) is called once, in the
 * first turn at or after due_ms (on loop_now_ms()'s clock). Costs O(log n)
 * amortised over its life.
 */
void loop_timer_set(struct loop *loop, struct loop_timer *t, int64_t due_ms,
		    void (*fire)(void *arg), void *arg);

/* Disarms a timer; nothing happens when it is not armed. */
void loop_timer_clear(struct loop *loop, struct loop_timer *t);

/*
 * Puts off a call to the end of this turn; what is deferred meanwhile runs in
 * the next one, which does not wait. c->run and c->arg are set by the caller.
 * A call that is queued already stays where it is.
 */
void loop_defer(struct loop *loop, struct loop_call *c);

/* Takes back a deferred (not a posted) call that has not run. */
void loop_undefer(struct loop *loop, struct loop_call *c);

/*
 * Posts a call to a loop from any thread: it runs in that loop's thread, in
 * the order of posting. c belongs to the loop until it runs (not a moment
 * longer: run() may free it) and must not be posted twice meanwhile. What is
 * written before the post is visible to run().
 */
void loop_post(struct loop *loop, struct loop_call *c);

#endif
