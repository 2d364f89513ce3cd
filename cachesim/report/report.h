/*
 * What a command found out: named rows of typed columns, written as JSON, as
 * CSV or as a table for a terminal, and read back from the first two.
 *
 * Both files carry the version of their form, what was simulated (pairs of
 * names and texts), and of each column its name and its type, from which the
 * table has its units. The same report is always the same bytes.
 */
#ifndef CACHESIM_REPORT_H
#define CACHESIM_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Of the files; larger where a reader of older ones would be wrong. */
enum { REPORT_VERSION = 1 };

enum report_type {
	REPORT_TEXT,
	REPORT_COUNT,	/* a whole number */
	REPORT_BYTES,	/* a whole number; KiB, MiB ... in the table */
	REPORT_REAL,
	REPORT_SHARE,	/* a real; in percent in the table */
	REPORT_SECONDS, /* a real */
};

enum report_form { REPORT_TABLE, REPORT_JSON, REPORT_CSV };

struct report_column {
	const char *name; /* lower_case */
	enum report_type type;
	bool is_key; /* what was simulated, not what came of it: a table has it
			in each of its parts. Files do not keep this */
};

/* A cell. Texts are the report's own. */
struct report_value {
	bool is_set;
	union {
		char *text;
		uint64_t count; /* REPORT_COUNT, REPORT_BYTES */
		double real;
	};
};

/* A pair of texts that stands above everything. */
struct report_note {
	char *name, *text;
};

struct report {
	char *kind; /* the command's name */
	struct report_column *columns;
	struct report_value *values; /* row by row */
	struct report_note *notes;
	size_t ncolumns, nrows, nnotes;
	bool failed; /* a lack of memory; sticky */
};

/*
 * Makes an empty report with these columns. What it lacks the memory for makes
 * it fail; report_write() tells it in the end.
 */
void report_init(struct report *r, const char *kind,
		 const struct report_column *columns, size_t ncolumns);

void report_free(struct report *r);

/* Adds a note. */
void report_note(struct report *r, const char *name, const char *text);

/* Begins a row, without values. */
void report_row(struct report *r);

/*
 * Fills in a cell of the last row, by the name of its column, which must be
 * there. A number goes into any type that is one; a real that is no number,
 * or a text without letters, leaves the cell empty.
 */
void report_text(struct report *r, const char *column, const char *text);
void report_count(struct report *r, const char *column, uint64_t count);
void report_real(struct report *r, const char *column, double real);

/* The position of a column; -1: there is none. */
int report_column_named(const struct report *r, const char *name);

/* The value of a row in a column. */
const struct report_value *report_at(const struct report *r, size_t row,
				     size_t column);

/* A cell's number, 0 where it has none. */
double report_number(const struct report *r, size_t row, size_t column);

/* Whether values of the type are reals. */
bool report_type_is_real(enum report_type type);

/* The name of a type in files, and back: false for no such type. */
const char *report_type_name(enum report_type type);
bool report_type_named(const char *name, enum report_type *out);

/*
 * Writes it. width: of the terminal [columns], for a table; 0: as wide as it
 * gets. False: there was no memory (nothing is written), or writing failed
 * (the stream's error is set).
 */
bool report_write(const struct report *r, enum report_form form, FILE *to,
		  unsigned width);

/* What report_write() does for one form each. */
bool report_write_json(const struct report *r, FILE *to);
bool report_write_csv(const struct report *r, FILE *to);
bool report_write_table(const struct report *r, FILE *to, unsigned width);

/* Why a file could not be read. */
struct report_fault {
	unsigned line; /* from 1; 0: none in particular */
	char text[160];
};

/*
 * Reads a file that was written as JSON or CSV, whichever it is. False: fault
 * says why. On success the caller ends it with report_free().
 */
bool report_read(struct report *out, const char *path,
		 struct report_fault *fault);

/* What report_read() does for one form each, of the whole file in memory. */
bool report_read_json(struct report *out, const char *text, size_t len,
		      struct report_fault *fault);
bool report_read_csv(struct report *out, char *text, struct report_fault *f);

#endif
