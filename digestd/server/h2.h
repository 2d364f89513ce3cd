/*
 * HTTP/2 (RFC 9113) on connections of the engine, shared by h2_*.c: frames and
 * flow control are nghttp2's, which is known to nobody else.
 *
 * A connection becomes one of HTTP/2 when its client chose that in the
 * handshake of TLS (ALPN), or begins with the connection preface where that is
 * allowed. It keeps the structures of front.h: its socket and TLS, deadlines,
 * its place among those that make room. Its streams are exchanges as those of
 * HTTP/1.1 are.
 *
 * What comes is given to nghttp2 as it was received. What goes out is gathered
 * in the server's buffer, bodies that are in memory excepted, and sent by one
 * call; of what the socket does not take a copy is kept, and nothing else is
 * gathered before that has gone.
 *
 * As with HTTP/1.1, nothing ends an exchange or a connection from inside a call
 * of the handler's, nor from inside one of nghttp2's: exchanges that are over
 * wait in a list until h2_conn_step() comes to it.
 */
#ifndef DIGESTD_SERVER_H2_H
#define DIGESTD_SERVER_H2_H

#include <nghttp2/nghttp2.h>

#include "digestd/http/request_lines.h"
#include "digestd/server/front.h"

enum {
	/* What a client may send of a body before the handler has taken it; of
	 * all bodies of a connection, which are what it may have here at once:
	 * some 1 MB/s over 100 ms. */
	H2_STREAM_WINDOW = 131072,
	H2_CONN_WINDOW = 262144,
	H2_FRAME_BYTES = 9 + 16384, /* the largest that is sent */
	H2_SEND_BYTES = 131072,     /* gathered for one call */
	H2_PARTS = 64,
};

/* What a listener's connections share. */
struct h2_server {
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *options;
	struct request_lines lines; /* of the header that is being read */
	nghttp2_nv *nv;             /* of the header that is being sent */
	size_t nv_cap;
};

/* What is gathered for one call, in the server's buffer and beside it. */
struct h2_gather {
	struct iovec parts[H2_PARTS];
	unsigned n;
	char *at, *end; /* room in the buffer */
	size_t bytes;
	bool full;      /* as far as it should be */
};

struct h2_conn {
	nghttp2_session *session;
	struct front_exchange *streams; /* h2.link */
	unsigned nstreams;
	unsigned nreceiving, nheld; /* of them: have bodies to come; of those:
				       wait for the handler */
	unsigned nlasting; /* of them: have no stream any more */
	struct front_exchange *over; /* have closed, and are to be ended */

	struct request_lines lines; /* of a header whose end has not come */
	bool in_header;
	int64_t header_due_ms;  /* when that has come; 0: there is none */
	int64_t judged_ms;      /* when the streams' paces were looked at */
	int64_t goodbye_due_ms; /* when GOAWAY says which requests count */
	struct loop_timer timer;

	struct h2_gather *gather; /* while there is one */
	char *pending;            /* what the socket did not take */
	size_t pending_at, pending_len;

	int64_t credit;           /* see h2_flood.c */
	int64_t credit_ms;        /* when it was counted */
	bool resumed;             /* a handler takes more of a body */
	bool ending;              /* the last frame is GOAWAY */
	bool stirred;             /* there may be something to do */
	bool leaving;             /* the client was told to go */
};

static inline struct h2_server *h2_server_of(const struct front_conn *c)
{
	return front_server(c)->h2;
}

/* h2_session.c: nghttp2's sessions, and what they call. */

/* Makes the session of a connection. Returns 0 or -ENOMEM. */
int h2_session_new(struct front_conn *c);
/* Has it read what has come. False: the connection is of no use any more. */
bool h2_session_read(struct front_conn *c, const char *at, size_t len);
/* Closes a stream with an error, soon. */
void h2_session_reset(struct front_conn *c, int32_t id, uint32_t error);
/* Says that the connection ends with this error; its streams do, too. */
void h2_session_terminate(struct front_conn *c, uint32_t error);
/* Says that no requests are taken any more but those that have come. */
void h2_session_say_goodbye(struct front_conn *c);

