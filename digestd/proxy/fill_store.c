/*
 * What a response does to the store, as node/node_keep.h decides it: how it
 * becomes an entry, and what a 304 changes there.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/conditional.h"
#include "digestd/http/forward.h"
#include "digestd/http/response_facts.h"
#include "digestd/http/slices.h"
#include "digestd/http/storable.h"
#include "digestd/http/tags.h"
#include "digestd/mesh/peerset.h"
#include "digestd/http/vary.h"
#include "digestd/node/node_answer.h"
#include "digestd/node/node_keep.h"
#include "digestd/peers/placer.h"
#include "digestd/proxy/fill.h"
#include "digestd/proxy/request.h"
#include "digestd/proxy/shared.h"
#include "digestd/store/eviction_tiers.h"

/* What a body weighs whose length is not known yet. */
enum { UNKNOWN_BYTES = 4096 };

/* And about what one does beside its body. */
enum { HEAD_BYTES = 400 };

/* Makes f->selecting of the response, once. Returns as vary_select(). */
static int fill_store_select(struct fill *f)
{
	int err;

	if (f->selected)
		return 0;
	err = vary_select(&f->in, &f->response, &f->selecting);
	if (err)
		return err;
	f->right_variant = vary_match(&f->selecting, &f->out);
	f->selected = true;
	return 0;
}

bool fill_right_variant(struct fill *f)
{
	return !fill_store_select(f) && f->right_variant;
}

static enum not_stored fill_store_refuse(struct fill *f,
					 const struct response_facts *facts)
{
	const struct node_keep_response response = {
		.facts = facts,
		.request = &f->in,
		.target = &f->q->target,
		.freshness = &f->freshness,
		.get = f->q->cacheable && f->q->get,
		.post = question_is_method(f->q, "POST"),
		.body_len = f->node.body_len,
		.max_bytes = f->node.max_bytes,
	};
	enum not_stored why = node_keep_refuse(&response);

	if (why)
		return why;
	if (response.post && !question_has_stored_key(f->q))
		return NOT_STORED_METHOD;
	if (!fill_right_variant(f))
		return NOT_STORED_VARY;
	return f->unheard ? NOT_STORED_PURGES : NOT_STORED_YES;
}

/* Was a peer asked for it, as far as they have told? */
static bool fill_store_asked_at_peers(const struct fill *f)
{
	const struct peerset *seen = f->worker->seen;
	const struct peerset_keys keys = { .own = &f->q->key };
	uint32_t one;

	return seen && peerset_lookup(seen, &keys, &one, 1);
}

/* Has a peer at this location sent it? What comes from another one is placed
 * like what an origin has sent: the way there is long. */
static bool fill_store_is_from_here(const struct fill *f)
{
	return f->source == SOURCE_PEER && !peerset_is_elsewhere(f->peer);
}

/* Is what a peer has sent asked for so often here that it is to be a hot copy;
 * is what the origin has sent worth its place? Tiers say so. */
static bool fill_store_is_worthy(const struct fill *f)
{
	const struct worker *w = f->worker;
	const int64_t len = f->node.body_len;
	struct tiers_miss miss = {
		.hash = f->q->key.lo,
		.weight =
			(uint64_t)(len < 0 ? UNKNOWN_BYTES : len) + HEAD_BYTES,
		.remote = fill_store_is_from_here(f),
	};

	if (!placer_has_tiers(w->shared.placer))
		return !miss.remote;
	if (miss.remote)
		miss.price = fill_distance_price(f);
	else
		miss.nodes =
			1 + (w->view ? (unsigned)peerset_count_here(w->view)
				     : 0);
	return cache_missed(w->shared.cache, &miss);
}

/* Is it one without being asked for: as what it takes the place of, or as the
 * peer that it is copied from goes on having it? */
static bool fill_store_is_known_copy(const struct fill *f)
{
	const struct placer *placer = f->worker->shared.placer;

	return (f->stale && f->stale->copy) ||
	       (f->copy && f->copy->stays && placer &&
		placer_has_tiers(placer));
}

/* Does this node keep it, or is a peer's copy enough? Makes f->hot_copy. */
static bool fill_store_place_here(struct fill *f)
{
	struct placer *placer = f->worker->shared.placer;
	struct placement_case facts = {.remote = fill_store_is_from_here(f)};

	f->hot_copy = fill_store_is_known_copy(f);
	if (!placer || f->stale || f->node.purpose == NODE_FOR_COPY)
		return true;
	facts.asked_at_peers = fill_store_asked_at_peers(f);
	facts.awaited = collapse_is_joined(f->collapse);
	facts.worthy = fill_store_is_worthy(f);
	f->hot_copy = facts.remote && placer_has_tiers(placer);
	return placer_keeps(placer, &f->q->key, &facts);
}

