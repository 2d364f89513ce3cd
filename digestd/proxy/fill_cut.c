/*
 * Fills that store large objects in slices (http/slices.h).
 *
 * The first answer for an unknown object, all of it or whole slices, makes the
 * head, which is stored at once, and its slices as they come. What is missing
 * later is fetched by a fill without a client (NODE_FOR_SLICES), of some
 * neighbours at a time.
 *
 * A fill leads the fetches of the slices that it will bring, so that nobody
 * else asks for them, and holds memory for one of them at a time: what is whole
 * is the store's. No client sets its pace. It goes on beyond NODE_ASK_SLICES
 * only while its client is right behind, and stops before a slice that is here
 * or on its way.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/node/node_keep.h"
#include "digestd/peers/placer.h"
#include "digestd/proxy/fill.h"
#include "digestd/proxy/request.h"
#include "digestd/proxy/shared.h"

struct fill_cut {
	struct slices slices;
	struct cached *head;
	char *validator;         /* that a run is asked with; null: a first
				    answer */
	struct slices_run asked; /* of a run */
	struct range part;       /* and its bytes; or what passes of it */
	uint64_t next, end;      /* from the slice that comes, those led */
	uint64_t brings;         /* the answer's end */
	uint64_t skip;           /* bytes that come before the next slice */
	struct collapse *leads[NODE_ASK_SLICES]; /* of a slice, by its number;
						    of the next: f->collapse */
};

/* Life */

static struct fill_cut *fill_cut_new(const struct slices *s,
				     struct cached *head)
{
	struct fill_cut *cut = calloc(1, sizeof(*cut));

	if (cut) {
		cut->slices = *s;
		cut->head = cached_ref(head);
	}
	return cut;
}

void fill_cut_free(struct fill *f)
{
	struct fill_cut *cut = f->cut;

	f->cut = NULL;
	if (!cut)
		return;
	for (size_t i = 0; i < NODE_ASK_SLICES; i++)
		assert(!cut->leads[i]);
	cached_unref(&cut->head);
	free(cut->validator);
	free(cut);
}

static struct collapse **fill_cut_lead(struct fill_cut *cut, uint64_t number)
{
	return &cut->leads[number % NODE_ASK_SLICES];
}

/* Lands a slice, whole or null, and lets go of who follows it. */
static bool fill_cut_land(struct fill *f, const struct scd_key *key,
			  struct cached *whole, struct collapse **lead)
{
	const struct shared_landing landing = {
		.fill = {key, &fields_none, f->purges, NULL},
		.whole = whole,
		.lead = lead,
	};

	return shared_land(&f->worker->shared, &landing);
}

void fill_cut_end(struct fill *f)
{
	for (size_t i = 0; f->cut && i < NODE_ASK_SLICES; i++)
		fill_cut_land(f, &f->q->key, NULL, &f->cut->leads[i]);
}

/* Leading */

/* Leads the fetch of a slice, unless it is here or on its way. */
static bool fill_cut_take_lead(struct fill *f, uint64_t number)
{
	struct shared_want want = {.request = &fields_none, .joins = true};
	struct shared_found found;
	struct scd_key key;
	bool leads;

	if (!question_slice_key(f->q, &f->cut->slices, number, &key) ||
	    cache_has(f->worker->shared.cache, &key, &fields_none))
		return false;
	want.key = &key;
	leads = shared_find(&f->worker->shared, &want, &found) == SHARED_LEADS;
	if (leads)
		*fill_cut_lead(f->cut, number) = found.lead;
	cache_found_release(&found.stored);
	return leads;
}

/* Leads as many as are brought, up to `end`, and there is room for. */
static void fill_cut_extend(struct fill *f, uint64_t end)
{
	struct fill_cut *cut = f->cut;

	if (end > cut->brings)
		end = cut->brings;
	while (cut->end < end && cut->end - cut->next < NODE_ASK_SLICES &&
	       fill_cut_take_lead(f, cut->end))
		cut->end++;
}

/* Asking */

/* A run. */
static int fill_cut_ask_slices(struct fill *f)
{
	char range[SLICES_RANGE];

	slices_range(&f->cut->part, range);
	return fields_set(&f->out, "Range", range) ||
	       fields_set(&f->out, "If-Range", f->cut->validator);
}

/* Whether there is memory for a slice. Without, a large object that is not here
 * passes through as others do, where its slices would have to wait. */
static bool fill_cut_has_room(const struct fill *f)
{
	const struct node_memory memory = worker_memory();

	return node_memory_has_room(&memory, f->q->settings->slice_bytes);
}

