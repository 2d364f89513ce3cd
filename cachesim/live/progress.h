/*
 * How far a replay is: a bar on a terminal, otherwise a line now and then.
 */
#ifndef LIVE_PROGRESS_H
#define LIVE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	uint64_t total; /* 0: not known */
	int64_t start_us, next_us;
	bool off, terminal;
};

/* total: steps until the end, 0: not known; off: nothing is shown. */
void progress_start(struct progress *p, uint64_t total, bool off,
		    int64_t now_us);

/* Called often; writes to standard error when it is time to. */
void progress_step(struct progress *p, uint64_t done, uint64_t errors,
		   int64_t now_us);

/* Clears the bar's line. */
void progress_end(const struct progress *p);

#endif
