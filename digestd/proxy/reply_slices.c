/*
 * Replies of large objects in slices (http/slices.h), one after the other as
 * the client takes them, as node/node_slices.h says: what is in memory is
 * copied from there, what is on disk is read and checked as in reply_blocks.c,
 * what is under way is followed, what is missing is fetched with the missing
 * ones behind it (fill_cut.c), or passes where memory stays short.
 *
 * The next slice is asked for while one is sent, so that a client does not wait
 * between two runs.
 *
 * A reply in slices outlives its request while a call is on its way to it.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/node/node_slices.h"
#include "digestd/os/body_memory.h"
#include "digestd/proxy/fill.h"
#include "digestd/proxy/request.h"
#include "digestd/proxy/shared.h"

enum { SLICES_LOOKED_AT = 1024 }; /* before a reply: of 1 MiB, 1 GiB */

/* Bytes of a slice that have been read from the disk. */
struct slices_block {
	char *data;
	size_t cap;
	uint64_t first, end; /* in the object */
	struct ledger_account memory;
};

struct reply_slices {
	struct worker *worker;
	struct request *r; /* null: there is no client any more */
	struct cached *head;
	struct slices slices;
	struct node_slices node;
	uint64_t at, end; /* of the object, what is to be sent yet */

	uint64_t number;      /* of the slice that was looked for last */
	uint64_t asked;       /* those before it have been fetched for it */
	struct scd_key key;   /* its */
	struct cached *slice; /* that, if it is here or on disk */
	struct slices_block block; /* if it is on disk */
	struct disk_read read;
	bool reading;                  /* its call will come */
	struct collapse_reader reader; /* if it is under way */
	bool leaving; /* when its call has come: it has ended, */
	bool broke;   /* whole or not */
	struct fill *passing; /* what passes; null: nothing does */
	struct range passed;  /* of the object */
	struct loop_timer timer;

	struct reply_slices *next, **link; /* in the worker */
};

static void reply_slices_do(struct reply_slices *s,
			    enum node_slices_action action);

/* Where the slice begins, and where it ends for this reply. */
static uint64_t reply_slices_start(const struct reply_slices *s)
{
	return s->number * s->slices.size;
}

static uint64_t reply_slices_stop(const struct reply_slices *s)
{
	uint64_t end = reply_slices_start(s) + s->slices.size;

	return end < s->end ? end : s->end;
}

uint64_t reply_slices_number(const struct request *r)
{
	return r->sliced ? r->sliced->number : 0;
}

/* Life */

static void reply_slices_free(struct reply_slices *s)
{
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	ledger_release(&memory_ledger, LEDGER_disk_reads, &s->block.memory);
	free(s->block.data);
	cached_unref(&s->slice);
	cached_unref(&s->head);
	free(s);
}

static void reply_slices_free_if_over(struct reply_slices *s)
{
	assert(!s->r);
	if (collapse_leave(&s->reader) && !s->reading)
		reply_slices_free(s);
}

static void reply_slices_step(struct reply_slices *s,
			      const struct node_slices_input *in)
{
	reply_slices_do(s, node_slices_step(&s->node, in));
}

void reply_slices_close(struct request *r)
{
	const struct node_slices_input left = {.event = NODE_SLICES_LEFT};
	struct reply_slices *s = r->sliced;

	assert(s);
	r->sliced = NULL;
	s->r = NULL;
	loop_timer_clear(s->worker->loop, &s->timer);
	if (s->passing)
		fill_cut_leave(&s->passing);
	reply_slices_step(s, &left);
}

void reply_slices_end_all(struct worker *w)
{
	while (w->sliced) {
		assert(!w->sliced->r);
		reply_slices_free(w->sliced);
	}
}

void reply_slices_cancel_all(struct worker *w)
{
	for (struct reply_slices *s = w->sliced; s; s = s->next) {
		if (s->reading)
			cache_read_cancel(w->shared.cache, &s->read);
		collapse_leave(&s->reader);
	}
}

