/*
 * Replies of requests: the header that goes with each, and the body.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "digestd/http/conditional.h"
#include "digestd/http/decimal.h"
#include "digestd/http/range.h"
#include "digestd/http/tags.h"
#include "digestd/http/via.h"
#include "digestd/node/node_reply.h"
#include "digestd/proxy/fill.h"
#include "digestd/proxy/request.h"

static int reply_set_age(struct fields *f, const struct freshness *freshness,
			 int64_t at_s)
{
	char text[DECIMAL_BYTES];
	const size_t len = decimal_write(freshness_age(freshness, at_s), text);

	fields_remove(f, "Age");
	return fields_add_n(f, "Age", 3, text, len);
}

/* Age, Via and Cache-Status: what each reply carries of this node. */
static int reply_sign(const struct request *r, struct fields *f,
		      const struct freshness *freshness,
		      struct cachestatus *status)
{
	const char *node = r->q->settings->node;

	if (r->met && fields_add(f, "SCD-Need", "met"))
		return -1;
	status->node = node;
	status->ttl_s = freshness_left(freshness, worker_now_s(r->worker));
	if (reply_set_age(f, freshness, worker_now_s(r->worker)) ||
	    via_mark(f, &r->q->settings->marks, VIA_MARK_1_1))
		return -1;
	return cachestatus_append(f, status);
}

/* Tells the cache in front, if there is one, whether to keep the response. */
static int reply_tell(const struct request *r, struct fields *f,
		      const struct freshness *freshness,
		      enum admission_decision place)
{
	struct admission_news news = {
		.place = place,
		.left_s = freshness_left(freshness, worker_now_s(r->worker)),
		.age_s = freshness_age(freshness, worker_now_s(r->worker)),
	};

	if (r->node.from_peer)
		return 0;
	return admission_tell(r->q->settings->tell, &news, f);
}

/* Adds what the fetched response has for this client only. Returns -1 without
 * memory. */
static int reply_add_withheld(const struct request *r, struct fields *f)
{
	return r->fill ? setcookie_add_withheld(&r->fill->withheld, f) : 0;
}

/* The fields of a stored response. What the request's own fill has just stored
 * need not be unpacked: they are those of the response, which it still has, in
 * one piece most often. */
static int reply_stored_fields(const struct request *r, const struct cached *c,
			       struct fields *f)
{
	const struct fill *fill = r->fill;

	if (fill && fill->stored == c && !c->sliced &&
	    !fields_count(&fill->withheld))
		return fields_lend(&fill->response, f);
	return cached_fields(c, f);
}

/* Reads what the head of a large object records, which nobody gets. */
static int reply_take_record(struct request *r, struct fields *f)
{
	if (!slices_read(f, &r->slices)) {
		fields_free(f);
		return -1;
	}
	fields_remove(f, slices_field);
	return 0;
}

/* Of the whole body. */
static uint64_t reply_length(const struct request *r, const struct cached *c)
{
	return c->sliced ? r->slices.len : c->body_len;
}

/* The same as all clients get them: without a Set-Cookie from times when that
 * was allowed. Returns -1 without memory. */
static int reply_shared_fields(struct request *r, const struct cached *c,
			       struct fields *f)
{
	if (reply_stored_fields(r, c, f))
		return -1;
	if (fields_get(f, "Set-Cookie") &&
	    question_set_cookie(r->q, c->status, f) != SET_COOKIE_ALLOW)
		fields_remove(f, "Set-Cookie");
	if (c->from_peer) {
		fields_remove(f, tags_source_field);
		fields_remove(f, tags_from_field);
	}
	return c->sliced ? reply_take_record(r, f) : 0;
}

static void reply_out_of_memory(struct request *r, struct fields *f)
{
	fields_free(f);
	reply_error(r, 503, "memory");
}

static void reply_count_bytes(struct request *r, size_t n)
{
	worker_add(&r->worker->counters.reply_bytes, n);
}

static void reply_release_cached(void *arg)
{
	struct cached *c = arg;

	cached_unref(&c);
}

/* How a stored response came to be the answer, for Cache-Status. */
static struct cachestatus reply_status_of_cached(const struct request *r)
{
	struct cachestatus status = {
		.how = r->waited ? CACHESTATUS_FORWARDED : CACHESTATUS_HIT,
		.fwd = r->fwd,
		.detail = r->why,
	};
	const struct fill *f = r->fill;

