/*
 * Inside a worker: one request's way through the node.
 *
 * What it does next is decided by two machines without I/O: that of the
 * request, node/node_request.h, and that of its own fill, node/node_fill.h.
 * Here are their edges. What is refused at the door gets no further than a list
 * of steps in request.c.
 *
 * A request outlives its exchange when its response is being stored, and its
 * exchange outlives nothing: `x` is null once it is NODE_CLOSED.
 */
#ifndef DIGESTD_PROXY_REQUEST_H
#define DIGESTD_PROXY_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/key.h"
#include "digestd/cache/cache.h"
#include "digestd/http/answer.h"
#include "digestd/http/cachecontrol.h"
#include "digestd/http/cachestatus.h"
#include "digestd/http/fields.h"
#include "digestd/http/freshness.h"
#include "digestd/mesh/route.h"
#include "digestd/http/target.h"
#include "digestd/disk/disk.h"
#include "digestd/fetch/fetch.h"
#include "digestd/node/node_fill.h"
#include "digestd/node/node_request.h"
#include "digestd/os/memory.h"
#include "digestd/proxy/flight.h"
#include "digestd/proxy/relay.h"
#include "digestd/proxy/worker_inside.h"
#include "digestd/server/server.h"

/* Bytes on their way through: appended at the end, taken from the front. */
struct buffer {
	char *data;
	size_t len, cap;
	size_t taken; /* of len, by the reader */
};

/* What a request has of the process's memory, see request_memory.c. */
struct request_memory {
	struct ledger_account body; /* collected, or passed through */
	uint64_t come;		    /* of what is collected */
	bool passes;
	size_t window; /* of what passes */
	struct ledger_account upload;
	bool asks;
};

/* Whom the current fetch asks. */
enum source { SOURCE_NONE, SOURCE_PEER, SOURCE_ORIGIN };

struct request {
	struct worker *worker;
	struct worker_settings *settings; /* as they were at the beginning */
	struct exchange *x;
	struct node_request node;

	/* what is asked for */
	const char *method;
	struct target target;
	struct scd_key key;
	struct cachecontrol cc;
	const struct worker_origin *site; /* in settings; null: none */
	bool asterisk;        /* the target is "*": that of OPTIONS */
	const char *upstream; /* base URL, in settings; null: none */
	bool forward;         /* as a forward proxy, to the target itself */
	bool unsafe;          /* invalidates what it succeeds on */
	bool cacheable;       /* GET or HEAD that the store may answer */
	bool judged;          /* it could be kept, and should be there: */
	enum admission_decision place;

	/* what was found here */
	struct disk_read read; /* of what is on disk */
	struct reply_blocks *blocks; /* of a reply from there; null: none */
	struct cached *found; /* that answers it */
	enum node_found found_as;
	struct cached *stale; /* to be revalidated, or served on error */
	enum cachestatus_fwd fwd;

	/* flights */
	struct flight lead;
	struct flight_waiter wait;
	struct relay *relay;        /* that shows what this one fetches */
	struct relay_reader reader; /* of what another one does */

	/* peers */
	bool past_peers; /* the origin has been asked: they are no more */
	struct peerset *view; /* the one that the route is in; null: none yet */
	struct route route;
	const struct peerset_peer *peer; /* the one asked, or that had it */
	struct loop_timer patience; /* until its answer must be here */

	/* the fetch under way, and its response */
	struct node_fill fill;
	enum source source;
	struct fetch *fetch;
	struct fields in;  /* the request's fields as they came */
	struct fields out; /* and as they are sent */
	int64_t asked_s, asked_ms;
	uint64_t purges;   /* cache_purges() before that */
	unsigned rtt_ms;   /* of the peer that is answering */
	enum peer_outcome verdict; /* on its header */
	bool validating;   /* the origin is asked about `stale` */
	struct cached *refreshed; /* what it has confirmed; null: no memory */
	bool kept;         /* what came of it is stored */
	unsigned fwd_status; /* of what has been received, whatever is used */
	unsigned status;
	struct fields response;
	struct fields withheld;  /* those of it that are not stored */
	struct fields selecting; /* of it, see vary_select() */
	bool selected;           /* that has been found out, and: */
	bool right_variant;
	struct freshness freshness;
	struct cached *head;   /* the response to be stored, but for its body */
	struct cached *stored; /* once it is whole and stored */
	struct buffer body;
	struct request_memory memory;

	/* the body of the client's request */
	struct buffer upload;
	uint64_t upload_bytes;
	bool upload_ended;

