/*
 * Work that a loop must not wait for: a thread that runs jobs one after the
 * other, in the order in which they were started, and hands each back to the
 * loop.
 *
 * Jobs are embedded in their owners' structures. A job belongs to the thread
 * from background_start() until done() is called. All functions are for the
 * loop's own thread.
 */
#ifndef DIGESTD_OS_BACKGROUND_H
#define DIGESTD_OS_BACKGROUND_H

#include "digestd/os/loop.h"

struct background;

/* run, done and arg are the owner's to set, the rest is private. */
struct background_job {
	void (*run)(void *arg);  /* in the thread */
	void (*done)(void *arg); /* in the loop, later; it may free the job */
	void *arg;
	struct loop_call call;
	struct background_job *next;
};

/* Makes one and its thread. Returns 0 or a negative errno. */
int background_new(struct loop *loop, struct background **out);

/*
 * Ends the thread after the job that it is at. Jobs that have not begun are
 * dropped: drop(job->arg) is called for each, inside this call, and done() is
 * not. Jobs that have run are handed back all the same: the loop has to turn
 * once more before it is freed. *b becomes null; null is accepted.
 */
void background_free(struct background **b, void (*drop)(void *arg));

/* Puts a job behind those that wait. */
void background_start(struct background *b, struct background_job *job);

/* Runs a job at once, in the loop's thread, and hands it back as others. For
 * one that is short, while none waits or runs. */
void background_run_here(struct background *b, struct background_job *job);

#endif
