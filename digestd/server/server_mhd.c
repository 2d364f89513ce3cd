/*
 * The engine over libmicrohttpd, in its external epoll mode: its epoll
 * descriptor is nested in the loop's, and MHD_run() is called when that is
 * ready, when MHD_get_timeout() says so, and after connections were resumed.
 *
 * The library's own time limit is one of inactivity, so absolute deadlines are
 * kept here. A suspended connection is not watched by the library, so its
 * descriptor is watched for the client's leaving (server_mhd_wait.c).
 */
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
#include "digestd/server/server_mhd.h"

/*
 * What a connection takes beside the memory of its headers.
 */
enum { CONN_BYTES = 2048, CONN_TLS_BYTES = 40960 };

static void server_run_pump(void *arg)
{
	struct mhd_server *s = arg;
	struct loop *loop = s->base.loop;
	MHD_UNSIGNED_LONG_LONG wait_ms;

	MHD_run(s->mhd);
	mhd_server_tls_park(s);
	if (MHD_get_timeout(s->mhd, &wait_ms) != MHD_YES)
		loop_timer_clear(loop, &s->timeout);
	else if (wait_ms == 0)
		loop_defer(loop, &s->pump);
	else
		loop_timer_set(loop, &s->timeout,
			       loop_now_ms(loop) + (int64_t)wait_ms,
			       server_run_pump, s);
}

static void server_epoll_ready(void *arg, unsigned events)
{
	(void)events;
	server_run_pump(arg);
}

/* Connections */

void mhd_conn_suspend(struct mhd_conn *c)
{
	if (c->suspended)
		return;
	c->suspended = true;
	c->base.held = true;
	MHD_suspend_connection(c->mhd);
	mhd_conn_wait_enter(c);
}

void mhd_conn_resume(struct mhd_conn *c)
{
	if (!c->suspended)
		return;
	c->suspended = false;
	c->base.held = false;
	mhd_conn_wait_pause(c);
	MHD_resume_connection(c->mhd);
	loop_defer(c->base.server->loop, &mhd_conn_server(c)->pump);
}

/* Closes a connection: the library finds it broken in its next run. */
static void server_mhd_break(struct mhd_conn *c)
{
	shutdown(c->base.fd, SHUT_RDWR);
}

/* For the outside: whatever the connection is doing. */
static void server_mhd_close(struct conn *conn)
{
	struct mhd_conn *c = (struct mhd_conn *)conn;

	c->x.aborted = true;
	server_mhd_break(c);
	mhd_conn_resume(c);
	loop_defer(conn->server->loop, &mhd_conn_server(c)->pump);
}

/* The client may idle for idle_ms, and then has header_ms for a header. */
static void server_await_request(struct mhd_conn *c, unsigned idle_ms)
{
	const struct server *s = c->base.server;

	conn_idle_enter(&c->base);
	conn_set_deadline(&c->base, loop_now_ms(s->loop) + idle_ms +
					    s->settings.header_ms);
}

static struct mhd_conn *server_conn_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* What a connection takes: the library's part, ours, and a TLS session's. */
static size_t server_mhd_conn_bytes(const struct server *s)
{
	return mhd_server_header_memory(s) + CONN_BYTES +
	       (s->tls ? CONN_TLS_BYTES : 0);
}

/* Before the library reads a byte, or begins a handshake: what it would accept
 * of strangers is of no use to them then. */
static enum MHD_Result server_accepts(void *cls, const struct sockaddr *from,
				      socklen_t len)
{
	struct server *s = cls;

	(void)len;
	if (server_allows(s, from))
		return MHD_YES;
	server_count_unlisted(s, from);
	return MHD_NO;
}

