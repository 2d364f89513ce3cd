/*
 * The server over libmicrohttpd, in its external epoll mode: its epoll
 * descriptor is nested in the loop's, and MHD_run() is called when that is
 * ready, when MHD_get_timeout() says so, and after connections were resumed.
 *
 * The library's own time limit is one of inactivity, so absolute deadlines are
 * kept here. A suspended connection is not watched by the library, so its
 * descriptor is watched for the client's leaving (server_wait.c).
 */
#include "digestd/server/server.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "digestd/http/forwarded.h"
#include "digestd/http/guard.h"
#include "digestd/os/listen.h"
#include "digestd/os/memory.h"
#include "digestd/server/server_conn.h"
#include "digestd/tls/tls.h"

/*
 * What a connection takes beside the memory of its headers.
 */
enum { CONN_BYTES = 2048, CONN_TLS_BYTES = 40960 };

/*
 * What the kernel may hold unsent of a connection: enough to keep it busy for
 * a turn of the loop. Without a limit a client that does not read pins some
 * megabytes, and filling them holds up everyone else.
 */
enum { UNSENT_BYTES = 262144 };

static void server_run_pump(void *arg)
{
	struct server *s = arg;
	MHD_UNSIGNED_LONG_LONG wait_ms;

	MHD_run(s->mhd);
	server_tls_park(s);
	if (MHD_get_timeout(s->mhd, &wait_ms) != MHD_YES)
		loop_timer_clear(s->loop, &s->timeout);
	else if (wait_ms == 0)
		loop_defer(s->loop, &s->pump);
	else
		loop_timer_set(s->loop, &s->timeout,
			       loop_now_ms(s->loop) + (int64_t)wait_ms,
			       server_run_pump, s);
}

static void server_epoll_ready(void *arg, unsigned events)
{
	(void)events;
	server_run_pump(arg);
}

/* Connections */

void conn_suspend(struct conn *c)
{
	if (c->x.suspended)
		return;
	c->x.suspended = true;
	MHD_suspend_connection(c->mhd);
	conn_wait_enter(c);
}

void conn_resume(struct conn *c)
{
	if (!c->x.suspended)
		return;
	c->x.suspended = false;
	conn_wait_leave(c);
	MHD_resume_connection(c->mhd);
	loop_defer(c->server->loop, &c->server->pump);
}

void conn_break(struct conn *c)
{
	shutdown(c->fd, SHUT_RDWR);
}

static void server_deadline_passed(void *arg)
{
	struct conn *c = arg;

	if (!c->deadline_ms)
		return;
	if (loop_now_ms(c->server->loop) < c->deadline_ms) {
		loop_timer_set(c->server->loop, &c->timer, c->deadline_ms,
			       server_deadline_passed, c);
		return;
	}
	if (conn_pace_kept(c))
		return;
	c->deadline_ms = 0;
	c->x.aborted = true;
	conn_break(c);
	conn_resume(c);
}

/*
 * A timer that is due earlier than the new deadline is left alone and looks
 * again when it fires: deadlines move with every request, timers do not.
 */
void conn_set_deadline(struct conn *c, int64_t deadline_ms)
{
	assert(deadline_ms >= 0);
	c->deadline_ms = deadline_ms;
	c->pace = PACE_NONE;
	if (!deadline_ms || (c->timer.link && c->timer.due_ms <= deadline_ms))
		return;
	loop_timer_set(c->server->loop, &c->timer, deadline_ms,
		       server_deadline_passed, c);
}

/* The client may idle for idle_ms, and then has header_ms for a header. */
static void server_await_request(struct conn *c, unsigned idle_ms)
{
	const struct server *s = c->server;

	conn_idle_enter(c);
	conn_set_deadline(c, loop_now_ms(s->loop) + idle_ms +
			     s->settings.header_ms);
}

static struct conn *server_conn_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

