/*
 * Reading the body of a request (RFC 9112, 6 and 7): bytes in, events out.
 * Pieces of the body and trailer fields are handed out where they lie in the
 * caller's buffer; nothing is copied or allocated.
 */
#ifndef DIGESTD_HTTP_REQUEST_BODY_H
#define DIGESTD_HTTP_REQUEST_BODY_H

#include <stdint.h>

#include "digestd/http/chunk.h"
#include "digestd/http/field_line.h"
#include "digestd/http/fields.h"
#include "digestd/http/framing.h"
#include "digestd/http/message_fault.h"

enum { REQUEST_BODY_FIELDS = 100 }; /* trailer fields; more: 431 */

enum request_body_event {
	REQUEST_BODY_MORE,    /* more bytes are needed; see below */
	REQUEST_BODY_PIECE,   /* `piece` is some of the body, not empty */
	REQUEST_BODY_TRAILER, /* `name` and `value`: a field of the trailer */
	REQUEST_BODY_END,     /* complete; what follows is not this request's */
	REQUEST_BODY_REFUSED, /* see `fault`; the same from then on */
};

struct request_body {
	/* from the event that they belong to until the next call */
	struct field_part piece;
	struct field_part name, value;
	enum message_fault fault;

	/* private */
	enum request_body_state {
		REQUEST_BODY_COUNTED, /* `left` bytes are to come */
		REQUEST_BODY_AT_SIZE,
		REQUEST_BODY_IN_CHUNK, /* `left` bytes are to come */
		REQUEST_BODY_AFTER_CHUNK,
		REQUEST_BODY_AT_TRAILER,
		REQUEST_BODY_AT_END,
		REQUEST_BODY_WAS_REFUSED,
	} state;
	uint64_t left;
	uint32_t extension_left; /* bytes of chunk extensions still allowed */
	uint32_t trailer_left;   /* bytes of trailer still allowed */
	unsigned nfields;
	struct chunk_size size;
	struct field_line line;
};

/*
 * Gets ready for the body of a request that was read with framing f; without
 * one, the first event is REQUEST_BODY_END. max_trailer_bytes: what the header
 * has left of its limit, max_header_bytes - header_len.
 */
void request_body_init(struct request_body *b, const struct framing *f,
		       size_t max_trailer_bytes);

/*
 * Goes on to the next event; in: what has come, of which what is used is taken
 * off. At REQUEST_BODY_MORE all of it is used, but for the beginning of a line
 * of the trailer, at most max_trailer_bytes: that has to be there again at the
 * next call, with more behind it, and may lie elsewhere then.
 *
 * Of a trailer, fields that frame, route or authorise are dropped in silence
 * (RFC 9110, 6.5.1): request_body.c lists them. Those that the header's
 * Connection names are the caller's to drop.
 */
enum request_body_event request_body_next(struct request_body *b,
					  struct field_part *in);

/* Whether a field is dropped from a trailer. */
bool request_body_drops(struct field_part name);

#endif
