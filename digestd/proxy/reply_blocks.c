/*
 * Replies whose body is on disk. It is read block by block, by the disk's
 * threads, into memory of the reply's own, and held against its checksums there
 * before any of it is sent; of a range, only the blocks that it is in.
 *
 * What fits into the first read goes out from there at once. The rest goes
 * through two buffers: one is sent while the other is filled.
 *
 * A block that is damaged, or cannot be read, ends the reply; before its header
 * has gone, the request goes on as if the object had not been found.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/disk/disk_body.h"
#include "digestd/proxy/request.h"

_Static_assert((int)NODE_BLOCK_BYTES == (int)DISK_BLOCK_BYTES,
	       "what is read consists of them");

/* Bytes of the part in memory. */
struct reply_buffer {
	char *data;   /* of the block in which the first one is */
	size_t at;    /* the next to be sent */
	size_t end;   /* of those of the part; 0: nothing is in it */
};

struct reply_blocks {
	struct cached *c;
	struct fields fields; /* until the reply begins */
	unsigned status;
	uint64_t first, end; /* bytes of the body that are to be read yet */
	size_t buffer_bytes;
	struct reply_buffer front, back;
	struct ledger_account memory;
	bool begun, failed;
};

static void reply_blocks_came(void *arg);

/* Bytes of whole blocks that a part of a body lies in, from its first one. */
static uint64_t reply_blocks_span(uint64_t first, uint64_t end)
{
	uint64_t from = first - first % DISK_BLOCK_BYTES;

	return disk_blocks(end - from) * DISK_BLOCK_BYTES;
}

/* Has the next blocks read into the back buffer, which is empty. */
static void reply_blocks_read(struct request *r)
{
	struct reply_blocks *b = r->blocks;
	uint64_t block = b->first / DISK_BLOCK_BYTES;
	uint64_t span = reply_blocks_span(b->first, b->end);
	uint64_t from = block * DISK_BLOCK_BYTES;
	uint64_t to;

	assert(!r->node.reading && b->first < b->end && !b->back.end);
	if (span > b->buffer_bytes)
		span = b->buffer_bytes;
	to = from + span < b->end ? from + span : b->end;
	b->back.at = (size_t)(b->first - from);
	b->back.end = (size_t)(to - from);
	b->first = to;
	r->read = (struct disk_read){
		.loop = r->worker->loop,
		.call = { .run = reply_blocks_came, .arg = r },
		.key = r->q->key,
		.of = b->c,
		.block = block,
		.nblocks = (unsigned)(span / DISK_BLOCK_BYTES),
		.to = b->back.data,
	};
	r->node.reading = true;
	cache_read_blocks(r->worker->shared.cache, &r->read);
}

static void reply_blocks_swap(struct reply_blocks *b)
{
	struct reply_buffer empty = b->front;

	b->front = b->back;
	b->back = empty;
	b->back.at = b->back.end = 0;
}

static ssize_t reply_blocks_take(void *arg, void *buf, size_t cap)
{
	struct request *r = arg;
	struct reply_blocks *b = r->blocks;
	size_t n;

	assert(cap && b->front.at <= b->front.end);
	if (b->front.at == b->front.end && !r->node.reading && !b->failed) {
		if (!b->back.end)
			return BODY_END;
		reply_blocks_swap(b);
		if (b->first < b->end)
			reply_blocks_read(r);
	}
	n = b->front.end - b->front.at;
	if (!n)
		return b->failed ? BODY_FAIL : BODY_WAIT;
	if (n > cap)
		n = cap;
	memcpy(buf, b->front.data + b->front.at, n);
	b->front.at += n;
	return (ssize_t)n;
}

/* All of it is there: the buffer goes to the server. */
static void reply_blocks_whole(struct request *r)
{
	struct reply_blocks *b = r->blocks;
	char *data = b->back.data;

	b->back.data = NULL; /* is counted until the request ends */
	exchange_reply(r->x, b->status, &b->fields, data + b->back.at,
		       b->back.end - b->back.at, free, data);
}

/* The rest is read while this is sent. */
static void reply_blocks_stream(struct request *r)
{
	struct reply_blocks *b = r->blocks;
	const struct body_source source = { .read = reply_blocks_take,
					    .arg = r };
	uint64_t len = b->back.end - b->back.at + (b->end - b->first);

	b->front.data = malloc(b->buffer_bytes);
	if (!b->front.data) {
		reply_error(r, 503, "memory");
		return;
	}
	b->memory.bytes += b->buffer_bytes;
	ledger_add(&memory_ledger, LEDGER_disk_reads, b->buffer_bytes);
	b->begun = true;
	reply_blocks_swap(b);
	reply_blocks_read(r);
	exchange_reply_stream(r->x, b->status, &b->fields, (int64_t)len,
			      &source);
}

void reply_blocks_send(struct request *r)
{
	struct reply_blocks *b = r->blocks;

	if (b->begun)
		exchange_wake(r->x);
	else if (b->first == b->end)
		reply_blocks_whole(r);
	else
		reply_blocks_stream(r);
}

static void reply_blocks_came(void *arg)
{
	struct request *r = arg;
	struct reply_blocks *b = r->blocks;
	bool damaged;

	b->failed = r->read.error != 0;
	damaged = b->failed && !b->begun;
	if (damaged) { /* as if it had not been found */
		reply_blocks_free(&r->blocks);
		cached_unref(&r->stale);
		r->fwd = CACHESTATUS_URI_MISS;
		r->found_as = NODE_FOUND_NONE;
	}
	request_read(r, damaged);
}

/* Room for the first read. */
static int reply_blocks_reserve(struct reply_blocks *b, size_t window)
{
	const struct node_memory memory = worker_memory();

	b->buffer_bytes = node_memory_blocks(
		&memory, &b->memory, reply_blocks_span(b->first, b->end),
		window);
	b->back.data = malloc(b->buffer_bytes);
	return b->back.data ? 0 : -1;
}

void reply_blocks(struct request *r, unsigned status, const struct fields *f,
		  const struct reply_part *part)
{
	struct reply_blocks *b;

	if (status == 304 || r->q->head) {
		reply_without_body(r, status, f, part->len);
		return;
	}
	assert(!r->blocks && part->of && part->len);
	b = r->blocks = calloc(1, sizeof(*b));
	if (!b) {
		reply_error(r, 503, "memory");
		return;
	}
	b->c = cached_ref(part->of);
	b->status = status;
	b->first = part->first;
	b->end = part->first + part->len;
	if (fields_copy(f, &b->fields) ||
	    reply_blocks_reserve(b, r->q->settings->window_bytes)) {
		reply_error(r, 503, "memory");
		return;
	}
	reply_blocks_read(r);
}

void reply_blocks_free(struct reply_blocks **blocks)
{
	struct reply_blocks *b = *blocks;

	*blocks = NULL;
	if (!b)
		return;
	ledger_release(&memory_ledger, LEDGER_disk_reads, &b->memory);
	free(b->front.data);
	free(b->back.data);
	fields_free(&b->fields);
	cached_unref(&b->c);
	free(b);
}
