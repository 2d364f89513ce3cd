/*
 * Bytes from and to the socket of a connection.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "digestd/server/front.h"
#include "digestd/tls/tls_session.h"

ssize_t front_io_recv(struct front_conn *c, void *buf, size_t cap)
{
	ssize_t n;

	if (c->tls)
		return tls_session_recv(c->tls, buf, cap);
	n = recv(c->base.fd, buf, cap, 0);
	return n < 0 ? -errno : n;
}

bool front_io_has_more(const struct front_conn *c)
{
	return c->tls && tls_session_has_more(c->tls);
}

ssize_t front_io_send(struct front_conn *c, const struct iovec *parts,
		      unsigned n, bool more)
{
	struct msghdr message = {
		/* which is only read */
		.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = n,
	};
	ssize_t sent;

	if (c->tls)
		return tls_session_send(c->tls, parts, n);
	sent = sendmsg(c->base.fd, &message,
		       MSG_NOSIGNAL | (more ? MSG_MORE : 0));
	return sent < 0 ? -errno : sent;
}

void front_io_shut(struct front_conn *c)
{
	if (c->tls)
		tls_session_shut(c->tls);
	(void)shutdown(c->base.fd, SHUT_WR);
}

void front_io_reset(struct front_conn *c)
{
	const struct linger none = { .l_onoff = 1, .l_linger = 0 };

	(void)setsockopt(c->base.fd, SOL_SOCKET, SO_LINGER, &none,
			 sizeof(none));
	close(c->base.fd);
}
