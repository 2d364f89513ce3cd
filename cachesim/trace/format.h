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

#include "cachesim/trace/trace_request.h"

enum { TRACE_TIME_TEXT = 26 }; /* bytes of a time in a log */

/* Room for a record that is put together, and for its base [bytes]. */
enum { TRACE_SCRATCH_BYTES = 3 * 65536 };

enum { TRACE_NOTE_MAX = 2048 }; /* [bytes] */

/* The columns of a CSV or binary trace. */
enum trace_column {
	TRACE_COL_TIME,
	TRACE_COL_CLIENT,
	TRACE_COL_METHOD,
	TRACE_COL_URL,
	TRACE_COL_STATUS,
	TRACE_COL_SIZE,
	TRACE_COL_VERSION, /* of the object's content, any text */
	TRACE_COLUMNS
};

enum {
	TRACE_FIELDS_MAX = 64,	/* of a record in columns */
	TRACE_HEADING_MAX = 48, /* name of a column [bytes, with its NUL] */
};

/* Where a number lies in a binary record. */
struct trace_field {
	uint16_t offset;
	uint8_t bytes; /* 1, 2, 4, 8; 0: no number */
	char type;     /* 'u', 'i' (signed), 'f' (float) */
};

/* What --trace-type-params says of a record's columns, in formats with any. */
struct trace_layout {
	int column[TRACE_COLUMNS]; /* position from 0; -1: not there */
	char heading[TRACE_COLUMNS][TRACE_HEADING_MAX]; /* to look for */
	bool columns_set; /* by the user, not by a header or a guess */
	bool number_keys; /* keys are numbers, not texts that are hashed */
	int header;	  /* 1: there is one, 0: there is none, -1: look */
	char delimiter;	  /* of a CSV; 0: not known yet */
	/* of a binary trace, from its format string */
	struct trace_field field[TRACE_FIELDS_MAX];
	unsigned fields;
	unsigned block; /* bytes of a record */
	bool big;	/* endian */
	struct trace_text refused; /* the word that is wrong; empty: none */
};

/* Parsing returns this for a record that is no request: a header, a comment */
enum { TRACE_SKIP = 1 };

struct trace_format;

/* What a format needs to know and to remember between two records. */
struct trace_parser {
	const struct trace_format *format;
	struct trace_text base; /* "http://host" for URLs without a host */
	struct trace_layout layout;
	bool begun;    /* the first record has been read */
	char note[TRACE_NOTE_MAX]; /* what is to be said of the record */
	struct {
		char text[TRACE_TIME_TEXT];
		int64_t ms;
	} last_time; /* of a log: hundreds of lines may have the same */
	size_t block;  /* size of a record [bytes]; 0: a line */
	char *scratch; /* for a URL put together, and for... */
	size_t used;   /* ...unquoted fields; reset per record */
};

struct trace_format {
	const char *name;  /* as the user writes it */
	const char *about; /* one line */
	const char *alias; /* another name, or null */
	size_t block;	   /* size of a record [bytes]; 0: a line */
	bool laid_out;	   /* its block follows from --trace-type-params */

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

	/*
	 * Many records at once, a row each; null: there is no faster way than
	 * one by one. Whole records with their ends (of a line: its LF) stand
	 * in *rest, and TRACE_SLACK more bytes may be read behind it. Takes
	 * plain records off its front, up to max, and stops before the first
	 * that parse() has to look at. Returns their number. The names of the
	 * rows point into the records.
	 */
	int (*rows)(struct trace_parser *p, struct trace_text *rest,
		    struct trace_row *rows, int max);
};

enum { TRACE_SLACK = 16 }; /* [bytes] */

extern const struct trace_format trace_clf;
extern const struct trace_format trace_squid;
extern const struct trace_format trace_csv;
extern const struct trace_format trace_keys;
extern const struct trace_format trace_oracle;
extern const struct trace_format trace_i32le;
extern const struct trace_format trace_i32be;
extern const struct trace_format trace_i64le;
extern const struct trace_format trace_i64be;
extern const struct trace_format trace_binary;
extern const struct trace_format trace_worldcup;

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
 * Says which column is which, see trace_layout_parse(), and how large a record
 * is. 0 or TRACE_EOPTION. Not needed for a format that has columns of its own
 * or finds them.
 */
int trace_parser_columns(struct trace_parser *p, const char *spec);

/* Parses one record: clears the request, then asks the format. */
int trace_parse(struct trace_parser *p, struct trace_text record,
		struct trace_request *req);

#endif
