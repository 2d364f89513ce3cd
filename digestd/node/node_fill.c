/*
 * The machine of a fill: a function a pair of state and event, and the table of
 * them.
 */
#include "digestd/node/node_fill.h"

#include <assert.h>

#include "digestd/node/node_fill_inside.h"

/* Parts of steps */

struct node_fill_step node_fill_do(uint32_t actions)
{
	return (struct node_fill_step){ .actions = actions };
}

struct node_fill_step node_fill_end(struct node_fill *f, uint32_t actions)
{
	f->state = NODE_LANDED;
	f->keep = NODE_KEEP_NO;
	return (struct node_fill_step){ .actions = actions,
					.then = NODE_THEN_END };
}

bool node_fill_is_from_peer(const struct node_fill *f)
{
	return f->state == NODE_ASK_PEER || f->state == NODE_COLLECT_PEER ||
	       f->state == NODE_SHOW_PEER ||
	       (f->state == NODE_CUT && f->peer_cut);
}

/* The client has been answered by other means, or nobody wants it. */
static struct node_fill_step node_fill_drop(struct node_fill *f,
					    uint32_t actions)
{
	return node_fill_end(f, actions | NODE_FORGET | NODE_LAND);
}

/* The client has seen nothing of this fill. Whose slices pass, has begun its
 * reply long ago, and asks somebody else. */
static uint32_t node_fill_disappoint(const struct node_fill *f)
{
	if (!f->client)
		return 0;
	return f->purpose == NODE_FOR_PASSING ? NODE_WAKE : NODE_REPLY_ERROR;
}

static struct node_fill_step node_fill_fail(struct node_fill *f,
					    unsigned status, const char *why)
{
	struct node_fill_step step = node_fill_drop(f, node_fill_disappoint(f));

	step.status = status;
	step.why = why;
	return step;
}

/* Nothing came of this source. Who waits for the fill goes on waiting, as long
 * as somebody asks the next: its client, or a renewal, which has none. */
static struct node_fill_step node_fill_next(struct node_fill *f,
					    uint32_t actions)
{
	bool renews = f->purpose == NODE_FOR_RENEWAL &&
		      node_fill_is_from_peer(f);
	struct node_fill_step step = node_fill_end(f, actions | NODE_FORGET);

	if (f->client || f->purpose == NODE_FOR_SLICES || renews)
		step.then = NODE_THEN_NEXT;
	else
		step.actions |= NODE_LAND;
	return step;
}

/* Whether what comes is shown as it comes. */
static bool node_fill_shows(const struct node_fill *f)
{
	return f->state == NODE_SHOW_PEER || f->state == NODE_SHOW_ORIGIN ||
	       f->state == NODE_REJOIN;
}

bool node_fill_is_for_slices(const struct node_fill *f)
{
	return f->purpose == NODE_FOR_SLICES ||
	       f->purpose == NODE_FOR_PASSING;
}

bool node_fill_asks(const struct node_fill *f)
{
	return f->state == NODE_ASK_PEER || f->state == NODE_ASK_ORIGIN;
}

bool node_fill_passes(const struct node_fill *f)
{
	return f->keep != NODE_KEEP_YES && node_fill_shows(f);
}

/* The reply breaks off, and nobody takes what came for the whole. */
static struct node_fill_step node_fill_break_off(struct node_fill *f)
{
	bool shows = node_fill_shows(f);
	struct node_fill_step step =
		node_fill_end(f, NODE_STOP | NODE_LAND);

	f->result = NODE_BROKEN;
	if (f->client)
		step.actions |= shows ? NODE_WAKE : node_fill_disappoint(f);
	step.status = 502;
	step.why = "truncated";
	return step;
}

static uint32_t node_fill_set_timer(struct node_fill *f, int64_t due_ms)
{
	f->due_ms = due_ms;
	return NODE_SET_TIMER;
}

uint32_t node_fill_watch(struct node_fill *f, int64_t from_ms)
{
	f->watched = f->received;
	return node_fill_set_timer(f, from_ms + f->pace_ms);
}