/* h2_request.c: from fields to requests. */
void h2_request_begin(struct front_conn *c);
/* False: too much has come. */
bool h2_request_add(struct front_conn *c, struct field_part name,
		    struct field_part value);
/* Whatever has begun has ended, if only for being malformed. */
void h2_request_forget(struct front_conn *c);
/* The header is complete; ended: there is no body. Returns 0 or -ENOMEM. */
int h2_request_end(struct front_conn *c, int32_t id, bool ended);
/* A header that has begun has not ended: what there is of it is kept. And it
 * goes on. */
void h2_request_suspend(struct front_conn *c);
void h2_request_resume(struct front_conn *c);

/* h2_body.c: bodies of requests, and the windows in which they come. */
void h2_body_begin(struct front_exchange *fx);
void h2_body_take(struct front_conn *c, struct front_exchange *fx,
		  const char *at, size_t len);
/* False: it may not be there, or there are too many. */
bool h2_body_add_trailer(struct front_exchange *fx, struct field_part name,
			 struct field_part value);
/* All of it has come. */
void h2_body_end(struct front_exchange *fx);
/* Nobody wants it any more. */
void h2_body_drop(struct front_exchange *fx);
/* The handler has not taken all that has come; or takes more. */
void h2_body_hold(struct front_exchange *fx, bool held);
/* Hands on what handlers have room for by now. */
void h2_body_resume_all(struct front_conn *c);
/* Whether it is for the client to send some of it. */
static inline bool h2_body_is_awaited(const struct front_exchange *fx)
{
	return fx->h2.receives && !fx->h2.held && !fx->h2.came;
}

/* h2_reply.c: replies, as frames. */
extern const struct exchange_engine h2_exchanges;
/* Asks for the body, if the client waits for that. */
void h2_reply_go_on(struct front_exchange *fx);
/* Ends a streamed reply with trailers. Returns 0, or -1 without memory. */
int h2_reply_trailers(struct front_exchange *fx, const struct fields *fields);
/* The stream has said all that it has to say. */
void h2_reply_end(struct front_exchange *fx);

/* h2_output.c: sends what there is to be sent. Returns whether something went
 * out. */
bool h2_output_run(struct front_conn *c);
static inline bool h2_output_is_blocked(const struct front_conn *c)
{
	return c->h2->pending_len;
}
/* Frees what has not gone out. */
void h2_output_free(struct h2_conn *h2);
/* For who has a body to be sent. */
nghttp2_data_provider h2_output_provider(struct front_exchange *fx);
int h2_output_add_data(struct front_conn *c, struct front_exchange *fx,
		       const uint8_t *header, size_t len);

/* h2_pace.c: how long clients have. Sets the timer to what is due next. */
void h2_pace_set(struct front_conn *c);

/* h2_flood.c: what a client may send that brings nothing forward. */
enum {
	H2_FLOOD_FRAME = 1, /* costs: of a frame; a stream that is taken back */
	H2_FLOOD_RESET = 4,
	H2_FLOOD_DATA = 2,  /* gains: of a frame of a reply, as it may make the
			       client open two windows; of a whole reply */
	H2_FLOOD_DONE = 4,
};
void h2_flood_begin(struct front_conn *c);
/* Returns whether there is credit left. */
bool h2_flood_spend(struct front_conn *c, unsigned cost);
void h2_flood_earn(struct front_conn *c, unsigned gain);

/* h2_stream.c: exchanges as streams. */

/* Makes the exchange of a stream; null without memory. */
struct front_exchange *h2_stream_new(struct front_conn *c, int32_t id);
/* The stream has closed: its exchange is over, unless the handler has still to
 * do with what has come. */
void h2_stream_closed(struct front_exchange *fx, uint32_t error);
/* The exchange is over: it will be ended. */
void h2_stream_close(struct front_exchange *fx);
/* Ends those that are over, but for what has yet to go out. */
void h2_stream_end_over(struct front_conn *c);
/* Ends all. */
void h2_stream_end_all(struct front_conn *c);

#endif
