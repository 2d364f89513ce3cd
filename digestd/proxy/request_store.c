/*
 * What a response does to the store: whether it may be kept and for how long,
 * how it becomes an entry, what a 304 and an unsafe request change there.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/answer.h"
#include "digestd/http/conditional.h"
#include "digestd/http/forward.h"
#include "digestd/mesh/peerset.h"
#include "digestd/http/storable.h"
#include "digestd/http/vary.h"
#include "digestd/peers/placer.h"
#include "digestd/proxy/request.h"

/* What a body weighs whose length is not known yet. */
enum { UNKNOWN_BYTES = 4096 };

const char *request_acts_for_origin(const struct request *r)
{
	return r->forward ? NULL : r->settings->node;
}

enum set_cookie request_set_cookie(const struct request *r)
{
	return r->site ? r->site->set_cookie : r->settings->set_cookie;
}

void request_read_answer(const struct request *r, unsigned status,
			 const struct fields *fields, struct answer *answer)
{
	answer_read(answer, status, fields, request_acts_for_origin(r));
	answer->set_cookie = request_set_cookie(r);
}

/* Makes r->selecting of the response, once. Returns as vary_select(). */
static int request_store_select(struct request *r)
{
	int err;

	if (r->selected)
		return 0;
	err = vary_select(&r->in, &r->response, &r->selecting);
	if (err)
		return err;
	r->right_variant = vary_match(&r->selecting, &r->out);
	r->selected = true;
	return 0;
}

bool request_right_variant(struct request *r)
{
	return !request_store_select(r) && r->right_variant;
}

/* Whether a field names the target of the request. */
static bool request_store_names_target(const struct request *r,
				       const char *name)
{
	const char *reference = fields_get(&r->response, name);
	char *uri;
	bool same;

	if (!reference || target_same_origin(&r->target, reference, &uri))
		return false;
	same = !strcmp(uri, r->target.uri);
	free(uri);
	return same;
}

/* The response to a GET with a body is for that body. The one to a POST may be
 * what a later GET gets, if it says so itself, and for how long (RFC 9110,
 * 9.3.3). */
static bool request_store_answers_get(const struct request *r)
{
	if (strcmp(r->method, "POST") != 0)
		return r->cacheable && !strcmp(r->method, "GET");
	return r->status == 200 && r->freshness.explicit &&
	       request_store_names_target(r, "Content-Location");
}

static bool request_store_may_store(struct request *r,
				    const struct answer *answer)
{
	/* what came for a range is about it, unless it is the whole */
	if (r->status != 200 && fields_get(&r->in, "range"))
		return false;
	return request_store_answers_get(r) &&
	       storable("GET", &r->in, answer) == STORABLE_YES &&
	       request_right_variant(r) &&
	       (r->fill.body_len < 0 ||
		(uint64_t)r->fill.body_len <= r->settings->max_object_bytes);
}

/* Was a peer asked for it, as far as they have told? */
static bool request_store_asked_at_peers(const struct request *r)
{
	const struct peerset *seen = r->worker->seen;
	uint32_t one;

	return seen && peerset_lookup(seen, &r->key, &one, 1);
}

/* Does this node keep it, or is a peer's copy enough? */
static bool request_store_is_placed_here(struct request *r)
{
	struct placer *placer = r->worker->placer;

	return !placer || r->stale ||
	       placer_keeps(placer, &r->key, r->source == SOURCE_PEER,
			    request_store_asked_at_peers(r));
}

/* Makes *kept the fields of a confirmed response that are stored: those that
 * are not for one client only. Their text stays theirs. 0 or -ENOMEM. */
static int request_store_fields(const struct request *r,
				const struct fields *fields,
				struct fields *kept)
{
	struct fields withheld;
	struct answer answer;
	int err;

	request_read_answer(r, r->stale->status, fields, &answer);
	err = setcookie_withheld(&answer, &withheld);
	if (!err)
		err = setcookie_shared(fields, &withheld, kept);
	fields_free(&withheld);
	return err;
}

/* An entry of these fields, without its body. Null without memory. */
static struct cached *request_store_entry(struct request *r,
					  const struct fields *fields)
{
	const struct cached_head head = { r->target.uri, fields, &r->selecting,
					  r->status, &r->freshness,
					  cache_has_disk(r->worker->cache) };

	return request_store_select(r) ? NULL : cached_new(&head);
}

/* The response as an entry, without its body. Null without memory. */
static struct cached *request_store_make_head(struct request *r)
{
	struct fields kept;
	struct cached *c;

