/*
 * The linker sends every look at a clock here.
 */
#include "tests/os/still_clock.h"

#include <stdint.h>
#include <time.h>

atomic_uint_fast64_t still_clock_ms = 1000000;

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
	const uint_fast64_t now_ms = atomic_load(&still_clock_ms);

	if (clock != CLOCK_MONOTONIC && clock != CLOCK_MONOTONIC_COARSE)
		return __real_clock_gettime(clock, out);
	out->tv_sec = (time_t)(now_ms / 1000);
	out->tv_nsec = (long)(now_ms % 1000) * 1000000;
	return 0;
}