int fill_cut_ask(struct fill *f)
{
	static const char *const names[] = {
		"If-Match",          "If-None-Match",
		"If-Modified-Since", "If-Unmodified-Since",
		"If-Range",
	};
	char range[SLICES_RANGE];
	struct node_ask ask;

	if (node_fill_is_for_slices(&f->node))
		return fill_cut_ask_slices(f);
	f->aligned = false;
	if (!question_is_ranged(f->q, &f->in) || !f->client || f->stale ||
	    f->as_it_is)
		return 0;
	ask = question_ask(f->q, &f->in);
	f->aligned = fill_cut_has_room(f) && node_ask_align(&ask, range) &&
		     fill_worth(f, ask.slice_bytes) == ADMISSION_DISK;
	if (!f->aligned)
		return 0;
	/* its conditions are for what will be stored */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		fields_remove(&f->out, names[i]);
	return fields_set(&f->out, "Range", range);
}

/* The first answer */

static uint64_t fill_cut_generation(const struct fill *f)
{
	const char *validator =
		slices_validator(&f->response, worker_wall_s(f->worker));
	const int64_t now[] = {worker_wall_s(f->worker),
			       worker_now_ms(f->worker), (int64_t)f->purges,
			       (int64_t)f->worker->counters.slices_begun};
	char text[sizeof(now) + 1];
	struct scd_key key;

	memcpy(text, now, sizeof(now));
	scd_key_make(f->q->settings->hash_secret, validator, text, sizeof(now),
		     &key);
	return key.lo;
}

/* The head of an object of `len` bytes, whose freshness is that of a 200. */
static struct cached *fill_cut_make_head(struct fill *f, const struct slices *s)
{
	struct fields kept, all;
	struct cached *c = NULL;

	if (setcookie_shared(&f->response, &f->withheld, &kept))
		return NULL;
	if (!slices_write(s, &kept, &all)) {
		c = fill_make_entry(f, &all);
		fields_free(&all);
	}
	fields_free(&kept);
	if (c)
		cached_set_body(c, NULL, 0);
	return c;
}

/* Whether a peer's copy may be used here. */
static bool fill_cut_is_good(struct fill *f)
{
	return f->source != SOURCE_PEER ||
	       (!fill_is_invalidated(f, fill_need_is_met(f)) &&
		freshness_reuse(&f->freshness, &f->q->cc,
				worker_now_s(f->worker)) == REUSE_FRESH);
}

/* Begins with an answer that brings that part. */
static bool fill_cut_begin(struct fill *f, uint64_t len,
			   const struct range *part)
{
	const uint64_t size = f->q->settings->slice_bytes;
	const struct slices s = {len, size, fill_cut_generation(f)};
	uint64_t end = part->first + part->len;
	struct cached *head = fill_cut_make_head(f, &s);

	if (head)
		f->cut = fill_cut_new(&s, head);
	if (head)
		head->place = (uint8_t)f->place;
	cached_unref(&head);
	if (!f->cut)
		return false;
	f->cut->next = f->cut->end = part->first / size;
	f->cut->brings = end == len ? (len - 1) / size + 1 : end / size;
	worker_add(&f->worker->counters.slices_begun, 1);
	return true;
}

bool fill_cut_begins(struct fill *f, int64_t body_len)
{
	const struct slices_answer answer = {f->status, &f->response, body_len,
					     worker_wall_s(f->worker)};
	struct range part;
	uint64_t len;

	/* the first only saves time: most are small */
	if ((f->status == 200 &&
	     body_len <= (int64_t)f->q->settings->slice_bytes) ||
	    (f->status != 200 && !f->aligned) || !f->client || !f->q->get ||
	    !f->q->cacheable || f->stale || f->unheard ||
	    !fill_cut_has_room(f) ||
	    !slices_begin(&answer, f->q->settings->slice_bytes, &len, &part))
		return false;
	f->status = 200; /* it is stored as that, and judged as it */
	if (fill_may_cut(f) && fill_cut_is_good(f) && fill_places_cut(f) &&
	    fill_cut_begin(f, len, &part))
		return true;
	f->status = answer.status;
	return false;
}

/* Of the slice that comes. */
static uint64_t fill_cut_len(const struct fill_cut *cut)
{
	const struct slices_run one = {cut->next, cut->next + 1};

	return slices_part(&cut->slices, one).len;
}

/* Runs */

enum node_head fill_cut_read(struct fill *f, int64_t body_len)
{
	const struct slices_answer answer = {f->status, &f->response, body_len,
					     worker_wall_s(f->worker)};
	struct fill_cut *cut = f->cut;
	struct range part;

	if (f->unheard)
		return NODE_HEAD_UNUSABLE;
	switch (slices_judge(&answer, &cut->slices, cut->validator, &cut->part,
			     &part)) {
	case SLICES_FAILED:
		return NODE_HEAD_UNUSABLE;
	case SLICES_CHANGED:
		return NODE_HEAD_CHANGED;
	case SLICES_USABLE:
		break;
	}
	cut->skip = cut->part.first - part.first;
	cut->brings = cut->asked.end;
	return NODE_HEAD_SLICES;
}