	if (!fields_count(&r->withheld)) /* nearly all */
		return request_store_entry(r, &r->response);
	if (setcookie_shared(&r->response, &r->withheld, &kept))
		return NULL;
	c = request_store_entry(r, &kept);
	fields_free(&kept);
	return c;
}

/* Whether it is worth r->head, which is given up when it is not. */
static bool request_store_is_worth_it(struct request *r)
{
	int64_t len = r->fill.body_len;
	size_t body = len < 0 ? UNKNOWN_BYTES : (size_t)len;

	r->place = cache_admit(r->worker->cache, &r->key,
			       cache_head_weight(r->head) + body,
			       loop_now_ms(r->worker->loop));
	if (r->stale && r->place < cached_place(r->stale))
		r->place = cached_place(r->stale);
	r->judged = true;
	r->head->place = (uint8_t)r->place;
	if (r->place == ADMISSION_NO)
		cached_unref(&r->head);
	return r->head;
}

bool request_admit(struct request *r)
{
	if (r->fill.keep == NODE_KEEP_NO)
		return false;
	assert(!r->head);
	if (request_store_is_placed_here(r))
		r->head = request_store_make_head(r);
	if (!r->head || !request_store_is_worth_it(r))
		return false;
	if (r->fill.body_len > 0)
		buffer_fit(&r->body, (size_t)r->fill.body_len);
	return true;
}

/* Notes what is not for everybody; what is to be stripped, nobody gets. A
 * peer's copy is everybody's in any case. 0 or -ENOMEM. */
static int request_withhold(struct request *r, const struct answer *answer,
			    bool shared)
{
	if (shared && answer->set_cookie == SET_COOKIE_STRIP)
		fields_remove(&r->response, "Set-Cookie");
	fields_free(&r->withheld);
	return setcookie_withheld(answer, &r->withheld);
}

static bool request_store_has_strong_tag(const struct request *r)
{
	const char *tag = fields_get(&r->response, "etag");

	return tag && tag[0] == '"';
}

int request_take_response(struct request *r, unsigned status,
			  const struct fields *fields, int64_t body_len)
{
	struct exchange_times times = {r->asked_s, request_now_s(r)};
	bool may_store;
	struct answer answer;

	if (forward_response(fields, request_now_s(r), &r->response))
		return -1;
	r->status = status;
	r->fill.body_len = body_len;
	r->fill.bodiless = !strcmp(r->method, "HEAD") || status == 204 ||
			   status == 304;
	r->fill.strong_tag = request_store_has_strong_tag(r);
	request_read_answer(r, status, &r->response, &answer);
	freshness_init(&r->freshness, &answer, &times);
	r->judged = false;
	may_store = request_store_may_store(r, &answer);
	r->fill.keep = may_store ? NODE_KEEP_MAYBE : NODE_KEEP_NO;
	return request_withhold(r, &answer,
				may_store || r->source == SOURCE_PEER) ?
		       -1 : 0;
}

/* Unless it has been purged meanwhile. */
static bool request_store_put(struct request *r, struct cached *c)
{
	const struct cache_fill fill = { &r->key, &r->in, r->purges };

	r->kept = cache_put(r->worker->cache, &fill, c);
	return r->kept;
}

void request_store(struct request *r)
{
	struct cached *c = r->head;

	r->head = NULL;
	request_release(r); /* it is counted as an object from now on */
	relay_hold(r->relay);
	buffer_fit(&r->body, r->body.len);
	relay_show(r->relay, r->body.data, r->body.len);
	cached_set_body(c, r->body.data, r->body.len);
	r->stored = c; /* the body's bytes are its now */
	if (request_store_put(r, c))
		worker_add(&r->worker->counters.stored, 1);
}

void request_show(struct request *r)
{
	uint64_t len = (uint64_t)r->fill.body_len;
	struct cached *head;

	if (!r->lead.under_way || r->fill.body_len < 0)
		return;
	head = request_store_make_head(r);
	if (!head)
		return;
	head->place = ADMISSION_NO; /* not in the store, and never will be */
	/* what a use of it weighs, as far as anybody can tell yet */
	cached_set_body(head, NULL, len & CACHED_BODY_MAX);
	if (relay_new(head, len, &r->relay))
		cached_unref(&head);
	else
		flights_show(r->worker->flights, &r->lead, r->relay);
}

void request_hide(struct request *r)
{
	if (!r->relay)
		return;
	flights_show(r->worker->flights, &r->lead, NULL);
	relay_end(r->relay, r->stored);
	relay_unref(&r->relay);
}

