/*
 * The feed's socket: a Unix socket on which programs beside this node say what
 * the cache holds, line by line (sidecar/feed_lines.h). Who may write to its
 * path may connect.
 *
 * A connection is read no further while it does not take its answers, so that
 * memory is bounded: 80 KiB each, FEED_CONNECTIONS of them.
 */
#ifndef DIGESTD_SIDECAR_FEED_H
#define DIGESTD_SIDECAR_FEED_H

#include <stdint.h>

struct feed;
struct holdings;
struct loop;

enum { FEED_CONNECTIONS = 16 };

/*
 * Listens at a path, where a socket that nobody listens at any more is
 * replaced; its mode is 0660. `loop` and `holdings` are borrowed. Returns 0,
 * -ENOMEM, or the errors of listen_local_open(): -EADDRINUSE, another process
 * listens there; -ENOTSOCK, the path is something else.
 */
int feed_new(struct loop *loop, const char *path, struct holdings *holdings,
	     struct feed **out);

/* Closes everything, and removes the socket unless it is another one by now. *f
 * becomes null; null is allowed. */
void feed_free(struct feed **f);

#endif