/* A fill for a run, which has its validator; null: no memory. */
static struct fill *fill_cut_new_run(const struct fill_cut_want *want,
				     enum node_purpose purpose)
{
	struct fill *f = fill_new_beside(want->worker, want->q, want->fields);
	const char *validator;
	struct fields fields;

	if (!f)
		return NULL;
	f->node.purpose = purpose;
	f->cut = fill_cut_new(want->slices, want->head);
	if (!f->cut || cached_fields(want->head, &fields)) {
		fill_free_if_over(f);
		return NULL;
	}
	validator = slices_validator(&fields, worker_wall_s(f->worker));
	f->cut->validator = validator ? strdup(validator) : NULL;
	fields_free(&fields);
	if (f->cut->validator)
		return f;
	fill_free_if_over(f);
	return NULL;
}

static int fill_cut_ask_run(struct fill *f, const struct fill_cut_want *want)
{
	f->place = node_keep_place_renewed(cached_place(want->head));
	f->cut->next = want->run.first;
	if (!fill_hold(f, fill_cut_len(f->cut)))
		return -1;
	f->past_peers = want->past_peers;
	f->cut->end = want->run.first + 1;
	f->cut->brings = want->run.end;
	fill_cut_extend(f, want->run.end);
	f->cut->asked = (struct slices_run){f->cut->next, f->cut->end};
	f->cut->part = slices_part(&f->cut->slices, f->cut->asked);
	worker_add(&f->worker->counters.slice_fetches, 1);
	fill_ask(f);
	return 0;
}

void fill_cut_run(const struct fill_cut_want *want)
{
	struct shared_landing nothing = {.lead = want->lead};
	struct fill *f = fill_cut_new_run(want, NODE_FOR_SLICES);

	if (f) {
		*fill_cut_lead(f->cut, want->run.first) = *want->lead;
		*want->lead = NULL;
		if (!fill_cut_ask_run(f, want))
			return;
		fill_end_collapse(f);
	}
	shared_land(&want->worker->shared, &nothing);
	if (f)
		fill_free_if_over(f);
}

/* Passing */

struct fill *fill_cut_pass(const struct fill_cut_want *want,
			   const struct range *part, struct reply_slices *to)
{
	struct fill *f = fill_cut_new_run(want, NODE_FOR_PASSING);

	if (!f)
		return NULL;
	f->cut->part = *part;
	f->passes_to = to;
	f->past_peers = true; /* who have not got all of it, perhaps */
	worker_add(&f->worker->counters.slice_fetches, 1);
	worker_add(&f->worker->counters.memory_passed, 1);
	fill_ask(f);
	if (f->node.state == NODE_LANDED)
		fill_cut_leave(&f);
	return f;
}

ssize_t fill_cut_take_passed(struct fill *f, char *buf, size_t cap)
{
	size_t n;

	assert(f->passes_to);
	if (node_fill_asks(&f->node))
		return BODY_WAIT;
	n = buffer_take(&f->body, buf, cap);
	fill_room(f);
	if (n)
		return (ssize_t)n;
	if (f->node.state != NODE_LANDED)
		return BODY_WAIT;
	return f->node.result == NODE_WHOLE ? BODY_END : BODY_FAIL;
}

void fill_cut_leave(struct fill **f)
{
	struct fill *passed = *f;

	*f = NULL;
	passed->passes_to = NULL;
	fill_left(passed);
}

size_t fill_cut_skips(const struct fill *f, size_t len)
{
	if (f->node.purpose != NODE_FOR_PASSING)
		return 0;
	return f->cut->skip < len ? (size_t)f->cut->skip : len;
}

void fill_cut_skip(struct fill *f, size_t len)
{
	f->cut->skip -= len;
}

/* Cutting */

/* A slice as an entry without its body, of fields that say where it is from. */
static struct cached *fill_cut_make_entry(const struct fill *f,
					  const char *name,
					  const struct fields *fields)
{
	const struct cached_head head = {
		name,
		fields,
		&fields_none,
		206,
		&f->cut->head->freshness,
		cache_has_disk(f->worker->shared.cache),
	};

	return cached_new(&head);
}

static struct cached *fill_cut_entry(const struct fill *f, const char *name)
{
	struct placer *placer = f->worker->shared.placer;
	struct fields from;
	struct cached *c;

	if (!fill_is_from_peer(f))
		return fill_cut_make_entry(f, name, &fields_none);
	if (fill_add_source(f, &fields_none, &from))
		return NULL;
	c = fill_cut_make_entry(f, name, &from);
	fields_free(&from);
	/* a peer has it, and this one only passes through */
	if (c)
		c->copy = placer && placer_has_tiers(placer);
	return c;
}