void server_set_trusted(struct server *server,
			const struct address_prefixes *trusted)
{
	server->trusts_all = !trusted;
	if (trusted)
		server->trusted = *trusted;
}

static bool server_conn_is_trusted(const struct conn *c)
{
	return c->server->trusts_all ||
	       address_prefixes_have(&c->server->trusted, c->x.request.client);
}

/* What a connection takes: the library's part, ours, and a TLS session's. */
static uint64_t server_conn_memory(const struct server *s)
{
	return server_header_memory(s) + CONN_BYTES +
	       (s->tls ? CONN_TLS_BYTES : 0);
}

static struct conn *server_conn_open(struct server *s,
				     struct MHD_Connection *mhd)
{
	static const int unsent = UNSENT_BYTES;
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->server = s;
	c->mhd = mhd;
	c->fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)
			->connect_fd;
	/* without it all works the same, with more memory */
	(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent,
			 sizeof(unsent));
	c->x.request.client = MHD_get_connection_info(
		mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
	c->trusted = server_conn_is_trusted(c);
	fields_init(&c->x.fields);
	c->next = s->conns;
	c->link = &s->conns;
	if (c->next)
		c->next->link = &c->next;
	s->conns = c;
	s->nconns++;
	conn_client_enter(c);
	server_make_room(s);
	ledger_add(&memory_ledger, LEDGER_connections, server_conn_memory(s));
	server_await_request(c, 0);
	if (conn_tls_begin(c))
		conn_break(c);
	return c;
}

static void server_conn_close(struct conn *c)
{
	struct server *s = c->server;

	loop_timer_clear(s->loop, &c->timer);
	conn_wait_leave(c);
	conn_idle_leave(c);
	conn_upload_leave(c);
	conn_client_leave(c);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	ledger_return(&memory_ledger, LEDGER_connections,
		      server_conn_memory(s));
	conn_tls_end(c);
	fields_free(&c->x.fields);
	free(c->target);
	free(c);
	/*
	 * Out of descriptors the library looks away from its listening socket,
	 * and back at it only in the call after the one that closed something.
	 */
	loop_defer(s->loop, &s->pump);
	if (--s->nconns == 0 && s->draining)
		loop_defer(s->loop, &s->drained);
}

static void server_on_connection(void *cls, struct MHD_Connection *mhd,
				 void **socket_context,
				 enum MHD_ConnectionNotificationCode code)
{
	switch (code) {
	case MHD_CONNECTION_NOTIFY_STARTED:
		*socket_context = server_conn_open(cls, mhd);
		break;
	case MHD_CONNECTION_NOTIFY_CLOSED:
		if (*socket_context)
			server_conn_close(*socket_context);
		*socket_context = NULL;
		break;
	}
}

/* Requests */

/*
 * Cuts the query out of the library's copy of a target: it would make a record
 * of each of a thousand arguments, which nobody asks for.
 */
static void server_hide_query(const char *target)
{
	char *query = strchr((char *)(uintptr_t)target, '?');

	if (query && query[1])
		query[1] = '\0';
}

/* Keeps the raw target, which is all that keys are made from. */
static void *server_on_target(void *cls, const char *target,
			      struct MHD_Connection *mhd)
{
	struct conn *c = server_conn_of(mhd);
	size_t len = strlen(target);

	(void)cls;
	if (!c)
		return NULL;
	c->target_len = 0;
	if (len >= c->target_cap) {
		free(c->target);
		c->target_cap = len + 1;
		c->target = malloc(c->target_cap);
	}
	if (!c->target) {
		c->target_cap = 0;
		return c;
	}
	memcpy(c->target, target, len + 1);
	c->target_len = len;
	server_hide_query(target);
	return c;
}

struct field_walk {
	struct conn *conn;
	int err;
};

