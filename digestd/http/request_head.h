/*
 * Reading the head of an HTTP/1.x request (RFC 9112): request line and fields.
 * Strict wherever two readers could disagree: what is accepted and refused is
 * in docs/REQUESTS.md.
 *
 * The head is read where it lies, in the caller's buffer, in one pass; nothing
 * is copied or allocated. While it is incomplete the caller appends to its
 * buffer and calls again; each byte is looked at once, however many calls it
 * takes. The result does not depend on how the bytes were cut.
 *
 * Parts are kept as offsets, so the buffer may be moved between calls.
 */
#ifndef DIGESTD_HTTP_REQUEST_HEAD_H
#define DIGESTD_HTTP_REQUEST_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/http/field_line.h"
#include "digestd/http/fields.h"
#include "digestd/http/framing.h"
#include "digestd/http/message_fault.h"

enum {
	REQUEST_HEAD_FIELDS = 100,    /* more are refused with 431 */
	REQUEST_HEAD_METHOD_MAX = 32, /* bytes; a longer one is answered 501 */
	/* bytes of a request line beside its target, with an empty line before
	 * it */
	REQUEST_HEAD_LINE_BYTES = REQUEST_HEAD_METHOD_MAX + 14,
	REQUEST_HEAD_PREFACE_BYTES = 24, /* of HTTP/2 */
};

enum request_head_event {
	REQUEST_HEAD_MORE,    /* all bytes were read, more are needed */
	REQUEST_HEAD_DONE,    /* complete; the body, or the next request, begins
				 at `len` */
	REQUEST_HEAD_PREFACE, /* what came is the connection preface of HTTP/2
				 (RFC 9113, 3.4), `len` bytes: allowed to be
				 the first on a connection only */
	REQUEST_HEAD_REFUSED, /* see `fault`; the same from then on */
};

/* A part of the head: offset from its first byte, and length. */
struct request_span {
	uint32_t at, len;
};

/* A field; the value is without the blanks around it, and may be empty. */
struct request_field {
	struct request_span name, value;
};

/* The forms of RFC 9112, 3.2. */
enum request_form {
	REQUEST_ORIGIN_FORM,    /* "/path?query" */
	REQUEST_ABSOLUTE_FORM,  /* "http://host/path?query", or https */
	REQUEST_AUTHORITY_FORM, /* "host:port", of CONNECT only */
	REQUEST_ASTERISK_FORM,  /* "*", of OPTIONS only */
};

/* How much is read before a request is refused; each up to 2^24 bytes. */
struct request_limits {
	size_t max_target_bytes; /* 414 */
	size_t max_header_bytes; /* from the request line's end to the empty
				    line's: 431 */
};

/* Where the reader stopped: private. */
struct request_scan {
	uint32_t at;    /* the next byte to look at */
	uint32_t begun; /* the first byte of what it is in */
	uint32_t limit; /* end of what may be read */
	uint8_t state;
};

struct request_head {
	/* from REQUEST_HEAD_DONE on */
	uint32_t len;                  /* of the whole head, an empty line
					  before it included */
	uint32_t header_len;           /* of it: all behind the request line,
					  what max_header_bytes limits */
	struct request_span method;    /* a token; compares with case */
	struct request_span target;    /* as it came */
	struct request_span authority; /* of the target in absolute- and
					  authority-form, else of Host; empty
					  only in HTTP/1.0 without Host */
	struct request_span path;      /* with the query, in origin- and
					  absolute-form. In the latter it may be
					  empty, or begin with '?' */
	enum request_form form;
	bool https;                    /* the scheme in absolute-form */
	bool keep;                     /* the client means to go on after it */
	bool expects_continue;         /* 100-continue, in HTTP/1.1 */
	unsigned minor;                /* HTTP/1.minor: 0, or 1 for any other */
	struct framing framing;        /* of the body */
	struct request_span host;      /* value of Host; empty: there is
					  none */
	struct request_span upgrade;   /* value of Upgrade, if it counts: a GET
					  of HTTP/1.1 without body whose
					  Connection lists it, once; else
					  empty */
	unsigned nfields;
	struct request_field fields[REQUEST_HEAD_FIELDS]; /* as they came */

	enum message_fault fault;      /* at REQUEST_HEAD_REFUSED */

	/* private */
	const char *base; /* of the last call */
	struct request_limits limits;
	struct request_scan scan;
	struct field_line line;
	uint32_t query;   /* offset of the target's first '?', 0: none yet */
	uint8_t seen;     /* fields and tokens that count once */
};

/*
 * Gets ready for a request; limits are copied. The largest buffer that a head
 * needs is REQUEST_HEAD_LINE_BYTES + max_target_bytes + max_header_bytes.
 */
void request_head_init(struct request_head *h,
		       const struct request_limits *limits);

/*
 * Reads on. at: the head's first byte; len: how many bytes have come since,
 * those of earlier calls included, which must be what they were; bytes behind
 * the head are not looked at. Cannot fail.
 */
enum request_head_event request_head_read(struct request_head *h,
					  const char *at, size_t len);

/* After REQUEST_HEAD_DONE the head has moved: its parts are there now. */
static inline void request_head_move(struct request_head *h, const char *at)
{
	h->base = at;
}

/*
 * The status with which a server answers what was read, and reads no more: that
 * of its fault; 505 to the preface of HTTP/2; 501 to CONNECT and TRACE, which
 * are read but not done. 0: it is a request to be served. `event` is what
 * request_head_read() has returned, and not REQUEST_HEAD_MORE.
 */
unsigned request_head_refusal(const struct request_head *h,
			      enum request_head_event event);

/* The same as a text that says why, for a log. Static. */
const char *request_head_reason(const struct request_head *h,
				enum request_head_event event);

/* The bytes of a part, in the buffer of the last call. */
static inline struct field_part request_head_part(const struct request_head *h,
						  struct request_span span)
{
	return (struct field_part){ h->base + span.at, span.len };
}

/*
 * Appends all fields to a list without copying them: writes a NUL behind
 * method, target, names and values, over the byte that ended each of them, and
 * makes the list point there. at: the head of the last call, which must outlive
 * the list and cannot be read again. Returns 0 or -ENOMEM, and then some fields
 * may be missing.
 */
int request_head_borrow_fields(const struct request_head *h, char *at,
			       struct fields *to);

#endif
