/*
 * A peer or an origin, as the configuration names it.
 */
#ifndef DIGESTD_PEERS_UPSTREAM_H
#define DIGESTD_PEERS_UPSTREAM_H

struct peer_kind;

struct upstream {
	char *name; /* of a peer; of an origin, the host */
	char *url;  /* "http://host:port" or https, without a path */
	char *set_cookie; /* of an origin; null: as elsewhere */
	const struct peer_kind *kind; /* of a peer */
};

#endif
