/*
 * The HTTP server of a world, in place of digestd/server: exchanges over the
 * world's connections, by the contract of server.h.
 */
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/server/server.h"
#include "cachesim/world/nodes.h"
#include "cachesim/world/wire.h"
#include "cachesim/world/world.h"

enum { READ_BYTES = 16384 }; /* of a source, at once */

struct server {
	struct loop *loop;
	char *name;
	bool strict; /* replies at once, as front.h does */
	const struct server_handler *handler;
	void *arg;
	struct wire_listener listener;
	struct exchange *exchanges;
	struct world_event end_of_drain;
	void (*drained)(void *arg);
	void *drained_arg;
};

/* Where a reply's bytes come from. */
struct reply {
	bool given;
	unsigned status;
	struct fields fields;
	int64_t len; /* -1: unknown */
	bool has_body;
	struct body_source source; /* read null: memory */
	const char *data;
	size_t left;
	void (*release)(void *arg);
	void *release_arg;
	struct shared_reply *shared;
};

struct exchange {
	struct server *server;
	struct wire *wire;
	struct server_request request;
	const char *method; /* null: no head yet */
	struct sockaddr_in client;
	void *data;
	bool receiving, discards; /* the request's body */
	bool heard_all; /* of the request */
	bool duplex, tunnel; /* the handler hears it beside its reply, */
	enum { EXCHANGE_HEARS, EXCHANGE_HAS_HEARD, EXCHANGE_GAVE_UP } upload;
	bool head_sent, ended;
	bool aborted;
	struct reply reply;
	struct world_event turn; /* sends, or ends */
	struct exchange *next, **link;
};

struct shared_reply {
	unsigned status, users;
	struct fields fields;
	struct body_memory body;
};

static void exchange_work(void *arg);

static void exchange_schedule(struct exchange *x)
{
	if (!x->turn.place)
		world_at(&x->turn, world_now_us, exchange_work, x);
}

/* The end of an exchange */

static void exchange_release_reply(struct exchange *x)
{
	struct reply *reply = &x->reply;

	if (reply->source.release)
		reply->source.release(reply->source.arg);
	if (reply->release)
		reply->release(reply->release_arg);
	shared_reply_unref(reply->shared);
	fields_free(&reply->fields);
}

static void exchange_free(struct exchange *x)
{
	struct server *server = x->server;

	world_cancel(&x->turn);
	wire_close(&x->wire, WIRE_ANSWERER);
	exchange_release_reply(x);
	*x->link = x->next;
	if (x->next)
		x->next->link = x->link;
	free(x);
	if (!server->exchanges && server->drained)
		world_at(&server->end_of_drain, world_now_us,
			 server->drained, server->drained_arg);
}

static void exchange_end(struct exchange *x, enum exchange_end how)
{
	if (x->server->handler->on_done)
		x->server->handler->on_done(x->server->arg, x, how);
	exchange_free(x);
}

/* The reply */

static void exchange_send_head(struct exchange *x)
{
	struct reply *reply = &x->reply;
	bool empty = !strcmp(x->method, "HEAD") || reply->status == 204 ||
		     reply->status == 304;
	struct wire_head head = {
		.status = reply->status,
		.has_body = !empty,
		.body_len = reply->len,
	};

	x->head_sent = true;
	reply->has_body = !empty;
	wire_move_head(x->wire, WIRE_ANSWERER, &head, &reply->fields);
}

/* Sends of a body in memory what there is room for. */
static ssize_t exchange_send_memory(struct exchange *x)
{
	struct reply *reply = &x->reply;
	size_t room = wire_room(x->wire, WIRE_ANSWERER);
	size_t n = reply->left < room ? reply->left : room;

	if (!reply->left) /* perhaps the end was sent before */
		return BODY_END;
	wire_send(x->wire, WIRE_ANSWERER, reply->data, n);
	reply->data += n;
	reply->left -= n;
	return reply->left ? BODY_WAIT : BODY_END;
}

/* The same of one that is read. */
static ssize_t exchange_send_read(struct exchange *x)
{
	struct reply *reply = &x->reply;
	char own[READ_BYTES], *buf = own;
	size_t most = sizeof(own), room;

	/* what has no length, as a stream of frames, is no body of an object:
	 * its bytes are not all alike */
	if (wire_weather.scratch && reply->len >= 0) {
		buf = wire_weather.scratch;
		most = wire_weather.nscratch;
	}
	while ((room = wire_room(x->wire, WIRE_ANSWERER)) > 0) {
		size_t cap = room < most ? room : most;
		ssize_t n = reply->source.read(reply->source.arg, buf, cap);

		if (n <= 0)
			return n;
		assert((size_t)n <= cap);
		wire_send(x->wire, WIRE_ANSWERER, buf, (size_t)n);
		if (reply->len >= 0)
			reply->left -= (size_t)n;
	}
	return BODY_WAIT;
}

