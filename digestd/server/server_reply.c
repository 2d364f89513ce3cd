/*
 * Replies of the server: from memory, or read from a source.
 */
#include "config.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "digestd/os/memory.h"
#include "digestd/server/server_conn.h"

/* What the library may hold of a streamed body at once. */
enum { STREAM_BLOCK_BYTES = 32768 };

struct shared_reply {
	struct MHD_Response *response;
	unsigned status;
	unsigned users; /* exchanges that it is the reply of, and its owner */
	size_t file_bytes; /* of a copy in a file, and who has the original, */
	void (*release)(void *arg); /* which is held: replies are found by */
	void *arg;		    /* its address; null: there is no copy */
};

/* A streamed reply. It may outlive its exchange, but is not read then. */
struct stream {
	struct exchange *x;
	struct body_source source;
};

/* Those that the library writes. */
bool server_writes_field(const char *name)
{
	static const char *const own[] = {
		"Connection", "Content-Length", "Keep-Alive",
		"Proxy-Connection", "Trailer", "Transfer-Encoding", "Upgrade",
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		if (field_name_is(name, own[i]))
			return true;
	}
	return false;
}

/* Empty values are left out: the library refuses them. */
static int server_reply_add_fields(struct MHD_Response *response,
				   const struct fields *fields)
{
	for (size_t i = 0; i < fields_count(fields); i++) {
		const struct field *f = fields_at(fields, i);

		if (server_writes_field(f->name) || !*f->value)
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
	struct conn *c = exchange_conn(x);

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
	if (c->server->draining || x->refused)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION,
					"close");
	x->status = status;
	x->response = response;
	conn_resume(c);
}

void exchange_drop_response(struct exchange *x)
{
	if (x->shared)
		shared_reply_unref(x->shared);
	else if (x->response)
		MHD_destroy_response(x->response);
	x->shared = NULL;
	x->response = NULL;
}

enum MHD_Result exchange_queue(struct exchange *x)
{
	enum MHD_Result queued;