/* Disk */

static void reply_slices_was_read(void *arg);

/* Room for blocks, the first time. */
static bool reply_slices_reserve(struct reply_slices *s)
{
	const struct node_memory memory = worker_memory();
	struct slices_block *b = &s->block;

	if (b->data)
		return true;
	b->cap = node_memory_blocks(&memory, &b->memory,
				    disk_blocks(s->slices.size) *
					    DISK_BLOCK_BYTES,
				    s->r->q->settings->window_bytes);
	b->data = malloc(b->cap);
	return b->data;
}

/* Has what fits of the slice, which is in a file, read from `at` on. */
static bool reply_slices_read_blocks(struct reply_slices *s)
{
	struct slices_block *b = &s->block;
	uint64_t start = reply_slices_start(s);
	uint64_t stop = reply_slices_stop(s);
	uint64_t block = (s->at - start) / DISK_BLOCK_BYTES;

	if (!reply_slices_reserve(s))
		return false;
	b->first = start + block * DISK_BLOCK_BYTES;
	b->end = stop - b->first < b->cap ? stop : b->first + b->cap;
	s->read = (struct disk_read){
		.loop = s->worker->loop,
		.call = {.run = reply_slices_was_read, .arg = s},
		.key = s->key,
		.of = s->slice,
		.block = block,
		.nblocks = (unsigned)disk_blocks(b->end - b->first),
		.to = b->data,
	};
	s->reading = true;
	cache_read_blocks(s->worker->shared.cache, &s->read);
	return true;
}

/* Whether what was found is the slice, whole: else it is missing. A peer gets
 * none that came from another one. */
static bool reply_slices_may_send(const struct reply_slices *s)
{
	const struct slices_run one = {s->number, s->number + 1};

	return s->slice->body_len == slices_part(&s->slices, one).len &&
	       !(s->r->node.from_peer && s->slice->unvouched);
}

/* Whether what was found can be sent; else its blocks are read first. */
static bool reply_slices_is_read(struct reply_slices *s, bool *failed)
{
	if (s->read.of) {
		*failed = s->read.error != 0;
		return true;
	}
	s->slice = s->read.found;
	s->read.found = NULL;
	if (!s->r)
		return true;
	*failed = !s->slice || !reply_slices_may_send(s) ||
		  (cached_file(s->slice) && !reply_slices_read_blocks(s));
	return !s->reading;
}

static void reply_slices_was_read(void *arg)
{
	struct node_slices_input in = {.event = NODE_SLICES_READ};
	struct reply_slices *s = arg;
	struct request *r = s->r;

	s->reading = false;
	if (!reply_slices_is_read(s, &in.failed))
		return;
	if (in.failed)
		cached_unref(&s->slice);
	reply_slices_step(s, &in);
	if (r)
		exchange_wake(r->x);
}

/* Looking for a slice */

/* Makes s->number and s->key; false: no memory. */
static bool reply_slices_name(struct reply_slices *s)
{
	s->number = s->at / s->slices.size;
	return question_slice_key(s->r->q, &s->slices, s->number, &s->key);
}

static bool reply_slices_find(struct reply_slices *s)
{
	const struct shared_want want = {.key = &s->key,
					 .request = &fields_none};
	struct shared_found found;

	if (shared_find(&s->worker->shared, &want, &found) != SHARED_STORED)
		return false;
	s->slice = found.stored.counted ? found.stored.c
					: cached_ref(found.stored.c);
	if (reply_slices_may_send(s))
		return true;
	cached_unref(&s->slice);
	return false;
}

