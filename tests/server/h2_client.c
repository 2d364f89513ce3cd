/*
 * The client.
 */
#include "tests/server/h2_client.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/server/served.h"
#include "tests/unit.h"

enum { PATIENCE_MS = 20000, FIELDS = 1200 };

struct h2_answer *h2_client_answer(struct h2_client *c, int32_t id)
{
	assert_true(id > 0 && id / 2 < H2_ANSWERS);
	return &c->answers[id / 2];
}

/* What comes */

static void note(char *text, const void *data, size_t len)
{
	size_t had = strlen(text);

	if (len > H2_ANSWER_BYTES - 1 - had)
		len = H2_ANSWER_BYTES - 1 - had;
	memcpy(text + had, data, len);
	text[had + len] = '\0';
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
		     const uint8_t *name, size_t name_len, const uint8_t *value,
		     size_t value_len, uint8_t flags, void *arg)
{
	struct h2_answer *a = h2_client_answer(arg, frame->hd.stream_id);

	(void)session;
	(void)flags;
	if (name_len == 7 && !memcmp(name, ":status", 7)) {
		a->status = (unsigned)atoi((const char *)value);
		a->interims += a->status < 200;
	} else {
		note(a->fields, name, name_len);
		note(a->fields, ": ", 2);
		note(a->fields, value, value_len);
		note(a->fields, "\n", 1);
	}
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id,
		   const uint8_t *data, size_t len, void *arg)
{
	struct h2_answer *a = h2_client_answer(arg, id);

	(void)flags;
	note(a->body, data, len);
	if (a->expected)
		assert_memory_equal(data, a->expected + a->len, len);
	a->len += len;
	/* of a slow one this is all: that of the stream stays closed */
	nghttp2_session_consume_connection(session, len);
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame,
		    void *arg)
{
	struct h2_client *c = arg;

	(void)session;
	if (frame->hd.type == NGHTTP2_PING) {
		c->pongs += frame->hd.flags & NGHTTP2_FLAG_ACK;
	} else if (frame->hd.type == NGHTTP2_GOAWAY) {
		c->goaways++;
		c->error = frame->goaway.error_code;
		c->last_id = frame->goaway.last_stream_id;
	} else if ((frame->hd.type == NGHTTP2_DATA ||
		    frame->hd.type == NGHTTP2_HEADERS) &&
		   frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
		h2_client_answer(c, frame->hd.stream_id)->ended = true;
	}
	return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t error,
		    void *arg)
{
	struct h2_answer *a = h2_client_answer(arg, id);

	(void)session;
	a->closed = true;
	a->error = error;
	return 0;
}

/* What goes */

static void submit_trailers(nghttp2_session *session, int32_t id,
			    const struct h2_answer *a)
{
	nghttp2_nv nv[FIELDS];
	size_t n = a->ntrailers ? a->ntrailers : 1;

	assert_true(n <= FIELDS);
	for (size_t i = 0; i < n; i++)
		nv[i] = *a->trailer;
	nghttp2_submit_trailer(session, id, nv, n);
}

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *buf,
			 size_t cap, uint32_t *flags,
			 nghttp2_data_source *source, void *arg)
{
	struct h2_answer *a = h2_client_answer(arg, id);
	size_t n = a->to_send < cap ? a->to_send : cap;

	(void)source;
	if (!n && a->stuck)
		return NGHTTP2_ERR_DEFERRED;
	memset(buf, 'u', n);
	a->to_send -= n;
	if (!a->to_send && !a->stuck) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (a->trailer) {
			*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
			submit_trailers(session, id, a);
		}
	}
	return (ssize_t)n;
}

static nghttp2_nv pair(const char *name, const char *value)
{
	return (nghttp2_nv){
		.name = (uint8_t *)(uintptr_t)name,
		.namelen = strlen(name),
		.value = (uint8_t *)(uintptr_t)value,
		.valuelen = strlen(value),
		.flags = NGHTTP2_NV_FLAG_NO_COPY_NAME |
			 NGHTTP2_NV_FLAG_NO_COPY_VALUE,
	};
}

static size_t add_fields(nghttp2_nv *nv, size_t n,
			 const struct h2_field *fields)
{
	for (; fields && fields->name; fields++) {
		assert_true(n < FIELDS);
		nv[n++] = pair(fields->name, fields->value);
	}
	return n;
}

