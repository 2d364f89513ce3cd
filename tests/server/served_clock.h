/*
 * A server whose clock its test puts forward: link $(served_clock_sources) with
 * $(clock_ldflags). libmicrohttpd has a clock of its own.
 */
#ifndef TESTS_SERVER_SERVED_CLOCK_H
#define TESTS_SERVER_SERVED_CLOCK_H

#include <stdatomic.h>

/* The clock goes on by so much at once, and the server's loop has noticed. */
void served_pass(unsigned ms);

/* The same, a bit at a time, until a counter has a value. */
void served_pass_until(atomic_int *counter, int value, unsigned step_ms);

#endif
