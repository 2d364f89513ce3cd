/*
 * The header of an HTTP/2 request (RFC 9113, 8.3) as the lines of HTTP/1.1 that
 * say the same, for request_head.h to judge: so both versions have one set of
 * rules, and whoever reads requests behind it knows one form of them.
 *
 * Fields come decoded, one by one. Refused here is what lines could not show,
 * or would show as something else: bytes that end a line, a name that is no
 * lower-case token, blanks around a value, fields of the connection (8.2.2),
 * pseudo-fields that are missing, repeated, unknown or late, and a Host that
 * differs from :authority. Cookies are joined in one line (8.2.3).
 *
 * A target whose scheme is that of its connection becomes origin-form, any
 * other absolute-form.
 */
#ifndef DIGESTD_HTTP_REQUEST_LINES_H
#define DIGESTD_HTTP_REQUEST_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "digestd/http/fields.h"
#include "digestd/http/message_fault.h"
#include "digestd/http/request_head.h"

enum request_lines_pseudo {
	REQUEST_LINES_METHOD,
	REQUEST_LINES_SCHEME,
	REQUEST_LINES_AUTHORITY,
	REQUEST_LINES_PATH,
	REQUEST_LINES_PSEUDOS,
};

/* Bytes that grow. */
struct request_lines_text {
	char *at;
	size_t len, cap;
};

/* All zero before the first use, and after request_lines_free(). */
struct request_lines {
	struct request_lines_text text; /* the pseudo-fields, then the lines */
	struct request_lines_text cookies; /* joined */
	struct request_span pseudo[REQUEST_LINES_PSEUDOS];
	struct request_limits limits;
	unsigned seen;  /* of the pseudo-fields, a bit each */
	size_t begin;   /* of the lines; 0: they have not begun */
	size_t came;    /* bytes of names and values, those dropped included */
	bool https;     /* the connection */
	bool failed;    /* there was no memory for all of it */
	enum message_fault fault; /* the first */
};

/* Begins a header, of a connection that is encrypted or not; memory of the one
 * before is used again. Limits are those of request_head_init(). */
void request_lines_begin(struct request_lines *l,
			 const struct request_limits *limits, bool https);

/* Takes a field. What is wrong with it is known in the end. */
void request_lines_add(struct request_lines *l, struct field_part name,
		       struct field_part value);

/*
 * Whether so much has come that nothing more should be read: a few bytes on the
 * wire may stand for many here, as fields that were sent before are only named.
 */
bool request_lines_is_flood(const struct request_lines *l);

/*
 * The header is complete. Returns MESSAGE_OK and its lines, down to the empty
 * one, which live as long as l does; or what is wrong with them. Without memory
 * `failed` is set, and the lines are not to be used.
 */
enum message_fault request_lines_end(struct request_lines *l,
				     struct field_part *lines);

/* The value of a pseudo-field; empty: it has not come. */
struct field_part request_lines_pseudo(const struct request_lines *l,
				       enum request_lines_pseudo which);

/* Whether a field may not be in a message of HTTP/2 (RFC 9113, 8.2): its name
 * or value is malformed, or it is the connection's. MESSAGE_OK: it may. */
enum message_fault request_lines_check(struct field_part name,
				       struct field_part value);

void request_lines_free(struct request_lines *l);

#endif
