/*
 * The gate of a node: the engine of HTTP/2, on connections of the world.
 *
 * The engine's connections have descriptors beyond those of the system; what it
 * receives and sends by them is ours, front_io_*().
 */
#include "tests/world/h2_gate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/os/loop.h"
#include "digestd/server/front.h"
#include "cachesim/world/nodes.h"
#include "cachesim/world/wire.h"
#include "cachesim/world/world.h"
#include "tests/world/h2_gate_inside.h"

enum {
	GATE_FD = 1 << 20,       /* no descriptor of the system is as high */
	GATE_INPUT_BYTES = 4096, /* that a connection holds unread */
	GATE_BODY_BYTES = 2048,  /* the same of a reply's body */
	GATE_STREAMS = 100,
	GATE_CONNECTIONS = 10000,
	GATE_HEADER_BYTES = 16384,
	GATE_IDLE_MS = 300000,
	GATE_PLACE = NODES_MAX - 1, /* of its loop: no node's */
};

/* A connection's bytes. */
struct gate_conn {
	struct gate *gate;
	struct front_conn *c; /* null: the engine has closed it */
	struct wire *wire;
	int fd;
	char in[GATE_INPUT_BYTES];
	size_t len;
	bool full, ended, broken;
	struct world_event turn;
	struct gate_conn *next, **link;
};

/* A request on its way through the gate. */
struct gate_request {
	struct exchange *x;
	struct wire *wire; /* to the node */
	char body[GATE_BODY_BYTES];
	size_t len;
	bool answered, full, ended, broken;
	struct body_source source;
	struct gate_request *next, **link;
};

struct gate {
	unsigned node;
	struct front_server *server;
	struct wire_listener listener;
	struct gate_conn *conns;
	struct gate_request *requests;
};

static struct {
	struct gate gates[NODES_MAX];
	unsigned n;
	struct loop *loop;
	int next_fd;
} gates;

const char *gate_name(unsigned node)
{
	static char names[NODES_MAX][16];

	snprintf(names[node], sizeof(names[node]), "gate-%u", node);
	return names[node];
}

/* What the engine has from elsewhere */

bool exchange_is_bodiless(const struct exchange *x, unsigned status)
{
	return status == 204 || status == 304 ||
	       !strcmp(x->request.method, "HEAD");
}

void exchange_refuse(struct exchange *x, unsigned status, const char *why)
{
	(void)x;
	world_fail("HTTP/2: a request is refused with %u: %s", status, why);
}

struct shared_reply *shared_reply_ref(struct shared_reply *reply)
{
	(void)reply;
	world_fail("HTTP/2: nobody has shared replies here");
}

/* Bytes of connections */

static struct gate_conn *gate_conn_of(int fd)
{
	for (unsigned i = 0; i < gates.n; i++) {
		struct gate_conn *g = gates.gates[i].conns;

		for (; g; g = g->next) {
			if (g->fd == fd)
				return g;
		}
	}
	world_fail("HTTP/2: a connection that is none");
}

static void gate_conn_free(struct gate_conn *g)
{
	world_cancel(&g->turn);
	wire_close(&g->wire, WIRE_ANSWERER);
	*g->link = g->next;
	if (g->next)
		g->next->link = g->link;
	free(g);
}

static void gate_conn_run_turn(void *arg)
{
	struct gate_conn *g = arg;
	unsigned events = LOOP_READ | LOOP_WRITE;

	world_loop_runs(GATE_PLACE);
	if (g->c)
		g->c->watch.ready(g->c->watch.arg,
				  events | (g->broken ? LOOP_HANGUP : 0));
	else if (g->ended || g->broken) /* else what was sent is on its way */
		gate_conn_free(g);
}

/* The engine looks at it soon, or it is freed. */
static void gate_conn_stir(struct gate_conn *g)
{
	world_at(&g->turn, world_now_us, gate_conn_run_turn, g);
}