static enum node_slices_place reply_slices_look(struct reply_slices *s)
{
	if (!reply_slices_name(s))
		return NODE_SLICES_NOWHERE;
	if (reply_slices_find(s)) {
		if (!cached_file(s->slice))
			return NODE_SLICES_IN_MEMORY;
		if (reply_slices_read_blocks(s))
			return NODE_SLICES_ON_DISK;
		cached_unref(&s->slice);
		return NODE_SLICES_NOWHERE;
	}
	s->read = (struct disk_read){
		.loop = s->worker->loop,
		.call = {.run = reply_slices_was_read, .arg = s},
		.uri = cached_uri(s->head),
	};
	s->reading = cache_read(s->worker->shared.cache, &s->key, &fields_none,
				&s->read);
	return s->reading ? NODE_SLICES_ON_DISK : NODE_SLICES_NOWHERE;
}

/* Fetching */

/* That slice, and those behind it which are fetched with it, if they are
 * missing. */
static struct fill_cut_want reply_slices_want(struct reply_slices *s,
					      uint64_t first)
{
	uint64_t end = (s->end - 1) / s->slices.size + 1;
	uint64_t most = first + s->node.ahead;

	return (struct fill_cut_want){
		.worker = s->worker,
		.q = s->r->q,
		.fields = request_fields(s->r),
		.head = s->head,
		.slices = &s->slices,
		.run = {first, end < most ? end : most},
		.past_peers = s->node.tries > 0,
	};
}

static void reply_slices_run(struct reply_slices *s, uint64_t first,
			     struct collapse **lead)
{
	struct fill_cut_want want = reply_slices_want(s, first);

	want.lead = lead;
	s->asked = want.run.end;
	fill_cut_run(&want);
}

static bool reply_slices_has(const struct reply_slices *s, uint64_t number)
{
	struct scd_key key;

	return question_slice_key(s->r->q, &s->slices, number, &key) &&
	       cache_has(s->worker->shared.cache, &key, &fields_none);
}

/* Has it come past the store, with the missing ones behind it. */
static enum node_slices_flight reply_slices_pass(struct reply_slices *s)
{
	const struct node_memory memory = worker_memory();
	struct fill_cut_want want = reply_slices_want(s, s->number);
	uint64_t most = want.run.end;
	struct range all;

	if (node_memory_is_low(&memory))
		return NODE_SLICES_NO_WINDOW;
	want.run.end = want.run.first + 1;
	while (want.run.end < most && !reply_slices_has(s, want.run.end))
		want.run.end++;
	all = slices_part(&s->slices, want.run);
	s->passed.first = s->at;
	s->passed.len = all.first + all.len - s->at;
	if (s->passed.len > s->end - s->at)
		s->passed.len = s->end - s->at;
	s->passing = fill_cut_pass(&want, &s->passed, s);
	return s->passing ? NODE_SLICES_PASSES : NODE_SLICES_NO_WINDOW;
}

static enum shared_place reply_slices_join(struct reply_slices *s,
					   struct shared_found *found)
{
	const struct shared_want want = {
		.key = &s->key,
		.request = &fields_none,
		.joins = true,
		.reader = &s->reader,
	};
	enum shared_place place = shared_find(&s->worker->shared, &want, found);

	cache_found_release(&found->stored);
	return place;
}

static enum node_slices_flight reply_slices_fetch(struct reply_slices *s)
{
	struct shared_found found;
	enum shared_place place = reply_slices_join(s, &found);
	const struct shared_landing nothing = {.lead = &found.lead};
	const bool leads = place == SHARED_LEADS && found.lead;

	if (leads) {
		reply_slices_run(s, s->number, &found.lead);
		place = reply_slices_join(s, &found);
	}
	worker_add(&s->worker->counters.slice_misses, 1);
	switch (place) {
	case SHARED_STORED:
		return NODE_SLICES_STORED;
	case SHARED_NONE:
	case SHARED_LEADS: /* the fetch has ended already */
		shared_land(&s->worker->shared, &nothing);
		return NODE_SLICES_NO_MEMORY;
	case SHARED_WAITS:
	case SHARED_SHOWN:
		break;
	}
	s->reader.taken = (size_t)(s->at - reply_slices_start(s));
	return leads ? NODE_SLICES_LEADS : NODE_SLICES_JOINED;
}