/* From now on what comes is sent on. */
static uint32_t node_fill_show(struct node_fill *f, int64_t now_ms)
{
	bool peer = node_fill_is_from_peer(f);

	f->state = peer ? NODE_SHOW_PEER : NODE_SHOW_ORIGIN;
	return (peer ? node_fill_watch(f, now_ms) : NODE_CLEAR_TIMER) |
	       (f->keep == NODE_KEEP_YES ? NODE_SHARE : 0) |
	       (f->client ? NODE_REPLY_STREAM : 0);
}

static struct node_fill_step node_fill_complete(struct node_fill *f,
						bool by_close)
{
	bool store = f->keep == NODE_KEEP_YES && !by_close;
	uint32_t actions = NODE_CLEAR_TIMER | (store ? NODE_STORE : NODE_LAND);

	if (node_fill_is_from_peer(f))
		actions |= NODE_RECORD_HIT;
	else if (f->client && f->purpose != NODE_FOR_PASSING)
		actions |= NODE_COUNT_MISS;
	if (f->client)
		actions |= node_fill_shows(f) ? NODE_WAKE :
			   store	      ? NODE_REPLY_STORED :
						NODE_REPLY_WHOLE;
	f->result = NODE_WHOLE;
	return node_fill_end(f, actions);
}

static struct node_fill_step node_fill_give_up(struct node_fill *f)
{
	return node_fill_end(f, NODE_COUNT_GIVEN_UP | NODE_STOP | NODE_LAND);
}

/* Asking */

void node_fill_ask(struct node_fill *f, enum node_fill_state state,
		   int64_t now_ms)
{
	assert(f->state == NODE_LANDED && f->keep == NODE_KEEP_NO);
	assert(state == NODE_ASK_PEER || state == NODE_ASK_ORIGIN);
	f->state = state;
	f->result = NODE_UNDER_WAY;
	f->asked_ms = now_ms;
	f->credit = UINT64_MAX;
	f->received = 0;
	f->skip = 0;
}

static struct node_fill_step
node_fill_on_peer_head(struct node_fill *f, const struct node_fill_input *in)
{
	/* want of memory is this node's, and says nothing of the peer */
	const uint32_t verdict =
		in->head == NODE_HEAD_NOMEM ? 0 : NODE_RECORD_VERDICT;

	if (in->head == NODE_HEAD_USABLE && f->purpose != NODE_FOR_PROBE)
		return node_fill_do(NODE_ADMIT);
	if (in->head == NODE_HEAD_SLICES)
		return node_fill_cut(f, in);
	if (in->head == NODE_HEAD_CONFIRMS && f->purpose != NODE_FOR_PROBE)
		return node_fill_drop(f, NODE_RECORD_HIT | NODE_CONFIRM);
	f->keep = NODE_KEEP_NO;
	if (f->purpose != NODE_FOR_PROBE)
		return node_fill_next(f, verdict);
	if (in->head != NODE_HEAD_USABLE)
		return node_fill_end(f, verdict | NODE_STOP);
	f->state = NODE_COLLECT_PEER;
	return node_fill_do(node_fill_watch(f, f->asked_ms));
}

uint32_t node_fill_blame(const struct node_fill_input *in)
{
	return in->own_fault ? 0 : NODE_RECORD_ERROR;
}

/* While nobody has seen a byte. */
static struct node_fill_step
node_fill_on_peer_failed(struct node_fill *f, const struct node_fill_input *in)
{
	if (in->no_memory)
		return node_fill_break_off(f);
	if (f->purpose == NODE_FOR_PROBE)
		return node_fill_end(f, node_fill_blame(in) | NODE_STOP);
	return node_fill_next(f, node_fill_blame(in));
}

static struct node_fill_step
node_fill_on_origin_head(struct node_fill *f, const struct node_fill_input *in)
{
	switch (in->head) {
	case NODE_HEAD_CONFIRMS:
		return node_fill_drop(f, NODE_CONFIRM);
	case NODE_HEAD_ELSEWHERE: /* again, without its validators */
		return node_fill_next(f, NODE_DROP_STALE);
	case NODE_HEAD_STALE:
		assert(f->client);
		return node_fill_drop(f, NODE_REPLY_STALE);
	case NODE_HEAD_NOMEM:
		return node_fill_fail(f, 503, "memory");
	case NODE_HEAD_SLICES:
		return node_fill_cut(f, in);
	case NODE_HEAD_CHANGED:
		assert(node_fill_is_for_slices(f));
		return node_fill_drop(f, NODE_INVALIDATE |
						 node_fill_disappoint(f));
	case NODE_HEAD_RETRY:
		return node_fill_retry(f);
	case NODE_HEAD_USABLE:
		break;
	case NODE_HEAD_UNUSABLE: /* else an origin's answer is used */
		assert(node_fill_is_for_slices(f));
		return node_fill_drop(f, node_fill_disappoint(f));
	}
	return node_fill_do(NODE_INVALIDATE | NODE_ADMIT);
}

