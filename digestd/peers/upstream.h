/*
 * A peer or an origin, as the configuration names it, or a list of members.
 */
#ifndef DIGESTD_PEERS_UPSTREAM_H
#define DIGESTD_PEERS_UPSTREAM_H

#include <stdbool.h>
#include <stddef.h>

struct peer_kind;

enum { UPSTREAM_URLS_MAX = 16 };

struct upstream {
	char *name;       /* of a peer; of an origin, the host */
	char *url;        /* "http://host:port" or https, without a path; of
			     an origin, one or several */
	char *set_cookie; /* of an origin; null: as elsewhere */
	char *where;      /* "FILE:LINE" of the configuration; null: no file */
	const struct peer_kind *kind; /* of a peer */
	char *location;   /* of a peer; null: where this node is */
};

/* Whether a peer is at another location than a node at `location`; null: at
 * none that is known, so that no peer is. */
bool upstream_is_elsewhere(const struct upstream *peer, const char *location);

/* "http://host:port" or https, nothing after the port, which may be left out.
 */
bool upstream_is_url(const char *text);

/* The next URL of a list, which begins at *list then: its length; 0: there is
 * none. Commas are between them, and blanks. */
size_t upstream_next_url(const char **list);

/* How many there are. */
size_t upstream_count_urls(const char *list);

/* "/path?query", with nothing that cannot be sent as it is. */
bool upstream_is_path(const char *text);

/* Frees n of them, and the array; null is accepted. */
void upstreams_free(struct upstream *places, size_t n);

#endif
