/*
 * This project's own engine: a strict HTTP/1.1 server, shared by front*.c.
 *
 * A connection is registered once, edge triggered, for all that can happen to
 * it; front_conn_run() then does what can be done: it receives, parses, calls
 * the handler, sends, until nothing of that goes on. A request that is answered
 * at once costs a recv() and a sendmsg(), and up to FRONT_PIPELINE of them that
 * came together cost no more.
 *
 * An idle connection has no buffers: a server receives into one of its own, and
 * parses there. Copied are only the beginning of what is incomplete, what waits
 * behind a reply, and the header of a request that goes to the handler, which
 * may keep it until its exchange is done.
 *
 * Nothing ends an exchange or a connection from inside a call of the handler's:
 * what such a call wants is noted, and done by front_conn_run(), which is
 * running or deferred.
 */
#ifndef DIGESTD_SERVER_FRONT_H
#define DIGESTD_SERVER_FRONT_H

#include <netinet/in.h>
#include <sys/uio.h>

#include "digestd/http/request_body.h"
#include "digestd/http/request_head.h"
#include "digestd/server/reply_head.h"
#include "digestd/server/server_engine.h"
#include "digestd/server/shared_reply.h"

struct h2_conn;
struct h2_server;
struct tls_session;

enum {
	FRONT_PIPELINE = 16,     /* replies that go out together */
	FRONT_PARTS = 3,         /* of a reply: header, its end, body */
	FRONT_BUFFER_BYTES = 65536,
	FRONT_BLOCK_BYTES = 32768, /* of a streamed body */
	FRONT_DRAIN_BYTES = 65536, /* of an upload that is not wanted, which
				      are read to keep the connection */
};

/* What an exchange has as a stream of HTTP/2, see h2.h; else all zero. */
struct h2_stream {
	int32_t id;       /* 0: none, or it has closed */
	struct front_exchange **link; /* null: none, or it is over */
	const char *at;   /* what is left of a body in memory */
	size_t left;
	bool answered;    /* its reply has been handed to nghttp2 */
	bool complete;    /* and has gone out whole */
	bool receives;    /* a body that is wanted has yet to come, or to be
			     taken */
	bool held;        /* the handler has not taken all that has come */
	bool came;        /* all of it has come */
	bool owes_continue;
	char *kept;       /* what the handler has not taken */
	size_t kept_at, kept_len;
	size_t trailer_left; /* bytes of trailers that may still come */
	unsigned ntrailers;
	uint64_t moved;   /* bytes of bodies, either way */
	uint64_t judged;  /* of them: when its pace was looked at */
	bool watched;     /* it has been for the client to do something since */
};

struct front_exchange {
	struct exchange x; /* first */
	struct front_exchange *next;
	char *text;        /* the request's header */
	size_t text_cap;
	size_t counted;    /* of its memory, see front_exchange_count() */
	struct reply_head head; /* of the reply */

	/* what is zero in one that is new, see front_exchange_clear() */
	bool keeps_old;    /* its client speaks HTTP/1.0, and wants to go on */
	bool unheard;      /* nobody takes what the client says */

	/* the reply: what of it is to be sent next, then the file or stream */
	struct iovec parts[FRONT_PARTS];
	unsigned part, nparts;
	struct shared_reply *shared;
	struct body_memory memory;
	const char *file_at; /* of a body in a file, body_memory_send() */
	size_t file_left;
	struct front_stream *stream;
	struct h2_stream h2;
};

/* The body of a streamed reply. */
struct front_stream {
	struct body_source source;
	int64_t left;   /* bytes to come, -1: unknown */
	uint64_t moved; /* bytes that have come */
	bool chunked;
	bool by_close;  /* only the connection's end shows its own */
	bool trailers;  /* the client takes them */
	bool waits;     /* there is nothing to be read */
	bool loaded;    /* the block is, or a part of it is, to be sent */
	bool ended;     /* all of it is in the block, or gone */
	bool failed;    /* it ends too early, behind what is in the block */
	struct reply_head trailer; /* goes behind the block, if there is one */
	size_t block_bytes;
	char block[];   /* where some of it is before it is sent */
};

enum front_phase {
	FRONT_PROXY,   /* a PROXY header is to come, which is the first */
	FRONT_HANDSHAKE,
	FRONT_HEAD,    /* the header of a request comes in, or will */
	FRONT_BODY,    /* its body */
	FRONT_DISCARD, /* a body that nobody wants, after a reply */
	FRONT_REPLY,   /* all of it is there; the handler has not replied */
	FRONT_HTTP2,   /* the connection has another protocol, see h2.h */
	FRONT_TUNNEL,  /* both ends say what they like, see front_tunnel.c */
	FRONT_LINGER,  /* there will be no other request; what comes is thrown
			  away */
};

