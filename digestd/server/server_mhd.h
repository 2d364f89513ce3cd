/*
 * The engine over libmicrohttpd: connections and exchanges, shared by
 * server_mhd.c (the daemon and what comes in) and server_mhd_reply.c (what goes
 * out).
 *
 * A connection carries one exchange at a time, embedded. Life of an exchange:
 * the library calls server_on_access() for the header, for every piece of the
 * body, and once more at the end; a reply can be queued only inside such a
 * call. So a reply given at any other time is kept in `response`, and the
 * connection, suspended until then, is resumed to be called again.
 */
#ifndef DIGESTD_SERVER_SERVER_MHD_H
#define DIGESTD_SERVER_SERVER_MHD_H

#include <microhttpd.h>
#include <stdarg.h>

#include "digestd/server/server_engine.h"

struct mhd_conn;
struct tls_handshake;

struct mhd_server {
	struct server base; /* first */
	struct MHD_Daemon *mhd;
	struct mhd_conn *shaking; /* in their handshake, and not parked */
	struct loop_watch watch;
	struct loop_timer timeout;
	struct loop_call pump;
	struct mhd_conn *waiting, **waiting_end; /* not watched yet; the first
						    waits longest */
	struct loop_timer waiting_timer;
};

struct mhd_conn {
	struct conn base; /* first */
	struct exchange x;
	struct MHD_Connection *mhd;
	unsigned status;
	struct MHD_Response *response; /* given, not yet queued */
	struct shared_reply *shared;   /* whose that is; null: its own */
	bool begun;     /* the header of x has been seen */
	bool suspended;
	struct tls_handshake *handshake; /* null: not encrypted */
	struct mhd_conn *shaking_next, **shaking_link;
	struct loop_watch hangup; /* while suspended: does the client leave? */
	struct mhd_conn *waiting_next, **waiting_link; /* is to be watched */
	int64_t waits_since_ms;
	char *target;             /* of the current request, raw */
	size_t target_len;
	size_t target_cap;
};

static inline struct mhd_server *mhd_server(struct server *s)
{
	return (struct mhd_server *)s;
}

static inline struct mhd_conn *exchange_mhd_conn(const struct exchange *x)
{
	return (struct mhd_conn *)x->conn;
}

static inline struct mhd_server *mhd_conn_server(const struct mhd_conn *c)
{
	return mhd_server(c->base.server);
}

/* Stops reading from the client until mhd_conn_resume(); idempotent both. */
void mhd_conn_suspend(struct mhd_conn *c);
void mhd_conn_resume(struct mhd_conn *c);

/*
 * Prepares a new connection for its handshake, and ends what that made of it,
 * with the connection itself; does nothing where there is no TLS. Begin fails
 * without memory; end follows either.
 */
int mhd_conn_tls_begin(struct mhd_conn *c);
void mhd_conn_tls_end(struct mhd_conn *c);

/*
 * Parks the connections whose handshake waits for the client, until there is
 * something of it: in that state the library asks again and again, and never
 * sleeps. After each of its runs.
 */
void mhd_server_tls_park(struct mhd_server *s);

/* The client begins to wait for a reply, or for more of one; there is something
 * for it, and it may wait again soon; it waits no more (idempotent). */
void mhd_conn_wait_enter(struct mhd_conn *c);
void mhd_conn_wait_pause(struct mhd_conn *c);
void mhd_conn_wait_leave(struct mhd_conn *c);

/* The memory that the library needs for a connection [bytes]. */
size_t mhd_server_header_memory(const struct server *s);

/* Judges the size of a request's header: 0, 414 or 431. */
unsigned mhd_conn_check_header(struct mhd_conn *c);

/* What the library has to say: of interest is what it refuses for its size. */
void mhd_server_log_library(void *server, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/* Gives up the reply of an exchange, if there is one. */
void mhd_conn_drop_response(struct mhd_conn *c);

/* Hands the reply of an exchange to the library, inside server_on_access(). */
enum MHD_Result mhd_conn_queue(struct mhd_conn *c);

/* Those of the engine; see there. */
void mhd_reply_text(struct exchange *x, const struct reply_text *reply);
void mhd_reply_memory(struct exchange *x, const struct reply_memory *reply);
bool mhd_reply_shared(struct exchange *x, struct shared_reply *reply);
void mhd_reply_stream(struct exchange *x, const struct reply_stream *reply);
void mhd_wake(struct exchange *x);

/* What it does for its exchanges. */
extern const struct exchange_engine server_mhd_exchanges;

#endif