/* The next slice begins: whether there is memory for it. */
static bool fill_cut_open(struct fill *f)
{
	uint64_t len = fill_cut_len(f->cut);
	struct cached *shown;

	if (!fill_hold(f, len))
		return false;
	buffer_fit_body(&f->body, len);
	f->collapse = *fill_cut_lead(f->cut, f->cut->next);
	*fill_cut_lead(f->cut, f->cut->next) = NULL;
	shown = f->collapse ? fill_cut_entry(f, "") : NULL;
	if (shown)
		collapse_show(f->collapse, shown, len);
	return true;
}

/* The head is used with each slice: those of an object that is larger than the
 * cache must not push out what they are found by. */
static void fill_cut_use_head(struct fill *f)
{
	const struct shared_want want = {.key = &f->q->key, .request = &f->in};
	struct shared_found found;

	shared_find(&f->worker->shared, &want, &found);
	cache_found_release(&found.stored);
}

void fill_cut_store(struct fill *f)
{
	struct fill_cut *cut = f->cut;
	struct scd_key key;
	char *name = question_slice(f->q, &cut->slices, cut->next, &key);
	struct cached *c = name ? fill_cut_entry(f, name) : NULL;

	free(name);
	cut->next++;
	fill_release(f); /* it is counted as an object from now on */
	collapse_hold(f->collapse);
	buffer_fit_body(&f->body, f->body.len);
	collapse_grow(f->collapse, f->body.data, f->body.len);
	if (!c) {
		fill_cut_land(f, &f->q->key, NULL, &f->collapse);
		buffer_free(&f->body);
		return;
	}
	c->place = (uint8_t)f->place;
	cached_set_body(c, f->body.data, f->body.len);
	f->body = (struct buffer){0};
	worker_add(&f->worker->counters.slices_stored,
		   fill_cut_land(f, &key, c, &f->collapse));
	cached_unref(&c);
	fill_cut_use_head(f);
}

void fill_cut_start(struct fill *f)
{
	struct fill_cut *cut = f->cut;

	if (f->node.purpose != NODE_FOR_SLICES) {
		f->stored = cached_ref(cut->head);
		f->kept = fill_land(f, f->stored);
		worker_add(&f->worker->counters.stored, f->kept);
		fill_cut_extend(f, cut->next + NODE_ASK_SLICES);
	}
}

void fill_cut_left(struct fill *f)
{
	struct fill_cut *cut = f->cut;
	uint64_t first = cut->next + 1;

	while (cut->end > first &&
	       collapses_end_alone(f->worker->shared.collapses,
				   fill_cut_lead(cut, cut->end - 1)))
		cut->end--;
}

/* A slice is whole: whether others follow. */
static void fill_cut_go_on(struct fill *f)
{
	struct fill_cut *cut = f->cut;
	const uint64_t ahead = NODE_ASK_SLICES / 2;

	if (f->client && cut->next + ahead >= cut->end &&
	    reply_slices_number(f->client) + ahead >= cut->next)
		fill_cut_extend(f, cut->next + NODE_ASK_SLICES);
}

/* One step with bytes of one slice; false: there are no more. */
static bool fill_cut_take_some(struct fill *f, const char *data, size_t len)
{
	struct node_fill_input in = {
		.event = NODE_MORE,
		.now_ms = worker_now_ms(f->worker),
		.len = len,
		.room = f->body.len || fill_cut_open(f),
		.completes = f->body.len + len == fill_cut_len(f->cut),
	};

	worker_add(&f->worker->counters.memory_passed, !in.room);
	fill_take(f, &in, data, len);
	if (in.completes && in.room)
		fill_cut_go_on(f);
	return f->node.state != NODE_LANDED;
}

bool fill_cut_take(struct fill *f, const char *data, size_t len)
{
	const struct node_fill_input enough = {
		.event = NODE_END,
		.now_ms = worker_now_ms(f->worker),
	};
	struct fill_cut *cut = f->cut;

	f->busy = true;
	while (len && cut->next < cut->end) {
		size_t n =
			cut->skip ? cut->skip : fill_cut_len(cut) - f->body.len;

		n = n < len ? n : len;
		if (cut->skip)
			cut->skip -= n;
		else if (!fill_cut_take_some(f, data, n))
			break;
		data += n;
		len -= n;
	}
	f->busy = false;
	/* what it was asked for is whole with the end of the response */
	if (f->node.state != NODE_LANDED && cut->next == cut->end &&
	    (len || cut->end < cut->brings))
		fill_take(f, &enough, NULL, 0);
	else
		fill_free_if_over(f);
	return true;
}
