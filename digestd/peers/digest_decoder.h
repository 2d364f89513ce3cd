/*
 * Decodes digests in a thread of its own, so that the loop which receives them
 * does not wait: a digest of 512 MiB takes a second and more.
 *
 * The queue is bounded: DIGEST_DECODER_JOBS, of which each holds one body. The
 * results come back through the loop that asked, in the order of asking. All
 * functions belong to that loop's thread.
 */
#ifndef DIGESTD_PEERS_DIGEST_DECODER_H
#define DIGESTD_PEERS_DIGEST_DECODER_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/digest.h"
#include "digestd/mesh/peerset.h"
#include "digestd/peers/digest_body.h"

/* One for each peer that can be configured, which has one fetch at a time. */
enum { DIGEST_DECODER_JOBS = PEERSET_MAX_PEERS };

struct digest_decoder;
struct digest_job;
struct loop;

/* What came of a body. */
struct digest_decoded {
	int error; /* SCD_OK, or why there is no digest */
	bool delta;
	struct scd_digest_info info;
	size_t len;                 /* of the body */
	struct peer_digest *digest; /* borrowed: take a reference to keep it */
};

typedef void digest_decoded_fn(void *arg, const struct digest_decoded *d);

/* Makes a decoder and its thread. Returns 0 or a negative errno. */
int digest_decoder_new(struct loop *loop, struct digest_decoder **out);

/*
 * Ends the thread, after the digest that it is at; what waits is dropped, and
 * no callback follows. *d becomes null; null is accepted. The loop has to turn
 * once more before it is freed: what was posted to it is released then.
 */
void digest_decoder_free(struct digest_decoder **d);

/*
 * Decodes a body, which is taken over, also on errors; base is what a delta is
 * for, or null for a full digest. done(arg, result) is called from the loop,
 * never from within. Returns 0, -ENOMEM, or -EAGAIN: the queue is full. On
 * success *job is set, until done() is called or it is cancelled.
 */
int digest_decoder_start(struct digest_decoder *d, struct digest_body *body,
			 const struct digest_expected *expected,
			 struct digest_job **job);

/* Says who is called back; to be called before the loop turns. */
void digest_job_notify(struct digest_job *job, digest_decoded_fn *done,
		       void *arg);

/*
 * Makes a job that removes the list of a slot; null: no memory. And starts it,
 * behind all that were started before, so that none of them leaves a list
 * there.
 */
struct digest_job *digest_job_new_removal(const struct peer_slot *slot);
void digest_decoder_remove(struct digest_decoder *d, struct digest_job *job);

/* Forgets a job: its callback does not follow. *job becomes null; null is
 * accepted. */
void digest_job_cancel(struct digest_job **job);

#endif
