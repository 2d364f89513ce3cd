/*
 * Inside the server: connections and exchanges, shared by server.c (the
 * daemon and what comes in) and server_reply.c (what goes out).
 *
 * A connection carries one exchange at a time, embedded. Life of an exchange:
 * the library calls on_access() for the header, for every piece of the body,
 * and once more at the end; a reply can be queued only inside such a call. So
 * a reply given at any other time is kept in `response`, and the connection,
 * suspended until then, is resumed to be called again.
 */
#ifndef DIGESTD_IO_SERVER_CONN_H
#define DIGESTD_IO_SERVER_CONN_H

#include <microhttpd.h>
#include <stdatomic.h>

#include "digestd/core/fields.h"
#include "digestd/io/log.h"
#include "digestd/io/loop.h"
#include "digestd/io/server.h"

struct conn;
struct tls_handshake;

struct exchange {
	struct server_request request;
	struct fields fields;
	void *data;
	unsigned status;
	struct MHD_Response *response; /* given, not yet queued */
	uint64_t reply_len; /* of a reply from memory: for its time limit */
	bool begun;     /* its header has been seen */
	bool started;   /* the handler knows of it */
	bool answered;  /* the handler has replied, or aborted */
	bool aborted;
	bool refused;   /* the connection is closed after the reply */
	bool body_ended;
	bool suspended;
};

struct server {
	struct loop *loop;
	struct server_settings settings; /* but for `listen` */
	const struct server_handler *handler;
	void *arg;
	struct MHD_Daemon *mhd;
	struct tls *tls; /* for new connections; null: not encrypted */
	atomic_uint_fast64_t tls_failures;
	struct log_limit tls_log;
	int listen_fd;
	unsigned port;
	struct loop_watch watch;
	struct loop_timer timeout;
	struct loop_call pump;
	struct conn *conns;
	unsigned nconns;
	bool stopping;
	bool draining;
	struct loop_call drained;
};

struct conn {
	struct exchange x; /* first: an exchange is found in its connection */
	struct server *server;
	struct MHD_Connection *mhd;
	int fd;
	struct conn *next, **link;
	struct tls_handshake *handshake; /* null: not encrypted */

	/* when the client must be done with what it is doing; 0: no limit */
	int64_t deadline_ms;
	struct loop_timer timer; /* due at the deadline or before */
	int64_t pace_start_ms;
	uint64_t pace_bytes;

	struct loop_watch hangup; /* while suspended: does the client leave? */
	char *target;             /* of the current request, raw */
	size_t target_len;
	size_t target_cap;
};

static inline struct conn *exchange_conn(const struct exchange *x)
{
	return (struct conn *)x;
}

/* Stops reading from the client until conn_resume(); idempotent both. */
void conn_suspend(struct conn *c);
void conn_resume(struct conn *c);

/* Sets or (0) lifts the time by which the client must have got on. */
void conn_set_deadline(struct conn *c, int64_t deadline_ms);

/*
 * Starts to measure a transfer's pace: the client has idle_ms, and for each
 * byte it is given by conn_pace_add() the time that min_rate allows for it.
 */
void conn_pace_start(struct conn *c);
void conn_pace_add(struct conn *c, uint64_t nbytes);

/*
 * Prepares a new connection for its handshake, and ends what that made of it,
 * with the connection itself; does nothing where there is no TLS. Begin fails
 * without memory; end follows either.
 */
int conn_tls_begin(struct conn *c);
void conn_tls_end(struct conn *c);

/* Closes a connection: the library finds it broken in its next run. */
void conn_break(struct conn *c);

/* Replies with an error and closes the connection after it. */
void exchange_refuse(struct exchange *x, unsigned status);

/* Hands the reply of an exchange to the library, inside on_access(). */
enum MHD_Result exchange_queue(struct exchange *x);

#endif
