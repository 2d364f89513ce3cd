/*
 * A peer that has begun to answer, and breaks off or stands still: the origin
 * is asked for the same, and goes on where the peer has stopped.
 *
 * It must be the same. Where all that the peer has sent is still here, since it
 * is being stored, the origin's bytes are held against it: the body is then the
 * origin's, whoever sent its beginning. Where it is not, a strong entity tag
 * has to say so. Length and entity tag are never others than those that the
 * reply has begun with; the length of an answer in chunks shows at its end.
 *
 * It happens once a request, and costs the origin one whole response.
 */
#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/proxy/request.h"

/* A peer that sends less within peer_budget stands still. */
enum { WATCH_BYTES = 1024 };

static const char *request_takeover_etag(const struct fields *f)
{
	const char *tag = fields_get(f, "etag");

	return tag ? tag : "";
}

static bool request_takeover_can_take_over(const struct request *r)
{
	return !r->taken_over && r->source == SOURCE_PEER &&
	       (r->x || r->relay) && !strcmp(r->method, "GET") &&
	       (r->storing || request_takeover_etag(&r->response)[0] == '"');
}

static void request_takeover_on_headers(void *arg, struct fetch *f,
					unsigned status,
					const struct fields *fields,
					int64_t body_len)
{
	struct request *r = arg;

	(void)f;
	if (status != r->status ||
	    strcmp(request_takeover_etag(fields),
		   request_takeover_etag(&r->response)) ||
	    (r->body_len >= 0 && body_len >= 0 && body_len != r->body_len))
		request_break_off(r);
}

/* Whether the body is longer than the peer has said, with `more` bytes. */
static bool request_takeover_is_too_long(const struct request *r, size_t more)
{
	return r->body_len >= 0 && more > (uint64_t)r->body_len - r->received;
}

/* Whether all has come that the peer has promised. */
static bool request_takeover_is_whole(const struct request *r)
{
	return r->rejoined == r->cut &&
	       (r->body_len < 0 || r->received == (uint64_t)r->body_len);
}

/* How many of these bytes the peer has sent before; -1: others. */
static ssize_t request_takeover_repeated(const struct request *r,
					 const void *data, size_t len)
{
	uint64_t left = r->cut - r->rejoined;
	size_t n = left < len ? (size_t)left : len;

	if (r->storing && n && memcmp(r->body.data + r->rejoined, data, n) != 0)
		return -1;
	return (ssize_t)n;
}

static bool request_takeover_on_body(void *arg, struct fetch *f,
				     const void *data, size_t len)
{
	struct request *r = arg;
	ssize_t n = request_takeover_repeated(r, data, len);
	bool taken;

	(void)f;
	if (n < 0) {
		request_break_off(r);
		return true;
	}
	r->rejoined += (uint64_t)n;
	if ((size_t)n == len)
		return true;
	if (request_takeover_is_too_long(r, len - (size_t)n)) {
		request_break_off(r);
		return true;
	}
	taken = request_take_body(r, (const char *)data + n, len - (size_t)n);
	if (!taken) /* all of it comes again */
		r->rejoined -= (uint64_t)n;
	return taken;
}

static void request_takeover_on_done(void *arg, struct fetch *f,
				     const struct fetch_done *done)
{
	struct request *r = arg;

	(void)f;
	r->fetch = NULL;
	if (done->result == FETCH_COMPLETE && request_takeover_is_whole(r)) {
		request_complete(r, done);
		return;
	}
	worker_add(&r->worker->counters.origin_errors, 1);
	request_break_off(r);
}

static const struct fetch_callbacks callbacks = {
	.on_headers = request_takeover_on_headers,
	.on_body = request_takeover_on_body,
	.on_done = request_takeover_on_done,
};

bool request_take_over(struct request *r)
{
	if (!request_takeover_can_take_over(r))
		return false;
	request_stop_fetch(r);
	r->taken_over = true;
	r->cut = r->received;
	r->rejoined = 0;
	worker_add(&r->worker->counters.taken_over, 1);
	return !request_fetch_again(r, &callbacks);
}

static void request_takeover_look(void *arg);

static void request_takeover_watch_from(struct request *r, int64_t from_ms)
{
	r->watched = r->received;
	loop_timer_set(r->worker->loop, &r->patience,
		       from_ms + r->settings->peer_budget_ms,
		       request_takeover_look, r);
}

/* From the last byte on: it may have stood still for some time already. */
static void request_takeover_look(void *arg)
{
	struct request *r = arg;

	if (r->paused) {
		request_watch_peer(r);
		return;
	}
	if (r->received - r->watched >= WATCH_BYTES) {
		request_takeover_watch_from(r, r->received_ms);
		return;
	}
	if (!request_takeover_can_take_over(r))
		return; /* it may yet go on; else the fetch ends */
	request_learn(r, OUTCOME_FAILED, 0);
	if (!request_take_over(r))
		request_break_off(r);
}

void request_watch_peer(struct request *r)
{
	request_takeover_watch_from(r, loop_now_ms(r->worker->loop));
}
