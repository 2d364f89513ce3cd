/*
 * Connections of a fetcher to servers, with TLS or without: made, kept while
 * they are idle, and given out again, the one used last first.
 *
 * A name is looked up in threads (resolver.h) and remembered for a minute;
 * after that it is looked up anew while the old addresses serve on. A kept
 * connection is not used any more once its name has other addresses. A
 * connection, with the handshake of TLS, is tried at one address after the
 * other, beginning with the one that worked last; a certificate that is not
 * right ends the search. A kept one stays watched for reading: to use it again
 * costs no system call, and one that its server closes goes at once.
 *
 * A server that takes no notice of a body reads it as the next request, whose
 * answer comes when the connection is somebody else's. So what has carried a
 * body is given only to who sends another one.
 *
 * Connections with TLS belong to a server's name and port and to a struct
 * tls_client, by which the server was found right before anybody gets one. A
 * new one resumes a session of an earlier one to the same address.
 */
#ifndef DIGESTD_FETCH_FETCH_POOL_H
#define DIGESTD_FETCH_FETCH_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "digestd/fetch/fetch.h"
#include "digestd/os/loop.h"
#include "digestd/os/resolver.h"

struct pool;
struct pool_host;
struct pool_want;
struct tickets;
struct tls_stream;

/* A connection. Who has been given it sets ready and arg, by pool_use(). */
struct pool_conn {
	struct loop_watch watch; /* watch.fd: the socket; see pool_watch() */
	bool reused;             /* it has carried a response before */
	bool ended; /* its server has said that it sends no more, behind what
		       has not been read yet; set by who uses it */

	/* private */
	void (*ready)(void *arg, unsigned events);
	void *arg;
	struct pool_host *host;
	struct pool_want *want; /* for which it is being made */
	unsigned events;        /* for which it is watched */
	struct tls_stream *tls; /* null: none, or not yet */
	struct tickets *tickets; /* the host's */
	union resolver_address to;
	size_t tried, address;
	bool refused;           /* an address was not public */
	int error;              /* of the last address that was tried */
	bool no_tls;            /* one spoke no TLS */
	int64_t idle_since_ms;
	bool uploads;           /* it has carried a body */
	struct pool_conn *next, **link;         /* idle, of the host */
	struct pool_conn *older, *newer;        /* idle, of the pool */
};

/* Who wants one; lies in the owner's structure, all zero at first. */
struct pool_want {
	void (*got)(struct pool_want *want, struct pool_conn *conn);
	void (*failed)(struct pool_want *want, enum fetch_result result);
	bool fresh;          /* none that was used before */
	bool lately;         /* none that was not used in the last second: for
				requests that are sent once */
	bool uploads;        /* a body goes out on it */
	unsigned connect_ms; /* for the lookup and the connection; > 0 */
	enum trouble cause; /* when it has failed; _none: as the result
				   says */

	/* private */
	struct pool_host *host; /* null: it waits for nothing */
	struct pool_conn *conn;
	struct loop_timer timer;
	int64_t deadline_ms;
	struct pool_want *next, **link;
};

/* Where to: a name or address as in a URL, IPv6 in brackets. */
struct pool_place {
	const char *host;
	size_t host_len; /* 1 to POOL_HOST_MAX */
	unsigned port;
	struct tls_client *tls; /* null: without TLS */
	const union resolver_address *address; /* in place of the name's, whose
				port it has; null: that is looked up */
};

enum { POOL_HOST_MAX = 255 };

/* Makes one; max_per_host: see fetcher_new(). Returns 0 or -ENOMEM. */
int pool_new(struct loop *loop, unsigned max_per_host, struct pool **out);

/* All that was given out has come back, nobody wants any. Null is allowed. */
void pool_free(struct pool **pool);

/* See fetcher_public_only(). */
void pool_public_only(struct pool *pool);

/*
 * Asks for a connection. Returns one that is idle, or null: then got() or
 * failed() comes from the loop, unless pool_forget() does before.
 * *err: -ENOMEM, and then nothing comes; else 0.
 */
struct pool_conn *pool_ask(struct pool *pool, struct pool_want *want,
			   const struct pool_place *place, int *err);

/* Wants nothing any more. */
void pool_forget(struct pool *pool, struct pool_want *want);

/* How many connections a place lacks to have n: idle ones, used ones, and those
 * that are being made; n is at most what one host may have. */
unsigned pool_lacks(const struct pool *pool, const struct pool_place *place,
		    unsigned n);

/* Begins to use a connection: ready(arg, events) as loop_watch() does. It is
 * watched for reading. */
void pool_use(struct pool_conn *conn,
	      void (*ready)(void *arg, unsigned events), void *arg);

/*
 * Watches for other events; 0: for none. Returns 0 or a negative errno.
 *
 * Without TLS, reading is edge triggered, which saves the kernel a second look
 * at each answer: who does not read all that there is goes on by itself. So is
 * writing beside it. LOOP_HANGUP is reported then, too: no edge follows it.
 */
int pool_watch(struct pool *pool, struct pool_conn *conn, unsigned events);

/*
 * Bytes on a connection, as the functions of the same name in tls_stream.h say:
 * how many, 0 at the end (of what is received), -EAGAIN, another negative errno
 * at any other end. What is held has been taken to be sent, and is not on its
 * way; has_more: there is more to receive, whether or not ready() is called.
 */
ssize_t pool_send(struct pool_conn *conn, const void *data, size_t len);
bool pool_holds(const struct pool_conn *conn);
int pool_flush(struct pool_conn *conn);
void pool_end(struct pool_conn *conn);
ssize_t pool_receive(struct pool_conn *conn, void *buf, size_t cap);
bool pool_has_more(const struct pool_conn *conn);

/* Whether nothing has come, nor the end. */
bool pool_is_quiet(struct pool_conn *conn);

/* Gives one back that may be used again, or one that may not. */
void pool_keep(struct pool *pool, struct pool_conn *conn);
void pool_close(struct pool *pool, struct pool_conn *conn);

#endif
