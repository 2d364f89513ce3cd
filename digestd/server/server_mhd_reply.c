/*
 * Replies over libmicrohttpd: from memory, or read from a source.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/os/memory.h"
#include "digestd/server/server_mhd.h"
#include "digestd/server/shared_reply.h"

/* What the library may hold of a streamed body at once. */
enum { STREAM_BLOCK_BYTES = 32768 };

/* A streamed reply. It may outlive its exchange, but is not read then. */
struct stream {
	struct exchange *x;
	struct body_source source;
};

/* Empty values are left out: the library refuses them. */
static int server_reply_add_fields(struct MHD_Response *response,
				   const struct fields *fields)
{
	for (size_t i = 0; i < fields_count(fields); i++) {
		const struct field *f = fields_at(fields, i);

		if (server_writes_field(f->name, f->name_len) || !*f->value)
			continue;
		if (MHD_add_response_header(response, f->name, f->value) !=
		    MHD_YES)
			return -1;
	}
	return 0;
}

/*
 * Takes `response` (null: out of memory) as the exchange's reply; it goes out
 * in the library's next call, which is brought about here when it waits.
 */
static void server_reply_give(struct exchange *x, unsigned status,
			      const struct fields *fields,
			      struct MHD_Response *response)
{
	struct mhd_conn *c = exchange_mhd_conn(x);

	if (x->aborted) { /* the client has left, and on_done() is to come */
		if (response)
			MHD_destroy_response(response);
		return;
	}
	assert(!x->answered);
	x->answered = true;
	if (response && fields && server_reply_add_fields(response, fields)) {
		MHD_destroy_response(response);
		response = NULL;
	}
	if (!response) {
		exchange_abort(x);
		return;
	}
	if (c->base.server->draining || x->refused)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION,
					"close");
	c->status = status;
	c->response = response;
	mhd_conn_resume(c);
}

void mhd_conn_drop_response(struct mhd_conn *c)
{
	if (c->shared)
		shared_reply_unref(c->shared);
	else if (c->response)
		MHD_destroy_response(c->response);
	c->shared = NULL;
	c->response = NULL;
}

enum MHD_Result mhd_conn_queue(struct mhd_conn *c)
{
	enum MHD_Result queued;

	assert(c->response);
	c->base.sends = true;
	conn_pace_start(&c->base);
	queued = MHD_queue_response(c->mhd, c->status, c->response);
	if (!c->shared) /* which is used, and counted, until it has gone out */
		mhd_conn_drop_response(c);
	return queued;
}

/* The release of a body that needs none. */
static void server_reply_keep(void *arg)
{
	(void)arg;
}

static struct MHD_Response *
server_reply_from_memory(const struct body_memory *body)
{
	struct MHD_Response *response;

	/* the library takes it as writable, but only reads it */
	response = MHD_create_response_from_buffer_with_free_callback_cls(
		body->len, (void *)(uintptr_t)body->data,
		body->release ? body->release : server_reply_keep, body->arg);
	if (!response && body->release)
		body->release(body->arg);
	return response;
}

void mhd_reply_memory(struct exchange *x, const struct reply_memory *reply)
{
	if (reply->status == 304 && !reply->body.len) {
		/* a length of 0 would be the 200's */
		const struct body_source none = {
			.release = reply->body.release, .arg = reply->body.arg,
		};
		const struct reply_stream empty = { 304, reply->fields, -1,
						    &none };

		mhd_reply_stream(x, &empty);
		return;
	}
	server_reply_give(x, reply->status, reply->fields,
			  server_reply_from_memory(&reply->body));
}

static void server_reply_destroy(void *response)
{
	MHD_destroy_response(response);
}

/* Adds the fields of a shared reply, from its lines; changes the copy. */
static int server_reply_add_lines(struct MHD_Response *response, char *at)
{
	at = strstr(at, "\r\n") + 2;
	while (*at) {
		char *value = strstr(at, ": "), *end = strstr(value, "\r\n");

		*value = *end = '\0';
		if (!server_writes_field(at, strlen(at)) &&
		    MHD_add_response_header(response, at, value + 2) != MHD_YES)
			return -1;
		at = end + 2;
	}
	return 0;
}

/* The body of a shared reply is held by that itself. */
static struct MHD_Response *
server_reply_from_shared(const struct shared_reply *reply)
{
	const struct body_memory body = { .data = reply->body.data,
					  .len = reply->body.len };

	return server_reply_from_memory(&body);
}

