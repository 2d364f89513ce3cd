/*
 * An HTTP server in a loop: a listening socket and its connections.
 *
 * Each request is an `exchange`: it comes to the handler when its header is
 * complete and was not refused, and ends with on_done(). In between the
 * handler answers with exactly one exchange_reply_*() or exchange_abort(), at
 * once or at any later time from the loop's thread; until then the connection
 * waits, and the server watches whether the client leaves.
 *
 * Persistent connections, pipelining, chunked coding, HEAD, 100 Continue and
 * the framing of replies are the server's. Time limits are absolute: a client
 * that sends its header a byte at a time, or reads its reply so, is closed,
 * however much of it was given away at once.
 *
 * The process ignores SIGPIPE (the caller's part).
 */
#ifndef DIGESTD_SERVER_SERVER_H
#define DIGESTD_SERVER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "digestd/http/refusal.h"

struct address_prefixes;
struct exchange;
struct fields;
struct listen_given;
struct loop;
struct server;
struct sockaddr;
struct tls;

struct server_settings {
	/* "127.0.0.1:8080", "[::1]:8080", ":8080" (every address); port 0:
	 * any free one */
	const char *listen;
	bool joins;                /* a server of this process that listens
				      there already, with a port of its own */
	struct listen_given *given; /* sockets that may be for this server;
				      null: none. See struct listen_how, as of
				      the next two */
	const char *listener;
	unsigned worker;
	unsigned max_connections;  /* open at once in this server; > 0. Of that
				      many, one that is idle, or a slow upload,
				      makes room */
	unsigned client_connections; /* of them from one address; 0: any */
	size_t max_header_bytes;   /* of a request, 1024 and more */
	unsigned header_ms;        /* a request's header is in by then */
	unsigned idle_ms;          /* a connection without any traffic */
	unsigned min_rate;         /* [bytes/s] of reading a reply, or sending a
				      body, over idle_ms; 0: any */
	bool strict;               /* served by the engine of front.h, not
				      by libmicrohttpd */
	bool http2;                /* spoken with clients of TLS that want it;
				      strict */
	bool http2_plain;          /* and without TLS, with those that begin
				      with its preface; strict */
	unsigned http2_streams;    /* requests under way of one connection of
				      HTTP/2; > 0 if there may be any */
	bool proxy_protocol;       /* connections begin with a header of the
				      PROXY protocol, also before TLS, and come
				      from `trusted` only; strict. They are
				      those of the client that it names, also
				      in what `trusted` says */
	struct tls *tls;           /* null: plain HTTP; see server_set_tls() */
	/* clients whose fields about where a request comes from are believed;
	 * null: all. Those of others are dropped, forwarded_is_claim(). */
	const struct address_prefixes *trusted;
	/* clients that may connect at all; null, or none: all */
	const struct address_prefixes *allowed;
	const char *allowed_by; /* the option that lists them; static */
	struct troubles *troubles; /* borrowed; null: not told */
};

/* A request as it came. All pointers live until the exchange's on_done(). */
struct server_request {
	const char *method;
	const char *target;        /* raw: never decoded */
	size_t target_len;
	unsigned minor;            /* HTTP/1.minor: 0 or 1, which HTTP/2 is
				      like */
	bool http2;                /* by that */
	const struct fields *fields;
	const char *host;          /* of them; null: there is none */
	size_t host_len;
	const struct sockaddr *client;
	bool https;                /* how the client came, or says a trusted
				      proxy, or a PROXY header, that it came */
	bool has_body;
	int64_t body_len;          /* -1: unknown (chunked) */
	const char *upgrade;       /* protocols to change to (RFC 9110, 7.8),
				      see exchange_reply_stream(); null: none
				      */
};

enum exchange_end {
	EXCHANGE_DONE,    /* the reply went out whole */
	EXCHANGE_ABORTED, /* the client left, was too slow, or was aborted */
};

/*
 * What a server does with requests. `arg` is what server_new() was given. Any
 * of them may call any exchange_* function, but none but on_request() is
 * called before on_request(), and none after on_done().
 */
struct server_handler {
	/* A request has come: its header, not yet its body. */
	void (*on_request)(void *arg, struct exchange *x);

	/*
	 * Bytes of the request's body. Returns how many were taken; after
	 * fewer than len the rest waits until exchange_resume_body(). Null:
	 * bodies are thrown away. Not called any more once there is a reply,
	 * except as exchange_set_duplex() says, and after 101.
	 */
	size_t (*on_body)(void *arg, struct exchange *x, const void *data,
			  size_t len);

	/* The request's body is complete. Null is allowed. */
	void (*on_body_end)(void *arg, struct exchange *x);

	/*
	 * The exchange is over: x, and what exchange_request() gave, are gone
	 * after this call. Called exactly once for each on_request(). Null is
	 * allowed.
	 */
	void (*on_done)(void *arg, struct exchange *x, enum exchange_end end);

	/* A request that none of the above hears of is refused with a status.
	 * Of its request what could not be read is empty. exchange_account()
	 * has what it is answered. Null is allowed. */
	void (*on_refused)(void *arg, struct exchange *x, unsigned status);
};