void request_land(struct request *r)
{
	request_hide(r);
	flights_land(r->worker->flights, &r->lead);
}

/* Of the stale response, with `fields`, which the 304 has updated. */
static struct cached *request_store_make_refreshed(const struct request *r,
						   const struct fields *fields)
{
	const struct cached *old = r->stale;
	struct exchange_times times = {r->asked_s, request_now_s(r)};
	struct freshness freshness;
	struct fields selecting;
	const struct cached_head head = { r->target.uri, fields, &selecting,
					  old->status, &freshness,
					  cache_has_disk(r->worker->cache) };
	struct answer answer;
	struct cached *c;

	/* the 304 may name other fields in Vary, and is for this request */
	if (vary_select(&r->in, fields, &selecting))
		return NULL;
	request_read_answer(r, old->status, fields, &answer);
	freshness_init(&freshness, &answer, &times);
	c = cached_new(&head);
	fields_free(&selecting);
	if (c)
		c->place = cached_place(old) == ADMISSION_RAM ?
				   ADMISSION_RAM :
				   ADMISSION_DISK;
	return c;
}

bool request_is_confirmed(const struct request *r,
			  const struct fields *not_modified)
{
	struct fields stored;
	bool same;

	if (cached_fields(r->stale, &stored))
		return false;
	same = conditional_confirms(not_modified, &stored);
	fields_free(&stored);
	return same;
}

struct cached *request_refreshed(struct request *r,
				 const struct fields *fields)
{
	struct cached *c = NULL;
	struct answer answer;
	struct fields all, kept;

	if (forward_response(fields, request_now_s(r), &r->response))
		return NULL;
	request_read_answer(r, 304, &r->response, &answer);
	if (request_withhold(r, &answer, true) ||
	    cached_fields(r->stale, &all))
		return NULL;
	if (!conditional_update(&r->response, &all) &&
	    !request_store_fields(r, &all, &kept)) {
		c = request_store_make_refreshed(r, &kept);
		fields_free(&kept);
	}
	fields_free(&all);
	if (c)
		cached_share_body(c, r->stale);
	return c;
}

/* What is stored, and what would have taken its place. */
static void request_store_drop(struct request *r, struct cached *c)
{
	c->place = ADMISSION_NO;
	cache_drop(r->worker->cache, &r->key, NULL, request_now_s(r));
}

void request_keep_refreshed(struct request *r, struct cached *c)
{
	struct answer answer;
	struct fields fields;
	enum storable why;

	if (cached_fields(c, &fields)) {
		request_store_drop(r, c); /* without memory to look */
		return;
	}
	request_read_answer(r, c->status, &fields, &answer);
	why = storable("GET", &r->in, &answer);
	if (why == STORABLE_YES && vary_match(cached_selecting(c), &r->out))
		request_store_put(r, c);
	else if (why == STORABLE_AUTHORIZATION)
		c->place = ADMISSION_NO; /* others may use the old one still */
	else
		request_store_drop(r, c);
	fields_free(&fields);
}

/* The response to this request is newer than what it invalidates. */
static void request_store_drop_uri(struct request *r, const char *uri)
{
	struct scd_key key;
	bool own;

	scd_key_make(r->settings->hash_secret, "GET", uri, strlen(uri),
		     &key);
	own = key.lo == r->key.lo && key.hi == r->key.hi;
	if (cache_drop(r->worker->cache, &key, own ? &r->purges : NULL,
		       request_now_s(r)))
		worker_add(&r->worker->counters.invalidated, 1);
}

bool request_is_invalidated(const struct request *r)
{
	return cache_dropped_since(r->worker->cache, &r->key,
				   freshness_spans(&r->freshness).born_s);
}

/* Whether the origin has another response than the stored one, and HEAD brings
 * its header only. */
static bool request_head_differs(const struct request *r)
{
	return r->validating && r->status == 200 && !strcmp(r->method, "HEAD");
}

void request_invalidate(struct request *r)
{
	static const char *const names[] = { "Location", "Content-Location" };

	if (request_head_differs(r))
		request_store_drop_uri(r, r->target.uri);
	if (!r->unsafe || r->status >= 400)
		return;
	request_store_drop_uri(r, r->target.uri);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *reference = fields_get(&r->response, names[i]);
		char *uri;

		if (reference &&
		    !target_same_origin(&r->target, reference, &uri)) {
			request_store_drop_uri(r, uri);
			free(uri);
		}
	}
}