/* Sends what there is room for. Returns BODY_WAIT, BODY_END or BODY_FAIL. */
static ssize_t exchange_send(struct exchange *x)
{
	if (!x->reply.has_body)
		return BODY_END;
	return x->reply.source.read ? exchange_send_read(x) :
				      exchange_send_memory(x);
}

/* Ends it if the reply has gone out, and nobody waits for the request. */
static void exchange_end_if_over(struct exchange *x)
{
	bool lasts = (x->duplex || x->tunnel) && x->upload == EXCHANGE_HEARS;

	if (x->ended && !lasts &&
	    (x->heard_all || x->upload == EXCHANGE_GAVE_UP))
		exchange_end(x, EXCHANGE_DONE);
}

static bool exchange_may_reply(const struct exchange *x)
{
	return x->reply.given &&
	       (x->server->strict || !x->receiving || x->discards);
}

static void exchange_work(void *arg)
{
	struct exchange *x = arg;

	world_loop_runs(x->server->listener.place);
	if (x->aborted) {
		exchange_end(x, EXCHANGE_ABORTED);
		return;
	}
	if (x->ended) {
		exchange_end_if_over(x);
		return;
	}
	if (!exchange_may_reply(x))
		return;
	if (!x->head_sent)
		exchange_send_head(x);
	switch (exchange_send(x)) {
	case BODY_FAIL:
		exchange_end(x, EXCHANGE_ABORTED);
		return;
	case BODY_END:
		if (x->reply.has_body && x->reply.source.read &&
		    x->reply.len >= 0 && x->reply.left) {
			exchange_end(x, EXCHANGE_ABORTED);
			return;
		}
		wire_send_end(x->wire, WIRE_ANSWERER);
		x->ended = true;
		exchange_end_if_over(x);
		return;
	default:
		return;
	}
}

static struct reply *exchange_give(struct exchange *x, unsigned status,
				   const struct fields *fields)
{
	assert(!x->reply.given);
	x->reply.given = true;
	x->reply.status = status;
	if (fields && fields_copy(fields, &x->reply.fields))
		world_fail("the world itself is out of memory");
	world_mix(status);
	exchange_schedule(x);
	/* what comes of the request's body is thrown away */
	if (x->receiving)
		wire_resume(x->wire, WIRE_ANSWERER);
	return &x->reply;
}

void exchange_reply(struct exchange *x, unsigned status,
		    const struct fields *fields, const void *body, size_t len,
		    void (*release)(void *arg), void *arg)
{
	struct reply *reply;

	if (x->aborted) {
		if (release)
			release(arg);
		return;
	}
	reply = exchange_give(x, status, fields);
	reply->data = body;
	reply->left = len;
	reply->len = (int64_t)len;
	reply->release = release;
	reply->release_arg = arg;
}

struct shared_reply *shared_reply_new(unsigned status,
				      const struct fields *fields,
				      const struct body_memory *body)
{
	struct shared_reply *reply = calloc(1, sizeof(*reply));

	if (!reply || fields_copy(fields ? fields : &fields_none,
				  &reply->fields))
		world_fail("the world itself is out of memory");
	reply->status = status;
	reply->users = 1;
	reply->body = *body;
	return reply;
}

void shared_reply_unref(struct shared_reply *reply)
{
	if (!reply || --reply->users)
		return;
	if (reply->body.release)
		reply->body.release(reply->body.arg);
	fields_free(&reply->fields);
	free(reply);
}

bool exchange_reply_written(struct exchange *x,
			    const struct reply_written *reply)
{
	(void)x;
	(void)reply;
	return false; /* here headers are lists of fields */
}

bool exchange_reply_shared(struct exchange *x, struct shared_reply *shared)
{
	struct reply *reply;

	if (x->aborted)
		return true;
	if (x->server->drained)
		return false;
	reply = exchange_give(x, shared->status, &shared->fields);
	reply->data = shared->body.data;
	reply->left = shared->body.len;
	reply->len = (int64_t)shared->body.len;
	reply->shared = shared;
	shared->users++;
	return true;
}

