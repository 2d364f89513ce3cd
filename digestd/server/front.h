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

struct tls_session;

enum {
	FRONT_PIPELINE = 16,     /* replies that go out together */
	FRONT_PARTS = 3,         /* of a reply: header, its end, body */
	FRONT_BUFFER_BYTES = 65536,
	FRONT_BLOCK_BYTES = 32768, /* of a streamed body */
	FRONT_DRAIN_BYTES = 65536, /* of an upload that is not wanted, which
				      are read to keep the connection */
};

struct front_exchange {
	struct exchange x; /* first */
	struct front_exchange *next;
	char *text;        /* the request's header */
	size_t text_cap;
	size_t counted;    /* of its memory, see front_exchange_count() */
	bool keeps_old;    /* its client speaks HTTP/1.0, and wants to go on */

	/* the reply: what of it is to be sent next, then the file or stream */
	struct reply_head head;
	struct iovec parts[FRONT_PARTS];
	unsigned part, nparts;
	struct shared_reply *shared;
	struct body_memory memory;
	size_t file_at, file_left; /* in the shared reply's */
	struct front_stream *stream;
};

/* The body of a streamed reply. */
struct front_stream {
	struct body_source source;
	int64_t left;   /* bytes to come, -1: unknown */
	bool chunked;
	bool by_close;  /* only the connection's end shows its own */
	bool trailers;  /* the client takes them */
	bool waits;     /* there is nothing to be read */
	bool loaded;    /* the block is, or a part of it is, to be sent */
	bool ended;     /* all of it is in the block, or gone */
	bool failed;    /* it ends too early, behind what is in the block */
	struct reply_head trailer; /* goes behind the block, if there is one */
	char block[FRONT_BLOCK_BYTES];
};

enum front_phase {
	FRONT_PROXY,   /* a PROXY header is to come, which is the first */
	FRONT_HANDSHAKE,
	FRONT_HEAD,    /* the header of a request comes in, or will */
	FRONT_BODY,    /* its body */
	FRONT_DISCARD, /* a body that nobody wants, after a reply */
	FRONT_REPLY,   /* all of it is there; the handler has not replied */
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
	bool running;    /* front_conn_run() is */
	bool yields;     /* what is left is for the loop's next turn */
	bool readable, writable; /* as far as known */
	bool hung_up;    /* the client sends no more, or the connection broke */
	bool ended;      /* and all that it has sent was read */
	bool late;       /* it has had its time: no other request comes */
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
	struct log_limit files_log;
	struct request_limits limits;
	struct request_head head; /* of the request that is being read */
	struct front_exchange *spare; /* exchanges to be used again */
	unsigned nspare;
	size_t buffer_bytes;
	char *buffer; /* what is received */
};

static inline struct front_server *front_server(const struct front_conn *c)
{
	return (struct front_server *)c->base.server;
}

static inline struct front_conn *front_conn_of(const struct exchange *x)
{
	return (struct front_conn *)x->conn;
}

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
/* Whether the exchange is a tunnel that goes on, whatever its reply does. */
bool front_tunnel_is_open(const struct front_exchange *fx);
/* Whether there is room for what the client says. */
bool front_tunnel_wants(const struct front_conn *c);
/* It has said something. Returns the bytes that were taken. */
size_t front_tunnel_read(struct front_conn *c, const char *at, size_t len);
/* It will say no more. */
void front_tunnel_end_input(struct front_conn *c);
/* Nobody takes what it says, see exchange_end_tunnel(). */
void front_tunnel_end(struct exchange *x, enum exchange_end end);
/* Tells it once that it will hear no more, when that is so. */
void front_tunnel_settle(struct front_conn *c);

/* front_exchange.c: exchanges are kept for the next request. */
struct front_exchange *front_exchange_new(struct front_conn *c);

/* Has the ledger know what its headers and trailers take by now. */
void front_exchange_count(struct front_exchange *fx);
/* on_done(), if the handler knows of it; what the reply has is released. */
void front_exchange_end(struct front_exchange *fx, enum exchange_end end);
void front_exchange_free_spare(struct front_server *s);

/* front_input.c: receives and parses. Returns whether it got on. */
bool front_input_run(struct front_conn *c);
/* Whose body comes in; null: nobody's that is wanted. */
struct exchange *front_input_receiver(const struct front_conn *c);
/* Nobody wants the rest of a body: it is thrown away as it comes. */
void front_input_discard_body(struct front_conn *c);
/* Answers who has begun a header, and not ended it in time, with 408. False:
 * that is not so, or there is no memory. */
bool front_input_refuse_late(struct front_conn *c);
void front_input_free(struct front_conn *c);

/* front_output.c: sends what there is to be sent. Returns whether replies have
 * gone out whole, and so made room for others. */
bool front_output_run(struct front_conn *c);
static inline bool front_output_waits(const struct front_conn *c)
{
	return c->out || c->interim_at < c->interim.len;
}
/* Queues an interim response. False: it is dropped, as the client has not taken
 * what was sent before, or it is large. */
bool front_output_interim(struct front_conn *c, unsigned status,
			  const struct fields *fields);
/* A reply that is streamed ends too early, behind what is to be sent now. */
void front_output_break_off(struct front_exchange *fx);
/* Whether the reply that is first waits for its source. */
bool front_output_is_starved(const struct front_conn *c);

/* front_io.c: bytes from and to the socket, or through TLS. All return a number
 * of bytes or a negative errno, -EAGAIN among them. */
ssize_t front_io_recv(struct front_conn *c, void *buf, size_t cap);
/* Whether there is something to receive that the socket does not show. */
bool front_io_has_more(const struct front_conn *c);
ssize_t front_io_send(struct front_conn *c, const struct iovec *parts,
		      unsigned n, bool more);
ssize_t front_io_send_file(struct front_conn *c, int fd, size_t at, size_t len);
/* Tells the client that there is nothing more to come. */
void front_io_shut(struct front_conn *c);
/* Closes the socket; the client reads an error and no end. */
void front_io_reset(struct front_conn *c);

/* front_reply.c: the engine's replies. */
void front_reply_interim(struct exchange *x, unsigned status,
			 const struct fields *fields);
void front_reply_text(struct exchange *x, const struct reply_text *reply);
void front_reply_memory(struct exchange *x, const struct reply_memory *reply);
bool front_reply_shared(struct exchange *x, struct shared_reply *reply);
void front_reply_stream(struct exchange *x, const struct reply_stream *reply);
void front_reply_wake(struct exchange *x);

#endif
