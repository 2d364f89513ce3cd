/*
 * Threads that a program lends to libscd, which starts none of its own. What a
 * function does with them is the same to the last bit without.
 */
#ifndef SCD_THREADS_H
#define SCD_THREADS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most tasks that a call of run() is given. */
enum { SCD_MAX_TASKS = 32 };

/* Set by the caller, who keeps it; used during the call that it is given to. */
struct scd_threads {
	/*
	 * Calls task(arg, i) once for each i below ntasks (2 to SCD_MAX_TASKS),
	 * in any threads and any order, at once or one after the other, and
	 * returns when all of them have returned. Best begun in ascending
	 * order, each as soon as a thread is free: a task takes from a tenth
	 * of a millisecond up. The calling thread may do some, or all: so a
	 * program that gets no threads still succeeds.
	 *
	 * Returns 0. Or an error of its own, below 0, when none runs any more;
	 * the function that was called then fails with it, as with any other.
	 */
	int (*run)(void *pool, void (*task)(void *arg, size_t i), void *arg,
		   size_t ntasks);
	void *pool; /* passed to it */
	uint64_t reserved[2]; /* 0 */
};

#ifdef __cplusplus
}
#endif

#endif
