/*
 * Two turns of the server's loop: the first one may have read the clock before.
 */
#include "tests/server/served_clock.h"

#include <semaphore.h>
#include <stddef.h>

#include "tests/os/moved_clock.h"
#include "tests/server/served.h"
#include "tests/unit.h"

enum { PASSES_MAX = 20000 };

static void say_so(void *arg)
{
	sem_post(arg);
}

void served_pass(unsigned ms)
{
	sem_t turned;

	moved_clock_on(ms);
	assert_int_equal(sem_init(&turned, 0, 0), 0);
	for (int i = 0; i < 2; i++) {
		struct loop_call turn = { .run = say_so, .arg = &turned };

		loop_post(at.loop, &turn);
		while (sem_wait(&turned))
			continue;
	}
	sem_destroy(&turned);
}

void served_pass_until(atomic_int *counter, int value, unsigned step_ms)
{
	for (int i = 0; i < PASSES_MAX && atomic_load(counter) < value; i++)
		served_pass(step_ms);
	assert_int_equal(atomic_load(counter), value);
}