/* While the client has seen nothing. */
static struct node_fill_step
node_fill_on_origin_failed(struct node_fill *f,
			   const struct node_fill_input *in)
{
	if (in->no_memory)
		return node_fill_break_off(f);
	if (in->retry)
		return node_fill_retry(f);
	if (in->stale_usable && f->client)
		return node_fill_drop(f, NODE_REPLY_STALE);
	return node_fill_fail(f, in->status, "origin");
}

/* How the body is taken */

/* Whether the reply waits until the body is complete; what a peer sends
 * without saying how long it is, as far as that goes. */
static bool node_fill_collects(const struct node_fill *f,
			       const struct node_fill_admission *in)
{
	if (node_fill_is_from_peer(f))
		return f->body_len <= NODE_COLLECT_PEER_BYTES && !f->bodiless;
	/* the response ends only when all of the request is there */
	if (in->receiving && in->agrees)
		return false;
	/* what comes before the request's body is in, goes out at once */
	if (in->receiving && f->body_len <= in->early_bytes)
		return f->body_len >= 0;
	return f->body_len >= 0 && f->body_len <= NODE_COLLECT_BYTES &&
	       !f->bodiless;
}

uint64_t node_fill_need_whole(const struct node_fill *f,
			      const struct node_fill_admission *in)
{
	uint64_t len = f->body_len < 0 ? 0 : (uint64_t)f->body_len;

	if (in->keep)
		return len;
	/* of what is not stored, the server makes a copy */
	return node_fill_collects(f, in) ? 2 * len : 0;
}

/* Whether a stream is refused when there is no memory left: what may have
 * changed something at its origin never is. */
static bool node_fill_is_refusable(const struct node_fill *f)
{
	bool small = f->body_len >= 0 && f->body_len <= NODE_SMALL_BODY;

	return f->client && f->keep != NODE_KEEP_YES && !f->unsafe && !small;
}

static struct node_fill_step
node_fill_collect(struct node_fill *f, const struct node_fill_admission *in,
		  uint32_t actions)
{
	bool peer = node_fill_is_from_peer(f);

	f->state = peer ? NODE_COLLECT_PEER : NODE_COLLECT_ORIGIN;
	if (peer)
		actions |= node_fill_watch(f, f->asked_ms);
	/* a small body mostly comes with its header: a reply that is whole
	 * costs two thirds of one that is streamed */
	if (!peer && f->keep != NODE_KEEP_YES && !in->receiving)
		actions |= node_fill_set_timer(f, in->now_ms + NODE_DELAY_MS);
	return node_fill_do(actions);
}

struct node_fill_step node_fill_admitted(struct node_fill *f,
					 const struct node_fill_admission *in)
{
	uint32_t actions = 0;

	assert(f->state == NODE_ASK_PEER || f->state == NODE_ASK_ORIGIN);
	f->keep = in->keep && in->room ? NODE_KEEP_YES : NODE_KEEP_NO;
	if (in->keep && !in->room)
		actions |= NODE_PASS;
	if (f->keep != NODE_KEEP_YES && !f->client)
		return node_fill_drop(f, actions);
	/* what is not stored answers nobody else: let them go */
	if (f->keep != NODE_KEEP_YES)
		actions |= NODE_LAND;
	if (node_fill_collects(f, in) && in->room)
		return node_fill_collect(f, in, actions);
	if (node_fill_is_refusable(f)) {
		if (in->busy)
			return node_fill_drop(f, actions | NODE_REPLY_BUSY);
		actions |= NODE_TAKE_WINDOW;
	}
	return node_fill_do(actions | node_fill_show(f, in->now_ms));
}