	if (f) {
		status.fwd_status = f->fwd_status;
		status.stored = f->kept;
		status.peer = f->peer ? f->peer->name : NULL;
		status.detail = f->beats ? "hedge" : NULL;
	}
	if (f && f->source != SOURCE_NONE)
		status.how = CACHESTATUS_FORWARDED;
	else if (r->node.alone && !r->why)
		status.how = CACHESTATUS_COLLAPSED;
	return status;
}

/* Where it is from, for the access log. */
static void reply_note(struct request *r, enum cachestatus_how how)
{
	const struct fill *f = r->fill;

	switch (how) {
	case CACHESTATUS_OWN:
		r->source = ACCESS_FROM_node;
		break;
	case CACHESTATUS_HIT:
		r->source = r->from_disk ? ACCESS_FROM_disk :
					   ACCESS_FROM_memory;
		break;
	case CACHESTATUS_FORWARDED:
		r->source = f && f->source == SOURCE_PEER ? ACCESS_FROM_peer :
							    ACCESS_FROM_origin;
		break;
	case CACHESTATUS_COLLAPSED:
		r->source = ACCESS_FROM_collapsed;
		break;
	}
}

void reply_from_memory(struct request *r, unsigned status,
		       const struct fields *f, const struct reply_part *part)
{
	const char *bytes = cached_body(part->of);

	exchange_reply(r->x, status, f, bytes ? bytes + part->first : NULL,
		       part->len, reply_release_cached, cached_ref(part->of));
}

/* A part of a stored body, from where that is. */
static void reply_send_body(struct request *r, unsigned status,
			    const struct fields *f, struct cached *c,
			    const struct range *part)
{
	const struct reply_part of = { c, part->first, part->len };

	if (c->sliced)
		reply_slices(r, status, f, &of);
	else if (cached_file(c))
		reply_blocks(r, status, f, &of);
	else
		reply_from_memory(r, status, f, &of);
}

/* Is never read. */
static ssize_t reply_read_nothing(void *arg, void *buf, size_t cap)
{
	(void)arg;
	(void)buf;
	(void)cap;
	return BODY_FAIL;
}

void reply_without_body(struct request *r, unsigned status,
			const struct fields *f, uint64_t len)
{
	const struct body_source none = { .read = reply_read_nothing };

	exchange_reply_stream(r->x, status, f, (int64_t)len, &none);
}

static void reply_304(struct request *r, struct cached *c, struct fields *f)
{
	const struct range whole = { 0, reply_length(r, c) };
	struct fields brief;

	if (conditional_304_fields(f, &brief)) {
		reply_out_of_memory(r, f);
		return;
	}
	if (reply_add_withheld(r, &brief) ||
	    (r->met && fields_set(&brief, "SCD-Need", "met"))) {
		fields_free(&brief);
		reply_out_of_memory(r, f);
		return;
	}
	/* the body only gives its length to the header */
	reply_send_body(r, 304, &brief, c, &whole);
	fields_free(&brief);
	fields_free(f);
}

/* Which reply a stored response with these fields makes. */
static struct node_reply reply_of(const struct request *r,
				  const struct cached *c,
				  const struct fields *f)
{
	const struct node_reply_facts facts = {
		.request = request_fields(r),
		.get = r->q->get,
		.cacheable = r->q->cacheable,
		.status = c->status,
		.stored = f,
		.len = reply_length(r, c),
		.wall_s = worker_wall_s(r->worker),
	};

	return node_reply_of(&facts);
}

/* There is no such part; what is there, Content-Range says. */
static void reply_416(struct request *r, const struct cached *c)
{
	struct cachestatus status = reply_status_of_cached(r);
	char text[RANGE_TEXT];
	struct fields f;

	range_text(NULL, reply_length(r, c), text);
	fields_init(&f);
	status.node = r->q->settings->node;
	status.ttl_s = freshness_left(&c->freshness, worker_now_s(r->worker));
	/* without memory it goes out without them */
	if (fields_add(&f, "Content-Range", text) ||
	    cachestatus_append(&f, &status) ||
	    via_append(&f, "1.1", r->q->settings->node))
		fields_clear(&f);
	exchange_reply_error(r->x, 416, &f);
	fields_free(&f);
}