/* The same, once an answer: each time would count as a request. */
static bool fill_store_is_placed_here(struct fill *f)
{
	if (!f->placed)
		f->placed_here = fill_store_place_here(f);
	f->placed = true;
	return f->placed_here;
}

/* Makes *kept the fields of a confirmed response that are stored: those that
 * are not for one client only. Their text stays theirs. 0 or -ENOMEM. */
static int fill_store_fields(const struct fill *f, const struct fields *fields,
			     struct fields *kept)
{
	struct fields withheld;
	struct response_facts facts;
	int err;

	question_read_response(f->q, f->stale->status, fields, &facts);
	err = setcookie_withheld(&facts, &withheld);
	if (!err)
		err = setcookie_shared(fields, &withheld, kept);
	fields_free(&withheld);
	return err;
}

static struct cached *fill_store_make_entry(struct fill *f,
					    const struct fields *fields)
{
	struct cache *cache = f->worker->shared.cache;
	const struct cached_head head = { f->q->target.uri, fields,
					  &f->selecting, f->status,
					  &f->freshness,
					  cache_has_disk(cache) };

	struct cached *c;

	c = fill_store_select(f) ? NULL : cached_new(&head);
	if (c)
		c->copy = f->hot_copy;
	return c;
}

/* Whether fields have that line already. */
static bool fill_store_has_line(const struct fields *fields, const char *name,
				const char *value)
{
	for (size_t i = 0; i < fields_count(fields); i++) {
		const struct field *line = fields_at(fields, i);

		if (!strcmp(line->name, name) && !strcmp(line->value, value))
			return true;
	}
	return false;
}

/* Of a body that a peer has sent: what one hands over as it goes is to be had
 * here in its place; nobody vouches for any other, unless the operator does. */
static const char *fill_store_source_field(const struct fill *f)
{
	const bool vouched = f->q->settings->peer_copies ||
			     (f->copy && !f->copy->stays);

	return vouched ? tags_from_field : tags_source_field;
}

/* Adds a line of that name, see fill_add_source(). */
static int fill_store_add_source(const struct fill *f, const char *name,
				 const struct fields *fields,
				 struct fields *out)
{
	size_t first = slices_are(fields) ? 1 : 0;
	char source[TAGS_SOURCE_BYTES];
	int err = 0;

	assert(fill_is_from_peer(f));
	tags_source(f->peer->name, source);
	if (fill_store_has_line(fields, name, source))
		first = SIZE_MAX;
	fields_init(out);
	for (size_t i = 0; i <= fields_count(fields) && !err; i++) {
		const struct field *line;

		if (i == first)
			err = fields_add(out, name, source);
		if (err || i == fields_count(fields))
			break;
		line = fields_at(fields, i);
		err = fields_borrow(out, line->name, line->value);
	}
	if (err)
		fields_free(out);
	return err;
}

int fill_add_source(const struct fill *f, const struct fields *fields,
		    struct fields *out)
{
	return fill_store_add_source(f, fill_store_source_field(f), fields,
				     out);
}

struct cached *fill_make_entry(struct fill *f, const struct fields *fields)
{
	struct fields all;
	struct cached *c;

	if (!fill_is_from_peer(f))
		return fill_store_make_entry(f, fields);
	if (fill_add_source(f, fields, &all))
		return NULL;
	c = fill_store_make_entry(f, &all);
	fields_free(&all);
	return c;
}

/* The response as an entry, without its body. Null without memory. */
static struct cached *fill_store_make_head(struct fill *f)
{
	struct fields kept;
	struct cached *c;

	if (!fields_count(&f->withheld)) /* nearly all */
		return fill_make_entry(f, &f->response);
	if (setcookie_shared(&f->response, &f->withheld, &kept))
		return NULL;
	c = fill_make_entry(f, &kept);
	fields_free(&kept);
	return c;
}

enum admission_decision fill_worth(struct fill *f, uint64_t weight)
{
	if (!f->weighed)
		f->worth = cache_admit(f->worker->shared.cache, &f->q->key,
				       weight, worker_now_ms(f->worker));
	f->weighed = true;
	return f->worth;
}

