/*
 * Tasks, and their order.
 *
 * The order of `ended` and `following` matters: who ends a task sets its bit
 * and then looks whether somebody follows up; who follows up clears that mark
 * and then looks at the bits again. So one of the two sees the other, and no
 * task is left behind.
 */
#include "codec/coder/tasks.h"

#include <assert.h>

#include "codec/error.h"

static bool tasks_have_ended(struct scd__tasks *t, unsigned i)
{
	return i < t->ntasks &&
	       __atomic_load_n(&t->ended, __ATOMIC_SEQ_CST) >> i & 1;
}

static bool tasks_begin_following(struct scd__tasks *t)
{
	return !__atomic_exchange_n(&t->following, true, __ATOMIC_SEQ_CST);
}

static int tasks_error(struct scd__tasks *t)
{
	return __atomic_load_n(&t->error, __ATOMIC_RELAXED);
}

static void tasks_set_error(struct scd__tasks *t, int error)
{
	int none = 0;

	__atomic_compare_exchange_n(&t->error, &none, error, false,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Only the next one's own end moves `next` on: if it is i, it stays so. */
static bool tasks_begin_next(struct scd__tasks *t, unsigned i)
{
	return __atomic_load_n(&t->next, __ATOMIC_RELAXED) == i &&
	       tasks_begin_following(t);
}

/* Follow up all that can be, by whoever has begun to. */
static void tasks_follow(struct scd__tasks *t)
{
	unsigned next;

	do {
		for (next = t->next; tasks_have_ended(t, next); next++) {
			if (t->follow && !tasks_error(t))
				t->follow(t->arg, next);
			__atomic_store_n(&t->next, next + 1, __ATOMIC_RELAXED);
		}
		__atomic_store_n(&t->following, false, __ATOMIC_SEQ_CST);
	} while (tasks_have_ended(t, next) && tasks_begin_following(t));
}

static void tasks_call(void *arg, size_t index)
{
	struct scd__tasks *t = arg;
	const unsigned i = (unsigned)index;
	bool is_next;
	int error;

	assert(index < t->ntasks);
	is_next = tasks_begin_next(t, i);
	error = tasks_error(t);
	if (!error)
		error = t->task(t->arg, i, is_next);
	if (error)
		tasks_set_error(t, error);
	__atomic_fetch_or(&t->ended, UINT32_C(1) << i, __ATOMIC_SEQ_CST);
	if (is_next || tasks_begin_following(t))
		tasks_follow(t);
}

int scd__tasks_run(struct scd__tasks *t, const struct scd_threads *threads)
{
	assert(t->ntasks <= SCD_MAX_TASKS);
	if (threads && t->ntasks > 1) {
		int error = threads->run(threads->pool, tasks_call, t,
					 t->ntasks);

		if (error)
			return error;
	} else {
		for (unsigned i = 0; i < t->ntasks && !t->error; i++)
			tasks_call(t, i);
	}
	if (t->error)
		return t->error;
	return t->next == t->ntasks ? SCD_OK : SCD_EINVAL;
}