struct front_conn {
	struct conn base; /* first */
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} from;
	struct loop_watch watch;
	struct loop_call run; /* front_conn_run(), deferred */
	struct tls_session *tls; /* null: not encrypted */
	enum front_phase phase;
	struct h2_conn *h2; /* in phase FRONT_HTTP2, else null */
	bool running;    /* front_conn_run() is */
	bool yields;     /* what is left is for the loop's next turn */
	bool readable, writable; /* as far as known */
	bool queues_file; /* the kernel may queue more of it unsent */
	bool hung_up;    /* the client sends no more, or the connection broke */
	bool ended;      /* and all that it has sent was read */
	bool used;       /* there was a request */
	bool late;       /* no other request may come: it lingers briefly */
	bool broken;     /* to be closed at once */
	bool https;      /* the client has TLS with who sent a PROXY header */
	bool closing;    /* to be closed after the replies under way */
	bool shut;       /* the client was told so */
	bool cut;        /* its end must not be taken for that of a reply */
	bool owes_continue; /* 100, before anything else that is to come */
	int64_t linger_end_ms; /* when lingering ends at the latest */

	/* what was received, and waits */
	char *kept;
	size_t kept_len;
	bool incomplete; /* it waits for more of it */
	struct request_head *head; /* read so far; null: nothing of it */
	struct request_body body;
	size_t raw;      /* bytes of the body that the handler has seen, but
			    not taken: what is kept begins with them */

	struct front_exchange *now; /* has no reply yet */
	struct front_exchange *duplex; /* its reply is streamed while its body
					  still comes in; null: none */
	struct front_exchange *out, **out_end; /* are being sent */
	unsigned nout;
	bool streams;               /* the last of them reads its body */
	struct front_exchange *tunnel; /* the one of the tunnel, in phase
					  FRONT_TUNNEL; it is the last */
	struct reply_head interim;  /* goes before them */
	size_t interim_at;
};

struct front_server {
	struct server base; /* first */
	struct loop_watch watch;
	struct loop_timer retry; /* of accepting, when it failed */
	int spare_fd; /* by which who comes is told that there is no other;
			 -1: that is gone, too */
	bool short_of_files; /* accepting has failed for want of one */
	struct request_limits limits;
	struct request_head head; /* of the request that is being read */
	struct front_exchange *spare; /* exchanges to be used again */
	unsigned nspare;
	size_t buffer_bytes;
	char *buffer; /* what is received */
	struct h2_server *h2; /* null: no connection speaks HTTP/2 */
};

static inline struct front_server *front_server(const struct front_conn *c)
{
	return (struct front_server *)c->base.server;
}

static inline struct front_conn *front_conn_of(const struct exchange *x)
{
	return (struct front_conn *)x->conn;
}

/* front.c: exchanges of HTTP/1.1. */
extern const struct exchange_engine front_exchanges;

/* front_accept.c: from the listening socket to connections. */
int front_accept_start(struct front_server *s);
void front_accept_stop(struct front_server *s);
/* A connection was closed: there may be room for another. */
void front_accept_resume(struct front_server *s);

/* front_conn.c: a connection as a whole. */

/* Takes a descriptor (closed if that fails). Returns 0 or -ENOMEM. */
int front_conn_open(struct front_server *s, int fd,
		    const struct sockaddr_in6 *from);

/* Ends it, and its exchanges, with on_done(). Not while it is running. */
void front_conn_free(struct front_conn *c);

/* Does what can be done; the connection may be gone afterwards. */
void front_conn_run(void *arg);

/* Whether its address has more of them than it may. */
bool front_conn_is_surplus(const struct front_conn *c);

/* It waits for its client's next request, for so long. */
void front_conn_idle(struct front_conn *c, unsigned ms);

/* Runs it soon, if it is not running. */
void front_conn_defer(struct front_conn *c);

/* From any call: closes it soon. */
void front_conn_break(struct front_conn *c);

/* front_proxy.c: the header of the PROXY protocol. Both for connections that
 * are in that phase. */

/* Reads it, if it is there, and goes on to the next phase. */
void front_proxy_run(struct front_conn *c);
/* The connection ends without it: counted. */
void front_proxy_end(struct front_conn *c);

/* front_tunnel.c: connections that have changed protocols. */

/* The exchange is answered with 101. */
void front_tunnel_begin(struct front_exchange *fx);
/* Whether there is room for what the client says. */
bool front_tunnel_wants(const struct front_conn *c);
/* It has said something. Returns the bytes that were taken. */
size_t front_tunnel_read(struct front_conn *c, const char *at, size_t len);
/* It will say no more. */
void front_tunnel_end_input(struct front_conn *c);
/* Tells it once that it will hear no more, when that is so. */
void front_tunnel_settle(struct front_conn *c);

/* front_exchange.c: exchanges are kept for the next request. */
struct front_exchange *front_exchange_new(struct front_conn *c);

/* Has the ledger know what its headers and trailers take by now. */
void front_exchange_count(struct front_exchange *fx);
/* on_done(), if the handler knows of it; what the reply has is released. */
void front_exchange_end(struct front_exchange *fx, enum exchange_end end);
void front_exchange_free_spare(struct front_server *s);

/* front_request.c: requests as the handler gets them. */

/* Moves a whole header, which lies at `at`, into the exchange's own memory, and
 * fills its request. Returns 0 or -ENOMEM. */
