/*
 * The request of a fetch on its way: its head, and its body as it comes.
 *
 * Both are put together in a buffer that all fetches share, so that a small
 * body goes out with the head, by one call. What the connection does not take
 * is copied; nothing more is read until that is gone: so the slower one of
 * origin and client sets the pace.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/fetch/fetch_head.h"
#include "digestd/fetch/fetch_http.h"

enum {
	SENDS = 4,               /* of a buffer, before others have a turn */
	CHUNK_HEAD = 6,          /* "1f40\r\n": always four digits */
	CHUNK_REST = 2 + 5,      /* its end, and the last chunk */
	TRAILERS_MAX = FETCH_BUFFER_BYTES / 2 - CHUNK_REST,
	CHUNK_MAX = 0xffff,
	EARLY_REST_MAX = 65536,  /* is sent although nobody needs it */
};

/* Whether there may be more of the body now. */
static bool fetch_http_may_read(const struct transfer *f)
{
	switch (f->body.coding) {
	case BODY_COUNTED:
	case BODY_CHUNKED:
	case BODY_RAW:
		return !f->body.waits;
	case BODY_NONE:
	case BODY_LAST:
	case BODY_LATER:
	case BODY_ENDS:
		break;
	}
	return false;
}

/* What is being put together in the shared buffer. */
struct piece {
	char *at;
	size_t len, cap;
};

/* Reads some of the body to where there is room. Returns what read() does. */
static ssize_t fetch_http_read(struct transfer *f, char *to, size_t room)
{
	struct request_body *body = &f->body;
	ssize_t n;

	if (body->coding == BODY_COUNTED && (uint64_t)body->left < room)
		room = (size_t)body->left;
	transfer_calls(f, true);
	n = body->read(f->arg, to, room);
	transfer_calls(f, false);
	assert(n <= (ssize_t)room);
	body->waits = n == FETCH_MORE;
	return n;
}

static void fetch_http_add_bytes(struct transfer *f, struct piece *piece,
				 ssize_t n)
{
	piece->len += (size_t)n;
	if (f->body.coding == BODY_COUNTED) {
		f->body.left -= n;
		if (!f->body.left)
			f->body.coding = BODY_NONE;
	}
}

static void fetch_http_add_chunk(struct piece *piece, ssize_t n)
{
	static const char digits[] = "0123456789abcdef";
	char *at = piece->at + piece->len;

	for (int i = 0; i < 4; i++)
		at[i] = digits[(size_t)n >> (12 - 4 * i) & 15];
	memcpy(at + 4, "\r\n", 2);
	memcpy(at + CHUNK_HEAD + n, "\r\n", 2);
	piece->len += CHUNK_HEAD + (size_t)n + 2;
}

/* The trailers of the upload; null: there are none that are sent. */
static const struct fields *fetch_http_trailers(struct transfer *f)
{
	const struct fields *trailers;
	size_t len = 0;

	if (!f->body.trailers)
		return NULL;
	f->calling = true;
	trailers = f->body.trailers(f->arg);
	f->calling = false;
	if (trailers)
		len = fetch_head_fields_size(trailers);
	return len && len <= TRAILERS_MAX ? trailers : NULL;
}

/* The last chunk, with what there is behind it, if there is room. */
static void fetch_http_add_last(struct transfer *f, struct piece *piece)
{
	const struct fields *trailers = fetch_http_trailers(f);
	size_t room = piece->cap - piece->len;
	char *at = piece->at + piece->len;

	if (trailers && fetch_head_fields_size(trailers) + CHUNK_REST > room)
		return; /* the next buffer has it */
	at = mempcpy(at, "0\r\n", 3);
	if (trailers)
		at = fetch_head_write_fields(at, trailers);
	at = mempcpy(at, "\r\n", 2);
	piece->len = (size_t)(at - piece->at);
	f->body.coding = BODY_NONE;
}

/* The body has ended. Returns whether that is where it should. */
static bool fetch_http_end_body(struct transfer *f, struct piece *piece)
{
	switch (f->body.coding) {
	case BODY_CHUNKED:
		f->body.coding = BODY_LAST;
		fetch_http_add_last(f, piece);
		return true;
	case BODY_RAW:
		f->body.coding = BODY_ENDS;
		return true;
	case BODY_NONE:
	case BODY_COUNTED:
	case BODY_LAST:
	case BODY_LATER:
	case BODY_ENDS:
		break;
	}
	return false;
}

/* Puts as much of the body into the buffer as there is. Returns false when it
 * will never be whole. */
static bool fetch_http_fill(struct transfer *f, struct piece *piece)
{
	bool chunked = f->body.coding == BODY_CHUNKED;
	size_t extra = chunked ? CHUNK_HEAD + CHUNK_REST : 0;

	if (f->body.coding == BODY_LAST)
		fetch_http_add_last(f, piece);
	while (fetch_http_may_read(f) && piece->cap - piece->len > extra) {
		size_t room = piece->cap - piece->len - extra;
		char *to = piece->at + piece->len + (chunked ? CHUNK_HEAD : 0);
		ssize_t n = fetch_http_read(f, to,
					    room < CHUNK_MAX ? room :
							       CHUNK_MAX);

		if (f->gone || n == FETCH_GIVE_UP ||
		    (n == FETCH_EOF && !fetch_http_end_body(f, piece)))
			return false;
		if (n > 0 && chunked)
			fetch_http_add_chunk(piece, n);
		else if (n > 0)
			fetch_http_add_bytes(f, piece, n);
	}
	return true;
}