bool h2_gate_close(int fd)
{
	struct gate_conn *g;

	if (fd < GATE_FD)
		return false;
	g = gate_conn_of(fd);
	g->c = NULL;
	if (!g->broken)
		wire_send_end(g->wire, WIRE_ANSWERER);
	if (g->full)
		wire_resume(g->wire, WIRE_ANSWERER);
	gate_conn_stir(g);
	return true;
}

ssize_t front_io_recv(struct front_conn *c, void *buf, size_t cap)
{
	struct gate_conn *g = gate_conn_of(c->base.fd);
	size_t n = g->len < cap ? g->len : cap;

	if (g->broken)
		return -ECONNRESET;
	if (!n)
		return g->ended ? 0 : -EAGAIN;
	memcpy(buf, g->in, n);
	memmove(g->in, g->in + n, g->len - n);
	g->len -= n;
	if (g->full)
		wire_resume(g->wire, WIRE_ANSWERER);
	g->full = false;
	return (ssize_t)n;
}

bool front_io_has_more(const struct front_conn *c)
{
	(void)c;
	return false;
}

ssize_t front_io_send(struct front_conn *c, const struct iovec *parts,
		      unsigned n, bool more)
{
	struct gate_conn *g = gate_conn_of(c->base.fd);
	ssize_t sent = 0;

	(void)more;
	if (g->broken)
		return -EPIPE;
	for (unsigned i = 0; i < n; i++) {
		size_t room = wire_room(g->wire, WIRE_ANSWERER);
		size_t len = parts[i].iov_len < room ? parts[i].iov_len : room;

		wire_send(g->wire, WIRE_ANSWERER, parts[i].iov_base, len);
		sent += (ssize_t)len;
		if (len < parts[i].iov_len)
			break;
	}
	return sent ? sent : -EAGAIN;
}

void front_io_shut(struct front_conn *c)
{
	struct gate_conn *g = gate_conn_of(c->base.fd);

	if (!g->broken)
		wire_send_end(g->wire, WIRE_ANSWERER);
}

void front_io_reset(struct front_conn *c)
{
	h2_gate_close(c->base.fd);
}

static void gate_conn_on_head(void *arg, const struct wire_head *head)
{
	struct gate_conn *g = arg;
	const struct wire_head own = {
		.status = 200,
		.fields = &fields_none,
		.has_body = true,
		.body_len = -1,
	};

	(void)head;
	wire_send_head(g->wire, WIRE_ANSWERER, &own);
}

static size_t gate_conn_on_bytes(void *arg, const char *data, size_t len)
{
	struct gate_conn *g = arg;
	size_t room = sizeof(g->in) - g->len, n = len < room ? len : room;

	if (!g->c)
		return len;
	memcpy(g->in + g->len, data, n);
	g->len += n;
	g->full = n < len;
	gate_conn_stir(g);
	return n;
}

static void gate_conn_on_end(void *arg)
{
	struct gate_conn *g = arg;

	g->ended = true;
	gate_conn_stir(g);
}

static void gate_conn_on_broken(void *arg, enum wire_end why)
{
	struct gate_conn *g = arg;

	(void)why;
	g->broken = true;
	gate_conn_stir(g);
}

static void gate_conn_on_room(void *arg)
{
	gate_conn_stir(arg);
}

static void gate_accept(void *arg, struct wire *wire)
{
	static const struct wire_ops ops = {
		.on_head = gate_conn_on_head,
		.on_bytes = gate_conn_on_bytes,
		.on_end = gate_conn_on_end,
		.on_broken = gate_conn_on_broken,
		.on_room = gate_conn_on_room,
	};
	const struct sockaddr_in6 from = { .sin6_family = AF_INET6 };
	struct gate *gate = arg;
	struct gate_conn *g = calloc(1, sizeof(*g));

	if (!g)
		world_fail("the world itself is out of memory");
	g->gate = gate;
	g->wire = wire;
	g->fd = gates.next_fd++;
	g->next = gate->conns;
	g->link = &gate->conns;
	if (g->next)
		g->next->link = &g->next;
	gate->conns = g;
	wire_accept(wire, &ops, g);
	if (front_conn_open(gate->server, g->fd, &from))
		world_fail("HTTP/2: a connection fails");
	/* which the engine may have closed at once, for want of memory */
	if (!g->turn.place)
		g->c = (struct front_conn *)gate->server->base.conns;
}

