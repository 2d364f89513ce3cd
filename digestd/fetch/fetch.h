/*
 * An HTTP client in a loop: fetches one resource a time, many at once.
 *
 * Connections are kept and used again. A request that ends with a kept
 * connection, before a byte of answer, is sent once more if its method is
 * safe and it has no body; any other is sent once. Nothing else happens
 * behind the caller's back: no redirects, no decompression, no proxies from the
 * environment, no fields but those given (and Host where it is missing).
 *
 * What comes is checked: malformed fields, two lengths that differ, headers
 * beyond the limit end a fetch as FETCH_BAD; a body that breaks off is never
 * FETCH_COMPLETE. How it is done is a way's business (fetch_way.h).
 *
 * Callbacks run from the loop, never inside a fetch_* call. They may call any
 * fetch_* function, also fetch_cancel() on their own fetch; but not
 * fetcher_free() on its fetcher.
 */
#ifndef DIGESTD_FETCH_FETCH_H
#define DIGESTD_FETCH_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "digestd/http/trouble.h"
#include "digestd/http/fetch_result.h"

struct fetch;
struct fetcher;
struct fields;
struct loop;
struct tls_client;
union resolver_address;

struct fetch_limits {
	unsigned connect_ms;      /* name lookup and connection; > 0 */
	unsigned first_byte_ms;   /* from the start, or from the last bytes of
				     the request's body that were sent, to the
				     end of the header; > 0 */
	unsigned total_ms;        /* everything; 0: no limit */
	unsigned low_rate;        /* of the body [bytes/s]; 0: no limit */
	unsigned low_rate_s;      /* below low_rate for so long is a timeout */
	unsigned tunnel_idle_ms;  /* and in place of that after an upgrade: no
				     byte either way for so long, or up to
				     twice that; 0: no limit */
	size_t max_header_bytes;  /* of the response; > 0 */
};

/*
 * The body of a request that is sent piece by piece. A final response may come
 * before its end, and is passed on as it comes; the rest is sent, or not if the
 * status is 300 and more and there is much of it. When the response is whole
 * the rest of that little is sent if it is here, and the fetch ends; below 300
 * it ends when the body has been sent, or the server takes no more of it.
 */
struct fetch_upload {
	int64_t len; /* -1: unknown, sent chunked */

	/*
	 * Copies up to cap bytes of it; returns their number, FETCH_MORE when
	 * there are none now (then fetch_resume_upload()), FETCH_EOF at the
	 * end, FETCH_GIVE_UP to end the fetch.
	 */
	ssize_t (*read)(void *arg, void *buf, size_t cap);

	/*
	 * At the end of a body of unknown length: fields to send behind it,
	 * lent for the call; those of more than 32 KB are left out. Null: none.
	 */
	const struct fields *(*trailers)(void *arg);
};

/* What on_body() gets at once, after an upgrade. */
enum { FETCH_TUNNEL_BYTES = 16384 };

enum { FETCH_EOF = 0, FETCH_MORE = -1, FETCH_GIVE_UP = -2 };

/* All strings and the fields are copied where they are needed longer. */
struct fetch_request {
	const char *method;         /* a token */
	const char *url;            /* "http://host:port/path": where to go */
	const union resolver_address *address; /* of that, with its port; null:
				       the host's, which is looked up */
	const char *target;         /* the request target to send as it is, e.g.
				       an absolute URL to a proxy; null: url */
	const struct fields *fields; /* may be null */
	const struct fetch_limits *limits;
	const struct fetch_upload *upload; /* null: no body */
	const char *upgrade;        /* protocols to change to, as the field
				       Upgrade has them; or null. If the server
				       does (101), the bodies of both messages
				       are that protocol's: upload is read only
				       then, without its len, and its end is the
				       end of what is sent */
	bool trailers;              /* asks for trailers (TE) */
	struct tls_client *tls;     /* for https; the fetch holds a reference.
				       Null: TLS 1.2, the system's trust */
};

struct fetch_timing {
	unsigned connect_ms;    /* until connected; 0 on a kept connection */
	unsigned first_byte_ms; /* until the header was complete */
	unsigned total_ms;
};

struct fetch_done {
	enum fetch_result result;
	enum trouble cause; /* _none: what the result says of it */
	bool sent; /* bytes of the request may have come to the server */
	bool ended_by_close; /* the body had no length of its own: COMPLETE may
				hide a truncation */
	struct fetch_timing timing;
};

struct fetch_callbacks {
	/*
	 * The header of an interim response (1xx) before the final one, as
	 * on_headers() says; 100 only where the request has a body, and a field
	 * Expect that asks for it. Null is allowed.
	 */
	void (*on_interim)(void *arg, struct fetch *f, unsigned status,
			   const struct fields *fields);

