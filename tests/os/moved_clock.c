/*
 * The linker sends every look at a clock here.
 */
#include "tests/os/moved_clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

enum { CLOCKS = 16 };

static atomic_uint ahead_ms;
static atomic_bool stands;
static struct timespec stood_at[CLOCKS];

void moved_clock_on(unsigned ms)
{
	atomic_fetch_add(&ahead_ms, ms);
}

static bool is_time(clockid_t clock)
{
	return clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE ||
	       clock == CLOCK_BOOTTIME || clock == CLOCK_REALTIME;
}

int __real_clock_gettime(clockid_t clock, struct timespec *out);

void moved_clock_stop(void)
{
	for (clockid_t clock = 0; clock < CLOCKS; clock++) {
		if (is_time(clock))
			__real_clock_gettime(clock, &stood_at[clock]);
	}
	atomic_store(&stands, true);
}

void moved_clock_back(void)
{
	atomic_store(&stands, false);
	atomic_store(&ahead_ms, 0);
}

static int clock_unmoved(clockid_t clock, struct timespec *out)
{
	if (!is_time(clock) || !atomic_load(&stands))
		return __real_clock_gettime(clock, out);
	*out = stood_at[clock];
	return 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
	int err = clock_unmoved(clock, out);
	const unsigned ms = atomic_load(&ahead_ms);

	if (err || !is_time(clock))
		return err;
	out->tv_sec += (time_t)(ms / 1000);
	out->tv_nsec += (long)(ms % 1000) * 1000000;
	if (out->tv_nsec >= 1000000000) {
		out->tv_nsec -= 1000000000;
		out->tv_sec++;
	}
	return 0;
}