/* Requests, on to the node */

static const struct exchange_engine *gate_engine(const struct gate_request *r)
{
	return r->x->conn->exchanges;
}

static ssize_t gate_request_read(void *arg, void *buf, size_t cap)
{
	struct gate_request *r = arg;
	size_t n = r->len < cap ? r->len : cap;

	if (!n)
		return r->ended ? BODY_END : r->broken ? BODY_FAIL : BODY_WAIT;
	memcpy(buf, r->body, n);
	memmove(r->body, r->body + n, r->len - n);
	r->len -= n;
	if (r->full)
		wire_resume(r->wire, WIRE_ASKER);
	r->full = false;
	return (ssize_t)n;
}

static void gate_request_on_head(void *arg, const struct wire_head *head)
{
	struct gate_request *r = arg;
	const struct reply_stream reply = {
		head->status, head->fields, head->body_len, &r->source,
	};

	world_loop_runs(GATE_PLACE);
	r->answered = r->x->answered = true;
	r->source = (struct body_source){ .read = gate_request_read, .arg = r };
	gate_engine(r)->reply_stream(r->x, &reply);
}

static size_t gate_request_on_bytes(void *arg, const char *data, size_t len)
{
	struct gate_request *r = arg;
	size_t room = sizeof(r->body) - r->len, n = len < room ? len : room;

	world_loop_runs(GATE_PLACE);
	memcpy(r->body + r->len, data, n);
	r->len += n;
	r->full = n < len;
	gate_engine(r)->wake(r->x);
	return n;
}

static void gate_request_on_end(void *arg)
{
	struct gate_request *r = arg;

	world_loop_runs(GATE_PLACE);
	r->ended = true;
	gate_engine(r)->wake(r->x);
}

/* Before its reply's end the stream ends with an error; after it nobody hears
 * the rest of the request. */
static void gate_request_on_broken(void *arg, enum wire_end why)
{
	struct gate_request *r = arg;

	(void)why;
	world_loop_runs(GATE_PLACE);
	r->broken = true;
	if (!r->answered) {
		r->x->answered = r->x->aborted = true;
		gate_engine(r)->abort(r->x);
		return;
	}
	gate_engine(r)->wake(r->x);
	gate_engine(r)->end_upload(r->x, r->ended ? EXCHANGE_DONE :
						    EXCHANGE_ABORTED);
}

static void gate_request_on_room(void *arg)
{
	struct gate_request *r = arg;

	world_loop_runs(GATE_PLACE);
	gate_engine(r)->resume_body(r->x);
}

static void gate_request_send(struct gate_request *r)
{
	const struct server_request *q = &r->x->request;
	const struct wire_head head = {
		.method = q->method,
		.target = q->target,
		.has_body = q->has_body,
		.body_len = q->body_len,
	};
	struct fields f;

	if (fields_copy(q->fields, &f))
		world_fail("the world itself is out of memory");
	fields_remove(&f, "Content-Length");
	wire_move_head(r->wire, WIRE_ASKER, &head, &f);
	if (!q->has_body)
		wire_send_end(r->wire, WIRE_ASKER);
}

