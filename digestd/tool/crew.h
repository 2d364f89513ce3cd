/*
 * Threads for the tasks of a call of libscd (codec/threads.h). They are started
 * for the call, which costs some 50 us, and end with it, so that nothing is
 * kept between calls.
 */
#ifndef DIGESTD_TOOL_CREW_H
#define DIGESTD_TOOL_CREW_H

#include <stddef.h>

enum { CREW_MAX_THREADS = 32 }; /* as many as there are tasks */

/*
 * A scd_threads.run: *nthreads, an unsigned of at most CREW_MAX_THREADS, are
 * the threads with the calling one. It does without those that cannot be
 * started. Returns 0.
 */
int crew_run(void *nthreads, void (*task)(void *arg, size_t i), void *arg,
	     size_t ntasks);

#endif
