/*
 * Bytes on a connection of the pool, with TLS or without.
 */
#include <assert.h>
#include <errno.h>
#include <sys/socket.h>

#include "digestd/fetch/fetch_pool.h"
#include "digestd/fetch/fetch_tickets.h"
#include "digestd/tls/tls_stream.h"

/* What a socket call came to, as the functions of fetch_pool.h say it. */
static ssize_t fetch_conn_result(ssize_t n)
{
	if (n >= 0)
		return n;
	return errno == EWOULDBLOCK ? -EAGAIN : -errno;
}

/* Once more where a signal came between: no edge would follow. */
static ssize_t fetch_conn_send(int fd, const void *data, size_t len)
{
	ssize_t n;

	do
		n = send(fd, data, len, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return fetch_conn_result(n);
}

static ssize_t fetch_conn_receive(int fd, void *buf, size_t cap, int flags)
{
	ssize_t n;

	do
		n = recv(fd, buf, cap, flags);
	while (n < 0 && errno == EINTR);
	return fetch_conn_result(n);
}

ssize_t pool_send(struct pool_conn *conn, const void *data, size_t len)
{
	assert(conn->watch.fd >= 0);
	if (conn->tls)
		return tls_stream_send(conn->tls, data, len);
	return fetch_conn_send(conn->watch.fd, data, len);
}

bool pool_holds(const struct pool_conn *conn)
{
	return conn->tls && tls_stream_holds(conn->tls);
}

int pool_flush(struct pool_conn *conn)
{
	return conn->tls ? tls_stream_flush(conn->tls) : 0;
}

void pool_end(struct pool_conn *conn)
{
	if (conn->tls)
		tls_stream_end(conn->tls);
	shutdown(conn->watch.fd, SHUT_WR);
}

ssize_t pool_receive(struct pool_conn *conn, void *buf, size_t cap)
{
	struct tls_ticket ticket;
	ssize_t n;

	assert(conn->watch.fd >= 0 && cap);
	if (!conn->tls)
		return fetch_conn_receive(conn->watch.fd, buf, cap, 0);
	n = tls_stream_receive(conn->tls, buf, cap);
	if (n > 0 && tls_stream_take_ticket(conn->tls, &ticket))
		tickets_put(conn->tickets, &conn->to, &ticket);
	return n;
}

bool pool_has_more(const struct pool_conn *conn)
{
	return conn->tls && tls_stream_has_more(conn->tls);
}

bool pool_is_quiet(struct pool_conn *conn)
{
	char scratch[64];

	/* which may have news that are no data, here or already with us: some
	 * servers send tickets with the last words of their handshake */
	if (conn->tls)
		return pool_receive(conn, scratch, sizeof(scratch)) == -EAGAIN;
	return fetch_conn_receive(conn->watch.fd, scratch, 1, MSG_PEEK) ==
	       -EAGAIN;
}
