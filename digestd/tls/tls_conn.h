/*
 * The bytes of a TLS connection, whichever end of it this is, over a socket
 * that does not block.
 *
 * GnuTLS asks its transport for the head of a record, then for the record; here
 * both, and those behind them, come by one readv(), whose rest is kept for the
 * next record. A short read means that the socket is empty, and saves the call
 * that would say so: what comes later is an event of its own, for who watches
 * the socket by levels or by edges.
 *
 * -EAGAIN of what receives means that the socket is empty. GnuTLS says as much
 * after records without data too, as tickets and key updates are, and there may
 * be others behind them.
 *
 * To GnuTLS its transport takes all bytes: those that the socket does not take
 * are held here, a record and what belongs to it. GnuTLS could hold them too,
 * but (3.7.9) sends wrong bytes when the other end asks for new keys meanwhile.
 */
#ifndef DIGESTD_TLS_TLS_CONN_H
#define DIGESTD_TLS_TLS_CONN_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Bytes at the beginning of a buffer are used up first. */
struct tls_rest {
	char *data; /* null: none */
	size_t at, len;
};

/* All zero: none. Stays where it is. */
struct tls_conn {
	gnutls_session_t session;
	int fd;
	bool serves;           /* the server's end */
	bool shaken;           /* the handshake is done, and may be held */
	bool drained;          /* the socket had no more when last asked... */
	bool dry;              /* ...and GnuTLS was told so */
	int failed;            /* GnuTLS's code for why there is no handshake */
	bool over;             /* nothing comes any more, for this reason: */
	ssize_t end;           /* what receiving returns */
	struct tls_rest ahead; /* received, and not asked for yet */
	struct tls_rest held;  /* sent, and not taken by the socket, */
	size_t counted;        /* which is in the ledger */
};

/*
 * Makes its session, for a socket, which stays the caller's; serves: for the
 * server's end. Returns 0 or -ENOMEM.
 */
int tls_conn_init(struct tls_conn *c, int fd, bool serves);

void tls_conn_free(struct tls_conn *c);

/*
 * Goes on with the handshake. Returns 0 at its end, -EAGAIN (see
 * tls_conn_holds()), -ECONNRESET if the connection ended, or -EPROTO; of that
 * the other end is told why.
 */
int tls_conn_handshake(struct tls_conn *c);

/* Writes why it failed, as a phrase about the other end. */
void tls_conn_failure(const struct tls_conn *c, char *out, size_t room);

/*
 * Sends of these bytes what the socket takes, in as few records as can be.
 * Returns how many were taken, the last record of which may be held; -EAGAIN if
 * some are held that were taken before, or -EPIPE.
 */
ssize_t tls_conn_send(struct tls_conn *c, const struct iovec *parts,
		      unsigned n);

/* Whether bytes are held, and sends them: 0, -EAGAIN or -EPIPE. */
bool tls_conn_holds(const struct tls_conn *c);
int tls_conn_flush(struct tls_conn *c);

/* After the handshake: says that nothing follows, if the socket takes it. */
void tls_conn_end(struct tls_conn *c);

/*
 * Receives up to cap (> 0) bytes. Returns their number, 0 at the end that the
 * other end announced, -EAGAIN, -ECONNRESET at any other end, or -EPROTO. Fewer
 * than cap: the socket is empty, or the end is behind them.
 */
ssize_t tls_conn_receive(struct tls_conn *c, void *buf, size_t cap);

/* Whether there is something to receive that the socket does not show. */
bool tls_conn_has_more(const struct tls_conn *c);

#endif
