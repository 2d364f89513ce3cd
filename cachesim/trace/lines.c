/*
 * One buffer: what is unread is moved to its front before more is appended,
 * so a record is always one contiguous run.
 */
#include "cachesim/trace/lines.h"

#include <stdlib.h>
#include <string.h>

/* twice the limit: a full line and the beginning of the next fit together */
enum { BUF_BYTES = 4 * TRACE_LINE_MAX };

int trace_lines_init(struct trace_lines *l, struct trace_input *in)
{
	memset(l, 0, sizeof(*l));
	l->in = in;
	l->buf = calloc(1, BUF_BYTES + TRACE_SLACK);
	return l->buf ? 0 : TRACE_ENOMEM;
}

void trace_lines_free(struct trace_lines *l)
{
	free(l->buf);
	l->buf = NULL;
}

/* Appends once from the input. 0 or its error; notes the end. */
static int lines_fill(struct trace_lines *l)
{
	ssize_t n;

	if (l->start) {
		memmove(l->buf, l->buf + l->start, l->end - l->start);
		l->end -= l->start;
		l->start = 0;
	}
	n = trace_input_read(l->in, l->buf + l->end, BUF_BYTES - l->end);
	if (n < 0)
		return (int)n;
	l->ended = n == 0;
	l->end += (size_t)n;
	return 0;
}

int trace_lines_peek(struct trace_lines *l, struct trace_text *out)
{
	while (!l->ended && l->end - l->start < TRACE_LINE_MAX) {
		int err = lines_fill(l);

		if (err)
			return err;
	}
	out->at = (const char *)l->buf + l->start;
	out->len = l->end - l->start;
	if (out->len > TRACE_LINE_MAX)
		out->len = TRACE_LINE_MAX;
	return 0;
}

/* Drops bytes up to and with the next LF. */
static int lines_skip(struct trace_lines *l)
{
	for (;;) {
		uint8_t *lf = memchr(l->buf + l->start, '\n',
				     l->end - l->start);
		int err;

		if (lf) {
			l->start = (size_t)(lf - l->buf) + 1;
			return TRACE_ELONG;
		}
		l->start = l->end;
		if (l->ended)
			return TRACE_ELONG;
		err = lines_fill(l);
		if (err)
			return err;
	}
}

/* Hands out len bytes from the front and consumes eol more. */
static int lines_give(struct trace_lines *l, size_t len, size_t eol,
		      struct trace_text *out)
{
	out->at = (const char *)l->buf + l->start;
	out->len = len;
	l->start += len + eol;
	if (eol && len && out->at[len - 1] == '\r')
		out->len--;
	return 1;
}

int trace_lines_next(struct trace_lines *l, struct trace_text *out)
{
	size_t seen = 0; /* bytes known to hold no LF */

	for (;;) {
		size_t have = l->end - l->start;
		uint8_t *from = l->buf + l->start;
		uint8_t *lf = memchr(from + seen, '\n', have - seen);
		size_t len = lf ? (size_t)(lf - from) : have;
		int err;

		if (!lf && l->ended && !have)
			return 0;
		if (len > TRACE_LINE_MAX) {
			l->number++;
			return lines_skip(l);
		}
		if (lf || l->ended) {
			l->number++;
			return lines_give(l, len, lf ? 1 : 0, out);
		}
		seen = have;
		err = lines_fill(l);
		if (err)
			return err;
	}
}

int trace_lines_block(struct trace_lines *l, size_t len, struct trace_text *out)
{
	while (l->end - l->start < len && !l->ended) {
		int err = lines_fill(l);

		if (err)
			return err;
	}
	if (l->end == l->start)
		return 0;
	l->number++;
	if (l->end - l->start < len) {
		l->start = l->end;
		return TRACE_ECUT;
	}
	return lines_give(l, len, 0, out);
}

/* The length of the whole records in the buffer. */
static size_t lines_whole_records(const struct trace_lines *l, size_t block)
{
	size_t have = l->end - l->start;

	if (block)
		return have - have % block;
	while (have && l->buf[l->start + have - 1] != '\n')
		have--;
	return have;
}

int trace_lines_run(struct trace_lines *l, size_t block, struct trace_text *out)
{
	size_t len = lines_whole_records(l, block);
	int err;

	if (!len && !l->ended) {
		err = lines_fill(l);
		if (err)
			return err;
		len = lines_whole_records(l, block);
	}
	*out = (struct trace_text){ (const char *)l->buf + l->start, len };
	return len > 0;
}

void trace_lines_take(struct trace_lines *l, size_t len, uint64_t records)
{
	l->start += len;
	l->number += records;
}