/* Has the slice behind the current one fetched, unless it is here or on its
 * way. */
static void reply_slices_prefetch(struct reply_slices *s)
{
	const struct node_memory memory = worker_memory();
	uint64_t number = s->number + 1;
	struct shared_want want = {.request = &fields_none, .joins = true};
	struct shared_found found;
	struct scd_key key;

	if (!s->node.may_fetch || s->node.ahead == 1 ||
	    number * s->slices.size >= s->end ||
	    node_memory_is_short(&memory) ||
	    !question_slice_key(s->r->q, &s->slices, number, &key) ||
	    cache_has(s->worker->shared.cache, &key, &fields_none))
		return;
	want.key = &key;
	if (shared_find(&s->worker->shared, &want, &found) == SHARED_LEADS &&
	    found.lead)
		reply_slices_run(s, number, &found.lead);
	cache_found_release(&found.stored);
}

static void reply_slices_unfollow(struct reply_slices *s, bool broke);

static void reply_slices_was_called(void *arg)
{
	const struct node_slices_input ended = {.event = NODE_SLICES_ENDED};
	struct reply_slices *s = arg;
	struct request *r = s->r;

	collapse_called(&s->reader);
	if (!r) {
		reply_slices_step(s, &ended);
		return;
	}
	if (s->leaving)
		reply_slices_unfollow(s, s->broke);
	exchange_wake(r->x);
}

/* The machine */

static void reply_slices_on_timer(void *arg)
{
	const struct node_slices_input in = {.event = NODE_SLICES_TIMER};
	struct reply_slices *s = arg;
	struct request *r = s->r;

	reply_slices_step(s, &in);
	exchange_wake(r->x);
}

static void reply_slices_pause(struct reply_slices *s)
{
	loop_timer_set(s->worker->loop, &s->timer,
		       worker_now_ms(s->worker) + NODE_SLICES_PAUSE_MS,
		       reply_slices_on_timer, s);
}

/* The client has taken all of a slice, or none of the first. */
static void reply_slices_next(struct reply_slices *s)
{
	struct node_slices_input in = {.event = NODE_SLICES_FOUND};

	if (s->at == s->end)
		return;
	in.place = reply_slices_look(s);
	in.gone = in.place == NODE_SLICES_NOWHERE && s->number < s->asked;
	worker_add(&s->worker->counters.slice_hits,
		   in.place != NODE_SLICES_NOWHERE);
	reply_slices_step(s, &in);
	if (s->node.state != NODE_SLICES_PAUSED &&
	    s->node.state != NODE_SLICES_PASSING &&
	    s->node.state != NODE_SLICES_BROKEN)
		reply_slices_prefetch(s);
}

/* Carries out an action and those that follow from it at once. */
static void reply_slices_do(struct reply_slices *s,
			    enum node_slices_action action)
{
	struct node_slices_input in = {0};

	switch (action) {
	case NODE_SLICES_WAIT:
	case NODE_SLICES_SEND: /* when the client takes more */
	case NODE_SLICES_FAIL:
		break;
	case NODE_SLICES_LOOK:
		reply_slices_next(s);
		break;
	case NODE_SLICES_FETCH:
		in.event = NODE_SLICES_FETCHED;
		in.flight = reply_slices_fetch(s);
		reply_slices_step(s, &in);
		break;
	case NODE_SLICES_PASS:
		in.event = NODE_SLICES_FETCHED;
		in.flight = reply_slices_pass(s);
		reply_slices_step(s, &in);
		break;
	case NODE_SLICES_READ_ON:
		if (reply_slices_read_blocks(s))
			break;
		in.event = NODE_SLICES_READ;
		in.failed = true;
		reply_slices_step(s, &in);
		break;
	case NODE_SLICES_PAUSE:
		reply_slices_pause(s);
		break;
	case NODE_SLICES_CLOSE:
		reply_slices_free_if_over(s);
		break;
	}
}

/* Sending */