/* Whether it is worth f->head, which is given up when it is not. */
static bool fill_store_is_worth_it(struct fill *f)
{
	int64_t len = f->node.body_len;
	size_t body = len < 0 ? UNKNOWN_BYTES : (size_t)len;

	f->place = node_keep_place(
		fill_worth(f, cache_head_weight(f->head) + body),
		f->stale ? cached_place(f->stale) : ADMISSION_NO);
	f->judged = true;
	f->head->place = (uint8_t)f->place;
	if (f->place == ADMISSION_NO)
		cached_unref(&f->head);
	return f->head;
}

/* Makes f->head, which is null if it is not. */
static enum not_stored fill_store_admit(struct fill *f)
{
	if (f->node.keep == NODE_KEEP_NO)
		return f->not_stored;
	assert(!f->head);
	if (!fill_store_is_placed_here(f))
		return NOT_STORED_PLACEMENT;
	f->head = fill_store_make_head(f);
	if (!f->head)
		return NOT_STORED_MEMORY;
	return fill_store_is_worth_it(f) ? NOT_STORED_YES :
					   NOT_STORED_ADMISSION;
}

bool fill_admit(struct fill *f)
{
	enum not_stored why = fill_store_admit(f);

	fill_count_not_stored(f, why);
	return !why && f->head;
}

/* Notes what is not for everybody; what is to be stripped, nobody gets. A
 * peer's copy is everybody's in any case. 0 or -ENOMEM. */
static int fill_withhold(struct fill *f, const struct response_facts *facts,
			 bool shared)
{
	if (shared && facts->set_cookie == SET_COOKIE_STRIP)
		fields_remove(&f->response, "Set-Cookie");
	fields_free(&f->withheld);
	return setcookie_withheld(facts, &f->withheld);
}

static bool fill_store_has_strong_tag(const struct fill *f)
{
	const char *tag = fields_get(&f->response, "etag");

	return tag && tag[0] == '"';
}

static struct exchange_times fill_store_times(const struct fill *f)
{
	const int64_t now_s = worker_now_s(f->worker);

	return (struct exchange_times){ f->asked_s, now_s,
					worker_wall_s(f->worker) - now_s,
					&f->worker->dates };
}

/* However long a peer says that its copy is fresh, or one that it confirms:
 * then it is stale. */
static void fill_store_cap_freshness(const struct fill *f,
				     struct freshness *freshness)
{
	struct freshness_spans spans = freshness_spans(freshness);
	int64_t until_s = worker_now_s(f->worker) +
			  f->q->settings->peer_freshness_s;

	if (f->source != SOURCE_PEER || !f->q->settings->peer_freshness_s ||
	    spans.born_s + spans.lifetime_s <= until_s)
		return;
	spans.lifetime_s = until_s - spans.born_s;
	freshness_set(freshness, &spans);
}

/* Takes over the fields of a response, as the site wants them. 0 or -ENOMEM. */
static int fill_store_take_fields(struct fill *f, unsigned status)
{
	struct policy room;

	if (fetch_take_fields(f->fetch, &f->response) ||
	    forward_response(&f->response, worker_wall_s(f->worker),
			     &f->worker->dates) ||
	    question_edit_response(f->q, status, &f->response))
		return -ENOMEM;
	if (status != 304)
		f->node.max_bytes = question_max_bytes(
			f->q, question_answer_policy(f->q, status,
						     &f->response, &room));
	return 0;
}

int fill_take_response(struct fill *f, unsigned status, int64_t body_len)
{
	struct exchange_times times = fill_store_times(f);
	bool may_store;
	struct response_facts facts;

	if (fill_store_take_fields(f, status))
		return -1;
	f->status = status;
	f->node.body_len = body_len;
	f->node.bodiless = f->q->head || status == 204 ||
			   status == 304;
	f->node.strong_tag = fill_store_has_strong_tag(f);
	question_read_response(f->q, status, &f->response, &facts);
	freshness_init(&f->freshness, &facts, &times);
	fill_store_cap_freshness(f, &f->freshness);
	f->judged = f->placed = false;
	f->not_stored = fill_store_refuse(f, &facts);
	may_store = !f->not_stored;
	f->node.keep = may_store && !f->q->settings->sidecar ?
			       NODE_KEEP_MAYBE : NODE_KEEP_NO;
	if (may_store && f->q->settings->sidecar) { /* it is for that cache */
		f->judged = true;
		f->place = ADMISSION_DISK;
	}
	return fill_withhold(f, &facts, may_store || f->source == SOURCE_PEER)
		       ? -1
		       : 0;
}

