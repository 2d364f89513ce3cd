/*
 * A large response on its way, shared: the request that fetches it shows what
 * has come, and requests for the same, in any worker, read it meanwhile.
 *
 * The bytes stay the fetching request's, which holds the relay while they move;
 * readers copy them out under its lock, and are called in their own loops when
 * there are more.
 */
#ifndef DIGESTD_PROXY_RELAY_H
#define DIGESTD_PROXY_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "digestd/cache/cache.h"
#include "digestd/os/loop.h"

struct relay;

/* Who reads; zero at first. relay, loop and call are the owner's to set. */
struct relay_reader {
	struct relay *relay; /* one user more */
	struct loop *loop;
	struct loop_call call;
	size_t taken;        /* bytes of the body */
	enum { RELAY_IDLE, RELAY_LISTED, RELAY_CALLED } state;
	struct relay_reader *next, **link;
};

/*
 * Makes one with one user. `head` (status, fields, selecting, freshness) is
 * taken over; the body will have len bytes. Returns 0 or -ENOMEM, and then
 * head is the caller's still.
 */
int relay_new(struct cached *head, size_t len, struct relay **out);

/* One user more; returns relay. */
struct relay *relay_ref(struct relay *relay);

/* One user less; the last one frees. *relay becomes null; null is allowed. */
void relay_unref(struct relay **relay);

/* Whether it has other users than one. */
bool relay_is_shared(const struct relay *relay);

/* The response without its body; it is not in the store. */
struct cached *relay_head(const struct relay *relay);

/* How long the body will be. */
size_t relay_len(const struct relay *relay);

/* The bytes may move now, until relay_show() tells where they are and how many.
 * Null is allowed. */
void relay_hold(struct relay *relay);
void relay_show(struct relay *relay, const char *data, size_t len);

/* The end: the whole response, which gets a user more; or null: it broke off,
 * and what was shown is gone after this call. */
void relay_end(struct relay *relay, struct cached *whole);

/*
 * Copies up to cap bytes; returns their number, or BODY_END, BODY_FAIL, or
 * BODY_WAIT, and then the reader's call will be posted to its loop. The call
 * begins with relay_called().
 */
ssize_t relay_read(struct relay_reader *reader, void *buf, size_t cap);
void relay_called(struct relay_reader *reader);

/* Waits no more. Returns false when the call has been posted and comes for
 * certain. */
bool relay_leave(struct relay_reader *reader);

#endif
