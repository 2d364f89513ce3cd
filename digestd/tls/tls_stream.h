/*
 * The client's end of a TLS connection, over a socket that does not block.
 *
 * A server has to show who it is before anything is sent to it, also where a
 * session is resumed: its certificates come with the session then.
 *
 * The session of one connection lets the next one do without the server's
 * signature. Each is used once (RFC 8446, C.4). One of TLS 1.3 comes some time
 * after the handshake, mostly with the first bytes.
 */
#ifndef DIGESTD_TLS_TLS_STREAM_H
#define DIGESTD_TLS_TLS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "digestd/http/trouble.h"

struct tls_client;
struct tls_stream;

/* A session that may be resumed; all zero: none. */
struct tls_ticket {
	unsigned char *data;
	size_t len;
};

void tls_ticket_free(struct tls_ticket *ticket);

/* Whom a connection is to. */
struct tls_server {
	struct tls_client *client; /* a reference is taken */
	const char *host; /* a name or an address, without brackets; copied */
	int fd;           /* connected; stays the caller's */
};

/*
 * Makes one. ticket: of an earlier connection to the same server with the same
 * client, or none; it is the caller's. Returns 0 or -ENOMEM.
 */
int tls_stream_new(const struct tls_server *server,
		   const struct tls_ticket *ticket, struct tls_stream **out);

/* Says goodbye where that is possible, and frees. Null is allowed. */
void tls_stream_free(struct tls_stream *s);

/*
 * Goes on with the handshake. Returns 0 when it is done and the server is whom
 * it should be; -EAGAIN: see tls_stream_holds(); -ECONNRESET: the connection
 * ended; -EPROTO: no TLS with it; -EACCES: its certificate is not right. Blocks
 * as tls_client_judge() does.
 */
int tls_stream_handshake(struct tls_stream *s);

/* After -EACCES: what is wrong with it, as tls_client_judge() says. */
enum trouble tls_stream_trouble(const struct tls_stream *s);

/*
 * Takes bytes to be sent. Returns how many, -EAGAIN when there is no room, or
 * -EPIPE. What was taken must not be given again, but may be here for a while:
 * tls_stream_holds().
 */
ssize_t tls_stream_send(struct tls_stream *s, const void *data, size_t len);

/* Whether bytes that were taken, or a handshake's, have not gone out, and sends
 * them: 0, -EAGAIN or -EPIPE. */
bool tls_stream_holds(const struct tls_stream *s);
int tls_stream_flush(struct tls_stream *s);

/* No more will be sent: what shutdown(SHUT_WR) is to a socket. */
void tls_stream_end(struct tls_stream *s);

/*
 * Receives up to cap (> 0) bytes. Returns their number, 0 at the end that the
 * server announced, -EAGAIN, -ECONNRESET at any other end, or -EPROTO.
 */
ssize_t tls_stream_receive(struct tls_stream *s, void *buf, size_t cap);

/* Whether there is something to receive that its socket does not show. */
bool tls_stream_has_more(const struct tls_stream *s);

/* Gives this connection's session away, once. False: there is none yet, or
 * there was one already. */
bool tls_stream_take_ticket(struct tls_stream *s, struct tls_ticket *out);

/* Whether this connection has resumed a session. */
bool tls_stream_is_resumed(const struct tls_stream *s);

#endif
