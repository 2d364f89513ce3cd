/*
 * Splits a stream into records: lines that end in LF or CR LF (the last one
 * may lack it), or blocks of a fixed size. Records are numbered from 1 and
 * bounded: of a line that is longer than the buffer only the fact is reported,
 * the rest of it is skipped and the next line is whole again.
 */
#ifndef TRACE_LINES_H
#define TRACE_LINES_H

#include "cachesim/trace/format.h"
#include "cachesim/trace/input.h"
#include "cachesim/trace/trace_request.h"

enum { TRACE_LINE_MAX = 65536 }; /* [bytes]; a URL may have 8000 and more */

struct trace_lines {
	struct trace_input *in; /* borrowed */
	uint8_t *buf;
	size_t start, end; /* the bytes in buf that are not consumed yet */
	uint64_t number;   /* of the record that was returned last */
	bool ended;	   /* the input has no more */
};

/* Starts to split what the input still holds. 0 or TRACE_ENOMEM. */
int trace_lines_init(struct trace_lines *l, struct trace_input *in);

void trace_lines_free(struct trace_lines *l);

/*
 * The first bytes of the stream (up to TRACE_LINE_MAX) without consuming them,
 * for the detection of its format. 0, TRACE_EIO or TRACE_ECODING.
 */
int trace_lines_peek(struct trace_lines *l, struct trace_text *out);

/*
 * The next line, without its end, valid until the next call. 1; 0 at the end;
 * TRACE_ELONG (go on with the next call); TRACE_EIO, TRACE_ECODING.
 */
int trace_lines_next(struct trace_lines *l, struct trace_text *out);

/*
 * The next block of len bytes, 1..TRACE_LINE_MAX. 1; 0 at the end; TRACE_ECUT
 * when fewer bytes are left; TRACE_EIO, TRACE_ECODING.
 */
int trace_lines_block(struct trace_lines *l, size_t len,
		      struct trace_text *out);

/*
 * Whole records that the buffer holds, with the ends of lines, and TRACE_SLACK
 * bytes that may be read behind them; block: their size, 0 for lines. Reads
 * more if there is none. 1; 0: the next record is not that simple, ask
 * trace_lines_next() or trace_lines_block(); TRACE_EIO, TRACE_ECODING. They
 * stay until they are taken.
 */
int trace_lines_run(struct trace_lines *l, size_t block,
		    struct trace_text *out);

/* Takes records off, len bytes in sum. */
void trace_lines_take(struct trace_lines *l, size_t len, uint64_t records);

#endif
