/*
 * What goes out: interim responses, then replies, in the order of their
 * requests.
 *
 * All that is in memory goes out in one call, up to the first reply whose body
 * is a file or is read from a source: of that the first block, too. What the
 * client does not take stays where it is.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#include "digestd/os/body_memory.h"
#include "digestd/os/memory.h"
#include "digestd/server/front.h"

enum {
	SIZE_BYTES = 10, /* before a chunk */
	END_BYTES = 7,   /* behind it: CR LF, and the last one */
	INTERIM_BYTES = 8192,
	VECTOR = FRONT_PIPELINE * FRONT_PARTS + 1,
	SENDS = 8,       /* before others have their turn */
	UNSENT_FILE_BYTES = 2097152,
};

bool front_output_interim(struct front_conn *c, unsigned status,
			  const struct fields *fields)
{
	if (front_output_waits(c))
		return false;
	reply_head_begin(&c->interim, status);
	(void)reply_head_add_fields(&c->interim, fields);
	reply_head_add_bytes(&c->interim, "\r\n", 2);
	c->interim_at = 0;
	if (c->interim.failed || c->interim.len > INTERIM_BYTES)
		c->interim.len = 0;
	return c->interim.len;
}

static void front_output_load(struct front_exchange *fx, char *at, size_t len)
{
	fx->parts[fx->nparts++] = (struct iovec){ at, len };
	fx->stream->loaded = true;
}

/* What goes behind the last chunk, in place of an empty line. Without memory
 * the trailer is missing. */
static bool front_output_add_trailer(struct front_stream *stream)
{
	const struct fields *fields = front_stream_trailers(stream);

	if (!fields)
		return false;
	(void)reply_head_add_fields(&stream->trailer, fields);
	reply_head_add_bytes(&stream->trailer, "\r\n", 2);
	ledger_add(&memory_ledger, LEDGER_replies, stream->trailer.cap);
	return !stream->trailer.failed;
}

/* Turns n bytes of the block into a chunk. */
static void front_output_frame(struct front_exchange *fx, size_t n)
{
	struct front_stream *stream = fx->stream;
	char size[SIZE_BYTES + 1], *begin = stream->block + SIZE_BYTES,
	     *end = begin + n;
	bool last = stream->ended && !stream->failed;
	bool trailer = last && front_output_add_trailer(stream);

	if (n) {
		int len = snprintf(size, sizeof(size), "%zx\r\n", n);

		begin -= len;
		memcpy(begin, size, (size_t)len);
		end = mempcpy(end, "\r\n", 2);
	}
	if (last)
		end = mempcpy(end, "0\r\n\r\n", trailer ? 3 : 5);
	front_output_load(fx, begin, (size_t)(end - begin));
	if (trailer)
		front_output_load(fx, stream->trailer.text,
				  stream->trailer.len);
}

/* Fills the block of a stream. */
static void front_output_fill(struct front_exchange *fx)
{
	struct front_stream *stream = fx->stream;
	size_t n = 0, room = FRONT_BLOCK_BYTES - SIZE_BYTES - END_BYTES;

	while (n < room && !stream->ended && !stream->waits)
		n += front_stream_read(stream, stream->block + SIZE_BYTES + n,
				       room - n);
	if (stream->chunked) {
		if (n || (stream->ended && !stream->failed))
			front_output_frame(fx, n);
	} else if (n) {
		front_output_load(fx, stream->block + SIZE_BYTES, n);
	}
}

static bool front_output_is_sent(const struct front_exchange *fx)
{
	return fx->part == fx->nparts && !fx->file_left &&
	       (!fx->stream || fx->stream->ended) &&
	       !front_input_is_open(fx);
}

/* Collects what can go out in one call. *more: a file follows. */
static unsigned front_output_collect(struct front_conn *c,
				     struct iovec v[VECTOR], bool *more)
{
	unsigned n = 0;

	if (c->interim_at < c->interim.len)
		v[n++] = (struct iovec){ c->interim.text + c->interim_at,
					 c->interim.len - c->interim_at };
	*more = false;
	for (struct front_exchange *fx = c->out; fx && !*more; fx = fx->next) {
		if (fx->stream && !fx->stream->ended && !fx->stream->loaded)
			front_output_fill(fx);
		for (unsigned i = fx->part; i < fx->nparts; i++)
			v[n++] = fx->parts[i];
		*more = fx->file_left;
		if (fx->stream)
			break;
	}
	return n;
}

/* Takes what was sent off the first reply. Returns what is left of n. */
static size_t front_output_take(struct front_exchange *fx, size_t n)
{
	while (fx->part < fx->nparts && n >= fx->parts[fx->part].iov_len)
		n -= fx->parts[fx->part++].iov_len;
	if (fx->part < fx->nparts) {
		struct iovec *part = &fx->parts[fx->part];

		part->iov_base = (char *)part->iov_base + n;
		part->iov_len -= n;
		return 0;
	}
	fx->part = fx->nparts = 0;
	if (fx->stream)
		fx->stream->loaded = false;
	return n;
}