static struct MHD_Response *server_reply_make_shared(struct shared_reply *reply)
{
	char *lines = strndup(reply->head.text, reply->head.len);
	struct MHD_Response *response =
		lines ? server_reply_from_shared(reply) : NULL;

	if (response && server_reply_add_lines(response, lines)) {
		MHD_destroy_response(response);
		response = NULL;
	}
	free(lines);
	reply->made = response;
	reply->unmake = server_reply_destroy;
	return response;
}

bool mhd_reply_shared(struct exchange *x, struct shared_reply *reply)
{
	struct mhd_conn *c = exchange_mhd_conn(x);

	if (c->base.server->draining || x->refused)
		return false;
	if (!reply->made && !server_reply_make_shared(reply))
		return false;
	if (x->aborted) /* as in server_reply_give() */
		return true;
	assert(!x->answered);
	x->answered = true;
	c->status = reply->status;
	c->response = reply->made;
	c->shared = shared_reply_ref(reply);
	mhd_conn_resume(c);
	return true;
}

void mhd_reply_text(struct exchange *x, const struct reply_text *reply)
{
	struct MHD_Response *response;

	response = MHD_create_response_from_buffer(
		reply->len, (void *)(uintptr_t)reply->body,
		MHD_RESPMEM_MUST_COPY);
	if (response && reply->type)
		MHD_add_response_header(response,
					MHD_HTTP_HEADER_CONTENT_TYPE,
					reply->type);
	server_reply_give(x, reply->status, reply->fields, response);
}

static ssize_t server_reply_read_stream(void *cls, uint64_t pos, char *buf,
					size_t cap)
{
	struct stream *stream = cls;
	struct mhd_conn *c = exchange_mhd_conn(stream->x);
	ssize_t n;

	(void)pos;
	if (c->x.aborted)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	n = stream->source.read(stream->source.arg, buf, cap);
	if (n > 0)
		return n;
	if (n == BODY_WAIT) {
		/* it is not the client that waits */
		conn_set_deadline(&c->base, 0);
		mhd_conn_suspend(c);
		return 0;
	}
	return n == BODY_END ? MHD_CONTENT_READER_END_OF_STREAM :
			       MHD_CONTENT_READER_END_WITH_ERROR;
}

static void server_reply_free_stream(void *cls)
{
	struct stream *stream = cls;

	if (stream->source.release)
		stream->source.release(stream->source.arg);
	ledger_return(&memory_ledger, LEDGER_replies, STREAM_BLOCK_BYTES);
	free(stream);
}

static struct MHD_Response *
server_reply_make_stream(struct exchange *x, const struct reply_stream *reply)
{
	struct stream *stream = malloc(sizeof(*stream));
	struct MHD_Response *response;

	if (!stream)
		return NULL;
	stream->x = x;
	stream->source = *reply->source;
	response = MHD_create_response_from_callback(
		reply->body_len < 0 ? MHD_SIZE_UNKNOWN :
				      (uint64_t)reply->body_len,
		STREAM_BLOCK_BYTES, server_reply_read_stream, stream,
		server_reply_free_stream);
	if (response)
		ledger_add(&memory_ledger, LEDGER_replies, STREAM_BLOCK_BYTES);
	else
		free(stream);
	return response;
}

/*
 * Behind a header without a body whose length is unknown, the library sends a
 * last chunk: bytes that a client would take for the beginning of its next
 * response. It knows no other way to leave the chunk out than to close the
 * connection.
 */
static void server_reply_leave_out_chunks(const struct exchange *x,
					  unsigned status,
					  struct MHD_Response *response)
{
	if (response && exchange_is_bodiless(x, status))
		MHD_set_response_options(response,
					 MHD_RF_HTTP_1_0_COMPATIBLE_STRICT,
					 MHD_RO_END);
}

void mhd_reply_stream(struct exchange *x, const struct reply_stream *reply)
{
	const struct body_source *source = reply->source;
	struct MHD_Response *response = server_reply_make_stream(x, reply);

	if (reply->body_len < 0)
		server_reply_leave_out_chunks(x, reply->status, response);
	if (!response && source->release)
		source->release(source->arg);
	server_reply_give(x, reply->status, reply->fields, response);
}

void mhd_wake(struct exchange *x)
{
	struct mhd_conn *c = exchange_mhd_conn(x);

	if (!c->suspended)
		return;
	conn_pace_start(&c->base);
	mhd_conn_resume(c);
}
