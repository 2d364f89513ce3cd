/*
 * TLS over a socket, by GnuTLS.
 *
 * GnuTLS reads the head of a record, then the record; here both, and those
 * behind them, come by one readv(), whose rest is kept for the next record. Its
 * sockets are watched level triggered, so a short read means that nothing is
 * left, and saves the call that would say so.
 */
#include "digestd/tls/tls_stream.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "digestd/tls/tls_client.h"

enum {
	AHEAD_BYTES = 8192,  /* a small answer comes in one piece */
	ODD_RECORDS_MAX = 64, /* tickets, alerts, in a row without data */
	NAME_MAX_BYTES = 255,
};

struct tls_stream {
	gnutls_session_t session;
	struct tls_client *client;
	int fd;
	bool done;        /* the handshake */
	bool holds;       /* a record that the socket has not taken */
	bool drained;     /* the socket had nothing more in this receipt... */
	bool dry;         /* ...and GnuTLS was told so */
	bool gave_ticket;
	bool over;        /* the end was seen behind bytes that were returned */
	size_t ahead_at, ahead_len;
	char ahead[AHEAD_BYTES];
	char host[NAME_MAX_BYTES + 1];
};

void tls_ticket_free(struct tls_ticket *ticket)
{
	if (ticket->data)
		explicit_bzero(ticket->data, ticket->len);
	gnutls_free(ticket->data);
	*ticket = (struct tls_ticket){ 0 };
}

/* The transport */

static ssize_t tls_stream_take_ahead(struct tls_stream *s, void *out,
				     size_t room)
{
	size_t n = s->ahead_len < room ? s->ahead_len : room;

	memcpy(out, s->ahead + s->ahead_at, n);
	s->ahead_at += n;
	s->ahead_len -= n;
	return (ssize_t)n;
}

static ssize_t tls_stream_pull(gnutls_transport_ptr_t arg, void *out,
			       size_t room)
{
	struct tls_stream *s = arg;
	struct iovec parts[] = {
		{ out, room }, { s->ahead, sizeof(s->ahead) },
	};
	ssize_t n;

	if (s->ahead_len)
		return tls_stream_take_ahead(s, out, room);
	n = s->drained ? -1 : readv(s->fd, parts, 2);
	if (n < 0) {
		s->dry = s->drained || errno == EAGAIN;
		gnutls_transport_set_errno(s->session,
					   s->dry ? EAGAIN : errno);
	}
	if (n <= 0)
		return n;
	s->drained = (size_t)n < room + sizeof(s->ahead);
	s->ahead_at = 0;
	s->ahead_len = (size_t)n > room ? (size_t)n - room : 0;
	return (size_t)n > room ? (ssize_t)room : n;
}

/* GnuTLS asks before it waits, which it never does here. */
static int tls_stream_pull_timeout(gnutls_transport_ptr_t arg, unsigned ms)
{
	(void)arg;
	(void)ms;
	return 0;
}

/* Life */

/* Servers are told names, never addresses (RFC 6066, 3). */
static int tls_stream_name_server(struct tls_stream *s)
{
	size_t len = strlen(s->host);
	struct in6_addr scratch;

	if (inet_pton(AF_INET, s->host, &scratch) == 1 ||
	    inet_pton(AF_INET6, s->host, &scratch) == 1)
		return 0;
	len -= len && s->host[len - 1] == '.';
	return gnutls_server_name_set(s->session, GNUTLS_NAME_DNS, s->host,
				      len);
}

static int tls_stream_set_up(struct tls_stream *s,
			     const struct tls_ticket *ticket)
{
	if (gnutls_init(&s->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK |
				     GNUTLS_NO_SIGNAL))
		return -ENOMEM;
	gnutls_transport_set_ptr2(s->session, s,
				  (gnutls_transport_ptr_t)(intptr_t)s->fd);
	gnutls_transport_set_pull_function(s->session, tls_stream_pull);
	gnutls_transport_set_pull_timeout_function(s->session,
						   tls_stream_pull_timeout);
	if (tls_client_begin(s->client, s->session) ||
	    tls_stream_name_server(s))
		return -ENOMEM;
	if (ticket->data) /* one that cannot be used only saves nothing */
		(void)gnutls_session_set_data(s->session, ticket->data,
					      ticket->len);
	return 0;
}

int tls_stream_new(const struct tls_server *server,
		   const struct tls_ticket *ticket, struct tls_stream **out)
{
	struct tls_stream *s = malloc(sizeof(*s));
	size_t len = strlen(server->host);
	int err;

	assert(server->client && server->fd >= 0);
	assert(len <= NAME_MAX_BYTES);
	if (!s)
		return -ENOMEM;
	memset(s, 0, offsetof(struct tls_stream, ahead));
	memcpy(s->host, server->host, len + 1);
	s->fd = server->fd;
	s->client = tls_client_ref(server->client);
	err = tls_stream_set_up(s, ticket);
	if (err)
		tls_stream_free(s);
	else
		*out = s;
	return err;
}

