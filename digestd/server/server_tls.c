/*
 * TLS of the server's connections: each is prepared before its handshake, and
 * what came of that is known when it closes.
 */
#include <assert.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "digestd/os/log.h"
#include "digestd/server/server_conn.h"
#include "digestd/tls/tls.h"

/* Failed handshakes are logged, so many in so much time. */
enum { LOG_BURST = 5, LOG_PERIOD_MS = 10000 };

bool server_has_tls(void)
{
	return MHD_is_feature_supported(MHD_FEATURE_TLS) == MHD_YES &&
	       MHD_is_feature_supported(MHD_FEATURE_HTTPS_CERT_CALLBACK) ==
		       MHD_YES;
}

void server_set_tls(struct server *server, struct tls *tls)
{
	if (!server->tls || !tls)
		return;
	tls_unref(server->tls);
	server->tls = tls_ref(tls);
}

uint64_t server_tls_failures(const struct server *server)
{
	return atomic_load_explicit(&server->tls_failures,
				    memory_order_relaxed);
}

static void server_tls_shaking_enter(struct conn *c)
{
	struct server *s = c->server;

	c->shaking_next = s->shaking;
	c->shaking_link = &s->shaking;
	if (c->shaking_next)
		c->shaking_next->shaking_link = &c->shaking_next;
	s->shaking = c;
}

static void server_tls_shaking_leave(struct conn *c)
{
	if (!c->shaking_link)
		return;
	*c->shaking_link = c->shaking_next;
	if (c->shaking_next)
		c->shaking_next->shaking_link = c->shaking_link;
	c->shaking_link = NULL;
}

static void server_tls_go_on(void *arg, unsigned events)
{
	struct conn *c = arg;

	(void)events;
	conn_resume(c);
	server_tls_shaking_enter(c);
}

static void server_server_tls_park(struct conn *c)
{
	unsigned events = LOOP_HANGUP |
			  (tls_sends(c->handshake) ? LOOP_WRITE : LOOP_READ);

	if (loop_watch(c->server->loop, &c->hangup, c->fd, events,
		       server_tls_go_on, c)) {
		server_tls_shaking_enter(
			c); /* no memory: it goes on as it can */
		return;
	}
	c->x.suspended = true;
	MHD_suspend_connection(c->mhd);
}

void server_tls_park(struct server *s)
{
	struct conn *next;

	for (struct conn *c = s->shaking; c; c = next) {
		next = c->shaking_next;
		server_tls_shaking_leave(c);
		if (!c->handshake->done && !c->x.aborted && !s->stopping)
			server_server_tls_park(c);
	}
}

int conn_tls_begin(struct conn *c)
{
	const union MHD_ConnectionInfo *info;

	assert(!c->handshake);
	if (!c->server->tls)
		return 0;
	c->handshake = calloc(1, sizeof(*c->handshake));
	info = MHD_get_connection_info(c->mhd,
				       MHD_CONNECTION_INFO_GNUTLS_SESSION);
	if (!c->handshake || !info)
		return -1;
	server_tls_shaking_enter(c);
	return tls_begin(c->server->tls, info->tls_session, c->handshake);
}

static void server_tls_log_failure(struct conn *c)
{
	const struct sockaddr *from = c->x.request.client;
	socklen_t len = from->sa_family == AF_INET6 ?
				sizeof(struct sockaddr_in6) :
				sizeof(struct sockaddr_in);
	struct log_limit *limit = &c->server->tls_log;
	char host[NI_MAXHOST] = "?";
	unsigned dropped;

	limit->burst = LOG_BURST;
	limit->period_ms = LOG_PERIOD_MS;
	if (!log_allow(limit, loop_now_ms(c->server->loop), &dropped))
		return;
	getnameinfo(from, len, host, sizeof(host), NULL, 0, NI_NUMERICHOST);
	log_write(LOG_WARNING, "tls", "port %u: handshake with %s failed%s%s "
		  "(%u more not logged)", c->server->port, host,
		  *c->handshake->refused ? ": " : "", c->handshake->refused,
		  dropped);
}

void conn_tls_end(struct conn *c)
{
	if (!c->handshake)
		return;
	server_tls_shaking_leave(c);
	if (!c->handshake->done && !c->server->stopping) {
		atomic_fetch_add_explicit(&c->server->tls_failures, 1,
					  memory_order_relaxed);
		server_tls_log_failure(c);
	}
	tls_end(c->handshake);
	free(c->handshake);
}
