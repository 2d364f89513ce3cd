/*
 * Background work of a world, in place of digestd/os/background.c: a job is run
 * when the loop's next turn comes, and handed back at a time of the seed's
 * choice.
 */
#include <errno.h>
#include <stdlib.h>

#include "digestd/os/background.h"
#include "cachesim/world/nodes.h"
#include "cachesim/world/world.h"

enum { JOB_US = 20000 }; /* at most */

int64_t (*world_job_us)(void);

struct background {
	struct loop *loop;
	int place; /* whose it is */
	struct world_event turn;
	struct background_job *first, **last;
};

int background_new(struct loop *loop, struct background **out)
{
	struct background *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->loop = loop;
	b->place = nodes_place;
	b->last = &b->first;
	*out = b;
	return 0;
}

static void background_run(void *arg);

static void background_schedule(struct background *b)
{
	if (!b->first || b->turn.place)
		return;
	world_at(&b->turn, world_now_us +
		 (world_job_us ? world_job_us() :
				 world_below(CHOICE_LATENCY, JOB_US)),
		 background_run, b);
}

static void background_run(void *arg)
{
	struct background *b = arg;
	struct background_job *job = b->first;

	world_loop_runs(b->place);
	b->first = job->next;
	if (!b->first)
		b->last = &b->first;
	job->run(job->arg);
	loop_post(b->loop, &job->call);
	background_schedule(b);
}

void background_free(struct background **out, void (*drop)(void *arg))
{
	struct background *b = *out;
	struct background_job *next;

	if (!b)
		return;
	world_cancel(&b->turn);
	for (struct background_job *job = b->first; job; job = next) {
		next = job->next;
		drop(job->arg);
	}
	free(b);
	*out = NULL;
}

void background_start(struct background *b, struct background_job *job)
{
	job->call = (struct loop_call){ .run = job->done, .arg = job->arg };
	job->next = NULL;
	*b->last = job;
	b->last = &job->next;
	background_schedule(b);
}

/* At a time of the seed's choice, too: nodes must not rely on it. */
void background_run_here(struct background *b, struct background_job *job)
{
	background_start(b, job);
}