/* The body */

size_t node_fill_repeated(const struct node_fill *f, size_t len)
{
	uint64_t left;

	if (f->state != NODE_REJOIN)
		return f->skip;
	left = f->cut - f->rejoined;
	return left < len ? (size_t)left : len;
}

bool node_fill_compares(const struct node_fill *f)
{
	return f->state == NODE_REJOIN && f->keep == NODE_KEEP_YES;
}

/* What is received once len bytes more have come. */
static uint64_t node_fill_after(const struct node_fill *f, size_t len)
{
	return f->received + len - node_fill_repeated(f, len);
}

uint64_t node_fill_need(const struct node_fill *f, size_t len)
{
	uint64_t after = node_fill_after(f, len);

	if (f->purpose == NODE_FOR_PROBE)
		return 0;
	if (f->keep == NODE_KEEP_YES)
		return after;
	return node_fill_shows(f) ? 0 : 2 * after;
}

bool node_fill_goes_on_alone(const struct node_fill *f, bool memory_is_short)
{
	uint64_t len = f->body_len < 0 ? 0 : (uint64_t)f->body_len;

	if (memory_is_short)
		return false;
	if (f->body_len < 0)
		return f->received <= NODE_ALONE_UNKNOWN;
	return len <= NODE_ALONE_BYTES || len - f->received <= len / 4;
}

static struct node_fill_step node_fill_take(struct node_fill *f,
					    const struct node_fill_input *in)
{
	f->received = node_fill_after(f, in->len);
	f->received_ms = in->now_ms;
	f->skip = 0;
	return node_fill_do(NODE_TAKE | (f->client && node_fill_shows(f) ?
						 NODE_WAKE : 0));
}

/* The response has grown beyond what may be kept: from now on it flows
 * through, for its client, if that is there. */
static struct node_fill_step
node_fill_stop_keeping(struct node_fill *f, const struct node_fill_input *in)
{
	uint32_t actions = NODE_PASS | NODE_LAND | NODE_AGAIN;

	f->keep = NODE_KEEP_NO;
	if (!f->client)
		return node_fill_drop(f, NODE_PASS);
	if (!node_fill_shows(f))
		actions |= node_fill_show(f, in->now_ms);
	return node_fill_do(actions);
}

/* What is the same for bytes in all states; true: *step is all. */
static bool node_fill_judge_more(struct node_fill *f,
				 const struct node_fill_input *in,
				 struct node_fill_step *step)
{
	bool keep = f->keep == NODE_KEEP_YES;

	if (keep && f->purpose == NODE_FOR_CLIENT && !f->client && !in->wanted)
		*step = node_fill_give_up(f);
	else if (keep && (node_fill_after(f, in->len) > f->max_bytes ||
			  !in->room))
		*step = node_fill_stop_keeping(f, in);
	else if (!keep && !f->client)
		*step = node_fill_drop(f, 0);
	else
		return false;
	return true;
}

static struct node_fill_step
node_fill_on_collected(struct node_fill *f, const struct node_fill_input *in)
{
	bool endless = f->body_len < 0 && node_fill_is_from_peer(f) &&
		       f->received + in->len > NODE_COLLECT_PEER_BYTES;
	struct node_fill_step step;

	if (f->purpose == NODE_FOR_PROBE) {
		f->received += in->len;
		if (f->received <= NODE_PROBE_BYTES)
			return node_fill_do(0);
		return node_fill_end(f, NODE_RECORD_HIT | NODE_STOP);
	}
	if (node_fill_judge_more(f, in, &step))
		return step;
	if (f->client && (endless || !in->room))
		return node_fill_do(NODE_AGAIN | node_fill_show(f, in->now_ms));
	return node_fill_take(f, in);
}

/* No credit is left: the bytes come again when the client has caught up. */
static bool node_fill_must_wait(struct node_fill *f,
				const struct node_fill_input *in)
{
	if (!node_fill_passes(f))
		return false;
	f->credit = in->waiting < in->window ? in->window - in->waiting : 0;
	return !f->credit;
}

