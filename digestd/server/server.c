/*
 * The server as its handlers see it: what it is asked for goes to its engine.
 */
#include "digestd/server/server.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "digestd/http/reason.h"
#include "digestd/os/listen.h"
#include "digestd/server/server_engine.h"
#include "digestd/server/shared_reply.h"
#include "digestd/tls/tls.h"

enum { ERROR_TEXT_BYTES = 128 };

void server_set_trusted(struct server *server,
			const struct address_prefixes *trusted)
{
	server->trusts_all = !trusted;
	if (trusted)
		server->trusted = *trusted;
}

static void server_take_allowed(struct server *s,
				const struct address_prefixes *allowed)
{
	if (allowed)
		s->allowed = *allowed;
	else
		s->allowed.count = 0;
}

void server_set_allowed(struct server *server,
			const struct address_prefixes *allowed)
{
	server_take_allowed(server, allowed);
	for (struct conn *c = server->conns, *next; c; c = next) {
		next = c->next;
		if (!server_allows(server, c->address))
			conn_close(c);
	}
}

void server_set_tls(struct server *server, struct tls *tls)
{
	if (!server->tls || !tls)
		return;
	tls_unref(server->tls);
	server->tls = tls_ref(tls);
}

static struct server *server_make(struct loop *loop,
				  const struct server_settings *settings,
				  const struct server_engine *engine)
{
	struct server *s = calloc(1, engine->bytes);

	if (!s)
		return NULL;
	s->engine = engine;
	s->loop = loop;
	s->settings = *settings;
	s->settings.listen = NULL;
	s->settings.tls = NULL;
	s->settings.trusted = NULL;
	s->settings.allowed = NULL;
	s->settings.given = NULL;
	s->settings.listener = NULL;
	server_set_trusted(s, settings->trusted);
	server_take_allowed(s, settings->allowed);
	s->idle_end = &s->idle;
	s->uploads_end = &s->uploads;
	s->tls = settings->tls ? tls_ref(settings->tls) : NULL;
	return s;
}

/* Opens the socket, and starts the engine on it. */
static int server_start(struct server *s,
			const struct server_settings *settings)
{
	const struct listen_how how = {
		settings->listen, settings->joins, settings->given,
		settings->listener, settings->worker,
	};
	int err = listen_open(&how, &s->listen_fd);

	if (err)
		return err;
	s->port = listen_port(s->listen_fd);
	listen_label(s->listen_fd, s->label);
	err = s->engine->start(s);
	if (err)
		close(s->listen_fd);
	return err;
}

int server_new(struct loop *loop, const struct server_settings *settings,
	       const struct server_handler *handler, void *arg,
	       struct server **out)
{
	struct server *s;
	int err;

	assert(loop && settings->listen);
	assert(settings->max_connections > 0);
	assert(settings->max_header_bytes >= 1024);
	assert(settings->strict || !settings->proxy_protocol);
	assert(handler->on_request);
	s = server_make(loop, settings, settings->strict ?
			&server_engine_front : &server_engine_mhd);
	if (!s)
		return -ENOMEM;
	s->handler = handler;
	s->arg = arg;
	err = server_start(s, settings);
	if (err) {
		tls_unref(s->tls);
		free(s);
		return err;
	}
	*out = s;
	return 0;
}

void server_free(struct server **server)
{
	struct server *s = *server;

	if (!s)
		return;
	s->stopping = true;
	s->draining = false;
	s->engine->stop(s);
	assert(!s->nconns);
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	loop_undefer(s->loop, &s->drained);
	tls_unref(s->tls);
	free(s);
	*server = NULL;
}

/* One that is idle goes, or has a moment for another request. */
static void server_drain_idle(struct server *s, struct conn *c)
{
	int64_t end_ms = loop_now_ms(s->loop) + SERVER_LAST_REQUEST_MS;

	if (!s->handed_over)
		conn_close(c);
	else if (!c->deadline_ms || c->deadline_ms > end_ms)
		conn_set_deadline(c, end_ms);
}