/* The client has all that is at hand. */
static void reply_slices_taken(struct reply_slices *s)
{
	const struct node_slices_input in = {
		.event = NODE_SLICES_TAKEN,
		.more = s->slice && s->at < reply_slices_stop(s),
	};

	if (!in.more)
		cached_unref(&s->slice);
	reply_slices_step(s, &in);
}

/* Copies of the slice that is here; 0: there is no more of it. */
static size_t reply_slices_copy(const struct reply_slices *s, char *buf,
				size_t cap)
{
	const struct slices_block *b = &s->block;
	bool file = cached_file(s->slice);
	uint64_t left = (file ? b->end : reply_slices_stop(s)) - s->at;
	size_t n = left < cap ? (size_t)left : cap;

	if (n && file)
		memcpy(buf, b->data + (s->at - b->first), n);
	else if (n)
		body_memory_copy(buf,
				 cached_body(s->slice) +
					 (s->at - reply_slices_start(s)),
				 n);
	return n;
}

/* Copies of one that is under way; or BODY_*. */
static ssize_t reply_slices_follow(struct reply_slices *s, char *buf,
				   size_t cap)
{
	uint64_t left = reply_slices_stop(s) - s->at;

	if (!left)
		return BODY_END;
	return collapse_read(&s->reader, buf, left < cap ? (size_t)left : cap);
}

/* It has ended, whole or not; or this reply needs no more of it. When a call is
 * on its way, that comes first. */
static void reply_slices_unfollow(struct reply_slices *s, bool broke)
{
	const struct node_memory memory = worker_memory();
	const struct node_slices_input ended = {
		.event = NODE_SLICES_ENDED,
		.no_memory = node_memory_is_short(&memory),
	};

	s->broke = broke;
	s->leaving = !collapse_leave(&s->reader);
	if (s->leaving)
		return;
	if (broke)
		reply_slices_step(s, &ended);
	else
		reply_slices_taken(s);
}

/* Of what passes; or BODY_*. */
static ssize_t reply_slices_take_passed(struct reply_slices *s, char *buf,
					size_t cap)
{
	uint64_t left = s->passed.first + s->passed.len - s->at;

	if (!left)
		return BODY_END;
	return fill_cut_take_passed(s->passing, buf,
				    left < cap ? (size_t)left : cap);
}

/* It has ended. An answer may be shorter than what was asked for, but for
 * nothing. */
static void reply_slices_end_passing(struct reply_slices *s, bool broke)
{
	const struct node_slices_input ended = {.event = NODE_SLICES_ENDED};

	fill_cut_leave(&s->passing);
	if (broke || s->at == s->passed.first)
		reply_slices_step(s, &ended);
	else
		reply_slices_taken(s);
}

void reply_slices_wake(struct reply_slices *s)
{
	exchange_wake(s->r->x);
}

/* Copies of what is at hand; BODY_WAIT: none. Then either the next call is
 * waited for, or there may be some now. */
static ssize_t reply_slices_some(struct reply_slices *s, char *buf, size_t cap,
				 bool *waits)
{
	ssize_t n = BODY_WAIT;

	*waits = false;
	switch (s->node.state) {
	case NODE_SLICES_BETWEEN:
		reply_slices_next(s);
		break;
	case NODE_SLICES_HERE:
		n = (ssize_t)reply_slices_copy(s, buf, cap);
		if (!n)
			reply_slices_taken(s);
		break;
	case NODE_SLICES_FOLLOWING:
		if (!s->leaving)
			n = reply_slices_follow(s, buf, cap);
		*waits = n == BODY_WAIT;
		if (n < 0)
			reply_slices_unfollow(s, n == BODY_FAIL);
		break;
	case NODE_SLICES_PASSING:
		n = reply_slices_take_passed(s, buf, cap);
		*waits = n == BODY_WAIT;
		if (n < 0)
			reply_slices_end_passing(s, n == BODY_FAIL);
		break;
	case NODE_SLICES_READING:
	case NODE_SLICES_PAUSED:
		*waits = true;
		break;
	case NODE_SLICES_BROKEN:
	case NODE_SLICES_CLOSED:
	case NODE_SLICES_STATES:
		break;
	}
	return n;
}

