/*
 * Which column of a record is which: the names that columns go by, and the
 * option that tells them.
 *
 * The option is a list of words with commas between them, blanks around them
 * do not count. A word is one of
 *   NAME or "-"      the next column, in order; "-" is skipped
 *   NAME=NUMBER      a column by its number, from 1
 *   NAME=HEADING     a column by its heading in the header
 *   delimiter=C      one character, \t, tab or space; empty: a comma
 *   has-header=BOOL  1, 0, true, false, yes, no
 *   obj-id-is-num=BOOL  keys are numbers, not texts
 *   format=STRING    of a binary record, as in Python's struct: < little or >
 *                    big endian, then b B h H i I q Q f d, x for a byte to
 *                    skip, each with a count before it if need be
 * NAME is time, client, method, url, status, size, version, or one of their
 * synonyms in layout.c (last-modified and etag are such of version);
 * "-col" or "-field" may stand behind it, "_" for "-": so the parameters of
 * libCacheSim's --trace-type-params are understood (time-col=1, obj-id-col=2,
 * obj-size-col=3, delimiter=;, has-header=true).
 */
#ifndef TRACE_LAYOUT_H
#define TRACE_LAYOUT_H

#include "cachesim/trace/format.h"

/* No columns, everything yet to be found. */
void trace_layout_init(struct trace_layout *l);

/*
 * Reads the option. 0 or TRACE_EOPTION; then l->refused is the word that is
 * wrong, if it is one.
 */
int trace_layout_parse(struct trace_layout *l, const char *spec);

/* Lists all names of all columns, for messages; cuts what does not fit. */
void trace_layout_names(char *out, size_t size);

/* The column that a name or a heading means; TRACE_COLUMNS: none. */
enum trace_column trace_column_named(struct trace_text name);

#endif