static void exchange_free_copy(void *arg)
{
	free(arg);
}

void exchange_reply_copy(struct exchange *x, unsigned status,
			 const struct fields *fields, const void *body,
			 size_t len)
{
	char *copy;

	/* small ones do not wait for the end of the request's body */
	if (len <= EXCHANGE_EARLY_BYTES)
		x->discards = true;
	if (wire_are_alike(body)) { /* saves time */
		exchange_reply(x, status, fields, body, len, NULL, NULL);
		return;
	}
	copy = malloc(len ? len : 1);
	if (!copy)
		world_fail("the world itself is out of memory");
	if (len)
		memcpy(copy, body, len);
	exchange_reply(x, status, fields, copy, len, exchange_free_copy, copy);
}

void exchange_reply_error(struct exchange *x, unsigned status,
			  const struct fields *fields)
{
	exchange_reply_copy(x, status, fields, "error\n", 6);
}

void exchange_reply_stream(struct exchange *x, unsigned status,
			   const struct fields *fields, int64_t body_len,
			   const struct body_source *source)
{
	struct reply *reply;

	if (x->aborted) {
		if (source->release)
			source->release(source->arg);
		return;
	}
	x->tunnel = status == 101;
	reply = exchange_give(x, status, fields);
	reply->source = *source;
	reply->len = body_len;
	reply->left = body_len > 0 ? (size_t)body_len : 0;
}

void exchange_set_duplex(struct exchange *x)
{
	x->duplex = x->server->strict;
}

void exchange_end_upload(struct exchange *x, enum exchange_end end)
{
	if (!x->reply.given || !(x->duplex || x->tunnel) || x->aborted)
		return;
	x->upload = end == EXCHANGE_ABORTED ? EXCHANGE_GAVE_UP
					    : EXCHANGE_HAS_HEARD;
	if (!x->heard_all) /* what is left is thrown away */
		wire_resume(x->wire, WIRE_ANSWERER);
	exchange_schedule(x);
}

void exchange_wake(struct exchange *x)
{
	exchange_schedule(x);
}

void exchange_resume_body(struct exchange *x)
{
	if (x->receiving || x->tunnel)
		wire_resume(x->wire, WIRE_ANSWERER);
}

void exchange_abort(struct exchange *x)
{
	x->aborted = true;
	exchange_schedule(x);
}

/* What comes from the client */

static void exchange_on_head(void *arg, const struct wire_head *head)
{
	struct exchange *x = arg;

	x->method = head->method;
	x->client.sin_family = AF_INET;
	x->client.sin_addr.s_addr = htonl(0xc0000201);
	x->receiving = head->has_body;
	x->request = (struct server_request){
		.method = head->method,
		.target = head->target,
		.target_len = strlen(head->target),
		.minor = 1,
		.fields = head->fields,
		.host = fields_get(head->fields, "host"),
		.client = (const struct sockaddr *)&x->client,
		.has_body = head->has_body,
		.body_len = head->body_len,
		.upgrade = fields_get(head->fields, "upgrade"),
	};
	if (x->request.host)
		x->request.host_len = strlen(x->request.host);
	x->server->handler->on_request(x->server->arg, x);
}

/* Whether the handler takes what comes of the request. */
static bool exchange_hears(const struct exchange *x)
{
	bool beside = (x->duplex || x->tunnel) && x->upload == EXCHANGE_HEARS;

	return !x->aborted && (!x->reply.given || beside);
}

static size_t exchange_on_bytes(void *arg, const char *data, size_t len)
{
	struct exchange *x = arg;

	if (!exchange_hears(x) || !x->server->handler->on_body)
		return len;
	return x->server->handler->on_body(x->server->arg, x, data, len);
}

static void exchange_on_end(void *arg)
{
	struct exchange *x = arg;

	x->heard_all = true;
	if ((x->receiving || x->tunnel) && exchange_hears(x) &&
	    x->server->handler->on_body_end)
		x->server->handler->on_body_end(x->server->arg, x);
	x->receiving = false;
	exchange_schedule(x);
}

static void exchange_on_broken(void *arg, enum wire_end why)
{
	struct exchange *x = arg;

	(void)why;
	if (!x->method) /* it left before its head was here */
		exchange_free(x);
	else
		exchange_end(x, x->ended ? EXCHANGE_DONE : EXCHANGE_ABORTED);
}

static void exchange_on_room(void *arg)
{
	exchange_schedule(arg);
}