/* All of it, or the part of it with 206. */
static void reply_body(struct request *r, struct cached *c, struct fields *f,
		       const struct node_reply *reply)
{
	char text[RANGE_TEXT];

	if (reply->kind == NODE_SENDS_PART) {
		range_text(&reply->part, reply_length(r, c), text);
		if (fields_set(f, "Content-Range", text)) {
			reply_error(r, 503, "memory");
			return;
		}
	}
	reply_count_bytes(r, reply->part.len);
	reply_send_body(r, reply->status, f, c, &reply->part);
}

/*
 * Looks for what the request wants of a large object: what is not here changes
 * how it came about. False: the request has been answered, as nobody may be
 * asked for the rest.
 */
static bool reply_find_slices(struct request *r, const struct node_reply *reply,
			      struct cachestatus *how)
{
	const struct node_reply_slices slices = {
		.head = r->q->head,
		.fetched = r->fill && r->fill->source != SOURCE_NONE,
		.alone = r->node.from_peer || r->q->cc.only_if_cached,
	};
	const enum node_reply_rest rest = node_reply_rest_of(reply, &slices);

	if (rest == NODE_REST_NONE || reply_slices_are_here(r, &reply->part))
		return true;
	how->how = CACHESTATUS_FORWARDED;
	how->fwd = r->fwd = CACHESTATUS_PARTIAL;
	reply_note(r, how->how);
	if (rest == NODE_REST_FETCHED)
		return true;
	reply_error(r, 504, "partial");
	return false;
}

/* Whether a request, by its own fields, is answered with all of a 200. */
static bool reply_has_no_conditions(const struct fields *in)
{
	for (size_t i = 0; i < fields_count(in); i++) {
		const struct field *line = fields_at(in, i);

		if ((*line->name | 0x20) == 'i' && /* only saves the call */
		    !strncasecmp(line->name, "if-", 3))
			return false;
		if (field_is(line, "Range"))
			return false;
	}
	return true;
}

/* Whether a reply depends on nothing but the stored response and the second. */
static bool reply_is_plain(const struct request *r, const struct cached *c)
{
	return !r->fill && !r->why && !r->waited && !r->node.alone &&
	       !r->node.from_peer &&
	       r->q->settings == r->worker->settings && c->status == 200 &&
	       !c->sliced && !cached_file(c) &&
	       reply_has_no_conditions(r->in->fields);
}

static bool reply_send_ready(struct request *r, const struct ready_slot *slot)
{
	if (!slot || !slot->reply || !exchange_reply_shared(r->x, slot->reply))
		return false;
	reply_count_bytes(r, slot->hit.cached->body_len);
	return true;
}

static bool reply_send_plain(struct request *r, struct cached *c)
{
	if (r->q->settings->tell != TELL_NOTHING || !reply_plain(r, c))
		return false;
	reply_count_bytes(r, c->body_len);
	return true;
}

/* Makes what all of a stored response is answered with, for this second. */
static void reply_make_ready(struct request *r, struct ready_slot *slot,
			     const struct fields *f, struct cached *c)
{
	struct ready *ready = &r->worker->ready;
	const struct body_memory body = {
		.data = cached_body(c),
		.len = c->body_len,
		.release = reply_release_cached,
		.arg = cached_ref(c),
	};
	struct shared_reply *reply = shared_reply_new(c->status, f, &body);

	if (reply)
		ready_keep(ready, slot, reply);
}