/* A body that is read piece by piece, when the client can take more. */
enum {
	BODY_WAIT = 0,  /* nothing now: exchange_wake() when there is */
	BODY_END = -1,  /* complete */
	BODY_FAIL = -2, /* will never be complete: close the connection */
};

struct body_source {
	/* Copies up to cap (> 0) bytes; returns their number or BODY_*. */
	ssize_t (*read)(void *arg, void *buf, size_t cap);
	void (*release)(void *arg); /* see below; null is allowed */
	void *arg;

	/* After BODY_END: fields to send behind the body, lent for the call;
	 * to clients of the strict engine that take them, where the body has no
	 * length. Null: none. */
	const struct fields *(*trailers)(void *arg);
};

/*
 * Makes a server that listens at once (see listen_open()). `settings` are
 * copied, `handler` is borrowed for the server's life. Returns 0, -EINVAL for
 * an address that is none, or the negative errno of the socket call that
 * failed.
 */
int server_new(struct loop *loop, const struct server_settings *settings,
	       const struct server_handler *handler, void *arg,
	       struct server **out);

/*
 * Closes everything: exchanges under way end with on_done(ABORTED) inside this
 * call. *server becomes null. Not from inside a handler.
 */
void server_free(struct server **server);

/*
 * Stops accepting and closes connections after the exchange they are in; those
 * that are idle, at once. drained(arg) is called, from the loop, when no
 * connection is left.
 */
void server_drain(struct server *server, void (*drained)(void *arg), void *arg);

/*
 * The same where another process accepts from the server's socket from now on:
 * what waits in its queue is left to that; and those that are idle have a
 * moment for another request, as they cannot know yet.
 */
void server_hand_over(struct server *server, void (*drained)(void *arg),
		      void *arg);

/* The socket that the server listens on; -1: it drains. */
int server_socket(const struct server *server);

/* The port that the server listens on (the one found for port 0). */
unsigned server_port(const struct server *server);

/* Whether libmicrohttpd can do TLS; the strict engine always can. */
bool server_has_tls(void);

/*
 * Takes other certificates for the connections to come; the server holds a
 * reference of its own. A server is made with or without TLS: where it has
 * none, or with null, nothing changes.
 */
void server_set_tls(struct server *server, struct tls *tls);

/* Takes another list for the connections to come; see server_settings. */
void server_set_trusted(struct server *server,
			const struct address_prefixes *trusted);

/* Takes another list of who may connect; see server_settings. Connections of
 * others are closed, whatever they are doing. */
void server_set_allowed(struct server *server,
			const struct address_prefixes *allowed);

/* Connections that ended before their handshake had; from any thread. */
uint64_t server_tls_failures(const struct server *server);

/* Connections closed for want of a PROXY header, or as they came from elsewhere
 * than `trusted`; from any thread. */
uint64_t server_proxy_refused(const struct server *server);

/* Connections that were closed to make room; from any thread. */
uint64_t server_crowded_out(const struct server *server);

/* Requests refused because their header is too large; from any thread. */
uint64_t server_too_large(const struct server *server);

/* Connections of HTTP/2 that were closed for a flood of frames; from any
 * thread. */
uint64_t server_floods(const struct server *server);

/* Connections that were closed at once, as their address had as many as it may
 * have; from any thread. */
uint64_t server_surplus(const struct server *server);

/* Adds how many requests were refused, and for what, with connections of those
 * that may not connect; from any thread. */
void server_refusals(const struct server *server, uint64_t sum[REFUSAL_COUNT]);

/* The request of an exchange. */
const struct server_request *exchange_request(const struct exchange *x);

/* The handler's own pointer in an exchange; null at first. */
void exchange_set_data(struct exchange *x, void *data);
void *exchange_data(const struct exchange *x);

/* What became of an exchange, for on_done(). */
struct exchange_account {
	unsigned status;    /* of the reply; 0: there was none */
	int64_t replied_us; /* when it began, by the loop's clock */
	uint64_t bytes;     /* of its body that were sent, as far as it is known
			       that they were */
};
void exchange_account(const struct exchange *x, struct exchange_account *out);

/* The loop that an exchange belongs to; its functions are called there. */
struct loop *exchange_loop(const struct exchange *x);

/*
 * Whether the request's body is still coming in. With the strict engine a reply
 * goes out at once all the same; what is left of a body of up to 64 KiB is then
 * read and thrown away, after a longer one the connection is closed; but see
 * exchange_set_duplex(). Over libmicrohttpd the reply waits for the body's end.
 */
bool exchange_is_receiving(const struct exchange *x);

/* How long a reply is that is worth collecting, to be given meanwhile. */
enum { EXCHANGE_EARLY_BYTES = 8192 };

/* Fields that came behind the request's body, once it has ended; by the strict
 * engine, without those that may not be there. */
const struct fields *exchange_trailers(const struct exchange *x);

/* Whether the exchange has been answered or aborted already. */
bool exchange_answered(const struct exchange *x);

