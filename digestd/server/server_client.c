/*
 * The addresses that a server's connections come from, and how many each has:
 * of IPv6 the first 64 bits, which one subscriber has to himself.
 */
#include <assert.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "digestd/os/address.h"
#include "digestd/server/server_engine.h"

struct client {
	struct client *next;
	struct address_block of;
	unsigned conns;
};

/* The link to the one of that address, or to where it would be. */
static struct client **server_client_find(struct server *s,
					  const struct address_block *of)
{
	uint64_t hash = (of->high ^ of->low) * 0x9e3779b97f4a7c15;
	struct client **at = &s->clients[hash >> 56];

	_Static_assert(SERVER_CLIENTS == 256, "the upper eight bits");
	while (*at && ((*at)->of.high != of->high || (*at)->of.low != of->low))
		at = &(*at)->next;
	return at;
}

void conn_client_enter(struct conn *c)
{
	const struct address_block of = address_block_of(c->address);
	struct client **at = server_client_find(c->server, &of);

	assert(!c->client);
	if (c->address->sa_family == AF_UNIX)
		return; /* they have no address, so none in common either */
	if (!*at) {
		*at = malloc(sizeof(**at));
		if (!*at)
			return; /* it counts as one of a few */
		**at = (struct client){ .of = of };
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
	at = server_client_find(c->server, &client->of);
	*at = client->next;
	free(client);
}

unsigned conn_client_count(const struct conn *c)
{
	return c->client ? c->client->conns : 0;
}
