/*
 * The header of the PROXY protocol, with which a load balancer begins a
 * connection that it makes for a client: before TLS, as it knows nothing of
 * that. It is read where the kernel has it, and taken from there when it is
 * whole: what follows is for who comes next, and a connection that waits for
 * its header has no memory for it. Each packet is read from the first byte, of
 * which there are few.
 *
 * From then on the connection is that of the client which is named, and so is
 * what it says: the load balancer has only passed that on, so that its own
 * address being trusted says nothing of it. Where nobody is named, as in health
 * checks, the address stays, nothing is believed, and client_connections, which
 * would be the load balancer's, is no limit.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "digestd/http/proxy_protocol.h"
#include "digestd/server/front.h"

/* Takes the client's address over the load balancer's. */
static void front_proxy_set_client(struct front_conn *c,
				   const struct proxy_protocol *p)
{
	switch (p->family) {
	case PROXY_PROTOCOL_NONE:
		conn_set_client(&c->base, NULL);
		return;
	case PROXY_PROTOCOL_IPV4:
		c->from.v4 = (struct sockaddr_in){
			.sin_family = AF_INET,
			.sin_port = htons(p->client.port),
		};
		memcpy(&c->from.v4.sin_addr, p->client.bytes,
		       sizeof(c->from.v4.sin_addr));
		break;
	case PROXY_PROTOCOL_IPV6:
		c->from.v6 = (struct sockaddr_in6){
			.sin6_family = AF_INET6,
			.sin6_port = htons(p->client.port),
		};
		memcpy(&c->from.v6.sin6_addr, p->client.bytes,
		       sizeof(c->from.v6.sin6_addr));
		break;
	}
	conn_set_client(&c->base, &c->from.any);
	c->broken = front_conn_is_surplus(c);
}

/* Its bytes are in the buffer, and in the kernel, which still has them. */
static void front_proxy_take(struct front_conn *c,
			     const struct proxy_protocol *p)
{
	ssize_t n = recv(c->base.fd, front_server(c)->buffer, p->len, 0);

	if (n != (ssize_t)p->len) {
		c->broken = true;
		return;
	}
	c->https = p->tls;
	c->phase = c->tls ? FRONT_HANDSHAKE : FRONT_HEAD;
	front_proxy_set_client(c, p);
}

/* An end before its first byte is that of a client that has changed its mind,
 * or looked whether somebody listens. */
void front_proxy_end(struct front_conn *c)
{
	struct server *s = c->base.server;

	if (c->ended || s->stopping || s->draining)
		return;
	server_count_proxy_refusal(s, c->base.address, c->base.trusted ?
				   "no header of the PROXY protocol" :
				   "not one of trusted_proxies");
}

void front_proxy_run(struct front_conn *c)
{
	char *buffer = front_server(c)->buffer;
	struct proxy_protocol p;
	ssize_t n;

	if (!c->readable)
		return;
	n = recv(c->base.fd, buffer, PROXY_PROTOCOL_MAX, MSG_PEEK);
	if (n <= 0) {
		c->readable = false;
		c->ended = c->broken = !n || errno != EAGAIN;
		return;
	}
	switch (proxy_protocol_read(&p, buffer, (size_t)n)) {
	case PROXY_PROTOCOL_MORE:
		c->readable = false; /* until there are more than these */
		c->broken = c->hung_up;
		break;
	case PROXY_PROTOCOL_DONE:
		front_proxy_take(c, &p);
		break;
	case PROXY_PROTOCOL_BAD:
		c->broken = true;
		break;
	}
}
