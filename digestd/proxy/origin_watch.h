/*
 * Watches origins: looks their names up again and again, and checks whether
 * they answer, from the service's loop.
 *
 * The name in a URL is looked up at once, and then every lookup_ms. While it
 * cannot be looked up, or has no address, the ones of before serve on. One that
 * has left is not asked any more; its connections end with what is under way.
 *
 * With check_path each origin is asked for that, every check_ms; it has as long
 * to answer, and CHECK_MS at most.
 */
#ifndef DIGESTD_PROXY_ORIGIN_WATCH_H
#define DIGESTD_PROXY_ORIGIN_WATCH_H

#include <stdint.h>

struct loop;
struct origin_watch;
struct origins;
struct tls_client;
struct troubles;

enum { ORIGIN_CHECK_MS = 2000 };

struct origin_watch_settings {
	int64_t lookup_ms;
	const char *check_path; /* null: no checks */
	int64_t check_ms;
	unsigned check_status; /* which means that it is up */
	struct tls_client *tls; /* null: see fetch_request */
};

/* Makes one that does nothing yet. `origins`, and `troubles`, where failed
 * checks are counted, are borrowed. Returns 0 or -ENOMEM. */
int origin_watch_new(struct loop *loop, struct origins *origins,
		     struct troubles *troubles, struct origin_watch **out);

/* Ends what is under way. Null is allowed. */
void origin_watch_free(struct origin_watch **watch);

/* Watches the groups that are used now, by these settings, which are copied.
 * Returns 0 or -ENOMEM, and then the old ones are in force. */
int origin_watch_set(struct origin_watch *watch,
		     const struct origin_watch_settings *settings);

#endif
