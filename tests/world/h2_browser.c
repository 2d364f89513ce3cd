/*
 * Who comes to the gates: connections of HTTP/2, by nghttp2, each with many
 * requests of clients as its streams.
 *
 * A client has an exchange of the world with us, a visit. Its bytes are taken
 * from their stream's window when the client has taken them, and not before.
 */
#include "tests/world/h2_gate.h"

#include <assert.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/fields.h"
#include "cachesim/world/nodes.h"
#include "cachesim/world/wire.h"
#include "cachesim/world/world.h"
#include "tests/world/h2_gate_inside.h"

enum {
	BROWSER_NV = 32,           /* fields of a request */
	BROWSER_UPLOAD_BYTES = 1024,
	BROWSER_IDLE_US = 100000000, /* a connection is not used after that */
	BROWSER_CUT_US = 500000,   /* a cut comes within this time */
};

struct visit {
	struct browser *b; /* null: its stream has ended */
	int32_t id;
	struct wire *wire; /* to the client */
	unsigned node, status;
	struct fields fields; /* of the response */
	bool head_sent, whole; /* all of the response has come */
	bool end_sent, heard;  /* heard: all of the request */
	char up[BROWSER_UPLOAD_BYTES];
	size_t up_len;
	bool up_full;
	char *down; /* what the client has not taken */
	size_t down_len, down_cap;
	struct world_event over;
	struct visit *next, **link;
};

struct browser {
	unsigned node;
	struct wire *wire;
	nghttp2_session *session;
	unsigned streams, visits; /* now; ever */
	int64_t used_us;
	bool retires;
	char *out; /* what the connection has no room for */
	size_t out_len, out_at;
	struct world_event turn, cut;
	struct browser *next, **link;
};

static struct {
	struct h2_gate_plan plan;
	bool calm;
	unsigned nnodes;
	struct wire_listener listeners[NODES_MAX];
	struct browser *browsers;
	struct visit *visits;
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *options;
	struct h2_gate_count count;
} browsers;

const struct h2_gate_count *h2_gate_count(void)
{
	return &browsers.count;
}

const char *h2_gate_name(unsigned node)
{
	static char names[NODES_MAX][16];

	snprintf(names[node], sizeof(names[node]), "h2-%u", node);
	return names[node];
}

static void *browser_new_memory(size_t len)
{
	void *p = calloc(1, len);

	if (!p)
		world_fail("the world itself is out of memory");
	return p;
}

/* Connections */

static void browser_turn(void *arg);

static void browser_stir(struct browser *b)
{
	if (!b->turn.place)
		world_at(&b->turn, world_now_us, browser_turn, b);
}

static void visit_break(struct visit *v);

static void browser_free(struct browser *b)
{
	for (struct visit *v = browsers.visits, *next; v; v = next) {
		next = v->next;
		if (v->b == b)
			visit_break(v);
	}
	world_cancel(&b->turn);
	world_cancel(&b->cut);
	wire_close(&b->wire, WIRE_ASKER);
	nghttp2_session_del(b->session);
	free(b->out);
	*b->link = b->next;
	if (b->next)
		b->next->link = b->link;
	free(b);
}

/* Sends what there is room for. Returns whether that is all. */
static bool browser_send_out(struct browser *b)
{
	size_t room = wire_room(b->wire, WIRE_ASKER);
	size_t left = b->out_len - b->out_at;
	size_t n = left < room ? left : room;

	wire_send(b->wire, WIRE_ASKER, b->out + b->out_at, n);
	b->out_at += n;
	return n == left;
}

static void browser_turn(void *arg)
{
	struct browser *b = arg;
	const uint8_t *data;
	ssize_t n;

	while (browser_send_out(b) &&
	       (n = nghttp2_session_mem_send(b->session, &data)) > 0) {
		free(b->out);
		b->out = browser_new_memory((size_t)n);
		memcpy(b->out, data, (size_t)n);
		b->out_len = (size_t)n;
		b->out_at = 0;
	}
	if (b->retires && !b->streams)
		browser_free(b);
}

static size_t browser_on_bytes(void *arg, const char *data, size_t len)
{
	struct browser *b = arg;
	ssize_t n = nghttp2_session_mem_recv(b->session, (const uint8_t *)data,
					     len);

	if (n != (ssize_t)len)
		world_fail("HTTP/2: what a node says is malformed: %s",
			   nghttp2_strerror((int)n));
	browser_stir(b);
	return len;
}