static enum MHD_Result server_add_field(void *cls, enum MHD_ValueKind kind,
					const char *name, size_t name_len,
					const char *value, size_t value_len)
{
	struct field_walk *walk = cls;

	(void)kind;
	if (!walk->conn->trusted && forwarded_is_claim(name, name_len))
		return MHD_YES;
	walk->err = fields_add_n(&walk->conn->x.fields, name, name_len,
				 value ? value : "", value_len);
	return walk->err ? MHD_NO : MHD_YES;
}

static int server_take_fields(struct conn *c)
{
	struct field_walk walk = { c, 0 };

	MHD_get_connection_values_n(c->mhd, MHD_HEADER_KIND, server_add_field,
				    &walk);
	return walk.err;
}

/* How long the request's body is: the guard has seen to one valid answer. */
static void server_frame_body(struct server_request *r)
{
	const char *length = fields_get(r->fields, "content-length");

	r->body_len = length ? strtoll(length, NULL, 10) : 0;
	if (fields_get(r->fields, "transfer-encoding"))
		r->body_len = -1;
	r->has_body = r->body_len != 0;
}

/*
 * Takes in a request's header. Returns 0, or the status it is refused with.
 */
static unsigned server_take_request(struct conn *c, const char *method,
				    const char *version)
{
	struct server_request *r = &c->x.request;
	struct guard_request guard;
	struct guard_verdict verdict;

	r->method = method;
	r->target = c->target;
	r->target_len = c->target_len;
	/* a higher minor version is read as 1.1 (RFC 9110, 2.5) */
	r->minor = strcmp(version, MHD_HTTP_VERSION_1_0) ? 1 : 0;
	r->fields = &c->x.fields;
	r->https = c->handshake;
	if (!c->target || server_take_fields(c))
		return 500;
	verdict.status = conn_check_header(c);
	if (verdict.status)
		return verdict.status;
	guard = (struct guard_request){ method, r->target, r->target_len,
					r->minor, r->fields };
	verdict = guard_check(&guard);
	if (c->trusted && !c->server->trusts_all)
		forwarded_scheme(r->fields, &r->https);
	if (!verdict.status)
		server_frame_body(r);
	return verdict.status;
}

/* At the end of a call: the reply goes out, or the connection waits. */
static enum MHD_Result server_settle(struct conn *c)
{
	if (c->x.aborted || c->x.early)
		return MHD_NO;
	if (c->x.response)
		return exchange_queue(&c->x);
	conn_suspend(c);
	return MHD_YES;
}

/*
 * The first call. A reply queued here would close the connection, which is
 * right only when it cuts off a body: all others wait for the last call, which
 * follows at once when there is none.
 */
static enum MHD_Result server_begin(struct conn *c, const char *method,
				    const char *version)
{
	struct exchange *x = &c->x;
	unsigned refused;

	x->begun = true;
	conn_idle_leave(c);
	conn_set_deadline(c, 0);
	refused = server_take_request(c, method, version);
	if (refused == 414 || refused == 431) {
		conn_refuse_header(c, refused);
		return x->aborted ? MHD_NO : MHD_YES;
	}
	if (refused) {
		exchange_refuse(x, refused);
		return server_settle(c);
	}
	x->started = true;
	c->server->handler->on_request(c->server->arg, x);
	if (x->aborted)
		return MHD_NO;
	if (x->request.has_body && x->response)
		return server_settle(c);
	x->receiving = x->request.has_body;
	if (x->receiving) {
		conn_upload_enter(c);
		conn_pace_start(c);
	}
	return MHD_YES;
}

static enum MHD_Result server_take_body(struct conn *c, const char *data,
					size_t *len)
{
	const struct server_handler *h = c->server->handler;
	struct exchange *x = &c->x;
	size_t taken;

	if (!h->on_body || x->answered) {
		if (x->early)
			exchange_linger(x);
		*len = 0;
		return MHD_YES;
	}
	c->upload_bytes += *len;
	taken = h->on_body(c->server->arg, x, data, *len);
	assert(taken <= *len);
	if (x->aborted)
		return MHD_NO;
	if (x->answered)
		taken = *len;
	*len -= taken;
	if (*len) {
		conn_set_deadline(c, 0); /* it is not the client that waits */
		conn_suspend(c);
	}
	return MHD_YES;
}