	assert(x->response);
	conn_pace_start(exchange_conn(x));
	queued = MHD_queue_response(exchange_conn(x)->mhd, x->status,
				    x->response);
	if (!x->shared) /* which is used, and counted, until it has gone out */
		exchange_drop_response(x);
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

void exchange_reply(struct exchange *x, unsigned status,
		    const struct fields *fields, const void *body, size_t len,
		    void (*release)(void *arg), void *arg)
{
	const struct body_memory memory = { body, len, release, arg, false };

	assert(status >= 200 && status <= 999);
	assert(body || !len);
	if (status == 304 && !len) { /* a length of 0 would be the 200's */
		struct body_source none = { .release = release, .arg = arg };

		exchange_reply_stream(x, status, fields, -1, &none);
		return;
	}
	server_reply_give(x, status, fields, server_reply_from_memory(&memory));
}

/* A copy in a file of its own, in memory; null: that did not work. */
static struct MHD_Response *
server_reply_from_copy(const struct body_memory *body)
{
	struct MHD_Response *response = NULL;
	int fd = memfd_create("reply", MFD_CLOEXEC);

	if (fd < 0)
		return NULL;
	if (write(fd, body->data, body->len) == (ssize_t)body->len)
		response = MHD_create_response_from_fd_at_offset64(body->len,
								   fd, 0);
	if (!response)
		close(fd);
	return response;
}

struct shared_reply *shared_reply_new(unsigned status,
				      const struct fields *fields,
				      const struct body_memory *body)
{
	struct shared_reply *reply = malloc(sizeof(*reply));
	bool copies = body->to_file &&
		      ledger_take(&memory_ledger, LEDGER_files, body->len,
				  memory_reserve());
	struct MHD_Response *response =
		copies ? server_reply_from_copy(body) : NULL;
	size_t file_bytes = response ? body->len : 0;
	void (*release)(void *arg) = response ? body->release : NULL;

	assert(status >= 200 && status <= 999);
	assert(body->data || !body->len);
	if (copies && !response)
		ledger_return(&memory_ledger, LEDGER_files, body->len);
	if (!response)
		response = server_reply_from_memory(body);
	if (response && fields && server_reply_add_fields(response, fields)) {
		MHD_destroy_response(response);
		response = NULL;
	}
	if (reply && response) {
		*reply = (struct shared_reply){response,   status,  1,
					       file_bytes, release, body->arg};
		return reply;
	}
	ledger_return(&memory_ledger, LEDGER_files, file_bytes);
	if (response)
		MHD_destroy_response(response);
	if (release)
		release(body->arg);
	free(reply);
	return NULL;
}

void shared_reply_unref(struct shared_reply *reply)
{
	if (!reply || --reply->users)
		return;
	MHD_destroy_response(reply->response);
	if (reply->release)
		reply->release(reply->arg);
	ledger_return(&memory_ledger, LEDGER_files, reply->file_bytes);
	free(reply);
}

bool exchange_reply_shared(struct exchange *x, struct shared_reply *reply)
{
	struct conn *c = exchange_conn(x);

	assert(reply->users);
	if (c->server->draining || x->refused)
		return false;
	if (x->aborted) /* as in server_reply_give() */
		return true;
	assert(!x->answered);
	x->answered = true;
	x->status = reply->status;
	x->response = reply->response;
	x->shared = reply;
	reply->users++;
	conn_resume(c);
	return true;
}

void exchange_reply_copy(struct exchange *x, unsigned status,
			 const struct fields *fields, const void *body,
			 size_t len)
{
	const struct early_reply early = {
		.status = status, .fields = fields, .body = body, .len = len,
	};

	assert(status >= 200 && status <= 999);
	assert(body || !len);
	if (exchange_reply_early(x, &early))
		return;
	server_reply_give(
		x, status, fields,
		MHD_create_response_from_buffer(len, (void *)(uintptr_t)body,
						MHD_RESPMEM_MUST_COPY));
}

void exchange_reply_error(struct exchange *x, unsigned status,
			  const struct fields *fields)
{
	struct MHD_Response *response;
	char text[128];
	int len = snprintf(text, sizeof(text), "%u %s\n", status,
			   MHD_get_reason_phrase_for(status));
	const struct early_reply early = {
		.status = status, .fields = fields, .type = "text/plain",
		.body = text, .len = (size_t)len,
	};

	assert(status >= 400 && status <= 599);
	if (exchange_reply_early(x, &early))
		return;
	response = MHD_create_response_from_buffer((size_t)len, text,
						   MHD_RESPMEM_MUST_COPY);
	if (response)
		MHD_add_response_header(response,
					MHD_HTTP_HEADER_CONTENT_TYPE,
					early.type);
	server_reply_give(x, status, fields, response);
}

void exchange_refuse(struct exchange *x, unsigned status)
{
	struct fields fields;

	assert(!x->answered);
	x->refused = true;
	/* a cache may keep some of these statuses by itself, as 414 (RFC 9110,
	 * 15.1); without memory the field is missing, the refusal is not */
	fields_init(&fields);
	(void)fields_borrow(&fields, "Cache-Control", "no-store");
	exchange_reply_error(x, status, &fields);
	fields_free(&fields);
}

static ssize_t server_reply_read_stream(void *cls, uint64_t pos, char *buf,
					size_t cap)
{
	struct stream *stream = cls;
	struct conn *c = exchange_conn(stream->x);
	ssize_t n;

	(void)pos;
	if (c->x.aborted)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	n = stream->source.read(stream->source.arg, buf, cap);
	if (n > 0)
		return n;
	if (n == BODY_WAIT) {
		conn_set_deadline(c, 0); /* it is not the client that waits */
		conn_suspend(c);
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
server_reply_make_stream(struct exchange *x, int64_t body_len,
			 const struct body_source *source)
{
	struct stream *stream = malloc(sizeof(*stream));
	struct MHD_Response *response;

	if (!stream)
		return NULL;
	stream->x = x;
	stream->source = *source;
	response = MHD_create_response_from_callback(
		body_len < 0 ? MHD_SIZE_UNKNOWN : (uint64_t)body_len,
		STREAM_BLOCK_BYTES, server_reply_read_stream, stream,
		server_reply_free_stream);
	if (response)
		ledger_add(&memory_ledger, LEDGER_replies, STREAM_BLOCK_BYTES);
	else
		free(stream);
	return response;
}

bool exchange_is_bodiless(const struct exchange *x, unsigned status)
{
	return status == 204 || status == 304 ||
	       !strcasecmp(x->request.method, "HEAD");
}

/*
 * Behind a header without a body whose length is unknown, the library sends a
 * last chunk: bytes that a client would take for the beginning of its next
 * response. It knows no other way to leave the chunk out than to close the
 * connection.
 */
static void
server_reply_exchange_leave_out_chunks(const struct exchange *x,
				       unsigned status,
				       struct MHD_Response *response)
{
	if (response && exchange_is_bodiless(x, status))
		MHD_set_response_options(response,
					 MHD_RF_HTTP_1_0_COMPATIBLE_STRICT,
					 MHD_RO_END);
}

void exchange_reply_stream(struct exchange *x, unsigned status,
			   const struct fields *fields, int64_t body_len,
			   const struct body_source *source)
{
	struct MHD_Response *response;

	assert(status >= 200 && status <= 999);
	assert(body_len >= -1);
	assert(source->read || exchange_is_bodiless(x, status));
	response = server_reply_make_stream(x, body_len, source);
	if (body_len < 0)
		server_reply_exchange_leave_out_chunks(x, status, response);
	if (!response && source->release)
		source->release(source->arg);
	server_reply_give(x, status, fields, response);
}

void exchange_wake(struct exchange *x)
{
	struct conn *c = exchange_conn(x);

	assert(x->begun);
	if (!x->suspended || !x->answered)
		return;
	conn_pace_start(c);
	conn_resume(c);
}