	struct request *next, **link; /* in the worker */
};

/* The time of day, and time that never jumps, as of the worker's loop. */
static inline int64_t request_now_s(const struct request *r)
{
	return loop_wall_s(r->worker->loop);
}

static inline int64_t request_now_ms(const struct request *r)
{
	return loop_now_ms(r->worker->loop);
}

/* Handlers of the listeners; their arg is the worker. */
extern const struct server_handler request_data_handler;
extern const struct server_handler request_peer_handler;

/* The request's fields, as they came; it has a client. */
static inline const struct fields *request_fields(const struct request *r)
{
	return exchange_request(r->x)->fields;
}

/* The edge of the request's machine, in request_node.c. Each may free r. */

/* Something happens to r, or to its own fill. */
void request_event(struct request *r, enum node_event event);

/* Looks up what is stored for it. */
void request_find(struct request *r);

/* The disk has been read: r->found_as, or a block of a reply. */
void request_read(struct request *r, bool damaged);

/* Asks who is to be asked next: peers, then the origin. */
void request_ask(struct request *r);

/* Frees a request that has neither an exchange nor anything under way. */
void request_settle(struct request *r);

/* Ends everything a worker has under way, its exchanges being gone already. */
void request_end_all(struct worker *w);

/*
 * Makes one without an exchange that wants what r wants, but whole. Null: no
 * memory. request_settle() frees it when nothing is under way.
 */
struct request *request_beside(const struct request *r);

/* Asks the origin about r->stale, for a request without an exchange. */
void request_renew(struct request *r);

/* Memory, in request_memory.c. */

/* Takes what a body of so many bytes needs to be collected; false: no room. */
bool request_hold(struct request *r, uint64_t bytes);

/* More of that body has come. */
void request_held(struct request *r);

/* Returns what was taken for the body, collected or passed through. */
void request_release(struct request *r);

/* From now on the body passes through: how many bytes of it may wait here. In
 * need there are fewer. */
size_t request_window(struct request *r);

/* Returns what was collected before the body began to pass through, once that
 * has gone. */
void request_trim(struct request *r);

/* How many bytes of the client's body may wait here, of `most`. */
size_t request_upload_window(struct request *r, size_t most);

/* The request asks others. */
void request_count_asking(struct request *r);

/* Returns all of it. */
void request_return_memory(struct request *r);

/*
 * The client has left, while the response is kept: whether that goes on, as
 * others wait for it, or it is worth it. If not, nobody can wait for it any
 * more.
 */
bool request_goes_on(struct request *r);

/* In request_fetch.c. */

/* Tells what the peer that was asked is worth; rtt_ms 0: not known. */
void request_learn(struct request *r, enum peer_outcome kind,
		   unsigned rtt_ms);

/* Tells the service what a peer is worth, as request_learn() does, without
 * counting it among the answers of this node. */
void request_tell(const struct request *r, enum peer_outcome kind,
		  unsigned rtt_ms);

/* What the header of a peer's answer (request_take_response()) says. */
enum peer_outcome request_judge(struct request *r);

/* Since the peer, or the origin, was asked; at least 1. */
unsigned request_elapsed_ms(const struct request *r);

/* Asks r->peer, which has timeout_ms to begin its answer; 0, or there is no
 * memory. */
int request_fetch_peer(struct request *r, unsigned timeout_ms);

/* Asks the origin for what is being answered; 0, or there is no memory. */
int request_fetch_again(struct request *r);

/* In request_probe.c: asks a half-open peer (a number in r->view), which has
 * timeout_ms to begin its answer, for what r wants, beside r. */
void request_probe(const struct request *r, uint32_t peer, unsigned timeout_ms);

/* The edge of the fill's machine, in request_fill.c. Each may free r. */

/* Of all fetches; arg is the request. */
extern const struct fetch_callbacks request_fill_callbacks;

/* Something happens to r's fill. */
void request_fill_event(struct request *r, const struct node_fill_input *in);

/* There was no memory for what a step was to do. */
void request_fill_no_memory(struct request *r);

/* The client has taken bytes; it has left, or has been served; more of its own
 * body has come, or the end of it. */
void request_fill_room(struct request *r);
void request_fill_left(struct request *r);
void request_fill_up(struct request *r);

/* What a response does to the store, in request_store.c. */

/* The name under which this node acts for the origin; null: it is the client's
 * proxy. */
const char *request_acts_for_origin(const struct request *r);

/* What is done with Set-Cookie at the request's site. */
enum set_cookie request_set_cookie(const struct request *r);

