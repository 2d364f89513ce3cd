/*
 * A world: whole nodes, clients, an origin, a network and clocks in one process
 * and one thread, decided by one seed.
 *
 * The nodes are the daemon's own objects, from service.c down. Replaced at link
 * time are the edges: the event loop, the HTTP server, the HTTP client. Time is
 * virtual: it jumps to the next event.
 *
 * What happens at one moment happens in the order in which it was scheduled;
 * which of several loops with waiting calls runs first is the seed's choice,
 * which is how the interleavings of the threads of a node are tried.
 */
#ifndef CACHESIM_WORLD_WORLD_H
#define CACHESIM_WORLD_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Choices */

/*
 * What a choice is about. Each kind has a sequence of its own, so that one kind
 * less of them leaves the others as they were.
 */
enum world_choice {
	CHOICE_SWARM,   /* what kind of world it is */
	CHOICE_LOOP,    /* whose calls run next */
	CHOICE_LATENCY,
	CHOICE_PIECE,   /* how many bytes arrive at once */
	CHOICE_FAULT,   /* of a connection */
	CHOICE_ARRIVAL, /* when the next request comes, and where */
	CHOICE_REQUEST, /* what it asks for */
	CHOICE_CLIENT,  /* how its client behaves */
	CHOICE_ORIGIN,  /* how the origin behaves */
	CHOICE_EVENT,   /* changes, purges, restarts */
	CHOICE_DISK,    /* what becomes of it, and when its threads run */
	CHOICE_EARLY,   /* answers before their request's end, and tunnels */
	CHOICE_ORIGINS, /* how many there are, and which are there */
	CHOICE_STRICT,  /* whether purges are, and who asks after one */
	CHOICE_H2,      /* who speaks it, and how */
	CHOICE_PLACES,  /* where nodes are, and how far from each other */
	CHOICE_KINDS,
};

/* Begins the sequences of a seed anew. */
void world_seed(uint64_t seed);

/* Begins the sequence of a kind anew, as that of the number-th thing of its
 * kind: whatever was left out before, its choices are the same. */
void world_restart(enum world_choice kind, uint64_t number);

/* The next number of a kind below n; n > 0. */
uint32_t world_below(enum world_choice kind, uint32_t n);

/* Whether something that happens `permille` times in a thousand does. */
bool world_happens(enum world_choice kind, unsigned permille);

/* Between lowest and highest, most often near lowest; lowest > 0. */
uint32_t world_skewed(enum world_choice kind, uint32_t lowest,
		      uint32_t highest);

/* A number that depends on a and b only, in any world. */
uint64_t world_hash(uint64_t a, uint64_t b);

/* Time and events */

/* The time since the world began [us]. */
extern int64_t world_now_us;

/* Something that will happen; embedded in its owner, zero is "not due". */
struct world_event {
	void (*run)(void *arg);
	void *arg;
	int64_t at_us;
	uint64_t number; /* in order of scheduling */
	size_t place;    /* in the queue, from 1; 0: in none */
	struct world_event *next, *before; /* where that is a list */
};

/* Schedules an event, or moves it. */
void world_at(struct world_event *e, int64_t at_us, void (*run)(void *arg),
	      void *arg);

/* Takes an event back that is due. */
void world_unqueue(struct world_event *e);

/* Takes an event back; nothing happens when it is not due, as with most. */
static inline void world_cancel(struct world_event *e)
{
	if (e->place)
		world_unqueue(e);
}

/* Forgets all events, and begins time anew. */
void world_reset(void);

/* Lets the next thing happen. False: nothing will ever. */
bool world_step(void);

/* Counts steps, and what happened in them, into a sum that two runs of one seed
 * have in common. */
void world_mix(uint64_t what);
uint64_t world_sum(void);

/* Loops, in world_loop.c */

/* How far the wall clock of loops that are made from now on is ahead [s]. */
extern int64_t world_loop_ahead_s;

/* Sets the same of the loops of a place. */
void world_loop_set_ahead(int place, int64_t ahead_s);

/* Sends a signal to the service of a place; nothing happens without one. */
void world_loop_signal(int place, int number);

/* Runs what waits in one loop of the seed's choice; false: nothing waits. */
bool world_loop_run_one(void);

/*
 * Says that an event runs code at a place, which need not be a node's. An event
 * may say so of several; one that says nothing may have run code of all nodes.
 */
void world_loop_runs(int place);

/* What loops do around a wait, loop_on_wait(); after each event, those of the
 * nodes of which it has run code. */
void world_loop_wait(void);

/* The time of the next timer of any loop [ms]; INT64_MAX: none. */
int64_t world_loop_due_ms(void);

/* Fires the timers that are due. */
void world_loop_fire(void);

/* Background work, in world_background.c */

/* Null, or how long the next job takes [us]; of the seed's choice otherwise. */
extern int64_t (*world_job_us)(void);

/* Memory, in world_memory.c */

/* Sets what all nodes together may take [bytes]. */
void world_memory_limit(uint64_t bytes);

/* Fails if something that nodes took was not returned when they ended. */
void world_memory_check(void);

/* What goes wrong */

/* Prints what is wrong, with the seed, the time and how to see it again, and
 * ends the process with status 1. */
_Noreturn void world_fail(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

#endif
