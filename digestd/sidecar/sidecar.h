/*
 * The sidecar: what this node knows of the cache beside it, which holds the
 * objects in its place. It runs what tells of that, the feed's socket and the
 * follower of nginx's cache folder, on a loop in a thread of its own: both read
 * files, and neither waits for a digest that is being encoded.
 */
#ifndef DIGESTD_SIDECAR_SIDECAR_H
#define DIGESTD_SIDECAR_SIDECAR_H

#include <stdbool.h>

#include "digestd/sidecar/holdings.h"
#include "digestd/sidecar/nginx_folder.h"

struct sidecar;

struct sidecar_settings {
	struct holdings_settings holdings;
	const char *feed; /* path of a socket; null: there is none */
	struct nginx_folder_settings nginx; /* path null: no nginx */
};

struct sidecar_stats {
	struct holdings_stats holdings;
	bool has_nginx; /* there is one: the next counts */
	struct nginx_folder_stats nginx;
};

/*
 * Makes a sidecar and starts its thread. `settings` are copied; paths are
 * borrowed. What goes wrong is logged. Returns 0 or a negative errno.
 */
int sidecar_new(const struct sidecar_settings *settings, struct sidecar **out);

/* Ends it; *s becomes null, null is allowed. */
void sidecar_free(struct sidecar **s);

/* What the cache holds; they have a lock of their own. */
struct holdings *sidecar_holdings(const struct sidecar *s);

/* Closes the feed's socket, for another process that opens it; what is held
 * stays. */
void sidecar_close_feed(struct sidecar *s);

/* Opens it again. Returns 0 or a negative errno, which is logged. */
int sidecar_open_feed(struct sidecar *s);

/* Whether others than the follower of a folder may say what is held. */
bool sidecar_takes_lines(const struct sidecar *s);

/* How things stand; from any thread. */
void sidecar_stats(const struct sidecar *s, struct sidecar_stats *out);

#endif
