/*
 * Inside a worker: one request's way through the node, from its header to the
 * last byte of the reply.
 *
 * What it does next is decided by a machine without I/O, node/node_request.h,
 * of which this is the edge (request_node.c). What is refused at the door, as
 * node/node_door.h says, gets no further than request.c. What it waits for is
 * read from the disk, fetched by a fill of its own (fill.h), or by another's
 * that it has joined (collapse.h).
 *
 * A request is over with its exchange, `x`, which is null once it is
 * NODE_CLOSED, but for calls that are on their way to it.
 */
#ifndef DIGESTD_PROXY_REQUEST_H
#define DIGESTD_PROXY_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "digestd/cache/cache.h"
#include "digestd/disk/disk.h"
#include "digestd/http/access_format.h"
#include "digestd/http/cachestatus.h"
#include "digestd/http/fields.h"
#include "digestd/mesh/leases.h"
#include "digestd/node/node_request.h"
#include "digestd/os/memory.h"
#include "digestd/proxy/buffer.h"
#include "digestd/proxy/collapse.h"
#include "digestd/proxy/question.h"
#include "digestd/proxy/worker_inside.h"
#include "digestd/server/server.h"

struct client_purge;
struct fill;
struct request_hold;

struct request {
	struct worker *worker;
	struct exchange *x;
	const struct server_request *in; /* what that asks; null without it */
	struct question *q;
	struct node_request node;

	/* what was found here */
	struct disk_read read; /* of what is on disk */
	struct reply_blocks *blocks; /* of a reply from there; null: none */
	struct slices slices; /* what the head of a large object says */
	struct reply_slices *sliced; /* a reply in slices; null: none */
	struct cached *found; /* that answers it */
	bool lent;            /* it is not counted, see cache_lookup() */
	enum node_found found_as;
	struct cached *stale; /* to be asked about; then the fill's */
	uint64_t since;       /* cache_purges() before either was looked up */
	enum cachestatus_fwd fwd;
	bool from_disk; /* what was found was there */
	struct fields *normal; /* those of the client, as the site wants them;
				  null: as they came */
	bool rechecked; /* what was found is fresh, and is asked about */
	struct loop_timer late; /* of an answer, see request_wait.c */
	int64_t late_ms; /* when that is; 0: not known yet */
	unsigned came;   /* of an answer by the time that began, in pieces */
	bool waited;     /* until then */

	/* for the access log, see request_access.c */
	int64_t came_us;
	enum access_source source;
	const char *why; /* of an error, or of what is stale as its origin does
			    not answer; else null */
	unsigned retry_s; /* of a client that asks too often: when it may */
	struct lease_wish wish; /* a peer's */

	/* what it waits for */
	struct collapse *lead; /* passed at once to the fill that begins */
	struct fill *fill;     /* its own; null: none */
	struct collapse_reader reader; /* of another's */

	/* the body of the client's request */
	struct buffer upload;
	struct ledger_account upload_memory;
	uint64_t upload_bytes;
	bool upload_ended;

	/* purges, in request_purge.c */
	struct request_hold *held; /* for what; null: nothing to wait for */
	void (*reply)(struct request *r); /* then; null: not yet, or sent */
	bool unheld; /* what it invalidates may be served somewhere */
	bool serves; /* what is stored may answer it, see serving_desk.h */
	struct client_purge *purge; /* its own, under way; null: none */
	bool met; /* the peer that asks has named purges; all were applied */

	struct request *next, **link; /* in the worker */
};

/* Handlers of the listeners; their arg is the worker. */
extern const struct server_handler request_data_handler;
extern const struct server_handler request_peer_handler;

/* The request's fields, as they count; it has a client. */
static inline const struct fields *request_fields(const struct request *r)
{
	return r->normal ? r->normal : r->in->fields;
}

/* The edge of the machine, in request_node.c. Each may free r. */

/* Something happens to r, or to its own fill. */
void request_event(struct request *r, enum node_event event);

/* One step. */
void request_input(struct request *r, const struct node_request_input *in);

/* Looks up what is stored for it. */
void request_find(struct request *r);

/* The disk has been read: r->found_as, or a block of a reply. */
void request_read(struct request *r, bool damaged);

/* Frees a request whose exchange is over, and to which no call is on its way.
 */
void request_free_if_over(struct request *r);

/* Ends all requests of a worker, their exchanges being gone already. */
void request_end_all(struct worker *w);

/* Waiting, in request_wait.c. */

/* It begins to wait for an answer, with r->stale as it was found. */
void request_wait_begin(struct request *r);

/* It does not wait for its fill, whose stale copy it gets. */
void request_wait_give_up(struct request *r);