static struct node_fill_step
node_fill_on_shown(struct node_fill *f, const struct node_fill_input *in)
{
	struct node_fill_step step;

	if (node_fill_judge_more(f, in, &step))
		return step;
	/* longer than the peer has said, for which an origin goes on */
	if (f->taken_over && f->body_len >= 0 &&
	    node_fill_after(f, in->len) > (uint64_t)f->body_len)
		return node_fill_break_off(f);
	if (node_fill_must_wait(f, in))
		return node_fill_do(NODE_REFUSE);
	return node_fill_take(f, in);
}

/* The client has taken some. */
static struct node_fill_step
node_fill_on_room(struct node_fill *f, const struct node_fill_input *in)
{
	if (f->credit || in->waiting > in->window / 2)
		return node_fill_do(0);
	f->credit = in->window - in->waiting;
	return node_fill_do(NODE_RESUME);
}

/* A small body that has not come with its header. */
static struct node_fill_step
node_fill_on_delay(struct node_fill *f, const struct node_fill_input *in)
{
	return node_fill_do(node_fill_show(f, in->now_ms));
}

static struct node_fill_step
node_fill_on_whole(struct node_fill *f, const struct node_fill_input *in)
{
	if (f->purpose == NODE_FOR_PROBE)
		return node_fill_end(f, NODE_RECORD_HIT | NODE_STOP);
	/* the length of an answer in chunks shows at its end */
	if (f->taken_over && f->body_len >= 0 &&
	    f->received != (uint64_t)f->body_len)
		return node_fill_break_off(f);
	return node_fill_complete(f, in->by_close);
}

static struct node_fill_step
node_fill_on_cut_off(struct node_fill *f, const struct node_fill_input *in)
{
	(void)in;
	return node_fill_break_off(f);
}

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
 * It happens once a fill, and costs the origin one whole response.
 */
static bool node_fill_can_take_over(const struct node_fill *f)
{
	/* others can only wait for what has a length */
	bool wanted = f->client ||
		      (f->keep == NODE_KEEP_YES && f->body_len >= 0);

	/* a copy is worth no fetch from the origin */
	return !f->taken_over && wanted && f->get &&
	       f->purpose != NODE_FOR_COPY &&
	       (f->keep == NODE_KEEP_YES || f->strong_tag);
}

static struct node_fill_step
node_fill_take_over(struct node_fill *f, const struct node_fill_input *in)
{
	if (!node_fill_can_take_over(f)) {
		struct node_fill_step step = node_fill_break_off(f);

		step.actions |= node_fill_blame(in);
		return step;
	}
	f->state = NODE_REJOIN;
	f->taken_over = true;
	f->credit = UINT64_MAX;
	f->cut = f->received;
	f->rejoined = 0;
	return (struct node_fill_step){
		.actions = node_fill_blame(in) | NODE_STOP,
		.then = NODE_THEN_TAKE_OVER,
	};
}

static struct node_fill_step
node_fill_on_peer_cut_off(struct node_fill *f, const struct node_fill_input *in)
{
	if (in->no_memory)
		return node_fill_break_off(f);
	return node_fill_take_over(f, in);
}

/* From the last byte on: it may have stood still for some time already. */
static struct node_fill_step
node_fill_on_pace(struct node_fill *f, const struct node_fill_input *in)
{
	if (!f->credit) /* it waits for the client */
		return node_fill_do(node_fill_watch(f, in->now_ms));
	if (f->received - f->watched >= NODE_WATCH_BYTES)
		return node_fill_do(node_fill_watch(f, f->received_ms));
	if (!node_fill_can_take_over(f))
		return node_fill_do(0); /* it may yet go on, or it ends */
	return node_fill_take_over(f, in);
}

static struct node_fill_step
node_fill_on_rejoin_head(struct node_fill *f, const struct node_fill_input *in)
{
	if (in->head != NODE_HEAD_USABLE)
		return node_fill_break_off(f);
	return node_fill_do(0);
}

static struct node_fill_step
node_fill_on_repeated(struct node_fill *f, const struct node_fill_input *in)
{
	size_t n = node_fill_repeated(f, in->len);

	if (!in->same)
		return node_fill_break_off(f);
	f->rejoined += n;
	if (n == in->len)
		return node_fill_do(0);
	f->skip = n;
	f->state = NODE_SHOW_ORIGIN;
	return node_fill_do(NODE_AGAIN);
}

