/*
 * Which origin of a site a fill asks, and when it asks another: the turn that
 * it has at one (origin_group.h), from the question to the end of the answer.
 *
 * Another one is asked where nothing has been shown yet and the request may be
 * sent again (node_retry.h): at once when there is no connection, no answer or
 * an error, and when an answer is late. Errors and delays are held against an
 * origin only if the next one does better; else it is the page that is broken,
 * or slow.
 */
#include "digestd/node/node_answer.h"
#include "digestd/node/node_retry.h"
#include "digestd/proxy/fill.h"
#include "digestd/os/troubles.h"
#include "digestd/proxy/request.h"

static bool fill_origin_is_repeatable(const struct fill *f, bool sent)
{
	const struct server_request *in =
		f->client ? exchange_request(f->client->x) : NULL;
	const struct node_retry retry = {
		.sent = sent,
		.safe = f->q->safe,
		.body = f->q->upgrade || (in && in->has_body),
	};

	return node_retry_is_safe(&retry);
}

/* Nothing of an answer has been used, and it is the machine's own question. A
 * reply whose slices pass asks again by itself. */
static bool fill_origin_is_untold(const struct fill *f)
{
	return (f->node.state == NODE_ASK_ORIGIN ||
		f->node.state == NODE_COLLECT_ORIGIN) &&
	       !f->hedged && f->node.purpose != NODE_FOR_PASSING;
}

/* When the others have failed, one that was only late is asked once more, and
 * waited for. */
static bool fill_origin_is_left(struct fill *f)
{
	if (!f->origins_late)
		return false;
	f->origins_tried &= ~f->origins_late;
	f->origins_late = 0;
	return origin_group_take_retry(f->origin.group, f->origins_tried,
				       false, true);
}

/* Whether another is asked; that is counted. What is only late goes to one
 * that is up. */
static bool fill_origin_goes_on(struct fill *f, bool sent, bool late)
{
	struct worker_counters *counters = &f->worker->counters;

	if (!fill_origin_is_untold(f) || !fill_origin_is_repeatable(f, sent))
		return false;
	if (origin_group_take_retry(f->origin.group, f->origins_tried, late,
				    sent || late) ||
	    (!late && fill_origin_is_left(f))) {
		f->origin_served = false;
		worker_add(&counters->origin_retries, 1);
		return true;
	}
	worker_add(&counters->origin_retries_held_back, 1);
	return false;
}

/* It is blamed if the next one does better. */
static void fill_origin_suspect(struct fill *f, enum origin_outcome outcome)
{
	origin_turn_end(&f->origin);
	origin_turn_release(&f->suspect);
	f->suspect = f->origin;
	f->suspected = outcome;
	f->origin = (struct origin_turn){ 0 };
}

/* The one that is asked now has done better than the one before, or as badly.
 */
static void fill_origin_settle(struct fill *f, bool better)
{
	const int64_t now_ms = worker_now_ms(f->worker);

	if (!f->suspect.group)
		return;
	if (better)
		origin_turn_judge(&f->suspect, f->suspected,
				  f->suspected == ORIGIN_LATE ?
					  TROUBLE_late :
					  TROUBLE_server_error,
				  now_ms);
	else
		origin_turn_answered(&f->suspect, -1, now_ms);
	origin_turn_release(&f->suspect);
}

/* What is bad, and no failure of a fetch. */
static void fill_origin_count(const struct fill *f, enum trouble trouble)
{
	troubles_of_upstream(f->worker->shared.troubles, UPSTREAM_origin,
			     f->origin.label, trouble, NULL,
			     worker_now_ms(f->worker));
}

static void fill_origin_is_late(void *arg);

static void fill_origin_watch(struct fill *f)
{
	const int64_t ms = origin_turn_late_ms(&f->origin);

	if (ms < f->q->settings->origin_first_byte_ms)
		loop_timer_set(f->worker->loop, &f->timer,
			       worker_now_ms(f->worker) + ms,
			       fill_origin_is_late, f);
}