/* NODE_DO_REPLY_STALE. */
void request_wait_reply(struct request *r);

/* The body of the client's request, in request_upload.c. */

/* It goes to an origin: takes the memory of its window now, so that others are
 * refused before what it has yet to send has no room. */
void request_upload_reserve(struct request *r);

/* More of it: returns how much was taken, or -1 without memory. */
ssize_t request_upload_put(struct request *r, const void *data, size_t len);

/* Takes of it, as fetch_upload.read says. */
ssize_t request_upload_take(struct request *r, void *buf, size_t cap);

void request_upload_free(struct request *r);

/* Figures, in request_figures.c. */

/* Notes a client's request that is over. */
void request_figures_note(const struct request *r);

/* Counts a reply by the class of its status; 0: there was none. */
void request_figures_count(struct worker *w, unsigned status);

/* The access log, in request_access.c. */

/* Notes a client's request that is over. */
void request_access_note(struct request *r, enum exchange_end end);

/* Notes one that the server has refused. */
void request_access_refused(struct worker *w, struct exchange *x,
			    unsigned status);

/* Purges, in request_purge.c. */

/* Peers are told of this node's purges up to that number (0: nobody is): a
 * reply waits for them, for a time, and until what was dropped is off the
 * disk. */
void request_purge_tell(struct request *r, uint64_t seq);

/* There was no memory to find out what it invalidates: no reply is to say that
 * it has succeeded. */
void request_purge_fail(struct request *r);

/* Replies, at once or when peers have been told. */
void request_purge_reply(struct request *r, void (*reply)(struct request *r));

/* Its exchange is over: nothing is sent any more. */
void request_purge_leave(struct request *r);

/* For a worker that ends: the disk calls nobody any more, after a turn of its
 * loop. */
void request_purge_end_all(struct worker *w);

/* Whether all has been applied here that the peer needs which asks. */
bool request_meets_need(struct request *r);

/* Replies, in reply.c. Each answers the exchange. */

/* From the store: 304, the whole, or the part asked for, with Age and
 * Cache-Status. */
void reply_cached(struct request *r, struct cached *c);

/* The same for a hit that is all of a response with status 200 and a body in
 * memory, by reply_plain.c. False: this client's protocol needs a list of
 * fields, and nothing has happened. */
bool reply_plain(struct request *r, struct cached *c);

/* From r->fill: the header now, the body as it comes. */
void reply_stream(struct request *r);

/* From another request's fill, which r->reader has joined. */
void reply_joined(struct request *r);

/* From r->fill, which has ended without being stored: all at once. */
void reply_whole(struct request *r);

/* Bytes of a stored body. */
struct reply_part {
	struct cached *of;
	uint64_t first, len; /* len > 0 from the disk, or in slices */
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

/* From a body in memory, which is not copied. */
void reply_from_memory(struct request *r, unsigned status,
		       const struct fields *f, const struct reply_part *part);

/* The header of a body that the client does not get. */
void reply_without_body(struct request *r, unsigned status,
			const struct fields *f, uint64_t len);

/*
 * A part of a large object, whose head it is of, in slices (r->slices), in
 * reply_slices.c. Those that are not here are fetched, if this is no peer's
 * request and may be.
 */
void reply_slices(struct request *r, unsigned status, const struct fields *f,
		  const struct reply_part *part);

/* Whether they are all here at this moment; of a very large part, the first. */
bool reply_slices_are_here(const struct request *r, const struct range *part);

/* The number of the slice that is sent; 0 before that. */
uint64_t reply_slices_number(const struct request *r);

/* There is more of what passes to the reply, or its end. */
void reply_slices_wake(struct reply_slices *s);

/* The client has left, or has been served; of such a reply. */
void reply_slices_close(struct request *r);

/* Both for a worker that ends: takes back what would call a reply, and frees
 * those that have no request any more, which are all. */
void reply_slices_cancel_all(struct worker *w);
void reply_slices_end_all(struct worker *w);

/* An error of this node's own. */
void reply_error(struct request *r, unsigned status, const char *why);

/* 504, to a peer: it is not here, as r->fwd says; who has it, or fetches it, as
 * far as that is known; and when the stale copy that is here may be served. */
void reply_not_here(struct request *r, const struct lease_answer *lease,
		    enum cachestatus_usable usable);

/* Answers OPTIONS for this node itself. */
void reply_options(struct request *r);

/* A text of this node's own, which is copied; of 400 and more an error. */
void reply_text(struct request *r, unsigned status, const char *type,
		const char *text);

/* 429, with a Retry-After: its client asks too often. */
void reply_hurried(struct request *r, unsigned retry_s);

/* 503, with a Retry-After: all memory is in use. */
void reply_busy(struct request *r);

#endif
