/*
 * The formats of traces: one struct of functions each, in a file of its own,
 * and one array that lists them. Parsing is pure: a record goes in, a request
 * or the reason why it is none comes out.
 *
 * A new format is a file, a row of trace_formats[], a test, and a paragraph in
 * the manual.
 */
#ifndef TRACE_FORMAT_H
#define TRACE_FORMAT_H

#include "cachesim/trace/request.h"

/* Room for a record that is put together, and for its base [bytes]. */
enum { TRACE_SCRATCH_BYTES = 3 * 65536 };

/* The columns of a CSV trace. */
enum trace_column {
	TRACE_COL_TIME,
	TRACE_COL_CLIENT,
	TRACE_COL_METHOD,
	TRACE_COL_URL,
	TRACE_COL_STATUS,
	TRACE_COL_SIZE,
	TRACE_COLUMNS
};

/* Parsing returns this for a record that is no request: a header, a comment */
enum { TRACE_SKIP = 1 };

struct trace_format;

/* What a format needs to know and to remember between two records. */
struct trace_parser {
	const struct trace_format *format;
	struct trace_text base;	    /* "http://host" for URLs without a host */
	int column[TRACE_COLUMNS];  /* position from 0; -1: not there */
	bool columns_set;	    /* by the user, or by a header */
	char delimiter;		    /* of a CSV; 0: not known yet */
	char *scratch;		    /* for a URL put together, and for... */
	size_t used;		    /* ...unquoted fields; reset per record */
};

struct trace_format {
	const char *name;  /* as the user writes it */
	const char *about; /* one line */
	size_t block;	   /* size of a record [bytes]; 0: a line */

	/*
	 * How much the beginning of a stream looks like this format: 0 (not
	 * at all) to 100. Null: never detected, only asked for by name.
	 */
	unsigned (*score)(struct trace_text sample);

	/*
	 * One record. 0, TRACE_SKIP or the reason (TRACE_EFIELDS and below).
	 * The texts of the request point into the record or the parser.
	 */
	int (*parse)(struct trace_parser *p, struct trace_text record,
		     struct trace_request *req);
};

extern const struct trace_format trace_clf;
extern const struct trace_format trace_squid;
extern const struct trace_format trace_csv;
extern const struct trace_format trace_keys;
extern const struct trace_format trace_oracle;
extern const struct trace_format trace_i32le;
extern const struct trace_format trace_i64be;

/* All formats; a null ends the list. */
extern const struct trace_format *const trace_formats[];

/* The format of that name, or null. */
const struct trace_format *trace_format_named(const char *name);

/* The format whose score is highest, the first of equals; null: none's > 0. */
const struct trace_format *trace_format_detect(struct trace_text sample);

/*
 * Makes a parser. base: what stands before URLs without a host, null for
 * "http://localhost"; borrowed. 0 or TRACE_ENOMEM.
 */
int trace_parser_init(struct trace_parser *p, const struct trace_format *f,
		      const char *base);

void trace_parser_free(struct trace_parser *p);

/*
 * Says which column is which: names or numbers from 1, with commas between
 * them: "time,client,-,url" names the columns in order ("-" is skipped),
 * "url=3,size=5" gives numbers. 0 or TRACE_EOPTION.
 */
int trace_parser_columns(struct trace_parser *p, const char *spec);

/* Parses one record: clears the request, then asks the format. */
int trace_parse(struct trace_parser *p, struct trace_text record,
		struct trace_request *req);

#endif