static struct mhd_conn *server_conn_open(struct server *s,
					 struct MHD_Connection *mhd)
{
	static const int unsent = SERVER_UNSENT_BYTES;
	struct mhd_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->mhd = mhd;
	c->base.server = s;
	c->base.fd = MHD_get_connection_info(
		mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	c->base.exchanges = &server_mhd_exchanges;
	c->base.address = MHD_get_connection_info(
		mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
	/* without it all works the same, with more memory */
	(void)setsockopt(c->base.fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent,
			 sizeof(unsent));
	c->x.conn = &c->base;
	c->x.request.client = c->base.address;
	fields_init(&c->x.fields);
	conn_enter(&c->base);
	server_make_room(s);
	server_await_request(c, 0);
	if (mhd_conn_tls_begin(c))
		server_mhd_break(c);
	return c;
}

static void server_conn_close(struct mhd_conn *c)
{
	struct mhd_server *s = mhd_conn_server(c);

	mhd_conn_wait_leave(c);
	conn_leave(&c->base);
	mhd_conn_tls_end(c);
	fields_free(&c->x.fields);
	free(c->target);
	free(c);
	/*
	 * Out of descriptors the library looks away from its listening socket,
	 * and back at it only in the call after the one that closed something.
	 */
	loop_defer(s->base.loop, &s->pump);
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
	struct mhd_conn *c = server_conn_of(mhd);
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
	struct mhd_conn *conn;
	int err;
};

static enum MHD_Result server_add_field(void *cls, enum MHD_ValueKind kind,
					const char *name, size_t name_len,
					const char *value, size_t value_len)
{
	struct field_walk *walk = cls;

	(void)kind;
	walk->err = fields_add_n(&walk->conn->x.fields, name, name_len,
				 value ? value : "", value_len);
	return walk->err ? MHD_NO : MHD_YES;
}

static int server_take_fields(struct mhd_conn *c)
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
 * Takes in a request's header. Returns how it is refused; status 0: it is not.
 */
static struct guard_verdict server_take_request(struct mhd_conn *c,
						const char *method,
						const char *version)
{
	struct server_request *r = &c->x.request;
	struct guard_request guard;
	struct guard_verdict verdict = { 0, NULL };

	r->method = method;
	r->target = c->target;
	r->target_len = c->target_len;
	/* a higher minor version is read as 1.1 (RFC 9110, 2.5) */
	r->minor = strcmp(version, MHD_HTTP_VERSION_1_0) ? 1 : 0;
	r->fields = &c->x.fields;
	r->https = c->handshake;
	if (!c->target || server_take_fields(c))
		return (struct guard_verdict){ 500, NULL };
	verdict.status = mhd_conn_check_header(c);
	if (verdict.status)
		return verdict;
	guard = (struct guard_request){ method, r->target, r->target_len,
					r->minor, r->fields };
	verdict = guard_check(&guard);
	r->host = fields_get(r->fields, "Host");
	r->host_len = r->host ? strlen(r->host) : 0;
	forwarded_admit(conn_trust(&c->base), &c->x.fields, &r->https);
	if (!verdict.status)
		server_frame_body(r);
	return verdict;
}

/* At the end of a call: the reply goes out, or the connection waits. */
static enum MHD_Result server_settle(struct mhd_conn *c)
{
	if (c->x.aborted)
		return MHD_NO;
	if (c->response)
		return mhd_conn_queue(c);
	mhd_conn_suspend(c);
	return MHD_YES;
}

/*
 * The first call. A reply queued here would close the connection, which is
 * right only when it cuts off a body: all others wait for the last call, which
 * follows at once when there is none.
 */
static enum MHD_Result server_begin(struct mhd_conn *c, const char *method,
				    const char *version)
{
	struct exchange *x = &c->x;
	struct guard_verdict refused;

	c->begun = true;
	conn_idle_leave(&c->base);
	conn_set_deadline(&c->base, 0);
	refused = server_take_request(c, method, version);
	if (refused.status) {
		exchange_refuse(x, refused.status, refused.reason);
		return server_settle(c);
	}
	x->started = true;
	c->base.server->handler->on_request(c->base.server->arg, x);
	if (x->aborted)
		return MHD_NO;
	if (x->request.has_body && c->response)
		return server_settle(c);
	x->receiving = x->request.has_body;
	if (x->receiving) {
		conn_upload_enter(&c->base);
		conn_pace_start(&c->base);
	}
	return MHD_YES;
}

static enum MHD_Result server_take_body(struct mhd_conn *c, const char *data,
					size_t *len)
{
	const struct server_handler *h = c->base.server->handler;
	struct exchange *x = &c->x;
	size_t taken;

	if (!h->on_body || x->answered) {
		*len = 0;
		return MHD_YES;
	}
	c->base.upload_bytes += *len;
	taken = h->on_body(c->base.server->arg, x, data, *len);
	assert(taken <= *len);
	if (x->aborted)
		return MHD_NO;
	if (x->answered)
		taken = *len;
	*len -= taken;
	if (*len) {
		/* it is not the client that waits */
		conn_set_deadline(&c->base, 0);
		mhd_conn_suspend(c);
	}
	return MHD_YES;
}

static enum MHD_Result server_end_body(struct mhd_conn *c)
{
	const struct server_handler *h = c->base.server->handler;
	struct exchange *x = &c->x;

	if (!x->body_ended) {
		x->body_ended = true;
		conn_upload_leave(&c->base);
		conn_set_deadline(&c->base, 0);
		if (x->request.has_body && !x->answered && h->on_body_end)
			h->on_body_end(c->base.server->arg, x);
	}
	return server_settle(c);
}

static enum MHD_Result server_on_access(void *cls, struct MHD_Connection *mhd,
					const char *url, const char *method,
					const char *version, const char *data,
					size_t *len, void **context)
{
	struct mhd_conn *c = server_conn_of(mhd);
	struct server *s = cls;

	(void)url; /* decoded: of no use */
	(void)context;
	if (!c || c->x.aborted || s->stopping)
		return MHD_NO;
	if (!c->begun)
		return server_begin(c, method, version);
	if (*len)
		return server_take_body(c, data, len);
	return server_end_body(c);
}

/* Makes the exchange ready for the connection's next request. */
static void server_reset(struct mhd_conn *c)
{
	struct exchange *x = &c->x;

	mhd_conn_drop_response(c);
	c->begun = c->base.sends = false;
	fields_clear(&x->fields);
	*x = (struct exchange){
		.conn = &c->base,
		.fields = x->fields,
		.request.client = c->base.address,
	};
}

static void server_on_completed(void *cls, struct MHD_Connection *mhd,
				void **context,
				enum MHD_RequestTerminationCode code)
{
	struct mhd_conn *c = server_conn_of(mhd);
	struct server *s = cls;
	enum exchange_end end;

	(void)context;
	if (!c || !c->begun)
		return;
	end = code == MHD_REQUEST_TERMINATED_COMPLETED_OK && !c->x.aborted ?
		EXCHANGE_DONE : EXCHANGE_ABORTED;
	c->x.answered = true;
	mhd_conn_wait_leave(c);
	if (c->x.started && s->handler->on_done)
		s->handler->on_done(s->arg, &c->x, end);
	conn_upload_leave(&c->base);
	server_reset(c);
	server_await_request(c, s->settings.idle_ms);
	if (s->draining)
		server_mhd_break(c);
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
		0, server_accepts, s, server_on_access, s,
		MHD_OPTION_EXTERNAL_LOGGER, mhd_server_log_library, s,
		MHD_OPTION_ARRAY, s->tls ? with_tls : with_tls + 1,
		MHD_OPTION_LISTEN_SOCKET, s->listen_fd,
		MHD_OPTION_CONNECTION_LIMIT, set->max_connections,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, set->client_connections,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, mhd_server_header_memory(s),
		MHD_OPTION_CONNECTION_TIMEOUT, idle_s,
		MHD_OPTION_NOTIFY_COMPLETED, server_on_completed, s,
		MHD_OPTION_NOTIFY_CONNECTION, server_on_connection, s,
		MHD_OPTION_URI_LOG_CALLBACK, server_on_target, s,
		MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
}

/* The daemon takes the listening socket, and is nested in the loop. */
static int server_mhd_start(struct server *base)
{
	struct mhd_server *s = mhd_server(base);
	int err;

	s->waiting_end = &s->waiting;
	s->pump = (struct loop_call){ .run = server_run_pump, .arg = s };
	s->mhd = server_start_daemon(base);
	if (!s->mhd)
		return -ENOMEM;
	err = loop_watch(base->loop, &s->watch, MHD_get_daemon_info(
			 s->mhd, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, LOOP_READ,
			 server_epoll_ready, s);
	if (err) {
		MHD_quiesce_daemon(s->mhd);
		MHD_stop_daemon(s->mhd);
	}
	return err;
}

static void server_mhd_quiesce(struct server *base)
{
	struct mhd_server *s = mhd_server(base);

	if (base->listen_fd < 0)
		return;
	if (!base->handed_over)
		MHD_run(s->mhd);
	MHD_quiesce_daemon(s->mhd);
	close(base->listen_fd);
	base->listen_fd = -1;
	loop_defer(base->loop, &s->pump);
}

static void server_mhd_stop(struct server *base)
{
	struct mhd_server *s = mhd_server(base);

	/* the library must not be stopped with suspended connections */
	for (struct conn *c = base->conns; c; c = c->next)
		server_mhd_close(c);
	MHD_run(s->mhd);
	loop_unwatch(base->loop, &s->watch);
	MHD_stop_daemon(s->mhd);
	base->listen_fd = -1; /* which the library has closed */
	loop_timer_clear(base->loop, &s->timeout);
	loop_timer_clear(base->loop, &s->waiting_timer);
	loop_undefer(base->loop, &s->pump);
}

static void server_mhd_resume_body(struct exchange *x)
{
	struct mhd_conn *c = exchange_mhd_conn(x);

	if (!c->suspended)
		return;
	conn_pace_start(&c->base);
	mhd_conn_resume(c);
}

static void server_mhd_abort(struct exchange *x)
{
	struct mhd_conn *c = exchange_mhd_conn(x);

	server_mhd_break(c);
	mhd_conn_resume(c);
}

const struct server_engine server_engine_mhd = {
	.bytes = sizeof(struct mhd_server),
	.start = server_mhd_start,
	.quiesce = server_mhd_quiesce,
	.stop = server_mhd_stop,
	.close = server_mhd_close,
	.expire = server_mhd_close,
	.conn_bytes = server_mhd_conn_bytes,
};

const struct exchange_engine server_mhd_exchanges = {
	.reply_text = mhd_reply_text,
	.reply_memory = mhd_reply_memory,
	.reply_shared = mhd_reply_shared,
	.reply_stream = mhd_reply_stream,
	.wake = mhd_wake,
	.resume_body = server_mhd_resume_body,
	.abort = server_mhd_abort,
};
