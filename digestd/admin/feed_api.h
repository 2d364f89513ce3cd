/*
 * /v1/held on the admin listener: what the cache beside this node holds, as
 * whoever posts it says, in the lines of the feed (sidecar/feed_lines.h).
 */
#ifndef DIGESTD_ADMIN_FEED_API_H
#define DIGESTD_ADMIN_FEED_API_H

#include <stdbool.h>

struct exchange;
struct sidecar;

/* Is the request for this resource? */
bool feed_api_is_meant(const struct exchange *x);

/* What a server's handler does, for such requests, with posted_add() and
 * posted_leave(); sidecar null: there is none. */
void feed_api_serve(const struct sidecar *sidecar, struct exchange *x);
void feed_api_body_end(const struct sidecar *sidecar, struct exchange *x);

#endif
