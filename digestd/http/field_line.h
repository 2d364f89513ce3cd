/*
 * A line of a header or a trailer (RFC 9112, 5), read in one pass where it
 * lies, and from where the reader stopped when it was cut.
 */
#ifndef DIGESTD_HTTP_FIELD_LINE_H
#define DIGESTD_HTTP_FIELD_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/http/message_fault.h"

/* All zero before the first byte. Offsets are from the line's first byte. */
struct field_line {
	uint32_t at; /* the next byte to look at; at FIELD_LINE_DONE and
			FIELD_LINE_EMPTY behind the line's end */
	uint32_t name_len;
	uint32_t value_at, value_len; /* without the blanks around it */
	enum message_fault fault;     /* at FIELD_LINE_BAD */
	uint8_t state;                /* private */
};

enum field_line_event {
	FIELD_LINE_MORE,
	FIELD_LINE_DONE,
	FIELD_LINE_EMPTY, /* CR LF alone: the end of the header */
	FIELD_LINE_BAD,
};

/*
 * Reads on; line: its first byte; len: how many bytes have come since. strict,
 * as of requests: a blank before the colon is refused; otherwise it is passed
 * over, as RFC 9112, 5.1, asks of a proxy for responses. fault is one of
 * MESSAGE_FIELD_* or MESSAGE_LINE_END.
 */
enum field_line_event field_line_read(struct field_line *l, const char *line,
				      size_t len, bool strict);

/*
 * Reads a line from its beginning that is here with its end, and as nearly all
 * are: a name, a colon, a value, CR LF. l is all zero. False, and nothing has
 * changed: it is none of these, or none at all.
 */
bool field_line_read_whole(struct field_line *l, const char *line, size_t len);

/*
 * The line ends with the bytes that were read: somebody else found its end,
 * and cut it off. Returns FIELD_LINE_DONE or FIELD_LINE_BAD.
 */
enum field_line_event field_line_close(struct field_line *l, const char *line);

#endif