/* Reads a response to the request, with the rules of its site. */
void request_read_answer(const struct request *r, unsigned status,
			 const struct fields *fields, struct answer *answer);

/*
 * Takes the header of a response: r->response and what follows from it, up to
 * r->fill.keep, whether it may be stored. Returns 0, or -1 without memory.
 */
int request_take_response(struct request *r, unsigned status,
			  const struct fields *fields, int64_t body_len);

/*
 * The response will be used: is it worth keeping, and where? If it is, returns
 * true, and leaves r->head. In place of what has gone stale it is kept where
 * that was.
 */
bool request_admit(struct request *r);

/*
 * Whether the response is one for requests like the client's: what the request
 * was sent on without (preconditions, what Connection names) must not be what
 * it was chosen by. Found out once for a response.
 */
bool request_right_variant(struct request *r);

/* Makes the whole response, r->head with its body, an entry of the store,
 * r->stored; without room, it is not. */
void request_store(struct request *r);

/* Whether a 304 with these fields is about the stale response. Without memory
 * to look, it is not. */
bool request_is_confirmed(const struct request *r,
			  const struct fields *not_modified);

/* The stale response after a 304 with these fields has confirmed it; null
 * without memory. */
struct cached *request_refreshed(struct request *r,
				 const struct fields *fields);

/* Puts it into the store in place of the stale one; or drops that, when the 304
 * has said that it must not be stored any more. */
void request_keep_refreshed(struct request *r, struct cached *c);

/* Whether a peer's copy may be older than what was invalidated or purged here:
 * it must not come back from there. */
bool request_is_invalidated(const struct request *r);

/* Drops what an unsafe request may have changed (RFC 9111, 4.4), and what the
 * response to HEAD differs from (4.3.5). */
void request_invalidate(struct request *r);

/* Shows the response under way, of known length, to who waits for it; without
 * memory, nobody sees it before it is stored. */
void request_show(struct request *r);

/* Ends that: with r->stored, or as one that broke off. */
void request_hide(struct request *r);

/* Lands r's flight, and hides what was shown. */
void request_land(struct request *r);

/* Cancels the fetch, if there is one. */
void request_stop_fetch(struct request *r);

/* Of r->upload, as fetch_upload.read says; arg is the request. */
ssize_t request_read_upload(void *arg, void *buf, size_t cap);

/* As fetch_callbacks.on_interim says, in request_interim.c; arg is the request.
 * Without memory its client gets the final response alone. */
void request_pass_interim(void *arg, struct fetch *f, unsigned status,
			  const struct fields *fields);

/* Replies, in reply.c. Each answers the exchange, if it is still there. */

/* From the store: 304, the whole, or the part asked for, with Age and
 * Cache-Status. */
void reply_cached(struct request *r, struct cached *c);

/* From the fetch under way: the header now, the body as it comes. */
void reply_stream(struct request *r);

/* From the fetch of another request; the relay is taken over. */
void reply_relay(struct request *r, struct relay *relay);

/* From the fetch that has ended without being stored: all at once. */
void reply_whole(struct request *r);

/* Bytes of a stored body. */
struct reply_part {
	struct cached *of;
	uint64_t first, len; /* len > 0 */
};

/*
 * From a body on disk, in reply_blocks.c: read and checked as it is sent. When
 * that fails before anything was, the request goes on behind the store.
 */
void reply_blocks(struct request *r, unsigned status, const struct fields *f,
		  const struct reply_part *part);

/* What was read is sent. */
void reply_blocks_send(struct request *r);

/* *blocks becomes null; null is allowed. Nothing of it is being read. */
void reply_blocks_free(struct reply_blocks **blocks);

/* An error of this node's own. */
void reply_error(struct request *r, unsigned status, const char *why);

/* Answers OPTIONS for this node itself. */
void reply_options(struct request *r);

/* 503, with a Retry-After: all memory is in use. */
void reply_busy(struct request *r);

/* Appends; returns 0 or -ENOMEM. */
int buffer_append(struct buffer *b, const void *data, size_t len);

/* Makes room for exactly `size` bytes in all, if that works and they fit: only
 * saves memory, or moving. */
void buffer_fit(struct buffer *b, size_t size);

/* Takes up to cap bytes from the front; returns their number. */
size_t buffer_take(struct buffer *b, void *out, size_t cap);

/* Bytes not taken yet. */
size_t buffer_left(const struct buffer *b);

/* Forgets what was taken, to make room. */
void buffer_compact(struct buffer *b);

void buffer_free(struct buffer *b);

#endif
