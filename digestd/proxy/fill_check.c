/*
 * Holding peers' answers against what they should be.
 *
 * Where an answer has a Repr-Digest, its body is hashed as it comes, and not
 * used if it is another one; so is a share of the others, at random for the
 * peer, and the origin is then asked for the same by a fetch without a client,
 * whose body is hashed and thrown away. node/node_check.h says what that comes
 * to. A worker has one such fetch at a time, and bodies have a limit: it costs
 * the origin little, and clients nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "digestd/http/repr_digest.h"
#include "digestd/node/node_check.h"
#include "digestd/proxy/fill.h"
#include "digestd/tls/body_hash.h"

enum {
	FILL_CHECK_BYTES = 8 << 20, /* longer bodies are not compared */
	FILL_CHECK_SUSPECT = 20, /* times as often */
};

struct fill_check {
	struct body_hash *hash;
	uint64_t bytes;
	bool sampled; /* of an answer: the origin is to be asked, */
	bool claims; /* it has a Repr-Digest, */
	bool whole; /* and all of its body has come: */
	bool right; /* it is what it claims to be */
	bool asks;    /* of the fill that asks the origin: */
	struct fields copy; /* those of the answer, which it is about */
	struct node_checked of; /* that answer */
	int64_t made_s;
	unsigned status; /* of the origin, and its fields */
	struct fields origin;
};

void fill_check_free(struct fill *f)
{
	struct fill_check *c = f->check;

	f->check = NULL;
	if (!c)
		return;
	if (c->asks)
		f->worker->checks--;
	body_hash_free(&c->hash);
	fields_free(&c->copy);
	fields_free(&c->origin);
	free(c);
}

static struct fill_check *fill_check_new(void)
{
	struct fill_check *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	fields_init(&c->copy);
	fields_init(&c->origin);
	c->hash = body_hash_new();
	if (c->hash)
		return c;
	free(c);
	return NULL;
}

/* Whether this answer is one of those that are compared. */
static bool fill_check_samples(struct fill *f)
{
	struct worker *w = f->worker;
	double share = f->q->settings->peer_check;

	if (f->node.purpose == NODE_FOR_SLICES || w->checks ||
	    f->node.body_len > FILL_CHECK_BYTES || fields_get(&f->in, "Cookie"))
		return false;
	if (f->peer->suspect)
		share *= FILL_CHECK_SUSPECT;
	w->check_share += share;
	if (w->check_share < 1)
		return false;
	w->check_share = 0;
	return true;
}

void fill_check_watch(struct fill *f)
{
	uint8_t claimed[REPR_DIGEST_BYTES];
	bool sampled, claims;

	if (f->source != SOURCE_PEER || f->status != 200 || !f->q->get ||
	    f->node.purpose == NODE_FOR_PROBE || f->check)
		return;
	sampled = fill_check_samples(f);
	claims = repr_digest_read(&f->response, claimed);
	if (!sampled && !claims)
		return;
	f->check = fill_check_new();
	if (!f->check)
		return;
	f->check->sampled = sampled;
	f->check->claims = claims;
}

void fill_check_take(struct fill *f, const void *bytes, size_t len)
{
	if (!f->check || f->check->asks || f->check->whole)
		return;
	f->check->bytes += len;
	body_hash_add(f->check->hash, bytes, len);
}

/* Asking the origin */

static void fill_check_report(struct fill *f, enum peer_outcome kind)
{
	log_write(LOG_WARNING, "check", "peer %s: what it has sent for %s is "
		  "not what the origin has%s", f->peer->name, f->q->target.uri,
		  kind == OUTCOME_WRONG ? "" : ", which has not changed since, "
		  "by its dates");
	fill_report_outcome(f, kind, 0);
}

static void fill_check_judge(struct fill *f)
{
	struct worker_counters *counters = &f->worker->counters;
	struct fill_check *c = f->check;
	struct node_checked origin = { .status = c->status,
				       .fields = &c->origin };

	body_hash_end(c->hash, origin.hash);
	c->of.fields = &c->copy;
	switch (node_check(&c->of, &origin, c->made_s)) {
	case NODE_CHECK_SAME:
		worker_add(&counters->checked_same, 1);
		return;
	case NODE_CHECK_OTHER:
	case NODE_CHECK_ORIGIN:
		worker_add(&counters->checked_other, 1);
		return;
	case NODE_CHECK_DOUBT:
		worker_add(&counters->checked_wrong, 1);
		fill_check_report(f, OUTCOME_DOUBT);
		return;
	case NODE_CHECK_WRONG:
		worker_add(&counters->checked_wrong, 1);
		fill_check_report(f, OUTCOME_WRONG);
		return;
	}
}