static int32_t submit(struct h2_client *c, const nghttp2_nv *nv, size_t n,
		      size_t body)
{
	const nghttp2_data_provider from = { .read_callback = read_body };
	int32_t id = nghttp2_submit_request(c->session, NULL, nv, n,
					    body ? &from : NULL, NULL);

	assert_true(id > 0);
	h2_client_answer(c, id)->to_send = body;
	return id;
}

int32_t h2_client_ask(struct h2_client *c, const char *method, const char *path,
		      const struct h2_field *fields, size_t body)
{
	nghttp2_nv nv[FIELDS] = {
		pair(":method", method), pair(":scheme", "http"),
		pair(":authority", "h"), pair(":path", path),
	};

	return submit(c, nv, add_fields(nv, 4, fields), body);
}

int32_t h2_client_ask_raw(struct h2_client *c, const struct h2_field *fields)
{
	nghttp2_nv nv[FIELDS];

	return submit(c, nv, add_fields(nv, 0, fields), 0);
}

/* The connection */

void h2_client_open(struct h2_client *c, bool slow)
{
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	const int yes = 1;

	memset(c, 0, sizeof(*c));
	c->fd = dial();
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	assert_int_equal(nghttp2_session_callbacks_new(&callbacks), 0);
	assert_int_equal(nghttp2_option_new(&option), 0);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks,
								  on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks,
							     on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks,
							       on_close);
	nghttp2_option_set_no_auto_window_update(option, slow);
	nghttp2_option_set_no_http_messaging(option, 1);
	/* until the server says what it takes */
	nghttp2_option_set_peer_max_concurrent_streams(option, H2_ANSWERS);
	nghttp2_option_set_max_send_header_block_length(option, 1 << 24);
	assert_int_equal(nghttp2_session_client_new2(&c->session, callbacks, c,
						     option), 0);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_option_del(option);
	assert_int_equal(nghttp2_submit_settings(c->session, 0, NULL, 0), 0);
}

void h2_client_close(struct h2_client *c)
{
	nghttp2_session_del(c->session);
	close(c->fd);
}

static void send_all(struct h2_client *c, const void *data, size_t len)
{
	const char *next = data;

	if (c->collects) {
		assert_true(c->ncollected + len <= H2_COLLECTED);
		memcpy(c->collected + c->ncollected, data, len);
		c->ncollected += len;
		return;
	}
	while (len && !c->over) {
		ssize_t n = send(c->fd, next, len, MSG_NOSIGNAL);

		if (n < 0) {
			c->over = true;
			return;
		}
		next += n;
		len -= (size_t)n;
	}
}

static void send_frames(struct h2_client *c)
{
	const uint8_t *data;
	ssize_t n;

	while ((n = nghttp2_session_mem_send(c->session, &data)) > 0)
		send_all(c, data, (size_t)n);
	assert_int_equal(n, 0);
}

void h2_client_collect(struct h2_client *c, bool collects)
{
	send_frames(c);
	c->collects = collects;
	if (!collects)
		send_all(c, c->collected, c->ncollected);
	c->ncollected = 0;
}

void h2_client_send_frame(struct h2_client *c, unsigned type, unsigned flags,
			  int32_t id, const void *payload, size_t len)
{
	uint8_t header[9] = {
		(uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len,
		(uint8_t)type, (uint8_t)flags, (uint8_t)(id >> 24),
		(uint8_t)(id >> 16), (uint8_t)(id >> 8), (uint8_t)id,
	};

	send_frames(c);
	send_all(c, header, sizeof(header));
	send_all(c, payload, len);
}

/* Returns whether something has come, or the end. */
static bool receive(struct h2_client *c, int timeout_ms)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	static uint8_t buffer[65536];
	ssize_t n;

	if (c->over || poll(&p, 1, timeout_ms) <= 0)
		return false;
	n = recv(c->fd, buffer, sizeof(buffer), 0);
	if (n <= 0)
		c->over = true;
	else
		assert_int_equal(nghttp2_session_mem_recv(c->session, buffer,
							  (size_t)n), n);
	return true;
}

void h2_client_run(struct h2_client *c, int quiet_ms)
{
	do
		send_frames(c);
	while (receive(c, quiet_ms));
}

struct h2_answer *h2_client_wait(struct h2_client *c, int32_t id)
{
	struct h2_answer *a = h2_client_answer(c, id);

	send_frames(c);
	while (!a->closed && !c->over) {
		assert_true(receive(c, PATIENCE_MS));
		send_frames(c);
	}
	return a;
}

void h2_client_wait_over(struct h2_client *c)
{
	send_frames(c);
	while (!c->over)
		assert_true(receive(c, PATIENCE_MS));
}