void tls_stream_free(struct tls_stream *s)
{
	if (!s)
		return;
	tls_stream_end(s);
	if (s->session)
		gnutls_deinit(s->session);
	tls_client_unref(s->client);
	free(s);
}

/* The handshake */

static bool tls_stream_must_wait(ssize_t code)
{
	return code == GNUTLS_E_AGAIN || code == GNUTLS_E_INTERRUPTED;
}

static bool tls_stream_is_cut(int code)
{
	return code == GNUTLS_E_PREMATURE_TERMINATION ||
	       code == GNUTLS_E_PULL_ERROR || code == GNUTLS_E_PUSH_ERROR;
}

int tls_stream_handshake(struct tls_stream *s)
{
	int code;

	assert(!s->done);
	s->drained = false;
	do
		code = gnutls_handshake(s->session);
	while (code && !tls_stream_must_wait(code) &&
	       !gnutls_error_is_fatal(code));
	if (tls_stream_must_wait(code))
		return -EAGAIN;
	if (code)
		return tls_stream_is_cut(code) ? -ECONNRESET : -EPROTO;
	if (!tls_client_trusts(s->client, s->session, s->host))
		return -EACCES;
	s->done = true;
	return 0;
}

bool tls_stream_sends(const struct tls_stream *s)
{
	return gnutls_record_get_direction(s->session) == 1;
}

bool tls_stream_take_ticket(struct tls_stream *s, struct tls_ticket *out)
{
	gnutls_datum_t data;

	/* GnuTLS would wait for one of TLS 1.3 that has not come */
	if (s->gave_ticket || !s->done ||
	    (gnutls_protocol_get_version(s->session) >= GNUTLS_TLS1_3 &&
	     !(gnutls_session_get_flags(s->session) &
	       GNUTLS_SFLAGS_SESSION_TICKET)) ||
	    gnutls_session_get_data2(s->session, &data))
		return false;
	s->gave_ticket = true;
	*out = (struct tls_ticket){ data.data, data.size };
	return true;
}

bool tls_stream_is_resumed(const struct tls_stream *s)
{
	return gnutls_session_is_resumed(s->session);
}

/* Bytes */

bool tls_stream_holds(const struct tls_stream *s)
{
	return s->holds;
}

int tls_stream_flush(struct tls_stream *s)
{
	ssize_t n = s->holds ? gnutls_record_send(s->session, NULL, 0) : 0;

	if (tls_stream_must_wait(n))
		return -EAGAIN;
	s->holds = false;
	return n < 0 ? -EPIPE : 0;
}

ssize_t tls_stream_send(struct tls_stream *s, const void *data, size_t len)
{
	size_t most = gnutls_record_get_max_size(s->session), sent = 0;
	int err = tls_stream_flush(s);

	assert(s->done);
	while (!err && !s->holds && sent < len) {
		size_t piece = len - sent < most ? len - sent : most;
		ssize_t n = gnutls_record_send(s->session,
					       (const char *)data + sent,
					       piece);

		s->holds = tls_stream_must_wait(n);
		if (s->holds) /* it has all of the record */
			n = (ssize_t)piece;
		if (n > 0)
			sent += (size_t)n;
		else
			err = -EPIPE;
	}
	return err ? err : (ssize_t)sent;
}

void tls_stream_end(struct tls_stream *s)
{
	if (!s->done || s->holds)
		return;
	/* a socket that takes no more will not have its goodbye */
	(void)gnutls_bye(s->session, GNUTLS_SHUT_WR);
}

/* Of one record with data. GnuTLS says that it must wait after one without,
 * too, as a ticket is. */
static ssize_t tls_stream_receive_record(struct tls_stream *s, char *out,
					 size_t room)
{
	for (int i = 0; i < ODD_RECORDS_MAX; i++) {
		ssize_t n = gnutls_record_recv(s->session, out, room);

		if (n >= 0)
			return n;
		if (s->dry)
			return -EAGAIN;
		if (gnutls_error_is_fatal((int)n))
			break;
	}
	return -ECONNRESET;
}

ssize_t tls_stream_receive(struct tls_stream *s, void *buf, size_t cap)
{
	char *out = buf;
	size_t have = 0;

	assert(s->done && cap);
	s->drained = s->dry = false;
	while (have < cap) {
		ssize_t n = tls_stream_receive_record(s, out + have,
						      cap - have);

		s->over = n <= 0 && n != -EAGAIN;
		if (n <= 0 && !have)
			return n;
		if (n <= 0)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

bool tls_stream_has_more(const struct tls_stream *s)
{
	return s->over || s->ahead_len ||
	       gnutls_record_check_pending(s->session) > 0;
}
