/*
 * The client's end of a TLS connection: its server's name, its session and
 * whether it is trusted. Its bytes are those of tls_conn.h.
 */
#include "digestd/tls/tls_stream.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/tls/tls_client.h"
#include "digestd/tls/tls_conn.h"

enum { NAME_MAX_BYTES = 255 };

struct tls_stream {
	struct tls_conn conn;
	struct tls_client *client;
	bool done; /* the handshake */
	enum trouble trouble; /* with its certificate */
	bool gave_ticket;
	char host[NAME_MAX_BYTES + 1];
};

void tls_ticket_free(struct tls_ticket *ticket)
{
	if (ticket->data)
		explicit_bzero(ticket->data, ticket->len);
	gnutls_free(ticket->data);
	*ticket = (struct tls_ticket){ 0 };
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
	return gnutls_server_name_set(s->conn.session, GNUTLS_NAME_DNS,
				      s->host, len);
}

static int tls_stream_set_up(struct tls_stream *s, int fd,
			     const struct tls_ticket *ticket)
{
	if (tls_conn_init(&s->conn, fd, false) ||
	    tls_client_begin(s->client, s->conn.session) ||
	    tls_stream_name_server(s))
		return -ENOMEM;
	if (ticket->data) /* one that cannot be used only saves nothing */
		(void)gnutls_session_set_data(s->conn.session, ticket->data,
					      ticket->len);
	return 0;
}

int tls_stream_new(const struct tls_server *server,
		   const struct tls_ticket *ticket, struct tls_stream **out)
{
	struct tls_stream *s = calloc(1, sizeof(*s));
	size_t len = strlen(server->host);
	int err;

	assert(server->client && server->fd >= 0);
	assert(len <= NAME_MAX_BYTES);
	if (!s)
		return -ENOMEM;
	memcpy(s->host, server->host, len + 1);
	s->client = tls_client_ref(server->client);
	err = tls_stream_set_up(s, server->fd, ticket);
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
	tls_conn_free(&s->conn);
	tls_client_unref(s->client);
	free(s);
}

/* The handshake */

int tls_stream_handshake(struct tls_stream *s)
{
	int err;

	assert(!s->done);
	err = tls_conn_handshake(&s->conn);
	if (err)
		return err;
	s->trouble = tls_client_judge(s->client, s->conn.session, s->host);
	if (s->trouble)
		return -EACCES;
	s->done = true;
	return 0;
}

enum trouble tls_stream_trouble(const struct tls_stream *s)
{
	return s->trouble;
}

bool tls_stream_take_ticket(struct tls_stream *s, struct tls_ticket *out)
{
	gnutls_datum_t data;

	/* GnuTLS would wait for one of TLS 1.3 that has not come */
	if (s->gave_ticket || !s->done ||
	    (gnutls_protocol_get_version(s->conn.session) >= GNUTLS_TLS1_3 &&
	     !(gnutls_session_get_flags(s->conn.session) &
	       GNUTLS_SFLAGS_SESSION_TICKET)) ||
	    gnutls_session_get_data2(s->conn.session, &data))
		return false;
	s->gave_ticket = true;
	*out = (struct tls_ticket){ data.data, data.size };
	return true;
}

bool tls_stream_is_resumed(const struct tls_stream *s)
{
	return gnutls_session_is_resumed(s->conn.session);
}

/* Bytes */

bool tls_stream_holds(const struct tls_stream *s)
{
	return tls_conn_holds(&s->conn);
}

int tls_stream_flush(struct tls_stream *s)
{
	return tls_conn_flush(&s->conn);
}

ssize_t tls_stream_send(struct tls_stream *s, const void *data, size_t len)
{
	/* which is only read */
	const struct iovec part = { (void *)(uintptr_t)data, len };

	assert(s->done);
	return tls_conn_send(&s->conn, &part, 1);
}

void tls_stream_end(struct tls_stream *s)
{
	if (s->done)
		tls_conn_end(&s->conn);
}

ssize_t tls_stream_receive(struct tls_stream *s, void *buf, size_t cap)
{
	assert(s->done);
	return tls_conn_receive(&s->conn, buf, cap);
}

bool tls_stream_has_more(const struct tls_stream *s)
{
	return tls_conn_has_more(&s->conn);
}