static const struct wire_ops exchange_ops = {
	.on_head = exchange_on_head,
	.on_bytes = exchange_on_bytes,
	.on_end = exchange_on_end,
	.on_broken = exchange_on_broken,
	.on_room = exchange_on_room,
};

static void exchange_accept(void *arg, struct wire *wire)
{
	struct server *s = arg;
	struct exchange *x = calloc(1, sizeof(*x));

	if (!x)
		world_fail("the world itself is out of memory");
	x->server = s;
	x->wire = wire;
	fields_init(&x->reply.fields);
	x->next = s->exchanges;
	x->link = &s->exchanges;
	if (x->next)
		x->next->link = &x->next;
	s->exchanges = x;
	wire_accept(wire, &exchange_ops, x);
}

/* The server */

int server_new(struct loop *loop, const struct server_settings *settings,
	       const struct server_handler *handler, void *arg,
	       struct server **out)
{
	struct server *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->name = strdup(settings->listen);
	if (!s->name) {
		free(s);
		return -ENOMEM;
	}
	s->loop = loop;
	s->strict = settings->strict;
	s->handler = handler;
	s->arg = arg;
	s->listener.name = s->name;
	s->listener.place = nodes_place;
	s->listener.accept = exchange_accept;
	s->listener.arg = s;
	wire_listen(&s->listener);
	*out = s;
	return 0;
}

void server_free(struct server **server)
{
	struct server *s = *server;

	if (!s)
		return;
	wire_unlisten(&s->listener);
	while (s->exchanges) {
		if (s->exchanges->method)
			exchange_end(s->exchanges, EXCHANGE_ABORTED);
		else
			exchange_free(s->exchanges);
	}
	world_cancel(&s->end_of_drain);
	free(s->name);
	free(s);
	*server = NULL;
}

void server_drain(struct server *server, void (*drained)(void *arg), void *arg)
{
	wire_unlisten(&server->listener);
	server->drained = drained;
	server->drained_arg = arg;
	if (!server->exchanges)
		world_at(&server->end_of_drain, world_now_us, drained, arg);
}

void server_hand_over(struct server *server, void (*drained)(void *arg),
		      void *arg)
{
	server_drain(server, drained, arg);
}

int server_socket(const struct server *server)
{
	(void)server;
	return -1;
}

unsigned server_port(const struct server *server)
{
	(void)server;
	return 8080;
}

bool server_has_tls(void)
{
	return false;
}

void server_set_tls(struct server *server, struct tls *tls)
{
	(void)server;
	(void)tls;
}

uint64_t server_tls_failures(const struct server *server)
{
	(void)server;
	return 0;
}

void server_set_trusted(struct server *server,
			const struct address_prefixes *trusted)
{
	(void)server;
	(void)trusted;
}

void server_set_allowed(struct server *server,
			const struct address_prefixes *allowed)
{
	(void)server;
	(void)allowed;
}

/* Nobody asks. */
void exchange_account(const struct exchange *x, struct exchange_account *out)
{
	(void)x;
	*out = (struct exchange_account){ .status = 0 };
}

uint64_t server_surplus(const struct server *server)
{
	(void)server;
	return 0;
}

void server_refusals(const struct server *server, uint64_t sum[REFUSAL_COUNT])
{
	(void)server;
	(void)sum;
}

uint64_t server_floods(const struct server *server)
{
	(void)server;
	return 0;
}

uint64_t server_proxy_refused(const struct server *server)
{
	(void)server;
	return 0;
}

uint64_t server_too_large(const struct server *server)
{
	(void)server;
	return 0;
}

/* The origin sends none. */
void exchange_interim(struct exchange *x, unsigned status,
		      const struct fields *fields)
{
	(void)x;
	(void)status;
	(void)fields;
}

uint64_t server_crowded_out(const struct server *server)
{
	(void)server;
	return 0;
}

const struct server_request *exchange_request(const struct exchange *x)
{
	return &x->request;
}

void exchange_set_data(struct exchange *x, void *data)
{
	x->data = data;
}

void *exchange_data(const struct exchange *x)
{
	return x->data;
}

struct loop *exchange_loop(const struct exchange *x)
{
	return x->server->loop;
}

bool exchange_is_receiving(const struct exchange *x)
{
	return x->receiving;
}

/* Messages have none. */
const struct fields *exchange_trailers(const struct exchange *x)
{
	(void)x;
	return NULL;
}

bool exchange_answered(const struct exchange *x)
{
	return x->reply.given || x->aborted;
}