/* A peer without a length may have broken off at the very end. */
static struct node_fill_step
node_fill_on_repeated_all(struct node_fill *f, const struct node_fill_input *in)
{
	if (f->rejoined != f->cut)
		return node_fill_break_off(f);
	return node_fill_on_whole(f, in);
}

/* The client */

static struct node_fill_step node_fill_on_left(struct node_fill *f,
					       const struct node_fill_input *in)
{
	f->client = false;
	if (in->renews)
		f->purpose = NODE_FOR_RENEWAL;
	if ((in->wanted || in->renews) &&
	    (f->keep == NODE_KEEP_YES || node_fill_asks(f)))
		return node_fill_do(0);
	return f->keep == NODE_KEEP_YES ?
		       node_fill_give_up(f) :
		       node_fill_end(f, NODE_STOP | NODE_LAND);
}

/* Of what has landed. */
static struct node_fill_step
node_fill_on_left_late(struct node_fill *f, const struct node_fill_input *in)
{
	(void)in;
	f->client = false;
	return node_fill_end(f, 0);
}

/* It takes the rest. */
static struct node_fill_step
node_fill_on_room_late(struct node_fill *f, const struct node_fill_input *in)
{
	(void)f;
	(void)in;
	return node_fill_do(0);
}

static struct node_fill_step node_fill_on_up(struct node_fill *f,
					     const struct node_fill_input *in)
{
	struct node_fill_step step;

	assert(f->client);
	if (!in->too_large)
		return node_fill_do(NODE_UPLOAD);
	if (node_fill_shows(f))
		return node_fill_break_off(f);
	step = node_fill_end(f, NODE_REPLY_ERROR | NODE_STOP);
	step.then = NODE_THEN_NOTHING;
	step.status = 413;
	step.why = "body";
	return step;
}

/* The table */

typedef struct node_fill_step node_fill_handler(struct node_fill *f,
						const struct node_fill_input *);

#define IMPOSSIBLE NULL /* why: */
/* READ: what is read from the disk concerns requests, not fills.
 * HEAD, MORE, END: the source is asked once and sends them in this order; what
 * a source sends after its end, or after it was cancelled, the edge drops.
 * TIMER: none is armed. ROOM: nobody reads yet, or what is
 * cut, reads slices. UP: a request with a body is
 * never sent to a peer; and when its response is whole, the rest of its body is
 * thrown away. */

