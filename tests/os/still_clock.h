/*
 * A clock that stands still until a test moves it. Link still_clock.c with
 * $(clock_ldflags): whatever asks for CLOCK_MONOTONIC, coarse or not, where the
 * code that is tested does, is told this. What waits in the kernel does not.
 */
#ifndef TESTS_OS_STILL_CLOCK_H
#define TESTS_OS_STILL_CLOCK_H

#include <stdatomic.h>

extern atomic_uint_fast64_t still_clock_ms;

#endif