void fill_take_freshness(struct fill *f)
{
	const struct exchange_times times = fill_store_times(f);
	struct response_facts facts;

	question_read_response(f->q, f->status, &f->response, &facts);
	freshness_init(&f->freshness, &facts, &times);
}

bool fill_may_cut(struct fill *f)
{
	const struct exchange_times times = fill_store_times(f);
	struct node_keep_response response = {
		.request = &f->in,
		.target = &f->q->target,
		.freshness = &f->freshness,
		.get = true,
	};
	struct response_facts facts;

	question_read_response(f->q, 200, &f->response, &facts);
	freshness_init(&f->freshness, &facts, &times);
	fill_store_cap_freshness(f, &f->freshness);
	response.facts = &facts;
	return !node_keep_refuse(&response) && fill_right_variant(f) &&
	       !fill_withhold(f, &facts, true);
}

bool fill_places_cut(struct fill *f)
{
	/* a run would push itself out of the little room of probation */
	f->place = fill_worth(f, f->q->settings->slice_bytes);
	if (f->place != ADMISSION_DISK)
		return false;
	/* a peer's slices pass through the store, where its copy of an object
	 * that is whole would be enough */
	if (!fill_store_is_placed_here(f)) {
		if (f->source != SOURCE_PEER)
			return false;
		f->hot_copy = placer_has_tiers(f->worker->shared.placer);
	}
	return true;
}

bool fill_land(struct fill *f, struct cached *c)
{
	const struct shared_landing landing = {
		.fill = { &f->q->key, &f->in, f->purges, NULL },
		.whole = c,
		.lead = &f->collapse,
	};

	return shared_land(&f->worker->shared, &landing);
}

static bool fill_store_land_renewed(struct fill *f, struct cached *c)
{
	const struct shared_landing landing = {
		.fill = { &f->q->key, &f->in, f->stale_since, f->stale },
		.whole = c,
		.lead = &f->collapse,
	};

	return shared_land(&f->worker->shared, &landing);
}

void fill_store(struct fill *f)
{
	struct cached *c = f->head;

	f->head = NULL;
	fill_release(f); /* it is counted as an object from now on */
	collapse_hold(f->collapse);
	buffer_fit_body(&f->body, f->body.len);
	collapse_grow(f->collapse, f->body.data, f->body.len);
	cached_set_body(c, f->body.data, f->body.len);
	f->stored = c; /* the body's bytes are its now */
	f->kept = fill_land(f, c);
	if (!f->kept)
		fill_count_not_stored(f, NOT_STORED_PURGED);
	worker_add(&f->worker->counters.stored, f->kept);
}

void fill_share_body(struct fill *f)
{
	uint64_t len = (uint64_t)f->node.body_len;
	struct cached *head;

	if (!f->collapse || f->node.body_len < 0)
		return;
	head = fill_store_make_head(f);
	if (!head)
		return;
	head->place = ADMISSION_NO; /* not in the store, and never will be */
	/* what a use of it weighs, as far as anybody can tell yet */
	cached_set_body(head, NULL, len & CACHED_BODY_MAX);
	collapse_show(f->collapse, head, len);
}

void fill_end_collapse(struct fill *f)
{
	if (f->collapse)
		(void)fill_land(f, NULL);
	if (f->cut)
		fill_cut_end(f);
}

/* Of the stale response, with `fields`, which the 304 has updated. */
static struct cached *fill_store_make_confirmed(const struct fill *f,
						const struct fields *fields)
{
	const struct cached *old = f->stale;
	struct exchange_times times = fill_store_times(f);
	struct freshness freshness;
	struct fields selecting;
	struct cache *cache = f->worker->shared.cache;
	const struct cached_head head = { f->q->target.uri, fields,
					  &selecting, old->status, &freshness,
					  cache_has_disk(cache) };
	struct response_facts facts;
	struct cached *c;

	/* the 304 may name other fields in Vary, and is for this request */
	if (vary_select(&f->in, fields, &selecting))
		return NULL;
	question_read_response(f->q, old->status, fields, &facts);
	freshness_init(&freshness, &facts, &times);
	fill_store_cap_freshness(f, &freshness);
	c = cached_new(&head);
	fields_free(&selecting);
	if (c)
		c->place = (uint8_t)node_keep_place_renewed(
			cached_place(old));
	if (c)
		c->copy = old->copy;
	return c;
}

