/*
 * Opens a trace, whatever it is, and hands out its requests one by one in
 * constant memory: a file in one of the formats, packed or not, standard
 * input ("-"), or the generator ("gen:PRESET,OPTION=VALUE,...").
 */
#ifndef TRACE_READER_H
#define TRACE_READER_H

#include "cachesim/trace/trace_request.h"

struct trace_reader;

enum { TRACE_WHY_MAX = 256 }; /* enough for what trace_explain() has to say */

/* A record that is no request, or what was assumed of a trace. */
struct trace_complaint {
	const char *file;
	uint64_t number;  /* of the line or record, from 1; 0: of the file */
	int reason;	  /* for trace_strerror(); 0: an assumption */
	const char *text; /* the same in detail; null: the reason says all */
};

struct trace_options {
	const char *format;  /* name of the format; null: detected */
	const char *base;    /* for URLs without a host; null: a default */
	const char *columns; /* of a CSV, see trace_parser_columns(); or null */
	uint64_t requests;   /* the trace ends after so many; 0: it does not */
	bool all_cacheable;  /* the class of every row is TRACE_CACHEABLE */
	bool strict;	     /* a bad record ends the trace with its reason */
	bool checksum;	     /* of a compact file (sim/compact.h): verify it */
	void (*complain)(void *arg, const struct trace_complaint *c); /* or 0 */
	void *arg;
};

/*
 * name: see above. opt may be null: all defaults; its texts must outlive the
 * reader. 0; TRACE_ENOMEM, TRACE_EIO, TRACE_ECODING, TRACE_EUNKNOWN,
 * TRACE_EOPTION. The caller ends it with trace_close().
 */
int trace_open(struct trace_reader **out, const char *name,
	       const struct trace_options *opt);

/*
 * Why trace_open() or a function after it failed with `code`, as far as can be
 * told: with the system's reason of TRACE_EIO (errno is still that), and with
 * the part of the name or of the option `columns` (may be null) that
 * TRACE_EOPTION is about. buf: room for size > 0 bytes; returns buf.
 */
const char *trace_explain(const char *name, const char *columns, int code,
			  char *buf, size_t size);

/*
 * The next request; its texts are valid until the next call. 1; 0 at the end;
 * TRACE_EIO, TRACE_ECODING, or a bad record's reason when strict.
 */
int trace_next(struct trace_reader *r, struct trace_request *req);

/*
 * The next 1..max requests in short, valid until the next call, of this one or
 * of trace_next(). Their number; 0 at the end; errors as trace_next(), after
 * all rows before.
 */
int trace_rows(struct trace_reader *r, struct trace_row *rows, int max);

/* Bad records so far. */
uint64_t trace_bad(const struct trace_reader *r);

/*
 * Requests that the trace will have in all; of a file a guess, from how much of
 * it has been read. 0: not known yet, or not at all (a pipe).
 */
uint64_t trace_expected(const struct trace_reader *r);

/* The name of the format, "gen" for the generator. */
const char *trace_format_of(const struct trace_reader *r);

/* Accepts a half-open or null reader and nulls the pointer. */
void trace_close(struct trace_reader **r);

#endif
