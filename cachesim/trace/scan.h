/*
 * Reading fields out of a line: words, numbers, times. Nothing is copied and
 * nothing is allocated; a text is consumed from its front.
 */
#ifndef TRACE_SCAN_H
#define TRACE_SCAN_H

#include "cachesim/trace/format.h"

/* The next run of non-blanks (blank: space or tab); empty at the end. */
struct trace_text scan_word(struct trace_text *rest);

/* Everything before the first c, which is consumed too; false: no c. */
bool scan_until(struct trace_text *rest, char c, struct trace_text *out);

/* The whole text as a decimal number. False: no digits, others, overflow. */
bool scan_u64(struct trace_text t, uint64_t *out);

/*
 * The whole text as seconds with up to three decimals that count, in
 * milliseconds. At most 10^15 seconds. False: it is no such number.
 */
bool scan_seconds(struct trace_text t, int64_t *out_ms);

/* An HTTP status, 100..599. */
bool scan_status(struct trace_text t, unsigned *out);

/* A size in bytes; "-" leaves the request without a size. */
bool scan_size(struct trace_text t, struct trace_request *req);

/* Whether t is an HTTP token (RFC 9110, 5.6.2). */
bool scan_is_token(struct trace_text t);

/* Whether a and the string b are the same, letters of either case equal. */
bool scan_is(struct trace_text a, const char *b);

/*
 * Sets the URL: as it is, or behind the parser's base when it begins with a
 * slash. 0; TRACE_EURL when it is empty or holds a control byte.
 */
int scan_url(struct trace_parser *p, struct trace_text t,
	     struct trace_request *req);

/* Room for len bytes that live until the next record, or null. */
char *scan_room(struct trace_parser *p, size_t len);

enum { SCAN_DECIMAL_MAX = 20 };

/* Writes a number in decimal digits, without a NUL. Their number, 1..20. */
size_t scan_decimal(uint64_t number, char out[SCAN_DECIMAL_MAX]);

/* Sets key and URL of a record that knows its objects by number only. */
void scan_number_key(struct trace_parser *p, uint64_t key,
		     struct trace_request *req);

/* The same for a key in decimal digits. 0 or TRACE_EKEY. */
int scan_key(struct trace_parser *p, struct trace_text t,
	     struct trace_request *req);

/* Milliseconds that were read as seconds, from 10^11 of them on: a time. */
int64_t scan_which_unit(int64_t ms);

/* Whether a sample has no other control bytes than the ends of lines, tabs. */
bool scan_is_text(struct trace_text sample);

/* The first line of a sample that is neither empty nor a comment (#), without
 * its end; the last one if all are. */
struct trace_text scan_first_line(struct trace_text sample);

#endif