/* What goes out next: what is left over, and more of the body behind it where
 * there is some. Returns false when the body will never be whole. */
static bool fetch_http_prepare(struct transfer *f, struct piece *piece)
{
	struct fetch_means *means = f->means;
	size_t len = f->unsent.len;

	*piece = (struct piece){ (char *)(uintptr_t)f->unsent.at, len, len };
	if ((!fetch_http_may_read(f) && f->body.coding != BODY_LAST) ||
	    len > sizeof(means->out) / 2)
		return true;
	if (len)
		memcpy(means->out, f->unsent.at, len);
	*piece = (struct piece){ means->out, len, sizeof(means->out) };
	return fetch_http_fill(f, piece);
}

/* Keeps what the connection did not take. Returns 0 or -ENOMEM. */
static int fetch_http_keep_rest(struct transfer *f, const struct piece *piece,
				size_t sent)
{
	size_t left = piece->len - sent;
	char *rest = f->body.rest;

	if (!piece->len)
		return 0;
	if (piece->at == f->means->out) {
		rest = left ? malloc(left) : NULL;
		if (left && !rest)
			return -ENOMEM;
		if (left)
			memcpy(rest, piece->at + sent, left);
		if (left || f->body.rest)
			transfer_set_rest(f, rest, left);
		f->unsent = (struct response_bytes){ rest, left };
		return 0;
	}
	f->unsent = (struct response_bytes){ piece->at + sent, left };
	if (!left && rest)
		transfer_set_rest(f, NULL, 0);
	return 0;
}

/* The server has something to do, or the client has. */
static void fetch_http_await(struct transfer *f)
{
	if (f->headers_done)
		return;
	if (f->body.waits && !f->unsent.len && !pool_holds(f->conn))
		loop_timer_clear(f->means->loop, &f->pace);
	else
		transfer_await_header(f);
}

/* No more of it is sent. What the server said before may still come. */
static void fetch_http_cease(struct transfer *f)
{
	f->body.coding = BODY_NONE;
	f->body.waits = false;
	f->unsent = (struct response_bytes){ 0 };
	f->cut = true;
	fetch_http_await(f);
}

/* One buffer's worth. *more: another one may go. */
static enum progress fetch_http_send_piece(struct transfer *f, bool *more)
{
	struct piece piece;
	ssize_t n;

	*more = false;
	if (!fetch_http_prepare(f, &piece))
		return transfer_break(f);
	n = piece.len ? pool_send(f->conn, piece.at, piece.len) : 0;
	if (n < 0 && n != -EAGAIN) {
		fetch_http_cease(f);
		return GOES_ON;
	}
	if (n > 0)
		f->moved += (uint64_t)n;
	*more = n > 0 && (size_t)n == piece.len;
	if (fetch_http_keep_rest(f, &piece, n > 0 ? (size_t)n : 0))
		return transfer_finish(f, FETCH_NOMEM, false);
	if (f->body.read && n > 0)
		fetch_http_await(f);
	return GOES_ON;
}

enum progress transfer_send(struct transfer *f)
{
	enum progress progress = GOES_ON;
	bool more = true;

	for (int i = 0; i < SENDS && more && progress == GOES_ON; i++)
		progress = fetch_http_send_piece(f, &more);
	if (progress != GOES_ON)
		return progress;
	if (more)
		loop_defer(f->means->loop, &f->send);
	if (pool_holds(f->conn) && pool_flush(f->conn) == -EPIPE)
		fetch_http_cease(f);
	if (f->body.coding == BODY_ENDS && !f->unsent.len &&
	    !pool_holds(f->conn)) {
		pool_end(f->conn);
		f->body.coding = BODY_NONE;
	}
	if (f->whole && (f->cut || transfer_is_sent(f)))
		return transfer_finish(f, FETCH_COMPLETE, f->keeps);
	if (f->tunnel && f->half && f->body.coding == BODY_NONE)
		return f->cut ? transfer_break(f) :
				transfer_finish(f, FETCH_COMPLETE, false);
	/* who has taken all of it waits for the caller; else it must go on */
	if (!f->headers_done && ((f->body.waits && !f->unsent.len) ||
				 !f->pace.link))
		fetch_http_await(f);
	return transfer_watch(f);
}

bool transfer_is_sent(const struct transfer *f)
{
	return !f->cut && !f->unsent.len && !pool_holds(f->conn) &&
	       (f->body.coding == BODY_NONE || f->body.coding == BODY_LATER);
}

void transfer_answer_early(struct transfer *f)
{
	bool refused = f->response.status >= 300;
	bool little = f->body.coding == BODY_NONE ||
		      (f->body.coding == BODY_COUNTED &&
		       f->body.left <= EARLY_REST_MAX);

	if (!transfer_is_sent(f) && refused && (!little || !f->response.keep))
		fetch_http_cease(f);
}