static void gate_on_request(void *arg, struct exchange *x)
{
	static const struct wire_ops ops = {
		.on_head = gate_request_on_head,
		.on_bytes = gate_request_on_bytes,
		.on_end = gate_request_on_end,
		.on_broken = gate_request_on_broken,
		.on_room = gate_request_on_room,
	};
	struct gate *gate = arg;
	struct gate_request *r = calloc(1, sizeof(*r));

	if (!r)
		world_fail("the world itself is out of memory");
	x->data = r;
	x->duplex = true;
	r->x = x;
	r->next = gate->requests;
	r->link = &gate->requests;
	if (r->next)
		r->next->link = &r->next;
	gate->requests = r;
	r->wire = wire_open(WIRE_CLIENTS, nodes_data_name(gate->node), &ops,
			    r);
	gate_request_send(r);
}

static size_t gate_on_body(void *arg, struct exchange *x, const void *data,
			   size_t len)
{
	struct gate_request *r = x->data;
	size_t room = wire_room(r->wire, WIRE_ASKER);
	size_t n = len < room ? len : room;

	(void)arg;
	wire_send(r->wire, WIRE_ASKER, data, n);
	return r->broken ? len : n;
}

static void gate_on_body_end(void *arg, struct exchange *x)
{
	struct gate_request *r = x->data;

	(void)arg;
	wire_send_end(r->wire, WIRE_ASKER);
	/* as node_request does once the origin has it all */
	if (r->answered)
		gate_engine(r)->end_upload(x, EXCHANGE_DONE);
}

static void gate_on_done(void *arg, struct exchange *x, enum exchange_end end)
{
	struct gate_request *r = x->data;

	(void)arg;
	(void)end;
	wire_close(&r->wire, WIRE_ASKER);
	*r->link = r->next;
	if (r->next)
		r->next->link = r->link;
	free(r);
}

/* Gates */

static void gate_start(struct gate *gate)
{
	static const struct server_handler handler = {
		.on_request = gate_on_request,
		.on_body = gate_on_body,
		.on_body_end = gate_on_body_end,
		.on_done = gate_on_done,
	};
	struct server *s = calloc(1, server_engine_front.bytes);

	if (!s)
		world_fail("the world itself is out of memory");
	gate->server = (struct front_server *)s;
	s->engine = &server_engine_front;
	s->loop = gates.loop;
	s->settings = (struct server_settings){
		.max_connections = GATE_CONNECTIONS,
		.max_header_bytes = GATE_HEADER_BYTES,
		.header_ms = GATE_IDLE_MS,
		.idle_ms = GATE_IDLE_MS,
		.strict = true,
		.http2_plain = true,
		.http2_streams = GATE_STREAMS,
	};
	s->trusts_all = true;
	s->idle_end = &s->idle;
	s->uploads_end = &s->uploads;
	s->handler = &handler;
	s->arg = gate;
	s->listen_fd = -1;
	if (s->engine->start(s))
		world_fail("HTTP/2: the engine does not start");
	gate->listener = (struct wire_listener){
		.name = gate_name(gate->node),
		.place = WIRE_CLIENTS,
		.accept = gate_accept,
		.arg = gate,
	};
	wire_listen(&gate->listener);
}

static void gate_stop(struct gate *gate)
{
	struct server *s = &gate->server->base;

	wire_unlisten(&gate->listener);
	s->stopping = true;
	s->engine->stop(s);
	free(s);
	while (gate->conns)
		gate_conn_free(gate->conns);
}

void gates_start(unsigned nnodes)
{
	int place = nodes_place;

	memset(&gates, 0, sizeof(gates));
	gates.next_fd = GATE_FD;
	nodes_place = GATE_PLACE;
	world_loop_ahead_s = 0;
	if (loop_new(&gates.loop))
		world_fail("the world itself is out of memory");
	nodes_place = place;
	gates.n = nnodes;
	for (unsigned i = 0; i < nnodes; i++) {
		gates.gates[i].node = i;
		gate_start(&gates.gates[i]);
	}
}

void gates_stop(void)
{
	for (unsigned i = 0; i < gates.n; i++)
		gate_stop(&gates.gates[i]);
	gates.n = 0;
	loop_free(&gates.loop);
}