void server_drain(struct server *server, void (*drained)(void *arg), void *arg)
{
	assert(drained);
	assert(!server->stopping);
	assert(!server->draining);
	server->draining = true;
	server->drained = (struct loop_call){ .run = drained, .arg = arg };
	server->engine->quiesce(server);
	for (struct conn *c = server->conns, *next; c; c = next) {
		next = c->next;
		if (c->idle_link)
			server_drain_idle(server, c);
	}
	if (!server->nconns)
		loop_defer(server->loop, &server->drained);
}

void server_hand_over(struct server *server, void (*drained)(void *arg),
		      void *arg)
{
	server->handed_over = true;
	server_drain(server, drained, arg);
}

int server_socket(const struct server *server)
{
	return server->listen_fd;
}

unsigned server_port(const struct server *server)
{
	return server->port;
}

uint64_t server_crowded_out(const struct server *server)
{
	return atomic_load_explicit(&server->crowded_out, memory_order_relaxed);
}

uint64_t server_too_large(const struct server *server)
{
	return atomic_load_explicit(&server->too_large, memory_order_relaxed);
}

uint64_t server_floods(const struct server *server)
{
	return atomic_load_explicit(&server->floods, memory_order_relaxed);
}

uint64_t server_surplus(const struct server *server)
{
	return atomic_load_explicit(&server->surplus, memory_order_relaxed);
}

void server_refusals(const struct server *server, uint64_t sum[REFUSAL_COUNT])
{
	for (int i = 0; i < REFUSAL_COUNT; i++)
		sum[i] += atomic_load_explicit(&server->refused[i],
					       memory_order_relaxed);
}

uint64_t server_proxy_refused(const struct server *server)
{
	return atomic_load_explicit(&server->proxy_refused,
				    memory_order_relaxed);
}

uint64_t server_tls_failures(const struct server *server)
{
	return atomic_load_explicit(&server->tls_failures,
				    memory_order_relaxed);
}

/* Exchanges */

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
	return x->conn->server->loop;
}

bool exchange_is_receiving(const struct exchange *x)
{
	return x->receiving && !x->body_ended;
}

const struct fields *exchange_trailers(const struct exchange *x)
{
	return &x->trailers;
}

bool exchange_answered(const struct exchange *x)
{
	return x->answered;
}

bool exchange_is_bodiless(const struct exchange *x, unsigned status)
{
	return status == 204 || status == 304 ||
	       ((*x->request.method | 0x20) == 'h' && /* saves the call */
		!strcasecmp(x->request.method, "HEAD"));
}

static const struct exchange_engine *server_exchange_engine(
	const struct exchange *x)
{
	return x->conn->exchanges;
}

void exchange_account(const struct exchange *x, struct exchange_account *out)
{
	*out = x->account;
	if (out->status && exchange_is_bodiless(x, out->status))
		out->bytes = 0;
}

/* It is answered, with a body of so many bytes, if it has any. */
static void server_account(struct exchange *x, unsigned status, uint64_t bytes)
{
	x->account = (struct exchange_account){
		.status = status,
		.replied_us = loop_now_us(x->conn->server->loop),
		.bytes = bytes,
	};
}

void exchange_interim(struct exchange *x, unsigned status,
		      const struct fields *fields)
{
	const struct exchange_engine *engine = server_exchange_engine(x);

	assert(status > 101 && status < 200);
	if (engine->interim)
		engine->interim(x, status, fields);
}

void exchange_reply(struct exchange *x, unsigned status,
		    const struct fields *fields, const void *body, size_t len,
		    void (*release)(void *arg), void *arg)
{
	const struct reply_memory reply = {
		status, fields, { body, len, release, arg }
	};

	assert(status >= 200 && status <= 999);
	assert(body || !len);
	server_account(x, status, len);
	server_exchange_engine(x)->reply_memory(x, &reply);
}

