/*
 * The thread that decodes digests.
 *
 * A job belongs to the thread from its start until it is posted back, and to
 * the loop after that; but for who is called back, which is the loop's all the
 * time, and for `cancelled`, which only spares the thread some work.
 */
#include "digestd/peers/digest_decoder.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "digestd/os/background.h"
#include "digestd/peers/peer_kind.h"

enum {
	SHORT_BYTES = 4096,
	SHORT_KEYS = 65536,
};

struct digest_job {
	struct background_job work;
	struct digest_body body;
	struct scd_limits limits;
	struct digest_expected expected; /* base: of a delta; else null */
	struct digest_decoded result;
	atomic_bool cancelled;
	bool removes; /* the list of expected.slot; there is no body */

	/* the loop's */
	digest_decoded_fn *done; /* null: nobody waits for it */
	void *arg;
	struct digest_decoder *decoder;  /* null: it is gone */
	bool threaded; /* it is run by the thread */
	struct digest_job *next, **link; /* of its jobs */
};

struct digest_decoder {
	struct background *background;
	struct digest_job *jobs; /* that have not come back */
	unsigned njobs, nthreaded;
};

static void digest_job_free(void *arg)
{
	struct digest_job *job = arg;

	digest_body_free(&job->body);
	peer_digest_unref(job->expected.base);
	peer_digest_unref(job->result.digest);
	peer_table_unref(job->expected.slot.table);
	free(job);
}

static void digest_job_unlink(struct digest_job *job)
{
	if (!job->decoder)
		return;
	*job->link = job->next;
	if (job->next)
		job->next->link = job->link;
	job->decoder->njobs--;
	job->decoder->nthreaded -= job->threaded;
	job->decoder = NULL;
}

/* Runs in the loop, when a job has come back. */
static void digest_job_end(void *arg)
{
	struct digest_job *job = arg;

	digest_job_unlink(job);
	if (job->done)
		job->done(job->arg, &job->result);
	digest_job_free(job);
}

/* Runs in the thread; or in the loop, while there is no job there. */
static void digest_job_run(void *arg)
{
	struct digest_job *job = arg;
	struct digest_decoded *r = &job->result;

	if (job->removes)
		peer_table_remove(&job->expected.slot);
	else if (!atomic_load(&job->cancelled))
		r->error = job->expected.kind->decode(&job->expected,
						      &job->body, &r->info,
						      &r->digest);
}

int digest_decoder_new(struct loop *loop, struct digest_decoder **out)
{
	struct digest_decoder *d = calloc(1, sizeof(*d));
	int err = d ? background_new(loop, &d->background) : -ENOMEM;

	if (err) {
		free(d);
		return err;
	}
	*out = d;
	return 0;
}

void digest_decoder_free(struct digest_decoder **out)
{
	struct digest_decoder *d = *out;

	if (!d)
		return;
	while (d->jobs) { /* those that have run end in the loop */
		d->jobs->done = NULL;
		digest_job_unlink(d->jobs);
	}
	background_free(&d->background, digest_job_free);
	free(d);
	*out = NULL;
}

static void digest_decoder_run_threaded(struct digest_decoder *d,
					struct digest_job *job)
{
	job->threaded = true;
	d->nthreaded++;
	background_start(d->background, &job->work);
}

static void digest_decoder_link(struct digest_decoder *d,
				struct digest_job *job)
{
	job->decoder = d;
	job->next = d->jobs;
	job->link = &d->jobs;
	if (job->next)
		job->next->link = &job->next;
	d->jobs = job;
	d->njobs++;
}

/* Whether a job takes less time than the two threads take to tell each other
 * of it: a short delta to a digest so small that tables which grow with it are
 * soon made anew. */
static bool digest_job_is_short(const struct digest_job *job)
{
	return job->expected.base && job->body.len <= SHORT_BYTES &&
	       job->expected.base->nkeys <= SHORT_KEYS;
}

int digest_decoder_start(struct digest_decoder *d, struct digest_body *body,
			 const struct digest_expected *expected,
			 struct digest_job **out)
{
	struct digest_job *job = NULL;
	int err = -EAGAIN;

	assert(expected->kind && expected->limits);
	if (d->njobs < DIGEST_DECODER_JOBS) {
		job = calloc(1, sizeof(*job));
		err = -ENOMEM;
	}
	if (!job) {
		digest_body_free(body);
		return err;
	}
	job->work = (struct background_job){ .run = digest_job_run,
					     .done = digest_job_end,
					     .arg = job };
	job->body = *body;
	*body = (struct digest_body){0};
	job->limits = *expected->limits;
	job->expected = *expected;
	job->expected.limits = &job->limits;
	job->expected.base =
		expected->delta ? peer_digest_ref(expected->base) : NULL;
	if (job->expected.slot.table)
		peer_table_ref(job->expected.slot.table);
	job->result.delta = expected->delta;
	job->result.len = job->body.len;
	digest_decoder_link(d, job);
	if (!d->nthreaded && digest_job_is_short(job))
		background_run_here(d->background, &job->work);
	else
		digest_decoder_run_threaded(d, job);
	*out = job;
	return 0;
}

struct digest_job *digest_job_new_removal(const struct peer_slot *slot)
{
	struct digest_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->work = (struct background_job){ .run = digest_job_run,
					     .done = digest_job_end,
					     .arg = job };
	job->removes = true;
	job->expected.slot = *slot;
	peer_table_ref(slot->table);
	return job;
}

void digest_decoder_remove(struct digest_decoder *d, struct digest_job *job)
{
	assert(job->removes);
	digest_decoder_link(d, job);
	digest_decoder_run_threaded(d, job);
}

void digest_job_notify(struct digest_job *job, digest_decoded_fn *done,
		       void *arg)
{
	assert(job && done);
	job->done = done;
	job->arg = arg;
}

void digest_job_cancel(struct digest_job **job)
{
	if (!*job)
		return;
	(*job)->done = NULL;
	atomic_store(&(*job)->cancelled, true);
	*job = NULL;
}