	/*
	 * The final response's header. `fields` is lent for the call and holds
	 * all fields, in order, as they came. body_len: the length it
	 * announces, or -1. Null is allowed.
	 */
	void (*on_headers)(void *arg, struct fetch *f, unsigned status,
			   const struct fields *fields, int64_t body_len);

	/*
	 * Bytes of the body. Returns true when they were taken; false pauses:
	 * the same bytes come again after fetch_resume(). Null: thrown away.
	 */
	bool (*on_body)(void *arg, struct fetch *f, const void *data,
			size_t len);

	/*
	 * Fields behind a body in chunks, lent for the call, right before
	 * on_done(); those that may not be there are left out. Null is allowed.
	 */
	void (*on_trailers)(void *arg, struct fetch *f,
			    const struct fields *fields);

	/*
	 * After an upgrade the server has sent all that it will, and there is
	 * more to come of the upload: the fetch goes on to its end. Null: the
	 * fetch ends with what the server sends.
	 */
	void (*on_half_close)(void *arg, struct fetch *f);

	/* The end, exactly once unless cancelled; f is gone after it. */
	void (*on_done)(void *arg, struct fetch *f,
			const struct fetch_done *done);
};

/* What a fetcher is for. */
enum fetcher_use {
	FETCHER_DATA,     /* what clients ask for, from origins and peers */
	FETCHER_EXCHANGE, /* what nodes have to tell each other: by libcurl, and
			     without uploads, upgrades and interim responses */
};

/*
 * Makes a fetcher in a loop, with at most max_per_host connections to one
 * host and port by one struct tls_client (0: no limit; further fetches wait for
 * one). Returns 0 or -ENOMEM. The first one in a process also sets up the
 * library below, which is not safe against other threads doing so: make it
 * before starting threads, or call fetch_global_init() there.
 */
int fetcher_new(struct loop *loop, enum fetcher_use use,
		unsigned max_per_host, struct fetcher **out);

/*
 * From now on refuses targets whose address is loopback, private, link-local
 * or otherwise not public, however it is spelt. For a whole fetcher, before its
 * first fetch: kept connections are shared by all its fetches.
 */
void fetcher_public_only(struct fetcher *fetcher);

/*
 * Sees to it that there are n connections to where a URL leads, used ones
 * included: those that lack are made now, each within connect_ms (> 0), and are
 * kept for who asks next. tls: see fetch_request. Without memory there are
 * fewer. Of a fetcher for data.
 */
void fetcher_warm(struct fetcher *fetcher, const char *url,
		  struct tls_client *tls, unsigned connect_ms, unsigned n);

/* Cancels what is under way and frees; *fetcher becomes null. Not from a
 * callback of one of its fetches. */
void fetcher_free(struct fetcher **fetcher);

/* Once in a process, before there are threads. Returns 0 or -ENOMEM. */
int fetch_global_init(void);

/*
 * Starts a fetch. `callbacks` is borrowed for its life. Returns 0, -EINVAL for
 * a request with bytes that must not be sent (CR, LF, NUL, no token) or a URL
 * that is none, or -ENOMEM; every other failure comes through on_done().
 */
int fetch_start(struct fetcher *fetcher, const struct fetch_request *request,
		const struct fetch_callbacks *callbacks, void *arg,
		struct fetch **out);

/* Within on_headers(): makes *fields, which is overwritten, those of the
 * response; those that were lent are none any more, though their text stays.
 * Returns 0 or -ENOMEM. Of a fetcher for data. */
int fetch_take_fields(struct fetch *f, struct fields *fields);

/* From on_headers(): the response goes on for as long as there is something to
 * tell, and total_ms does not count any more. */
void fetch_lift_total(struct fetch *f);

/* Goes on after on_body() returned false. */
void fetch_resume(struct fetch *f);

/* There is more to send after read() returned FETCH_MORE, or its end. */
void fetch_resume_upload(struct fetch *f);

/* How long connecting has taken, as fetch_timing.connect_ms says; of a fetcher
 * for data, from on_headers() on. */
unsigned fetch_connect_ms(const struct fetch *f);

/* The round trip to the server, as the connection was made that this fetch has
 * begun with [ms]; 0: it was a kept one, or it is not known. From on_headers()
 * on. Of a fetcher for exchange. */
unsigned fetch_trip_ms(struct fetch *f);

/* Whether bytes of the request may have come to the server. Of a fetcher for
 * data. */
bool fetch_is_sent(const struct fetch *f);

/*
 * Ends a fetch; no callback follows, and *f becomes null. Null is allowed. Its
 * connection is closed unless the response was complete.
 */
void fetch_cancel(struct fetch **f);

#endif
