/*
 * Reading an HTTP/1.x response (RFC 9112): bytes in, events out, as many or as
 * few bytes at a time as there are.
 *
 * Strict where two readers could disagree about where a response ends: two
 * lengths, a length beside a transfer coding, codings other than chunked, bare
 * CR, NUL and other controls, folded lines, names that are no tokens are bad.
 * Lenient where RFC 9112 asks or allows it, and nothing hangs on it: lines of
 * the header may end in a bare LF, blanks before a colon are removed, the
 * reason may be missing, extensions of chunks are passed over. So are fields of
 * a trailer that frame, route, control or authorise a response or describe its
 * body (RFC 9110, 6.5.1); response.c has the list.
 *
 * A header is copied once, into its fields; a body not at all. A line that is
 * cut by the end of the bytes is kept until the rest comes.
 */
#ifndef DIGESTD_HTTP_RESPONSE_H
#define DIGESTD_HTTP_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/http/fields.h"

enum response_event {
	RESPONSE_MORE,   /* all bytes are used, more are needed */
	RESPONSE_INTERIM, /* the header of one before the final: status, fields
			     until the next call */
	RESPONSE_HEADER, /* of the final response: status, fields, framing */
	RESPONSE_BODY,   /* a piece of the body */
	RESPONSE_END,    /* whole; what follows is not this response's */
	RESPONSE_BAD,    /* not HTTP, or against its rules: no more of it */
	RESPONSE_NOMEM,  /* out of memory: no more of it */
};

/* Where the reader is. */
enum response_state {
	RESPONSE_AT_STATUS,
	RESPONSE_AT_FIELD,
	RESPONSE_IN_BODY,     /* `left` bytes are to come */
	RESPONSE_UNTIL_CLOSE,
	RESPONSE_AT_CHUNK,    /* at the line with its size */
	RESPONSE_IN_CHUNK,    /* `left` bytes are to come */
	RESPONSE_AFTER_CHUNK, /* at the end of its line */
	RESPONSE_AT_TRAILER,
	RESPONSE_AT_END,
	RESPONSE_WAS_BAD,
	RESPONSE_WAS_NOMEM,
};

/* Where a body ends. */
struct response_framing {
	bool has_body;    /* there may be one */
	bool chunked;
	bool by_close;    /* it ends with the connection, whole or not */
	int64_t body_len; /* the length announced, also without a body; or -1 */
};

/* Bytes, not ended by NUL. */
struct response_bytes {
	const char *at;
	size_t len;
};

enum { RESPONSE_CONTINUE = 100, RESPONSE_UPGRADED = 101 };

struct response {
	/* What the request asked for, set after response_init(): without it
	 * 100 is passed over, and 101 is bad. After 101, which is final then,
	 * comes a body until the connection ends. */
	bool continues, upgrades;

	/* from RESPONSE_HEADER on, but for RESPONSE_INTERIM */
	unsigned status; /* 200 to 599, or 101 */
	struct fields fields; /* as they came */
	struct response_framing framing;
	struct fields trailers; /* at RESPONSE_END: those of them behind a body
				   in chunks that may be used */
	bool keep; /* the connection may be used again after the end */

	/* private */
	enum response_state state;
	bool head;
	unsigned minor;
	size_t header_left; /* bytes of header and trailer still allowed */
	uint64_t left;      /* of the body, or of the chunk */
	char *held;         /* the beginning of a line */
	size_t nheld, held_cap;
};

/*
 * Gets ready for the response to a request; head: its method is HEAD. At most
 * max_header_bytes of status lines, fields and trailers, interim responses
 * included, are read before it is bad.
 */
void response_init(struct response *r, bool head, size_t max_header_bytes);

/* Releases everything. */
void response_free(struct response *r);

/*
 * Goes on to the next event; in: what has come, of which the used bytes are
 * taken off. body: the piece, which lies in `in`, at RESPONSE_BODY only. After
 * the last three events nothing more is used, and the same event comes again.
 */
enum response_event response_next(struct response *r,
				  struct response_bytes *in,
				  struct response_bytes *body);

/*
 * The connection has ended: RESPONSE_END when that is how this body ends (or it
 * was whole before), else RESPONSE_BAD.
 */
enum response_event response_closed(struct response *r);

enum { RESPONSE_MAX_FIELDS = 200 }; /* a client's request: 100 */

/*
 * How the body of a final response is framed (RFC 9112, 6.3); head: it answers
 * a HEAD. Returns 0, or -EINVAL: lengths that differ or are none, a length
 * beside a coding, codings other than chunked; more than RESPONSE_MAX_FIELDS.
 */
int response_frame(const struct fields *fields, unsigned status, bool head,
		   struct response_framing *framing);

/*
 * Reads a status line of HTTP/1, its end cut off. Returns 0, or -EINVAL: it is
 * none, its status is not within 100 to 599, or its reason is no text.
 */
int response_status_line(const char *line, size_t len, unsigned *minor,
			 unsigned *status);

/*
 * Takes a line of a header apart, its end cut off; the parts lie in it. Returns
 * 0, or -EINVAL: no colon, no token before it, folded, or bytes that must not
 * be in a value.
 */
int response_field(const char *line, size_t len, struct field_part *name,
		   struct field_part *value);

#endif
