/*
 * A peer or an origin, as the configuration names it, or a list of members.
 */
#ifndef DIGESTD_PEERS_UPSTREAM_H
#define DIGESTD_PEERS_UPSTREAM_H

#include <stdbool.h>
#include <stddef.h>

struct peer_kind;

struct upstream {
	char *name;       /* of a peer; of an origin, the host */
	char *url;        /* "http://host:port" or https, without a path */
	char *set_cookie; /* of an origin; null: as elsewhere */
	const struct peer_kind *kind; /* of a peer */
};

/* "http://host:port" or https, nothing after the port, which may be left out.
 */
bool upstream_is_url(const char *text);

/* Frees n of them, and the array; null is accepted. */
void upstreams_free(struct upstream *places, size_t n);

#endif