static void browser_on_head(void *arg, const struct wire_head *head)
{
	(void)arg;
	(void)head;
}

static void browser_on_end(void *arg)
{
	browser_free(arg);
}

static void browser_on_broken(void *arg, enum wire_end why)
{
	(void)why;
	browser_free(arg);
}

static void browser_on_room(void *arg)
{
	browser_stir(arg);
}

static void browser_run_cut(void *arg)
{
	if (browsers.calm)
		return;
	browsers.count.cut++;
	browser_free(arg);
}

static void browser_begin_session(struct browser *b)
{
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, browsers.plan.window },
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
	};

	if (nghttp2_session_client_new2(&b->session, browsers.callbacks, b,
					browsers.options) ||
	    nghttp2_submit_settings(b->session, NGHTTP2_FLAG_NONE, settings,
				    2))
		world_fail("the world itself is out of memory");
}

static struct browser *browser_new(unsigned node)
{
	static const struct wire_ops ops = {
		.on_head = browser_on_head,
		.on_bytes = browser_on_bytes,
		.on_end = browser_on_end,
		.on_broken = browser_on_broken,
		.on_room = browser_on_room,
	};
	const struct wire_head head = {
		.method = "PRI",
		.target = "*",
		.fields = &fields_none,
		.has_body = true,
		.body_len = -1,
	};
	struct browser *b = browser_new_memory(sizeof(*b));

	b->node = node;
	b->next = browsers.browsers;
	b->link = &browsers.browsers;
	if (b->next)
		b->next->link = &b->next;
	browsers.browsers = b;
	b->wire = wire_open(WIRE_CLIENTS, gate_name(node), &ops, b);
	wire_send_head(b->wire, WIRE_ASKER, &head);
	browser_begin_session(b);
	return b;
}

/* The connection of a node that takes another stream. */
static struct browser *browser_of(unsigned node)
{
	struct browser *b = browsers.browsers;

	for (; b; b = b->next) {
		if (b->node != node || b->retires)
			continue;
		b->retires = b->visits >= browsers.plan.visits ||
			     world_now_us - b->used_us > BROWSER_IDLE_US;
		if (!b->retires && b->streams < browsers.plan.streams)
			break;
		browser_stir(b);
	}
	if (!b)
		b = browser_new(node);
	b->used_us = world_now_us;
	b->visits++;
	b->streams++;
	return b;
}

/* Responses */

static void visit_free(struct visit *v)
{
	if (v->b) {
		nghttp2_session_set_stream_user_data(v->b->session, v->id,
						     NULL);
		nghttp2_submit_rst_stream(v->b->session, NGHTTP2_FLAG_NONE,
					  v->id, NGHTTP2_CANCEL);
		nghttp2_session_consume_connection(v->b->session, v->down_len);
		v->b->streams--;
		browser_stir(v->b);
	}
	browsers.count.whole += v->end_sent;
	browsers.count.broken += !v->end_sent;
	world_cancel(&v->over);
	wire_close(&v->wire, WIRE_ANSWERER);
	fields_free(&v->fields);
	free(v->down);
	*v->link = v->next;
	if (v->next)
		v->next->link = v->link;
	free(v);
}

static void visit_run_over(void *arg)
{
	visit_free(arg);
}

/* Its stream is no more, and what it has brought leaves the connection's
 * window. */
static void visit_leave_stream(struct visit *v)
{
	if (!v->b)
		return;
	nghttp2_session_consume_connection(v->b->session, v->down_len);
	v->b->streams--;
	browser_stir(v->b);
	v->b = NULL;
	if (v->up_full)
		wire_resume(v->wire, WIRE_ANSWERER);
	v->up_full = false;
}

/* It has ended before the response had. */
static void visit_break(struct visit *v)
{
	visit_leave_stream(v);
	if (!v->whole)
		visit_free(v);
}

static void visit_finish(struct visit *v)
{
	if (v->end_sent && v->heard)
		world_at(&v->over, world_now_us, visit_run_over, v);
}

/* Hands on what the client has room for. */
static void visit_push(struct visit *v)
{
	size_t room = v->head_sent ? wire_room(v->wire, WIRE_ANSWERER) : 0;
	size_t n = v->down_len < room ? v->down_len : room;

	if (n) {
		wire_send(v->wire, WIRE_ANSWERER, v->down, n);
		memmove(v->down, v->down + n, v->down_len - n);
		v->down_len -= n;
	}
	if (n && v->b) {
		nghttp2_session_consume(v->b->session, v->id, n);
		browser_stir(v->b);
	}
	if (v->whole && !v->down_len && !v->end_sent) {
		v->end_sent = true;
		wire_send_end(v->wire, WIRE_ANSWERER);
		visit_finish(v);
	}
}

