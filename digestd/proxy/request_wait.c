/*
 * How long a request waits for an answer where it has a stale copy that may be
 * served when the origin fails: for stale_wait, whoever asks, and not at all
 * while the origins are known to fail (fill_outage.c). What answers it then
 * says so in Cache-Status.
 *
 * An answer that is on its way is not late, as what is stale may not be used
 * while its origin serves: a request that needs all of it, as of one that is
 * small, or to be compared with what the client has, waits on for as long as
 * more has come within stale_wait.
 */
#include "digestd/node/node_answer.h"
#include "digestd/proxy/fill.h"
#include "digestd/proxy/request.h"

/* What it could get: of its own fill, or of another's that it has joined. */
static struct node_stale request_wait_stale(const struct request *r)
{
	const struct cached *c = r->serves && r->stale && !r->stale->doubted
					 ? r->stale
					 : NULL;

	if (r->fill)
		return fill_stale(r->fill);
	return (struct node_stale){
		.freshness = c ? &c->freshness : NULL,
		.client = !r->node.from_peer,
		.now_s = worker_now_s(r->worker),
		.on_disconnect_s = r->q->settings->stale_on_disconnect_s,
	};
}

/* Of the answer, in pieces. */
static unsigned request_wait_pieces(const struct request *r)
{
	if (r->fill)
		return r->fill->came;
	return r->reader.joined ? collapse_pieces(&r->reader) : 0;
}

static void request_wait_is_over(void *arg);

static void request_wait_set(struct request *r)
{
	r->came = request_wait_pieces(r);
	loop_timer_set(r->worker->loop, &r->late, r->late_ms,
		       request_wait_is_over, r);
}

static void request_wait_is_over(void *arg)
{
	struct request *r = arg;
	const struct node_stale stale = request_wait_stale(r);
	const struct node_request_input in = {
		.event = NODE_TIMER,
		.usable = node_answer_of_delay(&stale),
	};

	if (in.usable && request_wait_pieces(r) != r->came) {
		r->late_ms = worker_now_ms(r->worker) +
			     r->q->settings->stale_wait_ms;
		request_wait_set(r);
		return;
	}
	/* what others fetch has an answer, which is on its way here */
	if (in.usable && !collapse_leave(&r->reader))
		return;
	r->waited = in.usable;
	request_input(r, &in);
}

void request_wait_begin(struct request *r)
{
	const struct node_stale stale = request_wait_stale(r);
	const int64_t now_ms = worker_now_ms(r->worker);

	if (!node_answer_of_delay(&stale))
		return;
	if (!r->late_ms)
		r->late_ms = now_ms + question_stale_wait_ms(r->q);
	request_wait_set(r);
}

void request_wait_give_up(struct request *r)
{
	const struct node_request_input in = {
		.event = NODE_TIMER,
		.usable = true,
	};

	request_input(r, &in);
}

void request_wait_reply(struct request *r)
{
	struct worker_counters *n = &r->worker->counters;
	struct fill *f = r->fill;
	struct cached *c = cached_ref(f ? f->stale : r->stale);

	worker_add(&n->stale_served, 1);
	worker_add(r->waited ? &n->stale_late : &n->stale_outage, 1);
	cache_use(r->worker->shared.cache, &r->q->key, c,
		  worker_now_ms(r->worker));
	r->why = r->waited ? "origin-late" : "origin-out";
	r->fill = NULL;
	if (f)
		fill_outage_leave(f, r->waited);
	reply_cached(r, c);
	cached_unref(&c);
}
