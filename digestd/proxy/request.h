/*
 * Inside a worker: one request's way through the node, from its header to the
 * last byte of the reply.
 *
 * What it does next is decided by a machine without I/O, node/node_request.h,
 * of which this is the edge (request_node.c). What is refused at the door gets
 * no further than a list of steps in request.c. What it waits for is read from
 * the disk, fetched by a fill of its own (fill.h), or by another's that it has
 * joined (collapse.h).
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
#include "digestd/http/cachestatus.h"
#include "digestd/http/fields.h"
#include "digestd/node/node_request.h"
#include "digestd/os/memory.h"
#include "digestd/proxy/buffer.h"
#include "digestd/proxy/collapse.h"
#include "digestd/proxy/question.h"
#include "digestd/proxy/worker_inside.h"
#include "digestd/server/server.h"

struct fill;

struct request {
	struct worker *worker;
	struct exchange *x;
	struct question *q;
	struct node_request node;

	/* what was found here */
	struct disk_read read; /* of what is on disk */
	struct reply_blocks *blocks; /* of a reply from there; null: none */
	struct cached *found; /* that answers it */
	bool lent;            /* it is not counted, see cache_lookup() */
	enum node_found found_as;
	struct cached *stale; /* to be asked about; then the fill's */
	uint64_t since;       /* cache_purges() before either was looked up */
	enum cachestatus_fwd fwd;

	/* what it waits for */
	struct collapse *lead; /* passed at once to the fill that begins */
	struct fill *fill;     /* its own; null: none */
	struct collapse_reader reader; /* of another's */

	/* the body of the client's request */
	struct buffer upload;
	struct ledger_account upload_memory;
	uint64_t upload_bytes;
	bool upload_ended;

	struct request *next, **link; /* in the worker */
};

/* Handlers of the listeners; their arg is the worker. */
extern const struct server_handler request_data_handler;
extern const struct server_handler request_peer_handler;

/* The request's fields, as they came; it has a client. */
static inline const struct fields *request_fields(const struct request *r)
{
	return exchange_request(r->x)->fields;
}

/* The edge of the machine, in request_node.c. Each may free r. */

/* Something happens to r, or to its own fill. */
void request_event(struct request *r, enum node_event event);

/* Looks up what is stored for it. */
void request_find(struct request *r);

/* The disk has been read: r->found_as, or a block of a reply. */
void request_read(struct request *r, bool damaged);

/* Frees a request whose exchange is over, and to which no call is on its way.
 */
void request_free_if_over(struct request *r);

/* Ends all requests of a worker, their exchanges being gone already. */
void request_end_all(struct worker *w);

/* The body of the client's request, in request_upload.c. */

/* More of it: returns how much was taken, or -1 without memory. */
ssize_t request_upload_put(struct request *r, const void *data, size_t len);

/* Takes of it, as fetch_upload.read says. */
ssize_t request_upload_take(struct request *r, void *buf, size_t cap);

void request_upload_free(struct request *r);

/* Replies, in reply.c. Each answers the exchange. */

/* From the store: 304, the whole, or the part asked for, with Age and
 * Cache-Status. */
void reply_cached(struct request *r, struct cached *c);

/* From r->fill: the header now, the body as it comes. */
void reply_stream(struct request *r);

/* From another request's fill, which r->reader has joined. */
void reply_joined(struct request *r);

/* From r->fill, which has ended without being stored: all at once. */
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

#endif