static enum MHD_Result server_end_body(struct conn *c)
{
	const struct server_handler *h = c->server->handler;
	struct exchange *x = &c->x;

	if (!x->body_ended) {
		x->body_ended = true;
		conn_upload_leave(c);
		conn_set_deadline(c, 0);
		if (x->request.has_body && !x->answered && h->on_body_end)
			h->on_body_end(c->server->arg, x);
	}
	return server_settle(c);
}

static enum MHD_Result server_on_access(void *cls, struct MHD_Connection *mhd,
					const char *url, const char *method,
					const char *version, const char *data,
					size_t *len, void **context)
{
	struct conn *c = server_conn_of(mhd);
	struct server *s = cls;

	(void)url; /* decoded: of no use */
	(void)context;
	if (!c || c->x.aborted || s->stopping)
		return MHD_NO;
	if (!c->x.begun)
		return server_begin(c, method, version);
	if (*len)
		return server_take_body(c, data, len);
	return server_end_body(c);
}

/* Makes the exchange ready for the connection's next request. */
static void server_reset(struct conn *c)
{
	struct exchange *x = &c->x;

	exchange_drop_response(x);
	fields_clear(&x->fields);
	*x = (struct exchange){
		.fields = x->fields,
		.request.client = x->request.client,
	};
}

static void server_on_completed(void *cls, struct MHD_Connection *mhd,
				void **context,
				enum MHD_RequestTerminationCode code)
{
	struct conn *c = server_conn_of(mhd);
	struct server *s = cls;
	enum exchange_end end;

	(void)context;
	if (!c || !c->x.begun)
		return;
	end = (code == MHD_REQUEST_TERMINATED_COMPLETED_OK || c->x.early) &&
			      !c->x.aborted ?
		EXCHANGE_DONE : EXCHANGE_ABORTED;
	c->x.answered = true;
	if (c->x.started && s->handler->on_done)
		s->handler->on_done(s->arg, &c->x, end);
	conn_upload_leave(c);
	server_reset(c);
	server_await_request(c, s->settings.idle_ms);
	if (s->draining)
		conn_break(c);
}

/* The server */

/*
 * The certificates that the library itself would use: none. Each session is
 * given its own before it is asked for them.
 */
static int server_no_certificate(void)
{
	return -1;
}

static struct MHD_Daemon *server_start_daemon(struct server *s)
{
	const struct MHD_OptionItem with_tls[] = {
		{MHD_OPTION_HTTPS_CERT_CALLBACK, 0,
		 (void *)(uintptr_t)server_no_certificate},
		{MHD_OPTION_END, 0, NULL},
	};
	const struct server_settings *set = &s->settings;
	unsigned idle_s = (set->idle_ms + 999) / 1000;

	return MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
			(s->tls ? MHD_USE_TLS : 0),
		0, NULL, NULL, server_on_access, s, MHD_OPTION_EXTERNAL_LOGGER,
		server_log_library, s, MHD_OPTION_ARRAY,
		s->tls ? with_tls : with_tls + 1, MHD_OPTION_LISTEN_SOCKET,
		s->listen_fd, MHD_OPTION_CONNECTION_LIMIT, set->max_connections,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, set->client_connections,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, server_header_memory(s),
		MHD_OPTION_CONNECTION_TIMEOUT, idle_s,
		MHD_OPTION_NOTIFY_COMPLETED, server_on_completed, s,
		MHD_OPTION_NOTIFY_CONNECTION, server_on_connection, s,
		MHD_OPTION_URI_LOG_CALLBACK, server_on_target, s,
		MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
}