/* clang-format off */
static node_fill_handler *const
node_fill_table[NODE_FILL_STATES][NODE_EVENTS] = {
	[NODE_LANDED] = {
		[NODE_READ]  = IMPOSSIBLE,
		[NODE_HEAD]  = IMPOSSIBLE,
		[NODE_MORE]  = IMPOSSIBLE,
		[NODE_END]   = IMPOSSIBLE,
		[NODE_BROKE] = IMPOSSIBLE,
		[NODE_TIMER] = IMPOSSIBLE,
		[NODE_ROOM]  = node_fill_on_room_late,
		[NODE_LEFT]  = node_fill_on_left_late,
		[NODE_UP]    = IMPOSSIBLE,
	},
	[NODE_ASK_PEER] = {
		[NODE_READ]  = IMPOSSIBLE,
		[NODE_HEAD]  = node_fill_on_peer_head,
		[NODE_MORE]  = IMPOSSIBLE,
		[NODE_END]   = IMPOSSIBLE,
		[NODE_BROKE] = node_fill_on_peer_failed,
		[NODE_TIMER] = node_fill_on_slow_peer,
		[NODE_ROOM]  = IMPOSSIBLE,
		[NODE_LEFT]  = node_fill_on_left,
		[NODE_UP]    = IMPOSSIBLE,
	},
	[NODE_COLLECT_PEER] = {
		[NODE_READ]  = IMPOSSIBLE,
		[NODE_HEAD]  = IMPOSSIBLE,
		[NODE_MORE]  = node_fill_on_collected,
		[NODE_END]   = node_fill_on_whole,
		[NODE_BROKE] = node_fill_on_peer_failed,
		[NODE_TIMER] = node_fill_on_peer_failed,
		[NODE_ROOM]  = IMPOSSIBLE,
		[NODE_LEFT]  = node_fill_on_left,
		[NODE_UP]    = IMPOSSIBLE,
	},
	[NODE_SHOW_PEER] = {
		[NODE_READ]  = IMPOSSIBLE,
		[NODE_HEAD]  = IMPOSSIBLE,
		[NODE_MORE]  = node_fill_on_shown,
		[NODE_END]   = node_fill_on_whole,
		[NODE_BROKE] = node_fill_on_peer_cut_off,
		[NODE_TIMER] = node_fill_on_pace,
		[NODE_ROOM]  = node_fill_on_room,
		[NODE_LEFT]  = node_fill_on_left,
		[NODE_UP]    = IMPOSSIBLE,
	},
	[NODE_REJOIN] = {
		[NODE_READ]  = IMPOSSIBLE,
		[NODE_HEAD]  = node_fill_on_rejoin_head,
		[NODE_MORE]  = node_fill_on_repeated,
		[NODE_END]   = node_fill_on_repeated_all,
		[NODE_BROKE] = node_fill_on_cut_off,
		[NODE_TIMER] = IMPOSSIBLE,
		[NODE_ROOM]  = node_fill_on_room,
		[NODE_LEFT]  = node_fill_on_left,
		[NODE_UP]    = IMPOSSIBLE,
	},
	[NODE_ASK_ORIGIN] = {
		[NODE_READ]  = IMPOSSIBLE,
		[NODE_HEAD]  = node_fill_on_origin_head,
		[NODE_MORE]  = IMPOSSIBLE,
		[NODE_END]   = IMPOSSIBLE,
		[NODE_BROKE] = node_fill_on_origin_failed,
		[NODE_TIMER] = node_fill_on_slow_origin,
		[NODE_ROOM]  = IMPOSSIBLE,
		[NODE_LEFT]  = node_fill_on_left,
		[NODE_UP]    = node_fill_on_up,
	},
	[NODE_COLLECT_ORIGIN] = {
		[NODE_READ]  = IMPOSSIBLE,
		[NODE_HEAD]  = IMPOSSIBLE,
		[NODE_MORE]  = node_fill_on_collected,
		[NODE_END]   = node_fill_on_whole,
		[NODE_BROKE] = node_fill_on_origin_failed,
		[NODE_TIMER] = node_fill_on_delay,
		[NODE_ROOM]  = IMPOSSIBLE,
		[NODE_LEFT]  = node_fill_on_left,
		[NODE_UP]    = node_fill_on_up,
	},
	[NODE_SHOW_ORIGIN] = {
		[NODE_READ]  = IMPOSSIBLE,
		[NODE_HEAD]  = IMPOSSIBLE,
		[NODE_MORE]  = node_fill_on_shown,
		[NODE_END]   = node_fill_on_whole,
		[NODE_BROKE] = node_fill_on_cut_off,
		[NODE_TIMER] = IMPOSSIBLE,
		[NODE_ROOM]  = node_fill_on_room,
		[NODE_LEFT]  = node_fill_on_left,
		[NODE_UP]    = node_fill_on_up,
	},
	[NODE_CUT] = {
		[NODE_READ]  = IMPOSSIBLE,
		[NODE_HEAD]  = IMPOSSIBLE,
		[NODE_MORE]  = node_fill_on_cut,
		[NODE_END]   = node_fill_on_cut_end,
		[NODE_BROKE] = node_fill_on_cut_broken,
		[NODE_TIMER] = node_fill_on_cut_pace,
		[NODE_ROOM]  = IMPOSSIBLE,
		[NODE_LEFT]  = node_fill_on_cut_left,
		[NODE_UP]    = IMPOSSIBLE,
	},
};
/* clang-format on */

bool node_fill_handles(enum node_fill_state state, enum node_event event)
{
	return node_fill_table[state][event];
}

struct node_fill_step node_fill_step(struct node_fill *f,
				     const struct node_fill_input *in)
{
	assert(f->state < NODE_FILL_STATES && in->event < NODE_EVENTS);
	assert(node_fill_table[f->state][in->event]);
	return node_fill_table[f->state][in->event](f, in);
}
