/*
 * The pace of the server's clients: how fast they must take a reply, or send a
 * body, as the kernel counts what has arrived at the other end or from it.
 *
 * Nothing is measured for the first idle_ms of a transfer, so that one that is
 * over by then costs no system call; from then on each span of idle_ms is
 * judged by itself. So a client that does not keep up is closed after twice
 * idle_ms at most, however much it was sent at once.
 */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "digestd/server/server_engine.h"

/* Bytes of the connection that went the way that counts now. */
static uint64_t server_pace_moved(const struct conn *c)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	memset(&info, 0, sizeof(info));
	if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return 0;
	return c->sends ? info.tcpi_bytes_acked : info.tcpi_bytes_received;
}

static void server_pace_begin_span(struct conn *c, enum pace pace)
{
	int64_t now_ms = loop_now_ms(c->server->loop);

	c->pace_start_ms = now_ms;
	conn_set_deadline(c, now_ms + c->server->settings.idle_ms);
	c->pace = pace; /* which setting a deadline has ended */
}

void conn_pace_start(struct conn *c)
{
	server_pace_begin_span(c, PACE_FREE);
}

bool conn_pace_suffices(const struct server *s, uint64_t bytes, int64_t span_ms)
{
	return bytes && bytes * 1000 >=
				(uint64_t)span_ms * s->settings.min_rate;
}

bool conn_pace_kept(struct conn *c)
{
	int64_t span_ms = loop_now_ms(c->server->loop) - c->pace_start_ms;
	uint64_t bytes;

	if (c->pace == PACE_NONE)
		return false;
	bytes = server_pace_moved(c);
	if (c->pace == PACE_MEASURED &&
	    !conn_pace_suffices(c->server, bytes - c->pace_bytes, span_ms))
		return false;
	c->pace_bytes = bytes;
	server_pace_begin_span(c, PACE_MEASURED);
	return true;
}