void reply_cached(struct request *r, struct cached *c)
{
	/* what has left the store again was worth it */
	enum admission_decision place = cached_place(c) == ADMISSION_RAM ?
						ADMISSION_RAM :
						ADMISSION_DISK;
	const struct ready_hit hit = {c, worker_now_s(r->worker), (int)place};
	struct node_reply reply;
	struct ready_slot *slot;
	bool wanted = false, plain = reply_is_plain(r, c);
	struct cachestatus status;
	struct fields f;

	if (plain)
		reply_note(r, CACHESTATUS_HIT);
	slot = plain ? ready_find(&r->worker->ready, &hit, &wanted) : NULL;
	if (reply_send_ready(r, slot) ||
	    (plain && !wanted && reply_send_plain(r, c)))
		return;
	status = reply_status_of_cached(r);
	reply_note(r, status.how);
	if (reply_shared_fields(r, c, &f)) {
		reply_error(r, 503, "memory");
		return;
	}
	reply = reply_of(r, c, &f);
	if (c->sliced && !reply_find_slices(r, &reply, &status)) {
		fields_free(&f);
		return;
	}
	if (reply_sign(r, &f, &c->freshness, &status) ||
	    reply_tell(r, &f, &c->freshness, place)) {
		reply_out_of_memory(r, &f);
		return;
	}
	if (reply.kind == NODE_SENDS_NOT_MODIFIED) {
		reply_304(r, c, &f);
		return;
	}
	if (reply_add_withheld(r, &f)) {
		reply_out_of_memory(r, &f);
		return;
	}
	if (wanted)
		reply_make_ready(r, slot, &f, c);
	if (reply.kind == NODE_SENDS_NO_PART)
		reply_416(r, c);
	else if (!wanted || !reply_send_ready(r, slot))
		reply_body(r, c, &f, &reply);
	fields_free(&f);
}

static ssize_t reply_read_body(void *arg, void *buf, size_t cap)
{
	struct request *r = arg;
	struct fill *f = r->fill;
	size_t n = buffer_take(&f->body, buf, cap);

	if (!f->tunnel)
		reply_count_bytes(r, n);
	fill_room(f);
	if (n)
		return (ssize_t)n;
	switch (f->node.result) {
	case NODE_UNDER_WAY:
		if (f->tunnel_half)
			return BODY_END;
		break;
	case NODE_WHOLE:
		return BODY_END;
	case NODE_BROKEN:
		return BODY_FAIL;
	}
	return BODY_WAIT;
}

static const struct fields *reply_trailers(void *arg)
{
	const struct request *r = arg;

	return &r->fill->trailers;
}

/* The header of a fetched response; returns -1 without memory. */
static int reply_fetched_fields(const struct request *r, struct fields *f)
{
	const struct fill *fill = r->fill;
	struct cachestatus status = {
		.how = CACHESTATUS_FORWARDED,
		.fwd = r->fwd,
		.fwd_status = fill->fwd_status,
		/* or it will be, when the rest has come; without a length it
		 * may yet be too large */
		.stored = fill->node.keep == NODE_KEEP_YES &&
			  fill->node.body_len >= 0,
		.peer = fill->peer ? fill->peer->name : NULL,
		.detail = fill->beats ? "hedge" : NULL,
	};

	if (fields_lend(&fill->response, f))
		return -1;
	if (fill->tunnel && !via_append(f, "1.1", r->q->settings->node))
		return 0;
	if (!fill->tunnel && !reply_sign(r, f, &fill->freshness, &status) &&
	    (!fill->judged ||
	     !reply_tell(r, f, &fill->freshness, fill->place)))
		return 0;
	fields_free(f);
	return -1;
}

void reply_stream(struct request *r)
{
	struct body_source source = {.read = reply_read_body,
				     .arg = r,
				     .trailers = reply_trailers};
	const struct fill *fill = r->fill;
	struct fields f;

	reply_note(r, CACHESTATUS_FORWARDED);
	if (reply_fetched_fields(r, &f)) {
		exchange_abort(r->x);
		return;
	}
	/* else nobody waits for the rest; the fill of a reply that was held
	 * back may have ended, and says so once */
	if (fill->status < 300 && fill->node.result == NODE_UNDER_WAY &&
	    r->in->has_body)
		exchange_set_duplex(r->x);
	exchange_reply_stream(r->x, fill->status, &f, fill->node.body_len,
			      &source);
	fields_free(&f);
}

static ssize_t reply_read_joined(void *arg, void *buf, size_t cap)
{
	struct request *r = arg;
	ssize_t n = collapse_read(&r->reader, buf, cap);

	if (n > 0)
		reply_count_bytes(r, (size_t)n);
	return n;
}

