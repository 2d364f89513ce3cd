/*
 * Fetching over HTTP/1.1: what the parts of this way share. fetch_http.c has
 * the life of a fetch, fetch_http_send.c its request, fetch_http_receive.c the
 * response.
 */
#ifndef DIGESTD_FETCH_FETCH_HTTP_H
#define DIGESTD_FETCH_FETCH_HTTP_H

#include "digestd/http/response.h"
#include "digestd/fetch/fetch_pool.h"
#include "digestd/fetch/fetch_spare.h"
#include "digestd/fetch/fetch_url.h"
#include "digestd/fetch/fetch_way.h"

enum { FETCH_BUFFER_BYTES = 65536 };

struct fetch_means {
	struct loop *loop;
	struct pool *pool;
	struct spares spares;
	struct fetch *fetches;
	struct tls_client *tls; /* for who brings none; null: not made yet */
	bool calling;           /* a callback of a fetch runs */
	struct fetch_urls urls;
	char in[FETCH_BUFFER_BYTES];  /* what a callback may see at once */
	char out[FETCH_BUFFER_BYTES]; /* of a request, to be sent at once */
};

/* What is to be sent behind the head of a request. */
enum body_coding {
	BODY_NONE,    /* nothing, or nothing more */
	BODY_COUNTED, /* `left` bytes */
	BODY_CHUNKED,
	BODY_LAST,    /* the end of the last, with its trailers */
	BODY_LATER,   /* what an upgrade allows, once there is one */
	BODY_RAW,     /* until its end, which is this direction's, too */
	BODY_ENDS,    /* that has come, and is to be announced */
};

struct request_body {
	enum body_coding coding;
	ssize_t (*read)(void *arg, void *buf, size_t cap);
	const struct fields *(*trailers)(void *arg); /* null: none */
	int64_t left;
	bool waits; /* for fetch_resume_upload() */
	char *rest; /* bytes that the connection did not take; null: none */
	size_t rest_len; /* which are counted */
};

struct transfer {
	struct fetch fetch; /* first: what fetch.h hands out */
	struct fetch_means *means;
	const struct fetch_callbacks *callbacks;
	void *arg;
	struct pool_want want;
	struct pool_conn *conn; /* null: not yet */
	struct response response;
	struct request_body body;
	struct response_bytes unsent; /* of the head, or body.rest */
	struct loop_timer pace;  /* the header's deadline, then the rate */
	struct loop_timer total;
	struct loop_call send;    /* what is not sent where it was asked for */
	struct loop_call receive; /* a resume, or more than ready() shows */
	unsigned first_byte_ms, low_rate, low_rate_s, tunnel_idle_ms;
	uint64_t moved, moved_before; /* bytes either way, in the body's time */
	int64_t started_ms, connected_ms, headers_ms;
	enum trouble cause; /* of its failure, if more is known than that */
	bool headers_done;
	bool repeatable; /* may be sent again: safe, and without a body */
	bool single_use; /* the connection is not kept: many servers overlook
			    the body of a safe method */
	bool cut;        /* will not be sent whole */
	bool answered;   /* a byte has come */
	bool calling;    /* a callback of its own runs */
	bool gone;       /* cancelled, or over */
	bool paused;
	bool unread;     /* there may be more than the loop tells of */
	bool tunnel;     /* upgraded */
	bool half;       /* ... and the server sends no more */
	bool whole;      /* the same of one that is not: the response is whole,
			    and the request's body goes on */
	bool keeps;      /* and then the connection can be kept */
	char *held;      /* what a paused fetch has not taken */
	struct response_bytes held_body, held_rest; /* in it */
	struct pool_place place; /* its name is behind the request's bytes */
	union resolver_address address; /* and its address here */
	size_t len;
	char request[];
};

/* What a step leads to. */
enum progress {
	GOES_ON,
	STOPPED, /* paused, or begun anew on another connection */
	OVER,    /* the fetch is no more */
};

/* Of fetch_http.c */
int64_t transfer_now_ms(const struct transfer *f);
/* Around each callback. */
void transfer_calls(struct transfer *f, bool calls);
/* Takes over bytes (null: none) as body.rest; what was there is freed. */
void transfer_set_rest(struct transfer *f, char *rest, size_t len);
enum progress transfer_finish(struct transfer *f, enum fetch_result result,
			      bool keep);
/* As FETCH_TRUNCATED or FETCH_BAD, by what has come. */
enum progress transfer_break(struct transfer *f);
/* Its connection has ended; orderly: as was announced. */
enum progress transfer_lose(struct transfer *f, bool orderly);
/* The header is due in first_byte_ms from now. */
void transfer_await_header(struct transfer *f);
/* From now on the body's pace counts, if there is one to keep. */
void transfer_watch_pace(struct transfer *f);
/* Watches the connection for what is needed now. */
enum progress transfer_watch(struct transfer *f);

/* Of fetch_http_send.c: sends what can be sent now. */
enum progress transfer_send(struct transfer *f);
/* Whether the request has been sent whole, so that another may follow. */
bool transfer_is_sent(const struct transfer *f);
/* The final response's header has come: is the rest of the body of use? */
void transfer_answer_early(struct transfer *f);

/* Of fetch_http_receive.c: takes what has come, and what a resume lets on. */
enum progress transfer_receive(struct transfer *f);
void transfer_run_receive(void *arg);

#endif