/* An answer is late. */
static void fill_origin_is_late(void *arg)
{
	struct fill *f = arg;
	const bool sent = fetch_is_sent(f->fetch);
	const int64_t now_ms = worker_now_ms(f->worker);
	const struct node_fill_input in = {
		.event = NODE_TIMER,
		.now_ms = now_ms,
		.retry = true,
	};

	if (f->hedged) { /* whoever it is for has its own patience */
		fill_origin_watch(f);
		return;
	}
	if (!fill_origin_goes_on(f, sent, true))
		return;
	f->origins_late |= UINT32_C(1) << f->origin.member;
	fill_origin_settle(f, false);
	origin_turn_late(&f->origin, fill_elapsed_ms(f), now_ms);
	fill_origin_count(f, TROUBLE_late);
	fill_origin_suspect(f, ORIGIN_LATE);
	fill_take(f, &in, NULL, 0);
}

static void fill_origin_choose_of_several(struct fill *f)
{
	struct origin_ask ask = {
		.tried = f->origins_tried,
		.repeatable = fill_origin_is_repeatable(f, true),
		.now_ms = f->asked_ms,
	};

	if (!origin_group_take(f->q->origins, &ask, &f->origin)) {
		ask.tried = 0; /* all over again */
		if (!origin_group_take(f->q->origins, &ask, &f->origin))
			return;
	}
	f->origins_tried = ask.tried | UINT32_C(1) << f->origin.member;
}

void fill_origin_choose(struct fill *f)
{
	origin_turn_release(&f->origin);
	if (!f->q->origins)
		return;
	if (f->origin_served) /* it is another question */
		f->origins_tried = f->origins_late = 0;
	f->origin_served = false;
	if (origin_group_take_alone(f->q->origins, &f->origin))
		f->origins_tried = UINT32_C(1) << f->origin.member;
	else
		fill_origin_choose_of_several(f);
}

void fill_origin_asked(struct fill *f)
{
	if (f->origin.group)
		fill_origin_watch(f);
}

bool fill_origin_answered(struct fill *f, unsigned status)
{
	const bool error = node_answer_is_failure(status);
	const int64_t now_ms = worker_now_ms(f->worker);

	if (f->source != SOURCE_ORIGIN || !f->origin.group)
		return false;
	if (fill_origin_is_untold(f))
		loop_timer_clear(f->worker->loop, &f->timer);
	if (error) {
		fill_origin_count(f, TROUBLE_server_error);
		if (fill_origin_goes_on(f, true, false)) {
			fill_origin_settle(f, false);
			fill_origin_suspect(f, ORIGIN_ERROR);
			return true;
		}
	}
	/* nobody could be asked instead: a gateway's errors are its own */
	if (error && !f->suspect.group && status != 500)
		origin_turn_judge(&f->origin, ORIGIN_ERROR,
				  TROUBLE_server_error, now_ms);
	else
		origin_turn_answered(&f->origin,
				     f->q->get ? (int64_t)fill_elapsed_ms(f)
					       : -1,
				     now_ms);
	fill_origin_settle(f, !error);
	f->origin_served = true;
	return false;
}

/* Whether it was the origin that failed, not this node or the client. */
static bool fill_origin_is_to_blame(const struct fill *f,
				    const struct fetch_done *done,
				    enum trouble cause)
{
	if (cause == TROUBLE_memory || cause == TROUBLE_descriptors ||
	    cause == TROUBLE_private_address)
		return false;
	return done->result == FETCH_NOCONNECT || !done->sent ||
	       fill_origin_is_repeatable(f, true);
}

bool fill_origin_failed(struct fill *f, const struct fetch_done *done)
{
	const int64_t now_ms = worker_now_ms(f->worker);
	enum trouble cause = done->cause;

	if (f->source != SOURCE_ORIGIN || !f->origin.group || f->tunnel)
		return false;
	if (!cause)
		cause = trouble_of_result(done->result);
	if (fill_origin_is_to_blame(f, done, cause)) {
		origin_turn_judge(&f->origin, ORIGIN_FAILED, cause, now_ms);
		/* one that breaks off has answered */
		if (!f->origin_served &&
		    node_answer_is_disconnect(done->result))
			origin_turn_unanswered(&f->origin, f->asked_ms,
					       now_ms);
	}
	fill_origin_settle(f, true);
	return done->result != FETCH_NOMEM &&
	       fill_origin_goes_on(f, done->sent, false);
}

const char *fill_origin_label(const struct fill *f)
{
	return f->origin.group ? f->origin.label : f->q->upstream;
}

void fill_origin_end(struct fill *f)
{
	origin_turn_end(&f->origin);
}

void fill_origin_release(struct fill *f)
{
	origin_turn_release(&f->origin);
	origin_turn_release(&f->suspect);
}