static int browser_on_header(nghttp2_session *session,
			     const nghttp2_frame *frame, const uint8_t *name,
			     size_t name_len, const uint8_t *value,
			     size_t value_len, uint8_t flags, void *arg)
{
	struct visit *v = nghttp2_session_get_stream_user_data(
		session, frame->hd.stream_id);

	(void)name_len; /* both end with a zero */
	(void)value_len;
	(void)flags;
	(void)arg;
	if (!v)
		return 0;
	if (!strcmp((const char *)name, ":status"))
		v->status = (unsigned)strtoul((const char *)value, NULL, 10);
	else if (fields_add(&v->fields, (const char *)name,
			    (const char *)value))
		world_fail("the world itself is out of memory");
	return 0;
}

static void visit_send_head(struct visit *v, bool has_body)
{
	const char *len = fields_get(&v->fields, "content-length");
	const struct wire_head head = {
		.status = v->status,
		.fields = &v->fields,
		.has_body = has_body,
		.body_len = len ? strtoll(len, NULL, 10) : -1,
	};

	v->head_sent = true;
	wire_send_head(v->wire, WIRE_ANSWERER, &head);
}

static int browser_on_frame(nghttp2_session *session,
			    const nghttp2_frame *frame, void *arg)
{
	bool ends = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	struct browser *b = arg;
	struct visit *v;

	if (frame->hd.type == NGHTTP2_GOAWAY)
		b->retires = true;
	if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
		return 0;
	v = nghttp2_session_get_stream_user_data(session,
						 frame->hd.stream_id);
	if (!v)
		return 0;
	if (frame->hd.type == NGHTTP2_HEADERS && !v->head_sent)
		visit_send_head(v, !ends);
	v->whole |= ends;
	visit_push(v);
	return 0;
}

static int browser_on_data(nghttp2_session *session, uint8_t flags, int32_t id,
			   const uint8_t *data, size_t len, void *arg)
{
	struct visit *v = nghttp2_session_get_stream_user_data(session, id);

	(void)flags;
	(void)arg;
	if (!v) {
		nghttp2_session_consume_connection(session, len);
		return 0;
	}
	if (v->down_len + len > v->down_cap) {
		v->down_cap = 2 * (v->down_len + len);
		v->down = realloc(v->down, v->down_cap);
		if (!v->down)
			world_fail("the world itself is out of memory");
	}
	memcpy(v->down + v->down_len, data, len);
	v->down_len += len;
	if (v->down_len > browsers.plan.window)
		world_fail("HTTP/2: a stream has sent more than its window");
	visit_push(v);
	return 0;
}

static int browser_on_close(nghttp2_session *session, int32_t id,
			    uint32_t error, void *arg)
{
	struct visit *v = nghttp2_session_get_stream_user_data(session, id);

	(void)error;
	(void)arg;
	if (v)
		visit_break(v);
	return 0;
}

/* Requests */

static ssize_t visit_read(nghttp2_session *session, int32_t id, uint8_t *buf,
			  size_t cap, uint32_t *flags,
			  nghttp2_data_source *source, void *arg)
{
	struct visit *v = nghttp2_session_get_stream_user_data(session, id);
	size_t n;

	(void)source;
	(void)arg;
	if (!v)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	n = v->up_len < cap ? v->up_len : cap;
	memcpy(buf, v->up, n);
	memmove(v->up, v->up + n, v->up_len - n);
	v->up_len -= n;
	if (v->heard && !v->up_len)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	else if (!n)
		return NGHTTP2_ERR_DEFERRED;
	if (n && v->up_full) {
		v->up_full = false;
		wire_resume(v->wire, WIRE_ANSWERER);
	}
	return (ssize_t)n;
}