static struct cached *fill_store_make_refreshed(const struct fill *f,
						const struct fields *fields)
{
	/* what a peer confirms is still what it was */
	const char *name = f->stale->unvouched ? tags_source_field
					       : tags_from_field;
	struct fields all;
	struct cached *c;

	if (!fill_is_from_peer(f))
		return fill_store_make_confirmed(f, fields);
	if (fill_store_add_source(f, name, fields, &all))
		return NULL;
	c = fill_store_make_confirmed(f, &all);
	fields_free(&all);
	return c;
}

bool fill_is_confirmed(const struct fill *f, const struct fields *not_modified)
{
	struct fields stored;
	bool same;

	if (cached_fields(f->stale, &stored))
		return false;
	same = conditional_confirms(not_modified, &stored);
	fields_free(&stored);
	return same;
}

/* Of a peer's 304 all but how long the response is fresh: what it is, its
 * origin has said. */
static void fill_store_strip_peer(struct fill *f)
{
	f->need_met = fill_need_is_met(f);
	conditional_keep_freshness(&f->response);
}

struct cached *fill_refreshed(struct fill *f)
{
	struct cached *c = NULL;
	struct response_facts facts;
	struct fields all, kept;

	if (fill_store_take_fields(f, 304))
		return NULL;
	if (f->source == SOURCE_PEER)
		fill_store_strip_peer(f);
	question_read_response(f->q, 304, &f->response, &facts);
	if (fill_withhold(f, &facts, true) || cached_fields(f->stale, &all))
		return NULL;
	if (!conditional_update(&f->response, &all) &&
	    !question_edit_response(f->q, f->stale->status, &all) &&
	    !fill_store_fields(f, &all, &kept)) {
		c = fill_store_make_refreshed(f, &kept);
		fields_free(&kept);
	}
	fields_free(&all);
	if (c)
		cached_share_body(c, f->stale);
	return c;
}

/* What is stored, and what would have taken its place. */
static void fill_store_drop(struct fill *f, struct cached *c)
{
	c->place = ADMISSION_NO;
	cache_drop(f->worker->shared.cache, &f->q->key, NULL,
		   worker_now_s(f->worker));
}

void fill_keep_refreshed(struct fill *f, struct cached *c)
{
	struct response_facts facts;
	struct fields fields;

	if (cached_fields(c, &fields)) {
		fill_store_drop(f, c); /* without memory to look */
		return;
	}
	question_read_response(f->q, c->status, &fields, &facts);
	switch (node_keep_renewed(&facts, &f->in,
				  vary_match(cached_selecting(c), &f->out))) {
	case NODE_RENEWED_STORE:
		f->kept = fill_store_land_renewed(f, c);
		break;
	case NODE_RENEWED_LEAVE:
		c->place = ADMISSION_NO;
		break;
	case NODE_RENEWED_DROP:
		fill_store_drop(f, c);
		break;
	}
	fields_free(&fields);
}

/* The same of these fields, and this freshness. */
static bool fill_store_is_invalidated(const struct fill *f,
				      const struct fields *fields,
				      const struct freshness *freshness,
				      bool met)
{
	const struct cache_copy copy = {
		.key = &f->q->key,
		.uri = f->q->target.uri,
		.fields = fields,
		.born_s = freshness_spans(freshness).born_s,
		.asked = f->purges,
		.met = met,
	};

	return cache_is_purged(f->worker->shared.cache, &copy);
}

bool fill_is_invalidated(const struct fill *f, bool met)
{
	return fill_store_is_invalidated(f, &f->response, &f->freshness, met);
}

bool fill_is_held_beside(struct fill *f, unsigned status,
			 const struct fields *fields)
{
	const struct exchange_times times = fill_store_times(f);
	struct response_facts facts;
	struct freshness freshness;

	if (status != 200 && status != 206 && status != 304)
		return false;
	question_read_response(f->q, 200, fields, &facts);
	freshness_init(&freshness, &facts, &times);
	return !fill_store_is_invalidated(f, fields, &freshness, false);
}

enum peer_outcome fill_judge_refreshed(const struct fill *f,
				       const struct cached *c)
{
	struct node_answer answer = {
		.freshness = &c->freshness,
		.cc = &f->q->cc,
		.right_variant = vary_match(cached_selecting(c), &f->out),
		.known = &f->stale->freshness,
		.now_s = worker_now_s(f->worker),
	};
	struct fields fields;

	if (cached_fields(c, &fields))
		return OUTCOME_STALE; /* without memory to look */
	answer.invalidated = fill_store_is_invalidated(
		f, &fields, &c->freshness, f->need_met);
	fields_free(&fields);
	return node_answer_of_peer_304(&answer);
}