/*
 * Sends an interim response (102 to 199) before the reply, to clients of
 * HTTP/1.1, by the strict engine only. It goes out at once or not at all: it is
 * dropped when the client
 * has not taken what was sent before, and when it is large. `fields` as for
 * exchange_reply(). Nothing happens after the reply.
 */
void exchange_interim(struct exchange *x, unsigned status,
		      const struct fields *fields);

/*
 * A reply to an exchange whose client has just left (on_done() has not come
 * yet) is thrown away.
 *
 * Replies with a body that is in memory, without a copy. `fields` (may be
 * null) are copied; Content-Length, Transfer-Encoding, Connection and other
 * fields of the connection in it are ignored: they are the server's. Date is
 * added where it is missing. release(arg) (may be null) is called exactly
 * once when `body` is not needed any more, possibly after on_done(), and in
 * any case, also when memory runs out and the connection is closed instead.
 *
 * To a HEAD request the header goes out alone, with the length of `body`; so
 * it does with status 304, and without a length with 204.
 */
void exchange_reply(struct exchange *x, unsigned status,
		    const struct fields *fields, const void *body, size_t len,
		    void (*release)(void *arg), void *arg);

/* A body in memory, as for exchange_reply(). */
struct body_memory {
	const void *data;
	size_t len;
	void (*release)(void *arg);
	void *arg;
};

/*
 * A reply that is made once and given to any number of exchanges of one loop,
 * with one user; null without memory, and then the body has been released.
 * It is released when the last user and the last exchange are done with it.
 */
struct shared_reply;
struct shared_reply *shared_reply_new(unsigned status,
				      const struct fields *fields,
				      const struct body_memory *body);

/* One user less; null is allowed. */
void shared_reply_unref(struct shared_reply *reply);

/*
 * Replies with it, and returns true; or false, without having replied: this
 * connection is about to close, and must be told so in a header of its own.
 */
bool exchange_reply_shared(struct exchange *x, struct shared_reply *reply);

/* A reply whose header its handler writes. */
struct reply_head;
struct reply_written {
	unsigned status;
	/* Adds the header's lines, by reply_head.h, but for those that
	 * server_writes_field(); returns whether Date is among them. */
	bool (*write)(struct reply_head *head, const void *arg);
	const void *arg;
	struct body_memory body;
};

/*
 * Replies so, without a list of fields between. False, without having replied:
 * this engine needs one. The body is the exchange's only if it is true.
 */
bool exchange_reply_written(struct exchange *x,
			    const struct reply_written *reply);

/* As exchange_reply() with a body that is copied: for small texts. */
void exchange_reply_copy(struct exchange *x, unsigned status,
			 const struct fields *fields, const void *body,
			 size_t len);

/*
 * An error page of one line: status, fields (may be null) and its reason as
 * text/plain.
 */
void exchange_reply_error(struct exchange *x, unsigned status,
			  const struct fields *fields);

/*
 * Replies with a body read from a source (copied struct) as fast as the client
 * takes it. body_len: its length, or -1 when unknown: chunked, or ended by
 * close for HTTP/1.0, where the strict engine resets a connection whose reply
 * breaks off. A source that ends before body_len counts as BODY_FAIL.
 * source->read is not called after on_done(), nor for HEAD, 204 and 304;
 * source->release(arg) exactly once, possibly after it.
 *
 * With status 101, where the request has an upgrade, the connection becomes a
 * tunnel: fields has an Upgrade with the protocol. What the client sends from
 * then on, as it comes, is the request's body: on_body(), on_body_end() when it
 * has sent all, and exchange_resume_body() do what they do with bodies. When
 * the source ends the client is told that nothing more comes. The exchange is
 * over when the source has ended and exchange_end_upload() was called: only the
 * handler knows when what the client has said is where it should be.
 */
void exchange_reply_stream(struct exchange *x, unsigned status,
			   const struct fields *fields, int64_t body_len,
			   const struct body_source *source);

/*
 * Before exchange_reply_stream(): what is still to come of the request's body
 * goes on to on_body() beside the reply, and after it. The exchange lasts until
 * exchange_end_upload(). Over libmicrohttpd nothing changes, as the reply
 * waits. Where the client waits to be asked for its body (100 Continue), and a
 * reply that must go out before that is in the way, nobody asks for it any
 * more.
 */
void exchange_set_duplex(struct exchange *x);

/* There is more to read in the source of x's reply, or its end. */
void exchange_wake(struct exchange *x);

/*
 * Of a tunnel, or after exchange_set_duplex(): the handler has done with what
 * the client says, or takes no more of it; that is thrown away. When the source
 * has ended, and all of it is sent, the exchange is over: with EXCHANGE_DONE
 * what can be done with the connection is (a tunnel's client has some time to
 * close it), with EXCHANGE_ABORTED it is closed at once, so that the client
 * learns that not all it said was taken. In any other exchange it does nothing.
 */
void exchange_end_upload(struct exchange *x, enum exchange_end end);

/* The handler can take more of the request's body. */
void exchange_resume_body(struct exchange *x);

/*
 * Closes the connection without completing the reply, whatever its state.
 * on_done(ABORTED) follows from the loop.
 */
void exchange_abort(struct exchange *x);

#endif
