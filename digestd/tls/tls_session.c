/*
 * TLS of one connection, by GnuTLS. What is sent is collected (corked) and then
 * goes out in full records; GnuTLS keeps a copy of it until it has.
 */
#include "digestd/tls/tls_session.h"

#include <assert.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>

enum { CORK_BYTES = 65536 }; /* collected at once */

struct tls_session {
	gnutls_session_t session;
	struct tls_handshake handshake;
	size_t corked; /* bytes that are on their way */
};

int tls_session_new(struct tls *tls, int fd, struct tls_session **out)
{
	struct tls_session *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	if (gnutls_init(&s->session, GNUTLS_SERVER | GNUTLS_NONBLOCK |
					     GNUTLS_NO_SIGNAL)) {
		free(s);
		return -ENOMEM;
	}
	gnutls_transport_set_int(s->session, fd);
	if (tls_begin(tls, s->session, &s->handshake)) {
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
	gnutls_deinit(s->session);
	tls_end(&s->handshake);
	free(s);
	*session = NULL;
}

/* What an error of the library means to the caller. */
static int tls_session_error(ssize_t err)
{
	return gnutls_error_is_fatal((int)err) ? -EPROTO : -EAGAIN;
}

/* Warnings of the other end are no reason to wait. */
static bool tls_session_goes_on(ssize_t err)
{
	return err == GNUTLS_E_INTERRUPTED ||
	       err == GNUTLS_E_WARNING_ALERT_RECEIVED;
}

int tls_session_handshake(struct tls_session *session)
{
	int err;

	do
		err = gnutls_handshake(session->session);
	while (tls_session_goes_on(err));
	if (!err)
		return 0;
	if (gnutls_error_is_fatal(err))
		gnutls_alert_send_appropriate(session->session, err);
	return tls_session_error(err);
}

const char *tls_session_refusal(const struct tls_session *session)
{
	return session->handshake.refused;
}

ssize_t tls_session_recv(struct tls_session *session, void *buf, size_t cap)
{
	ssize_t n;

	do
		n = gnutls_record_recv(session->session, buf, cap);
	while (tls_session_goes_on(n));
	if (n == GNUTLS_E_PREMATURE_TERMINATION)
		return 0;
	return n < 0 ? tls_session_error(n) : n;
}

/* Collects what there is room for. Returns 0 or -EPROTO. */
static int tls_session_cork(struct tls_session *s, const struct iovec *parts,
			    unsigned n)
{
	gnutls_record_cork(s->session);
	for (unsigned i = 0; i < n && s->corked < CORK_BYTES; i++) {
		size_t room = CORK_BYTES - s->corked, len = parts[i].iov_len;

		if (len > room)
			len = room;
		if (gnutls_record_send(s->session, parts[i].iov_base, len) !=
		    (ssize_t)len)
			return -EPROTO;
		s->corked += len;
	}
	return 0;
}

ssize_t tls_session_send(struct tls_session *session, const struct iovec *parts,
			 unsigned n)
{
	size_t sent;
	int err;

	assert(n && parts->iov_len);
	if (!session->corked && tls_session_cork(session, parts, n))
		return -EPROTO;
	do
		err = gnutls_record_uncork(session->session, 0);
	while (err == GNUTLS_E_INTERRUPTED);
	if (err < 0)
		return tls_session_error(err);
	sent = session->corked;
	session->corked = 0;
	return (ssize_t)sent;
}

void tls_session_shut(struct tls_session *session)
{
	if (!session->corked)
		(void)gnutls_bye(session->session, GNUTLS_SHUT_WR);
}