void reply_joined(struct request *r)
{
	const struct cached *head = collapse_head(&r->reader);
	struct body_source source = {.read = reply_read_joined, .arg = r};
	struct cachestatus status = { .how = CACHESTATUS_COLLAPSED,
				      .fwd = r->fwd };
	struct fields f;

	reply_note(r, status.how);
	if (reply_shared_fields(r, head, &f)) {
		reply_error(r, 503, "memory");
		return;
	}
	if (reply_sign(r, &f, &head->freshness, &status)) {
		reply_out_of_memory(r, &f);
		return;
	}
	exchange_reply_stream(r->x, head->status, &f,
			      (int64_t)collapse_len(&r->reader), &source);
	fields_free(&f);
}

void reply_whole(struct request *r)
{
	const struct fill *fill = r->fill;
	struct fields f;

	reply_note(r, CACHESTATUS_FORWARDED);
	if (reply_fetched_fields(r, &f)) {
		reply_error(r, 503, "memory");
		return;
	}
	reply_count_bytes(r, fill->body.len);
	exchange_reply_copy(r->x, fill->status, &f, fill->body.data,
			    fill->body.len);
	fields_free(&f);
}

void reply_options(struct request *r)
{
	struct fields f;

	assert(r->x);
	reply_note(r, CACHESTATUS_OWN);
	fields_init(&f);
	if (fields_add(&f, "Allow",
		       "GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE") ||
	    via_append(&f, "1.1", r->q->settings->node))
		reply_out_of_memory(r, &f);
	else
		exchange_reply_copy(r->x, 200, &f, "", 0);
	fields_free(&f);
}

void reply_text(struct request *r, unsigned status, const char *type,
		const char *text)
{
	struct fields f;

	assert(r->x);
	reply_note(r, CACHESTATUS_OWN);
	worker_add(&r->worker->counters.errors, status >= 400);
	fields_init(&f);
	if (fields_add(&f, "Content-Type", type) ||
	    fields_add(&f, "Cache-Control", "no-store") ||
	    via_append(&f, "1.1", r->q->settings->node))
		reply_out_of_memory(r, &f);
	else
		exchange_reply_copy(r->x, status, &f, text, strlen(text));
	fields_free(&f);
}

/* What an error says beside its status and why. */
struct reply_error_extra {
	const char *name, *value; /* one more field; null: there is none */
	enum cachestatus_usable usable;
};

static void reply_error_with(struct request *r, unsigned status,
			     const char *why,
			     const struct reply_error_extra *extra)
{
	struct cachestatus cs = {
		.node = r->q->settings->node,
		.fwd = r->fwd,
		.ttl_s = CACHESTATUS_NO_TTL,
		.usable = extra->usable,
		.detail = why,
	};
	struct fields f;

	assert(r->x && status >= 400);
	reply_note(r, CACHESTATUS_OWN);
	r->why = why;
	worker_add(&r->worker->counters.errors, !r->node.from_peer);
	if (!r->node.from_peer && refusal_of_status(status) < REFUSAL_COUNT)
		worker_add(&r->worker->counters
				    .refusals[refusal_of_status(status)], 1);
	fields_init(&f);
	/* without memory the error goes out without them */
	if (cachestatus_append(&f, &cs) ||
	    via_append(&f, "1.1", r->q->settings->node) ||
	    (extra->name && fields_add(&f, extra->name, extra->value)))
		fields_clear(&f);
	exchange_reply_error(r->x, status, &f);
	fields_free(&f);
}

void reply_error(struct request *r, unsigned status, const char *why)
{
	const struct reply_error_extra none = { NULL, NULL, 0 };

	reply_error_with(r, status, why, &none);
}

void reply_not_here(struct request *r, const struct lease_answer *lease,
		    enum cachestatus_usable usable)
{
	const char *why = r->fwd == CACHESTATUS_STALE ? "stale" : "miss";
	char text[LEASES_TEXT_BYTES];
	struct reply_error_extra extra = { NULL, text, usable };

	lease_answer_write(lease, text);
	if (*text)
		extra.name = LEASES_FIELD;
	reply_error_with(r, 504, why, &extra);
}

void reply_busy(struct request *r)
{
	const struct reply_error_extra soon = { "Retry-After", "1", 0 };

	reply_error_with(r, 503, "memory", &soon);
}

void reply_hurried(struct request *r, unsigned retry_s)
{
	char text[16];
	const struct reply_error_extra later = { "Retry-After", text, 0 };

	snprintf(text, sizeof(text), "%u", retry_s);
	reply_error_with(r, 429, "rate", &later);
}
