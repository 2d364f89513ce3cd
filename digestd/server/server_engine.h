/*
 * What the engines of a server share. An engine speaks HTTP with clients: one
 * is libmicrohttpd (server_mhd.h), the other this project's own (front.h). Each
 * embeds these structures, first, in larger ones of its own.
 *
 * Here are the connections as such: who goes when there are too many, how many
 * an address has, how long each has for what it is doing.
 */
#ifndef DIGESTD_SERVER_SERVER_ENGINE_H
#define DIGESTD_SERVER_SERVER_ENGINE_H

#include <stdatomic.h>

#include "digestd/http/fields.h"
#include "digestd/http/forwarded.h"
#include "digestd/http/refusal.h"
#include "digestd/os/address_prefix.h"
#include "digestd/os/listen.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/server/server.h"

enum { SERVER_CLIENTS = 256 }; /* lists of addresses */

/*
 * What the kernel may hold unsent of a connection: enough to keep it busy for
 * a turn of the loop. Without a limit a client that does not read pins some
 * megabytes, and filling them holds up everyone else.
 */
enum { SERVER_UNSENT_BYTES = 262144 };

/* How long a client that is idle may begin another request after a hand-over:
 * the longer, the rarer it does just when its connection is closed. */
enum { SERVER_LAST_REQUEST_MS = 2000 };

struct client;
struct conn;

/* A reply of text, with its fields; of an error, its content type, too. */
struct reply_text {
	unsigned status;
	const struct fields *fields; /* null: none */
	const char *type; /* beside the fields; null: as they say */
	const void *body;
	size_t len;
};

/* A reply whose body is in memory. */
struct reply_memory {
	unsigned status;
	const struct fields *fields;
	struct body_memory body;
};

/* A reply whose body is read from a source. */
struct reply_stream {
	unsigned status;
	const struct fields *fields;
	int64_t body_len;
	const struct body_source *source;
};

/* The functions of server.h, for an engine. `c` and `x` are its own. */
struct server_engine {
	size_t bytes; /* of its structure, which begins with struct server */
	/* Serves s->listen_fd, which is open. Returns 0 or a negative errno. */
	int (*start)(struct server *s);
	/* Stops accepting; but first, unless it is handed over, takes what
	 * waits in the socket's queue. */
	void (*quiesce)(struct server *s);
	/* Closes all connections, and everything else that start() made. */
	void (*stop)(struct server *s);
	/* Closes a connection, soon, whatever it is doing. */
	void (*close)(struct conn *c);
	/* The same, as its client was too slow; it may be told. */
	void (*expire)(struct conn *c);
	/* The memory that a connection takes [bytes]. */
	size_t (*conn_bytes)(const struct server *s);
};

/* What a connection does for its exchanges, by the protocol that it speaks. */
struct exchange_engine {
	/* null: it sends none */
	void (*interim)(struct exchange *x, unsigned status,
			const struct fields *fields);
	void (*reply_text)(struct exchange *x, const struct reply_text *reply);
	void (*reply_memory)(struct exchange *x,
			     const struct reply_memory *reply);
	bool (*reply_shared)(struct exchange *x, struct shared_reply *reply);
	/* null: it writes none from lines */
	void (*reply_written)(struct exchange *x,
			      const struct reply_written *reply);
	void (*reply_stream)(struct exchange *x,
			     const struct reply_stream *reply);
	void (*wake)(struct exchange *x);
	/* null: it knows of no end but the body's */
	void (*end_upload)(struct exchange *x, enum exchange_end end);
	void (*resume_body)(struct exchange *x);
	void (*abort)(struct exchange *x);
};

extern const struct server_engine server_engine_mhd, server_engine_front;

struct exchange {
	struct conn *conn;
	struct server_request request;
	struct fields fields;
	struct fields trailers; /* of its body */
	struct exchange_account account;
	void *data;
	bool started;    /* the handler knows of it */
	bool answered;   /* the handler has replied, or aborted */
	bool aborted;
	bool receiving;  /* its body, once the handler knows of it */
	bool body_ended;
	bool duplex;     /* its body goes on to the handler beside a stream */
	bool tunnel;     /* was answered with 101, so that its body goes on */
	bool refused;    /* by the server; the connection closes after it */
};

struct server {
	const struct server_engine *engine;
	struct loop *loop;
	struct server_settings settings; /* but for its pointers */
	struct address_prefixes trusted;
	bool trusts_all;
	struct address_prefixes allowed; /* that may connect; none: all */
	const struct server_handler *handler;
	void *arg;
	struct tls *tls; /* for new connections; null: not encrypted */
	int listen_fd;
	unsigned port;
	char label[LISTEN_LABEL_BYTES]; /* for the log */
	struct conn *conns;
	unsigned nconns;
	struct conn *idle, **idle_end; /* the first waits longest */
	struct conn *uploads, **uploads_end; /* as above */
	struct client *clients[SERVER_CLIENTS]; /* by a hash of the address */
	atomic_uint_fast64_t tls_failures;
	atomic_uint_fast64_t proxy_refused;
	atomic_uint_fast64_t crowded_out;
	atomic_uint_fast64_t too_large;
	atomic_uint_fast64_t floods;
	atomic_uint_fast64_t surplus;
	atomic_uint_fast64_t refused[REFUSAL_COUNT];
	struct log_limit tls_log;
	struct log_limit proxy_log;
	struct log_limit too_large_log;
	struct log_limit floods_log;
	struct log_limit surplus_log;
	struct log_limit refused_log;
	struct log_limit slow_log;
	struct log_limit unlisted_log;
	bool stopping;
	bool draining;
	bool handed_over; /* while draining: another process accepts */
	struct loop_call drained;
};

