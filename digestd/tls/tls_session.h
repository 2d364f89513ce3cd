/*
 * TLS of one connection of a listener, over a socket that does not block.
 *
 * All that may have to wait returns -EAGAIN, and is called again, with the same
 * arguments, when the socket is ready: for either direction, as TLS sends and
 * receives as it needs to.
 */
#ifndef DIGESTD_TLS_TLS_SESSION_H
#define DIGESTD_TLS_TLS_SESSION_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "digestd/tls/tls.h"

struct tls_session;

/* Makes one for a socket, which stays the caller's. Returns 0 or -ENOMEM. */
int tls_session_new(struct tls *tls, int fd, struct tls_session **out);

/* Before the handshake: the client may choose HTTP/2, too. Returns 0 or
 * -ENOMEM. */
int tls_session_offer_h2(struct tls_session *session);

void tls_session_free(struct tls_session **session);

/* Goes on with the handshake. Returns 0 at its end, -EAGAIN, -ECONNRESET or
 * -EPROTO. */
int tls_session_handshake(struct tls_session *session);

/* After it: whether the client chose HTTP/2. */
bool tls_session_is_h2(const struct tls_session *session);

/* Why the handshake failed, as a phrase about the client, such as why its
 * certificate was refused; "": it did not. */
const char *tls_session_refusal(const struct tls_session *session);

/* Returns a number of bytes, 0 at the end that the client has announced,
 * -ECONNRESET at any other, -EAGAIN or -EPROTO. Fewer than cap: the socket is
 * empty. */
ssize_t tls_session_recv(struct tls_session *session, void *buf, size_t cap);

/* Whether there is something to receive that its socket does not show. */
bool tls_session_has_more(const struct tls_session *session);

/*
 * Sends some of these bytes, in as few records as can be. Returns how many went
 * out, -EAGAIN or -EPIPE. After -EAGAIN the same bytes, with or without others
 * behind them, have to be given again: some of them are on their way.
 */
ssize_t tls_session_send(struct tls_session *session, const struct iovec *parts,
			 unsigned n);

/* Says that nothing follows, if the socket takes it. */
void tls_session_shut(struct tls_session *session);

#endif