/* Opens the socket, starts the daemon, and nests it in the loop. */
static int server_start(struct server *s, const char *address)
{
	const union MHD_DaemonInfo *info;
	const struct listen_how how = { address, s->settings.joins };
	int err = listen_open(&how, &s->listen_fd);

	if (err)
		return err;
	s->port = listen_port(s->listen_fd);
	s->mhd = server_start_daemon(s);
	if (!s->mhd) {
		close(s->listen_fd);
		return -ENOMEM;
	}
	info = MHD_get_daemon_info(s->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	err = loop_watch(s->loop, &s->watch, info->epoll_fd, LOOP_READ,
			 server_epoll_ready, s);
	if (err)
		MHD_stop_daemon(s->mhd);
	return err;
}

int server_new(struct loop *loop, const struct server_settings *settings,
	       const struct server_handler *handler, void *arg,
	       struct server **out)
{
	struct server *s = calloc(1, sizeof(*s));
	int err;

	assert(loop && settings->listen);
	assert(settings->max_connections > 0);
	assert(settings->max_header_bytes >= 1024);
	assert(handler->on_request);
	if (!s)
		return -ENOMEM;
	s->loop = loop;
	s->settings = *settings;
	s->settings.listen = NULL;
	s->settings.tls = NULL;
	s->settings.trusted = NULL;
	server_set_trusted(s, settings->trusted);
	s->idle_end = &s->idle;
	s->uploads_end = &s->uploads;
	s->waiting_end = &s->waiting;
	s->handler = handler;
	s->arg = arg;
	s->pump = (struct loop_call){.run = server_run_pump, .arg = s};
	s->tls = settings->tls ? tls_ref(settings->tls) : NULL;
	err = server_start(s, settings->listen);
	if (err) {
		tls_unref(s->tls);
		free(s);
		return err;
	}
	*out = s;
	return 0;
}

/* Stops accepting; what waits in the socket's queue is taken in before. */
static void server_stop_listening(struct server *s)
{
	if (s->listen_fd < 0)
		return;
	MHD_run(s->mhd);
	MHD_quiesce_daemon(s->mhd);
	close(s->listen_fd);
	s->listen_fd = -1;
}

void server_free(struct server **server)
{
	struct server *s = *server;

	if (!s)
		return;
	s->stopping = true;
	s->draining = false;
	/* the library must not be stopped with suspended connections */
	for (struct conn *c = s->conns; c; c = c->next) {
		c->x.aborted = true;
		conn_resume(c);
	}
	MHD_run(s->mhd);
	loop_unwatch(s->loop, &s->watch);
	MHD_stop_daemon(s->mhd);
	loop_timer_clear(s->loop, &s->timeout);
	loop_timer_clear(s->loop, &s->waiting_timer);
	loop_undefer(s->loop, &s->pump);
	loop_undefer(s->loop, &s->drained);
	tls_unref(s->tls);
	free(s);
	*server = NULL;
}

void server_drain(struct server *server, void (*drained)(void *arg), void *arg)
{
	assert(drained);
	assert(!server->stopping);
	assert(!server->draining);
	server_stop_listening(server);
	server->draining = true;
	server->drained = (struct loop_call){ .run = drained, .arg = arg };
	for (struct conn *c = server->conns; c; c = c->next) {
		if (!c->x.begun)
			conn_break(c);
	}
	loop_defer(server->loop, &server->pump);
	if (!server->nconns)
		loop_defer(server->loop, &server->drained);
}

unsigned server_port(const struct server *server)
{
	return server->port;
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
	return exchange_conn(x)->server->loop;
}

bool exchange_answered(const struct exchange *x)
{
	return x->answered;
}

void exchange_resume_body(struct exchange *x)
{
	struct conn *c = exchange_conn(x);

	assert(x->begun);
	if (x->suspended && x->request.has_body && !x->body_ended) {
		conn_pace_start(c);
		conn_resume(c);
	}
}

void exchange_abort(struct exchange *x)
{
	struct conn *c = exchange_conn(x);

	x->answered = true;
	x->aborted = true;
	conn_break(c);
	conn_resume(c);
}