bool exchange_reply_written(struct exchange *x,
			    const struct reply_written *reply)
{
	const struct exchange_engine *engine = server_exchange_engine(x);

	assert(reply->body.data || !reply->body.len);
	if (!engine->reply_written)
		return false;
	server_account(x, reply->status, reply->body.len);
	engine->reply_written(x, reply);
	return true;
}

bool exchange_reply_shared(struct exchange *x, struct shared_reply *reply)
{
	server_account(x, reply->status, reply->body.len);
	return server_exchange_engine(x)->reply_shared(x, reply);
}

void exchange_reply_copy(struct exchange *x, unsigned status,
			 const struct fields *fields, const void *body,
			 size_t len)
{
	const struct reply_text reply = {
		.status = status, .fields = fields, .body = body, .len = len,
	};

	assert(status >= 200 && status <= 999);
	assert(body || !len);
	server_account(x, status, len);
	server_exchange_engine(x)->reply_text(x, &reply);
}

/* The body of an error; returns how long it is. */
static size_t server_error_text(unsigned status, char text[ERROR_TEXT_BYTES])
{
	assert(status >= 400 && status <= 599);
	return (size_t)snprintf(text, ERROR_TEXT_BYTES, "%u %s\n", status,
				reason_phrase(status));
}

void exchange_reply_error(struct exchange *x, unsigned status,
			  const struct fields *fields)
{
	char text[ERROR_TEXT_BYTES];
	const size_t len = server_error_text(status, text);
	const struct reply_text reply = {
		.status = status, .fields = fields, .type = "text/plain",
		.body = text, .len = len,
	};

	server_account(x, status, len);
	server_exchange_engine(x)->reply_text(x, &reply);
}

void exchange_refuse(struct exchange *x, unsigned status, const char *why)
{
	char text[ERROR_TEXT_BYTES];
	struct fields fields;

	assert(!x->answered);
	/* the reply may be the end of the exchange */
	server_account(x, status, server_error_text(status, text));
	server_count_refusal(x->conn->server, x->conn->address, status, why);
	if (x->conn->server->handler->on_refused)
		x->conn->server->handler->on_refused(x->conn->server->arg, x,
						     status);
	x->refused = true;
	/* a cache may keep some of these statuses by itself, as 414 (RFC 9110,
	 * 15.1); without memory the field is missing, the refusal is not */
	fields_init(&fields);
	(void)fields_borrow(&fields, "Cache-Control", "no-store");
	exchange_reply_error(x, status, &fields);
	fields_free(&fields);
}

void exchange_reply_stream(struct exchange *x, unsigned status,
			   const struct fields *fields, int64_t body_len,
			   const struct body_source *source)
{
	const struct reply_stream reply = { status, fields, body_len, source };

	assert((status >= 200 && status <= 999) ||
	       (status == 101 && x->request.upgrade && body_len < 0));
	assert(body_len >= -1);
	assert(source->read || exchange_is_bodiless(x, status));
	server_account(x, status, 0);
	server_exchange_engine(x)->reply_stream(x, &reply);
}

void exchange_set_duplex(struct exchange *x)
{
	assert(!x->answered);
	x->duplex = true;
}

void exchange_wake(struct exchange *x)
{
	if (x->answered && !x->aborted)
		server_exchange_engine(x)->wake(x);
}

void exchange_end_upload(struct exchange *x, enum exchange_end end)
{
	const struct exchange_engine *engine = server_exchange_engine(x);
	bool lasts = x->answered && (x->tunnel || x->duplex);

	if (engine->end_upload && lasts && !x->aborted)
		engine->end_upload(x, end);
}

void exchange_resume_body(struct exchange *x)
{
	bool goes_on = !x->answered || x->duplex || x->tunnel;

	if (exchange_is_receiving(x) && goes_on)
		server_exchange_engine(x)->resume_body(x);
}

void exchange_abort(struct exchange *x)
{
	x->answered = true;
	x->aborted = true;
	server_exchange_engine(x)->abort(x);
}