int front_request_take(struct front_exchange *fx, struct request_head *h,
		       const char *at);

/* front_input.c: receives and parses. Returns whether it got on. */
bool front_input_run(struct front_conn *c);
/* Whose body comes in; null: nobody's that is wanted. */
struct exchange *front_input_receiver(const struct front_conn *c);
/* Nobody wants the rest of a body: it is thrown away as it comes. */
void front_input_discard_body(struct front_conn *c);
/* Whether the handler hears the client still, in a tunnel or beside a reply, so
 * that the exchange goes on, whatever the reply does. */
bool front_input_is_open(const struct front_exchange *fx);
/* As exchange_end_upload() says. */
void front_input_end_upload(struct exchange *x, enum exchange_end end);
/* Answers who has begun a header or a body, and does not go on with it, with
 * 408. False: that is not so, or there is no memory. */
bool front_input_refuse_late(struct front_conn *c);
void front_input_free(struct front_conn *c);

/* Receives behind what is in the server's buffer. Returns its new length. */
size_t front_input_receive(struct front_conn *c, size_t len);

/* front_output.c: sends what there is to be sent. Returns whether replies have
 * gone out whole, and so made room for others. */
bool front_output_run(struct front_conn *c);
static inline bool front_output_waits(const struct front_conn *c)
{
	return c->out || c->interim_at < c->interim.len;
}
/* The client does not take what there is; it must keep a pace from now on. */
void front_output_block(struct front_conn *c);
/* Queues an interim response. False: it is dropped, as the client has not taken
 * what was sent before, or it is large. */
bool front_output_interim(struct front_conn *c, unsigned status,
			  const struct fields *fields);
/* Whether the reply that is first waits for its source. */
bool front_output_is_starved(const struct front_conn *c);
/* Returns what the ledger has for a file's bytes that the kernel queues. */
void front_output_return_queue(struct front_conn *c);

/* front_io.c: bytes from and to the socket, or through TLS. All return a number
 * of bytes or a negative errno, -EAGAIN among them. */
ssize_t front_io_recv(struct front_conn *c, void *buf, size_t cap);
/* Whether there is something to receive that the socket does not show. */
bool front_io_has_more(const struct front_conn *c);
ssize_t front_io_send(struct front_conn *c, const struct iovec *parts,
		      unsigned n, bool more);
/* Tells the client that there is nothing more to come. */
void front_io_shut(struct front_conn *c);
/* Closes the socket; the client reads an error and no end. */
void front_io_reset(struct front_conn *c);

/* front_stream.c: bodies of streamed replies. */

/* Makes one with a block of so many bytes; null without memory, and the source
 * is not released. */
struct front_stream *front_stream_new(const struct reply_stream *reply,
				      size_t block_bytes);
/* Releases its source, too; null is allowed. */
void front_stream_free(struct front_stream *stream);
/* Reads once. Returns the bytes that were read; if there are none it waits, or
 * has ended. */
size_t front_stream_read(struct front_stream *stream, char *to, size_t cap);
/* At its end: the trailers for a client that takes them; null: none. */
const struct fields *front_stream_trailers(const struct front_stream *stream);
/* It ends too early, behind what is to be sent now. */
void front_stream_break_off(struct front_stream *stream);

/* h2_conn.c: connections of HTTP/2. */

/* What all of them share; null if none may be. Returns 0 or -ENOMEM. */
int h2_server_new(struct front_server *s);
void h2_server_free(struct front_server *s);

/* From now on it speaks HTTP/2; what has come of that is kept. */
void h2_conn_begin(struct front_conn *c);
/* As front_conn_step(). */
bool h2_conn_step(struct front_conn *c);
/* Its client shall send no more requests; what it has sent is served. */
void h2_conn_drain(struct front_conn *c);
/* Its client was too slow, or is not needed; tells it so, and has it closed
 * soon. False: it would not hear that. */
bool h2_conn_leave(struct front_conn *c);
/* It is closed now: tells its client, if that is possible. */
void h2_conn_part(struct front_conn *c);
/* Ends what it has of HTTP/2, exchanges included. */
void h2_conn_free(struct front_conn *c);

/* front_reply.c: the engine's replies. The first three are those of any
 * protocol: the beginning of a header, down to Date, as it is written or from a
 * list, and the length of a body that is known (of a 304's the one of the 200,
 * if any). */
void front_reply_begin_written(struct front_exchange *fx,
			       const struct reply_written *reply);
void front_reply_begin(struct front_exchange *fx, unsigned status,
		       const struct fields *fields);
void front_reply_add_length(struct front_exchange *fx, unsigned status,
			    size_t len);
void front_reply_interim(struct exchange *x, unsigned status,
			 const struct fields *fields);
void front_reply_text(struct exchange *x, const struct reply_text *reply);
void front_reply_memory(struct exchange *x, const struct reply_memory *reply);
bool front_reply_shared(struct exchange *x, struct shared_reply *reply);
void front_reply_written(struct exchange *x, const struct reply_written *reply);
void front_reply_stream(struct exchange *x, const struct reply_stream *reply);
void front_reply_wake(struct exchange *x);

#endif
