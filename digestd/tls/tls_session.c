/*
 * The server's end of a TLS connection. To the caller what the socket has not
 * taken was not sent, so that there is something to send until all has gone.
 */
#include "digestd/tls/tls_session.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "digestd/tls/tls_conn.h"

struct tls_session {
	struct tls_conn conn;
	struct tls_handshake handshake;
	size_t owed; /* bytes that were taken, and not said to be */
};

int tls_session_new(struct tls *tls, int fd, struct tls_session **out)
{
	struct tls_session *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	if (tls_conn_init(&s->conn, fd, true) ||
	    tls_begin(tls, s->conn.session, &s->handshake)) {
		tls_session_free(&s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

void tls_session_free(struct tls_session **session)
{
	struct tls_session *s = *session;

	if (!s)
		return;
	tls_conn_free(&s->conn);
	tls_end(&s->handshake);
	free(s);
	*session = NULL;
}

int tls_session_handshake(struct tls_session *session)
{
	int err = tls_conn_handshake(&session->conn);
	struct tls_handshake *h = &session->handshake;

	if (err && err != -EAGAIN && !h->refused[0])
		tls_conn_failure(&session->conn, h->refused,
				 sizeof(h->refused));
	return err;
}

int tls_session_offer_h2(struct tls_session *session)
{
	return tls_offer_h2(&session->handshake);
}

bool tls_session_is_h2(const struct tls_session *session)
{
	return tls_chose_h2(&session->handshake);
}

const char *tls_session_refusal(const struct tls_session *session)
{
	return session->handshake.refused;
}

ssize_t tls_session_recv(struct tls_session *session, void *buf, size_t cap)
{
	return tls_conn_receive(&session->conn, buf, cap);
}

bool tls_session_has_more(const struct tls_session *session)
{
	return tls_conn_has_more(&session->conn);
}

/* The bytes that were taken, once they have gone. */
static ssize_t tls_session_settle(struct tls_session *s)
{
	ssize_t sent = (ssize_t)s->owed;
	int err = tls_conn_flush(&s->conn);

	if (err)
		return err;
	s->owed = 0;
	return sent;
}

ssize_t tls_session_send(struct tls_session *session, const struct iovec *parts,
			 unsigned n)
{
	ssize_t taken;

	assert(n && parts->iov_len);
	if (session->owed)
		return tls_session_settle(session);
	taken = tls_conn_send(&session->conn, parts, n);
	if (taken < 0 || !tls_conn_holds(&session->conn))
		return taken;
	session->owed = (size_t)taken;
	return -EAGAIN;
}

void tls_session_shut(struct tls_session *session)
{
	tls_conn_end(&session->conn);
}
