/*
 * Background work: jobs run in order in another thread and come back to the
 * loop; what has not begun when it ends is dropped.
 */
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "digestd/os/background.h"
#include "digestd/os/loop.h"
#include "tests/unit.h"

enum { JOBS = 100, WAIT_MS = 20000 };

static struct {
	struct loop *loop;
	struct background *background;
	struct background_job jobs[JOBS];
	unsigned ran, done, dropped;
	unsigned order[JOBS]; /* of those that ran */
	pthread_t loop_thread;
	bool elsewhere; /* all ran in another thread than the loop's */
	sem_t gate; /* one job for each post */
} at;

static void run_job(void *arg)
{
	struct background_job *job = arg;

	sem_wait(&at.gate);
	at.order[at.ran++] = (unsigned)(job - at.jobs);
	at.elsewhere = at.elsewhere &&
		       !pthread_equal(pthread_self(), at.loop_thread);
}

static void end_job(void *arg)
{
	struct background_job *job = arg;

	assert_ptr_equal(job, &at.jobs[at.done]);
	at.done++;
}

static void drop_job(void *arg)
{
	(void)arg;
	at.dropped++;
}

static void start_jobs(void)
{
	for (unsigned i = 0; i < JOBS; i++) {
		at.jobs[i] = (struct background_job){ .run = run_job,
						      .done = end_job,
						      .arg = &at.jobs[i] };
		background_start(at.background, &at.jobs[i]);
	}
}

static void open_gate(unsigned jobs)
{
	while (jobs-- > 0)
		sem_post(&at.gate);
}

/* A job that is run here has run when the call returns, and comes back
 * later. */
static void test_run_here(void **state)
{
	int64_t end_ms = loop_now_ms(at.loop) + WAIT_MS;

	(void)state;
	at.jobs[0] = (struct background_job){ .run = run_job,
					      .done = end_job,
					      .arg = &at.jobs[0] };
	open_gate(1);
	background_run_here(at.background, &at.jobs[0]);
	assert_int_equal(at.ran, 1);
	assert_false(at.elsewhere);
	assert_int_equal(at.done, 0);
	while (!at.done && loop_now_ms(at.loop) < end_ms)
		assert_int_equal(loop_turn(at.loop, 10), 0);
	assert_int_equal(at.done, 1);
	background_free(&at.background, drop_job);
	assert_int_equal(at.dropped, 0);
}

static void test_in_order(void **state)
{
	int64_t end_ms = loop_now_ms(at.loop) + WAIT_MS;

	(void)state;
	start_jobs();
	assert_int_equal(at.done, 0);
	open_gate(JOBS);
	while (at.done < JOBS && loop_now_ms(at.loop) < end_ms)
		assert_int_equal(loop_turn(at.loop, 10), 0);
	assert_int_equal(at.done, JOBS);
	assert_true(at.elsewhere);
	for (unsigned i = 0; i < JOBS; i++)
		assert_int_equal(at.order[i], i);
	background_free(&at.background, drop_job);
	assert_null(at.background);
	background_free(&at.background, drop_job);
	assert_int_equal(at.dropped, 0);
}

/* Lets jobs go on while the other thread waits for the end. */
static void *open_later(void *arg)
{
	const struct timespec pause = { .tv_nsec = 50000000 };

	nanosleep(&pause, NULL);
	open_gate(JOBS);
	return arg;
}

/* What is under way is run to its end, and what waits is dropped. */
static void test_ended_meanwhile(void **state)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	pthread_t opener;

	(void)state;
	start_jobs();
	nanosleep(&pause, NULL); /* the first one has begun */
	assert_int_equal(pthread_create(&opener, NULL, open_later, NULL), 0);
	background_free(&at.background, drop_job);
	pthread_join(opener, NULL);
	assert_int_equal(at.ran + at.dropped, JOBS);
	assert_int_equal(at.done, 0);
	loop_turn(at.loop, 0);
	assert_int_equal(at.done, at.ran);
}

static int set_up(void **state)
{
	(void)state;
	at.ran = at.done = at.dropped = 0;
	at.elsewhere = true;
	at.loop_thread = pthread_self();
	return sem_init(&at.gate, 0, 0) || loop_new(&at.loop) ||
	       background_new(at.loop, &at.background);
}

static int tear_down(void **state)
{
	(void)state;
	background_free(&at.background, drop_job);
	loop_free(&at.loop);
	return sem_destroy(&at.gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_run_here, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_in_order, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_ended_meanwhile, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
