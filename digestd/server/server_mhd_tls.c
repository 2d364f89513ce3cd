/*
 * TLS of the server's connections: each is prepared before its handshake, and
 * what came of that is known when it closes.
 */
#include <assert.h>
#include <stdlib.h>

#include "digestd/server/server_mhd.h"
#include "digestd/tls/tls.h"

bool server_has_tls(void)
{
	return MHD_is_feature_supported(MHD_FEATURE_TLS) == MHD_YES &&
	       MHD_is_feature_supported(MHD_FEATURE_HTTPS_CERT_CALLBACK) ==
		       MHD_YES;
}

static void server_tls_shaking_enter(struct mhd_conn *c)
{
	struct mhd_server *s = mhd_conn_server(c);

	c->shaking_next = s->shaking;
	c->shaking_link = &s->shaking;
	if (c->shaking_next)
		c->shaking_next->shaking_link = &c->shaking_next;
	s->shaking = c;
}

static void server_tls_shaking_leave(struct mhd_conn *c)
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
	struct mhd_conn *c = arg;

	(void)events;
	mhd_conn_resume(c);
	server_tls_shaking_enter(c);
}

static void server_tls_park_one(struct mhd_conn *c)
{
	unsigned events = LOOP_HANGUP |
			  (tls_sends(c->handshake) ? LOOP_WRITE : LOOP_READ);

	if (loop_watch(c->base.server->loop, &c->hangup, c->base.fd, events,
		       server_tls_go_on, c)) {
		server_tls_shaking_enter(
			c); /* no memory: it goes on as it can */
		return;
	}
	c->suspended = true;
	MHD_suspend_connection(c->mhd);
}

void mhd_server_tls_park(struct mhd_server *s)
{
	struct mhd_conn *next;

	for (struct mhd_conn *c = s->shaking; c; c = next) {
		next = c->shaking_next;
		server_tls_shaking_leave(c);
		if (!c->handshake->done && !c->x.aborted && !s->base.stopping)
			server_tls_park_one(c);
	}
}

int mhd_conn_tls_begin(struct mhd_conn *c)
{
	const union MHD_ConnectionInfo *info;

	assert(!c->handshake);
	if (!c->base.server->tls)
		return 0;
	c->handshake = calloc(1, sizeof(*c->handshake));
	info = MHD_get_connection_info(c->mhd,
				       MHD_CONNECTION_INFO_GNUTLS_SESSION);
	if (!c->handshake || !info)
		return -1;
	server_tls_shaking_enter(c);
	return tls_begin(c->base.server->tls, info->tls_session, c->handshake);
}

void mhd_conn_tls_end(struct mhd_conn *c)
{
	if (!c->handshake)
		return;
	server_tls_shaking_leave(c);
	if (!c->handshake->done && !c->base.server->stopping)
		server_count_tls_failure(c->base.server, c->base.address,
					 c->handshake->refused);
	tls_end(c->handshake);
	free(c->handshake);
}