static nghttp2_nv visit_pair(const char *name, const char *value)
{
	return (nghttp2_nv){
		(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value,
		strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE,
	};
}

static void visit_on_head(void *arg, const struct wire_head *head)
{
	struct visit *v = arg;
	nghttp2_data_provider body = { .read_callback = visit_read };
	nghttp2_nv nv[BROWSER_NV];
	char len[24];
	size_t n = 0;

	v->b = browser_of(v->node);
	nv[n++] = visit_pair(":method", head->method);
	nv[n++] = visit_pair(":scheme", "http");
	nv[n++] = visit_pair(":path", head->target);
	nv[n++] = visit_pair(":authority", fields_get(head->fields, "host"));
	for (size_t i = 0; i < fields_count(head->fields); i++) {
		const struct field *f = fields_at(head->fields, i);

		assert(n < BROWSER_NV - 1);
		if (!field_name_is(f->name, "host"))
			nv[n++] = visit_pair(f->name, f->value);
	}
	snprintf(len, sizeof(len), "%lld", (long long)head->body_len);
	if (head->has_body && head->body_len >= 0)
		nv[n++] = visit_pair("content-length", len);
	v->id = nghttp2_submit_request(v->b->session, NULL, nv, n,
				       head->has_body ? &body : NULL, v);
	if (v->id < 0)
		world_fail("HTTP/2: %s", nghttp2_strerror(v->id));
	if (world_happens(CHOICE_H2, browsers.calm ? 0 : browsers.plan.cuts) &&
	    !v->b->cut.place)
		world_at(&v->b->cut, world_now_us +
			 world_skewed(CHOICE_H2, 1, BROWSER_CUT_US),
			 browser_run_cut, v->b);
	browser_stir(v->b);
}

static size_t visit_on_bytes(void *arg, const char *data, size_t len)
{
	struct visit *v = arg;
	size_t room = sizeof(v->up) - v->up_len, n = len < room ? len : room;

	if (!v->b) /* nobody hears it */
		return len;
	memcpy(v->up + v->up_len, data, n);
	v->up_len += n;
	v->up_full = n < len;
	(void)nghttp2_session_resume_data(v->b->session, v->id);
	browser_stir(v->b);
	return n;
}

static void visit_on_end(void *arg)
{
	struct visit *v = arg;

	v->heard = true;
	if (v->b) {
		(void)nghttp2_session_resume_data(v->b->session, v->id);
		browser_stir(v->b);
	}
	visit_finish(v);
}

static void visit_on_broken(void *arg, enum wire_end why)
{
	(void)why;
	visit_free(arg);
}

static void visit_on_room(void *arg)
{
	visit_push(arg);
}

static void visit_accept(void *arg, struct wire *wire)
{
	static const struct wire_ops ops = {
		.on_head = visit_on_head,
		.on_bytes = visit_on_bytes,
		.on_end = visit_on_end,
		.on_broken = visit_on_broken,
		.on_room = visit_on_room,
	};
	struct visit *v = browser_new_memory(sizeof(*v));

	v->node = *(const unsigned *)arg;
	v->wire = wire;
	fields_init(&v->fields);
	v->next = browsers.visits;
	v->link = &browsers.visits;
	if (v->next)
		v->next->link = &v->next;
	browsers.visits = v;
	wire_accept(wire, &ops, v);
}

/* All of it */

static void browsers_begin(void)
{
	nghttp2_session_callbacks *c;

	if (nghttp2_session_callbacks_new(&c) ||
	    nghttp2_option_new(&browsers.options))
		world_fail("the world itself is out of memory");
	browsers.callbacks = c;
	nghttp2_option_set_no_auto_window_update(browsers.options, 1);
	nghttp2_session_callbacks_set_on_header_callback(c, browser_on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(c,
							browser_on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
		c, browser_on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(
		c, browser_on_close);
}

void h2_gate_start(unsigned nnodes, const struct h2_gate_plan *plan)
{
	static unsigned numbers[NODES_MAX];

	browsers.plan = *plan;
	browsers.calm = false;
	browsers.nnodes = nnodes;
	browsers_begin();
	gates_start(nnodes);
	for (unsigned i = 0; i < nnodes; i++) {
		numbers[i] = i;
		browsers.listeners[i] = (struct wire_listener){
			.name = h2_gate_name(i),
			.place = WIRE_CLIENTS,
			.accept = visit_accept,
			.arg = &numbers[i],
		};
		wire_listen(&browsers.listeners[i]);
	}
}

void h2_gate_heal(void)
{
	browsers.calm = true;
}

void h2_gate_stop(void)
{
	if (!browsers.nnodes)
		return;
	for (unsigned i = 0; i < browsers.nnodes; i++)
		wire_unlisten(&browsers.listeners[i]);
	while (browsers.visits)
		visit_free(browsers.visits);
	while (browsers.browsers)
		browser_free(browsers.browsers);
	gates_stop();
	nghttp2_session_callbacks_del(browsers.callbacks);
	nghttp2_option_del(browsers.options);
	browsers.nnodes = 0;
}
