/*
 * The addresses that a server's connections come from, and how many each has:
 * of IPv6 the first 64 bits, which one subscriber has to himself.
 */
#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "digestd/server/server_engine.h"

struct client {
	struct client *next;
	uint64_t high, low;
	unsigned conns;
};

static struct client server_client_of(const struct sockaddr *from)
{
	struct client c = { .conns = 0 };

	if (from->sa_family == AF_INET) {
		c.low = ((const struct sockaddr_in *)(const void *)from)
				->sin_addr.s_addr;
	} else if (from->sa_family == AF_INET6) {
		const struct in6_addr *a =
			&((const struct sockaddr_in6 *)(const void *)from)
				 ->sin6_addr;
		uint32_t four;

		memcpy(&c.high, a->s6_addr, sizeof(c.high));
		memcpy(&four, a->s6_addr + 12, sizeof(four));
		if (IN6_IS_ADDR_V4MAPPED(a))
			c.low = four;
	}
	return c;
}

/* The link to the one of that address, or to where it would be. */
static struct client **server_client_find(struct server *s,
					  const struct client *like)
{
	uint64_t hash = (like->high ^ like->low) * 0x9e3779b97f4a7c15;
	struct client **at = &s->clients[hash >> 56];

	_Static_assert(SERVER_CLIENTS == 256, "the upper eight bits");
	while (*at && ((*at)->high != like->high || (*at)->low != like->low))
		at = &(*at)->next;
	return at;
}

void conn_client_enter(struct conn *c)
{
	struct client like = server_client_of(c->address);
	struct client **at = server_client_find(c->server, &like);

	assert(!c->client);
	if (!*at) {
		*at = malloc(sizeof(**at));
		if (!*at)
			return; /* it counts as one of a few */
		**at = like;
	}
	(*at)->conns++;
	c->client = *at;
}

void conn_client_leave(struct conn *c)
{
	struct client *client = c->client;
	struct client **at;

	assert(!c->client || c->client->conns);
	c->client = NULL;
	if (!client || --client->conns)
		return;
	at = server_client_find(c->server, client);
	*at = client->next;
	free(client);
}

unsigned conn_client_count(const struct conn *c)
{
	return c->client ? c->client->conns : 0;
}