static size_t front_output_take_interim(struct front_conn *c, size_t n)
{
	size_t left = c->interim.len - c->interim_at;
	size_t taken = n < left ? n : left;

	if (!left)
		return n;
	c->interim_at += taken;
	if (taken == left) {
		reply_head_free(&c->interim);
		c->interim_at = 0;
	}
	return n - taken;
}

/* The first reply has gone out. */
static void front_output_finish(struct front_conn *c)
{
	struct front_exchange *fx = c->out;

	c->out = fx->next;
	if (!c->out)
		c->out_end = &c->out;
	c->nout--;
	if (fx->stream)
		c->streams = false;
	if (c->duplex == fx)
		front_input_discard_body(c);
	if (fx == c->tunnel)
		c->tunnel = NULL;
	if (fx->stream && fx->stream->failed) {
		front_exchange_end(fx, EXCHANGE_ABORTED);
		c->broken = true;
	} else {
		front_exchange_end(fx, EXCHANGE_DONE);
	}
}

/* n bytes have gone out, of whatever was first. */
static void front_output_advance(struct front_conn *c, size_t n)
{
	n = front_output_take_interim(c, n);
	while (c->out && !c->broken) {
		n = front_output_take(c->out, n);
		if (!front_output_is_sent(c->out))
			break;
		front_output_finish(c);
	}
	assert(!n || c->broken);
}

void front_output_return_queue(struct front_conn *c)
{
	if (c->queues_file)
		ledger_return(&memory_ledger, LEDGER_replies,
			      UNSENT_FILE_BYTES);
	c->queues_file = false;
}

/* How much the kernel may queue unsent: of a file, all of most bodies, as each
 * further call costs more than queuing does. It copies nothing, but what it has
 * may leave the store, so it is counted; half of all memory stays for others.
 */
static void front_output_set_unsent(struct front_conn *c, bool file)
{
	const int unsent = file ? UNSENT_FILE_BYTES : SERVER_UNSENT_BYTES;

	if (c->queues_file == file)
		return;
	if (!file)
		front_output_return_queue(c);
	else if (!ledger_take(&memory_ledger, LEDGER_replies, UNSENT_FILE_BYTES,
			      2 * memory_reserve()))
		return;
	c->queues_file = file;
	(void)setsockopt(c->base.fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent,
			 sizeof(unsent));
}

static ssize_t front_output_send_file(struct front_conn *c)
{
	struct front_exchange *fx = c->out;
	ssize_t n;

	if (fx->file_left > SERVER_UNSENT_BYTES)
		front_output_set_unsent(c, true);
	n = body_memory_send(c->base.fd, fx->file_at, fx->file_left);
	if (n > 0) {
		fx->file_at += n;
		fx->file_left -= (size_t)n;
		n = 0;
	}
	return n;
}

void front_output_block(struct front_conn *c)
{
	c->writable = false;
	if (c->base.sends && c->base.pace != PACE_NONE)
		return;
	c->base.sends = true;
	conn_pace_start(&c->base);
}

static size_t front_output_sum(const struct iovec *v, unsigned n)
{
	size_t sum = 0;

	while (n--)
		sum += v[n].iov_len;
	return sum;
}

/* Sends once. Returns whether there may be more to do. */
static bool front_output_step(struct front_conn *c)
{
	struct iovec v[VECTOR];
	bool more;
	unsigned nparts = front_output_collect(c, v, &more);
	ssize_t n = 0;

	if (nparts && !more)
		front_output_set_unsent(c, false);
	if (nparts)
		n = front_io_send(c, v, nparts, more);
	else if (c->out->file_left)
		n = front_output_send_file(c);
	else if (!front_output_is_sent(c->out))
		return false; /* its source has nothing now */
	if (n == -EAGAIN) {
		front_output_block(c);
		return false;
	}
	if (n < 0) {
		c->broken = true;
		return false;
	}
	if (!c->tls && (size_t)n < front_output_sum(v, nparts))
		front_output_block(c);
	front_output_advance(c, (size_t)n);
	return c->writable && !c->broken && front_output_waits(c);
}

bool front_output_is_starved(const struct front_conn *c)
{
	const struct front_exchange *fx = c->out;

	return fx && fx->stream && fx->stream->waits && fx->part == fx->nparts;
}

/* The pace of a client is not measured while there is nothing for it. */
static void front_output_rest(struct front_conn *c)
{
	if (!c->base.sends || !c->writable)
		return;
	c->base.sends = false;
	conn_set_deadline(&c->base, 0);
	if ((c->phase == FRONT_BODY && !c->base.held) ||
	    c->phase == FRONT_DISCARD)
		conn_pace_start(&c->base);
}

bool front_output_run(struct front_conn *c)
{
	unsigned nout = c->nout;
	int sends = 0;

	if (!c->writable)
		return false;
	while (!c->yields && front_output_step(c))
		c->yields = ++sends == SENDS;
	if (!c->broken && !c->yields)
		front_output_rest(c);
	return c->nout < nout;
}
