/*
 * Inside the server: connections and exchanges, shared by server.c (the
 * daemon and what comes in) and server_reply.c (what goes out).
 *
 * A connection carries one exchange at a time, embedded. Life of an exchange:
 * the library calls server_on_access() for the header, for every piece of the
 * body, and once more at the end; a reply can be queued only inside such a
 * call. So a reply given at any other time is kept in `response`, and the
 * connection, suspended until then, is resumed to be called again.
 */
#ifndef DIGESTD_SERVER_SERVER_CONN_H
#define DIGESTD_SERVER_SERVER_CONN_H

#include <microhttpd.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "digestd/http/fields.h"
#include "digestd/os/address_prefix.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/server/server.h"

enum { SERVER_CLIENTS = 256 }; /* lists of addresses */

struct client;
struct conn;
struct tls_handshake;

struct exchange {
	struct server_request request;
	struct fields fields;
	void *data;
	unsigned status;
	struct MHD_Response *response; /* given, not yet queued */
	struct shared_reply *shared;   /* whose that is; null: its own */
	bool begun;     /* its header has been seen */
	bool started;   /* the handler knows of it */
	bool answered;  /* the handler has replied, or aborted */
	bool aborted;
	bool receiving; /* its body, from the second call on */
	bool early;     /* the reply is out, past the library */
	int64_t early_end_ms; /* when the connection is closed at the latest */
	bool refused;   /* the connection is closed after the reply */
	bool body_ended;
	bool suspended;
};

struct server {
	struct loop *loop;
	struct server_settings settings; /* but for its pointers */
	struct address_prefixes trusted;
	bool trusts_all;
	const struct server_handler *handler;
	void *arg;
	struct MHD_Daemon *mhd;
	struct tls *tls; /* for new connections; null: not encrypted */
	struct conn *shaking; /* in their handshake, and not parked */
	atomic_uint_fast64_t tls_failures;
	struct log_limit tls_log;
	int listen_fd;
	unsigned port;
	struct loop_watch watch;
	struct loop_timer timeout;
	struct loop_call pump;
	struct conn *conns;
	unsigned nconns;
	struct conn *idle, **idle_end; /* the first waits longest */
	struct conn *uploads, **uploads_end; /* as above */
	struct client *clients[SERVER_CLIENTS]; /* by a hash of the address */
	struct conn *waiting, **waiting_end; /* not watched yet, as above */
	struct loop_timer waiting_timer;
	atomic_uint_fast64_t crowded_out;
	atomic_uint_fast64_t too_large;
	struct log_limit too_large_log;
	bool stopping;
	bool draining;
	struct loop_call drained;
};

enum pace {
	PACE_NONE,     /* the deadline is one of a header, or for being idle */
	PACE_FREE,     /* of a transfer that has just begun */
	PACE_MEASURED, /* of one that goes on */
};

struct conn {
	struct exchange x; /* first: an exchange is found in its connection */
	struct server *server;
	struct MHD_Connection *mhd;
	int fd;
	bool trusted; /* what it says of where requests come from */
	struct conn *next, **link;
	struct conn *idle_next, **idle_link; /* null: it has a request */
	int64_t idle_since_ms;
	struct conn *upload_next, **upload_link; /* null: it sends no body */
	int64_t upload_since_ms;
	uint64_t upload_bytes;
	struct client *client; /* its address; null: no memory for it */
	struct tls_handshake *handshake; /* null: not encrypted */
	struct conn *shaking_next, **shaking_link;

	/* when the client must be done with what it is doing; 0: no limit */
	int64_t deadline_ms;
	struct loop_timer timer; /* due at the deadline or before */
	enum pace pace;
	int64_t pace_start_ms;    /* of the span that is being judged */
	uint64_t pace_bytes;      /* that had gone until then */

	struct loop_watch hangup; /* while suspended: does the client leave? */
	struct conn *waiting_next, **waiting_link; /* is to be watched for it */
	int64_t waits_since_ms;
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
 * Begins to watch a transfer's pace, until there is another deadline or none.
 */
void conn_pace_start(struct conn *c);

/*
 * At the deadline: whether it is one of a transfer that has kept its pace, and
 * has another one now.
 */
bool conn_pace_kept(struct conn *c);

/*
 * Prepares a new connection for its handshake, and ends what that made of it,
 * with the connection itself; does nothing where there is no TLS. Begin fails
 * without memory; end follows either.
 */
int conn_tls_begin(struct conn *c);
void conn_tls_end(struct conn *c);

/*
 * Parks the connections whose handshake waits for the client, until there is
 * something of it: in that state the library asks again and again, and never
 * sleeps. After each of its runs.
 */
void server_tls_park(struct server *s);

/* A connection begins to wait for a request; and has one (idempotent). */
void conn_idle_enter(struct conn *c);
void conn_idle_leave(struct conn *c);

/* A connection begins to send a request's body; and has done so (idempotent).
 */
void conn_upload_enter(struct conn *c);
void conn_upload_leave(struct conn *c);

/* Counts a connection to its address, and ends that; how many that has. */
void conn_client_enter(struct conn *c);
void conn_client_leave(struct conn *c);
unsigned conn_client_count(const struct conn *c);

/* The client begins to wait for a reply, and waits no more (idempotent). */
void conn_wait_enter(struct conn *c);
void conn_wait_leave(struct conn *c);

/* Closes a connection, an idle one or an upload, if there is no room for
 * another, or little memory. */
void server_make_room(struct server *s);

/* The memory that the library needs for a connection [bytes]. */
size_t server_header_memory(const struct server *s);

/* Judges the size of a request's header: 0, 414 or 431. */
unsigned conn_check_header(struct conn *c);

/* Refuses a request whose header is too large; counts and logs it. */
void conn_refuse_header(struct conn *c, unsigned status);

/* What the library has to say: of interest is what it refuses for its size. */
void server_log_library(void *server, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/* Closes a connection: the library finds it broken in its next run. */
void conn_break(struct conn *c);

/* Replies with an error and closes the connection after it. */
void exchange_refuse(struct exchange *x, unsigned status);

/* Gives up the reply of an exchange, if there is one. */
void exchange_drop_response(struct exchange *x);

/* Whether a reply with this status to this request has no body, whatever its
 * header says of one (RFC 9112, 6.3). */
bool exchange_is_bodiless(const struct exchange *x, unsigned status);

/* A small reply, all of it. */
struct early_reply {
	unsigned status;
	const struct fields *fields; /* null: none */
	const char *type; /* beside the fields; null: as they say */
	const void *body;
	size_t len;
};

/*
 * Replies at once if the request's body is still coming in; then the connection
 * is closed. False: it is not, or the reply is too large, and nothing has
 * happened.
 */
bool exchange_reply_early(struct exchange *x, const struct early_reply *reply);

/* More of that body has come. */
void exchange_linger(struct exchange *x);

/* Whether a field is the connection's own, written by the server. */
bool server_writes_field(const char *name);

/* Writes the lines of fields, but for the connection's own and empty ones,
 * which the library refuses. */
void server_write_fields(const struct fields *fields, FILE *to);

/* Hands the reply of an exchange to the library, inside server_on_access(). */
enum MHD_Result exchange_queue(struct exchange *x);

#endif