static void fill_check_end(struct fill *f)
{
	fill_stop_fetch(f);
	fill_check_free(f);
	f->busy = false;
	fill_free_if_over(f);
}

static void fill_check_on_headers(void *arg, struct fetch *fetch,
				  unsigned status, const struct fields *fields,
				  int64_t body_len)
{
	struct fill *f = arg;

	(void)fetch;
	f->check->status = status;
	if (status != 200 || body_len > FILL_CHECK_BYTES ||
	    fields_copy(fields, &f->check->origin)) {
		worker_add(&f->worker->counters.checked_other, 1);
		fill_check_end(f);
	}
}

static bool fill_check_on_body(void *arg, struct fetch *fetch, const void *data,
			       size_t len)
{
	struct fill *f = arg;

	(void)fetch;
	f->check->bytes += len;
	worker_add(&f->worker->counters.origin_bytes, len);
	if (f->check->bytes > FILL_CHECK_BYTES)
		fill_check_end(f);
	else
		body_hash_add(f->check->hash, data, len);
	return true;
}

static void fill_check_on_done(void *arg, struct fetch *fetch,
			       const struct fetch_done *done)
{
	struct fill *f = arg;

	(void)fetch;
	f->fetch = NULL;
	if (done->result == FETCH_COMPLETE && !done->ended_by_close)
		fill_check_judge(f);
	fill_check_end(f);
}

static const struct fetch_callbacks fill_check_callbacks = {
	.on_headers = fill_check_on_headers,
	.on_body = fill_check_on_body,
	.on_done = fill_check_on_done,
};

/* Has the origin asked for what f has got from its peer, whose body has this
 * hash. Without memory it is not. */
static void fill_check_ask(struct fill *f, const uint8_t hash[NODE_CHECK_HASH])
{
	struct fill *beside = fill_new_beside(f->worker, f->q, &f->in);
	struct fill_check *c = beside ? fill_check_new() : NULL;

	if (!beside)
		return;
	beside->check = c;
	if (c) {
		c->asks = true;
		f->worker->checks++;
	}
	if (!c || fields_copy(&f->response, &c->copy)) {
		fill_free_if_over(beside);
		return;
	}
	c->of.status = f->status;
	memcpy(c->of.hash, hash, sizeof(c->of.hash));
	c->made_s = freshness_spans(&f->freshness).born_s +
		    worker_wall_s(f->worker) - worker_now_s(f->worker);
	beside->view = peerset_ref(f->view);
	beside->peer = f->peer;
	beside->busy = true; /* it lives as long as the check */
	worker_add(&f->worker->counters.checks, 1);
	if (fill_ask_beside(beside, &fill_check_callbacks))
		fill_check_end(beside);
}

/* All has come, and been hashed. Whether it is what it claims to be; if not, or
 * if it is a sample, the origin is asked. */
static bool fill_check_whole(struct fill *f)
{
	struct node_checked copy = { .status = f->status,
				     .fields = &f->response };
	struct fill_check *c = f->check;

	body_hash_end(c->hash, copy.hash);
	c->whole = true;
	c->right = node_check_is_right(&copy);
	worker_add(&f->worker->counters.digest_mismatches, !c->right);
	/* its bytes say nothing more of other bytes with the same tag */
	f->node.strong_tag &= c->right;
	if (c->sampled || (!c->right && !f->worker->checks &&
			   f->q->settings->peer_check > 0))
		fill_check_ask(f, copy.hash);
	return c->right;
}

bool fill_check_last(struct fill *f, const void *bytes, size_t len)
{
	struct fill_check *c = f->check;

	if (!c || c->asks || !c->claims || c->whole ||
	    f->source != SOURCE_PEER || f->node.body_len < 0 ||
	    c->bytes + len != (uint64_t)f->node.body_len)
		return true;
	fill_check_take(f, bytes, len);
	return fill_check_whole(f);
}

bool fill_check_passes(struct fill *f)
{
	struct fill_check *c = f->check;
	bool right;

	if (!c || f->source != SOURCE_PEER)
		return true;
	right = c->whole ? c->right : fill_check_whole(f);
	fill_check_free(f);
	return right;
}
