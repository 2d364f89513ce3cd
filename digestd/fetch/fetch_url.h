/*
 * URLs of fetches: where to go, and what to ask for there.
 */
#ifndef DIGESTD_FETCH_FETCH_URL_H
#define DIGESTD_FETCH_FETCH_URL_H

#include <stdbool.h>

#include "digestd/http/response.h"
#include "digestd/fetch/fetch_pool.h"

/* Parts of a URL; all lie in it. */
struct fetch_url {
	bool https;
	struct pool_place place;         /* without its tls */
	struct response_bytes authority; /* for Host */
	struct response_bytes target;    /* path and query; may be empty */
};

/*
 * Takes a URL apart. Returns false for one that is no http or https URL, or has
 * what a fetch has no use for: names of users, a query without a path.
 */
bool fetch_url_read(const char *text, struct fetch_url *url);

/*
 * URLs that were taken apart before: most fetches go to the same few, each of
 * whose texts stays where it is. All zero at first.
 */
enum { FETCH_URLS_KNOWN = 8, FETCH_URLS_BYTES = 128 };
struct fetch_urls {
	struct {
		char text[FETCH_URLS_BYTES]; /* empty: none */
		struct fetch_url url;        /* lies in it */
	} known[FETCH_URLS_KNOWN];
};

/*
 * As fetch_url_read(); what it returns is as good as the next call, lies in
 * *urls or *room, and is null where that returns false.
 */
const struct fetch_url *fetch_urls_read(struct fetch_urls *urls,
					const char *text,
					struct fetch_url *room);

#endif