static ssize_t reply_slices_take(void *arg, void *buf, size_t cap)
{
	struct reply_slices *s = arg;
	bool waits = false;

	assert(cap && s->r);
	while (s->at < s->end && !waits) {
		ssize_t n;

		if (s->node.state == NODE_SLICES_BROKEN)
			return BODY_FAIL;
		n = reply_slices_some(s, buf, cap, &waits);
		if (n > 0) {
			s->at += (size_t)n;
			return n;
		}
	}
	return waits ? BODY_WAIT : BODY_END;
}

/* The reply */

static bool reply_slices_is_here(const struct request *r,
				 const struct scd_key *key)
{
	struct cache *cache = r->worker->shared.cache;

	return r->node.from_peer ? cache_offers(cache, key)
				 : cache_has(cache, key, &fields_none);
}

bool reply_slices_are_here(const struct request *r, const struct range *part)
{
	struct slices_run run = slices_of(&r->slices, part);
	struct scd_key key;

	if (run.end > run.first + SLICES_LOOKED_AT)
		run.end = run.first + SLICES_LOOKED_AT;
	for (; run.first < run.end; run.first++) {
		if (!question_slice_key(r->q, &r->slices, run.first, &key) ||
		    !reply_slices_is_here(r, &key))
			return false;
	}
	return true;
}

static struct reply_slices *reply_slices_new(struct request *r,
					     struct cached *head,
					     const struct range *part)
{
	struct reply_slices *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->worker = r->worker;
	s->r = r;
	s->head = cached_ref(head);
	s->slices = r->slices;
	/* of what only-if-cached has found, a slice may go meanwhile */
	node_slices_init(&s->node, !r->node.from_peer);
	s->at = part->first;
	s->end = part->first + part->len;
	s->number = s->at / s->slices.size;
	s->reader.loop = r->worker->loop;
	s->reader.call =
		(struct loop_call){.run = reply_slices_was_called, .arg = s};
	s->next = r->worker->sliced;
	s->link = &r->worker->sliced;
	if (s->next)
		s->next->link = &s->next;
	r->worker->sliced = s;
	return s;
}

/* What lies in one slice, if that is in memory, is not copied. */
static bool reply_slices_at_once(struct request *r, unsigned status,
				 const struct fields *f,
				 const struct range *range)
{
	const struct slices_run run = slices_of(&r->slices, range);
	struct shared_want want = {.request = &fields_none};
	struct shared_found found;
	struct reply_part part;
	struct scd_key key;
	bool is;

	if (run.end - run.first > 1 ||
	    !question_slice_key(r->q, &r->slices, run.first, &key))
		return false;
	want.key = &key;
	if (shared_find(&r->worker->shared, &want, &found) != SHARED_STORED)
		return false;
	part = (struct reply_part){found.stored.c,
				   range->first - run.first * r->slices.size,
				   range->len};
	is = cached_body(part.of);
	if (is)
		reply_from_memory(r, status, f, &part);
	worker_add(&r->worker->counters.slice_hits, is);
	cache_found_release(&found.stored);
	return is;
}

void reply_slices(struct request *r, unsigned status, const struct fields *f,
		  const struct reply_part *part)
{
	const struct range range = {part->first, part->len};
	struct body_source source = {.read = reply_slices_take};

	if (status == 304 || r->q->head) {
		reply_without_body(r, status, f, part->len);
		return;
	}
	assert(!r->sliced);
	if (reply_slices_at_once(r, status, f, &range))
		return;
	r->sliced = reply_slices_new(r, part->of, &range);
	if (!r->sliced) {
		reply_error(r, 503, "memory");
		return;
	}
	source.arg = r->sliced;
	exchange_reply_stream(r->x, status, f, (int64_t)part->len, &source);
}
