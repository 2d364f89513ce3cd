/*
 * Work that is cut into tasks, which several threads may do at once, and what
 * must follow each of them in their order: adding a checksum up, or moving what
 * was made to behind what was made before. That is done by whichever thread
 * ends the task that was waited for, so nobody waits, and no memory is needed.
 *
 * What a task and what follows it write must depend on its number only, then so
 * does the result, whatever the threads.
 */
#ifndef SCD_TASKS_H
#define SCD_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/threads.h"

struct scd__tasks {
	/*
	 * Does task i. is_next: all tasks before it have been followed up, and
	 * until it returns no other is, so it may do some of that already.
	 * Returns 0 or an error, after which no more are begun.
	 */
	int (*task)(void *arg, unsigned i, bool is_next);

	/* Follows task i and follow() of task i - 1; not after an error, and by
	 * one thread at a time, which sees what they wrote. Null: nothing. */
	void (*follow)(void *arg, unsigned i);

	void *arg;
	unsigned ntasks; /* at most SCD_MAX_TASKS */

	/* all zero; private */
	uint32_t ended; /* bit i: task i */
	bool following; /* a thread follows tasks up, and owns `next` */
	unsigned next;  /* to be followed up; read by all */
	int error;      /* the first one */
};

/*
 * Does them all: with the threads, or null, one after the other.
 * Errors: that of a task; that of threads->run(). SCD_EINVAL: it did not call
 * all of them.
 */
int scd__tasks_run(struct scd__tasks *t, const struct scd_threads *threads);

#endif