enum pace {
	PACE_NONE,     /* the deadline is one of a header, or for being idle */
	PACE_FREE,     /* of a transfer that has just begun */
	PACE_MEASURED, /* of one that goes on */
};

struct conn {
	struct server *server;
	const struct exchange_engine *exchanges;
	int fd;
	const struct sockaddr *address; /* the client's */
	bool trusted; /* what it says of where requests come from */
	bool held;    /* it waits for this node, not for its client */
	bool sends;   /* a reply, so that its pace is that of reading it */
	struct conn *next, **link;
	struct conn *idle_next, **idle_link; /* null: it has a request */
	int64_t idle_since_ms;
	struct conn *upload_next, **upload_link; /* null: it sends no body */
	int64_t upload_since_ms;
	uint64_t upload_bytes;
	struct client *client; /* its address; null: no memory for it */

	/* when the client must be done with what it is doing; 0: no limit */
	int64_t deadline_ms;
	struct loop_timer timer; /* due at the deadline or before */
	enum pace pace;
	int64_t pace_start_ms;    /* of the span that is being judged */
	uint64_t pace_bytes;      /* that had gone until then */
};

/*
 * Enters a new connection whose server, functions for its exchanges, fd and
 * address are set, and counts it.
 * If it stays, others make room, server_make_room(). Leave is for its end.
 */
void conn_enter(struct conn *c);
void conn_leave(struct conn *c);

/*
 * A connection turns out to be that of a client at another address (which lies
 * in the connection; null: nobody knows at which, and the old one stays): it
 * counts to that, and what it says is believed if that is trusted.
 */
void conn_set_client(struct conn *c, const struct sockaddr *address);

/* What is done with what it says of where its requests come from. */
static inline enum forwarded_trust conn_trust(const struct conn *c)
{
	if (!c->trusted)
		return FORWARDED_DROP;
	return c->server->trusts_all ? FORWARDED_PASS : FORWARDED_BELIEVE;
}

/* Closes a connection, soon. */
void conn_close(struct conn *c);

/* Sets or (0) lifts the time by which the client must have got on. */
void conn_set_deadline(struct conn *c, int64_t deadline_ms);

/*
 * Begins to watch a transfer's pace, until there is another deadline or none.
 */
void conn_pace_start(struct conn *c);

/* Whether so many bytes are enough for a span of time. */
bool conn_pace_suffices(const struct server *s, uint64_t bytes,
			int64_t span_ms);

/*
 * At the deadline: whether it is one of a transfer that has kept its pace, and
 * has another one now.
 */
bool conn_pace_kept(struct conn *c);

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

/* Closes a connection, an idle one or an upload, if there is no room for
 * another, or little memory. */
void server_make_room(struct server *s);

/* Whether one that has come may stay: with all memory in use, an address that
 * has many gets no more. */
bool server_has_memory_for(const struct conn *c);

/* Closes one that waits for its client, for its descriptor; false: none does.
 */
bool server_give_way(struct server *s);

/* Whether there is room for another, or can be made. */
bool server_has_room(const struct server *s);

/* Counts a handshake that failed, and logs why; "": nobody knows. */
void server_count_tls_failure(struct server *s, const struct sockaddr *from,
			      const char *why);

/* Counts a connection that is closed as it has no right PROXY header, or may
 * not have one, and logs it. */
void server_count_proxy_refusal(struct server *s, const struct sockaddr *from,
				const char *why);

/* Counts a connection of HTTP/2 that is closed for what it has sent, and logs
 * it. */
void server_count_flood(struct server *s, const struct sockaddr *from);

/* Counts a connection that is closed because its address has as many as it may
 * have, and logs why that is so. */
void server_count_surplus(struct server *s, const struct sockaddr *from,
			  const char *why);

/* Whether who has this address may connect. Only addresses of networks can be
 * listed: who comes by a UNIX socket has been let in by its permissions. */
bool server_allows(const struct server *s, const struct sockaddr *from);

/* Counts a connection that is closed because its address may not connect, and
 * logs it. */
void server_count_unlisted(struct server *s, const struct sockaddr *from);

/* Counts a request that is refused with a status, and logs why (null: it is no
 * news), with the client's address (null: unknown). */
void server_count_refusal(struct server *s, const struct sockaddr *from,
			  unsigned status, const char *why);

/* Refuses a request: an error, after which the connection is closed. Counted,
 * with why as above. */
void exchange_refuse(struct exchange *x, unsigned status, const char *why);

/* Whether a reply with this status to this request has no body, whatever its
 * header says of one (RFC 9112, 6.3). */
bool exchange_is_bodiless(const struct exchange *x, unsigned status);

/* Whether a field is the connection's own, written by the server. */
bool server_writes_field(const char *name, size_t len);

#endif
