/*
 * The header of a CSV trace, and what is taken for granted without one.
 */
#ifndef TRACE_CSV_HEADER_H
#define TRACE_CSV_HEADER_H

#include "cachesim/trace/format.h"

/*
 * Looks at the n fields of the first line. TRACE_SKIP: they name columns, which
 * are in p->layout now, and p->note says which of them are not used; 0: they
 * are values; TRACE_EHEADER: a column that is needed, or was asked for, is not
 * among them, and p->note says so.
 */
int csv_header_read(struct trace_parser *p, const struct trace_text *field,
		    int n);

/* Takes columns for granted by the number of fields; p->note says which. */
void csv_header_assume(struct trace_parser *p, int n);

/* A first line that is neither a header that is understood nor values of the
 * assumed columns: TRACE_EHEADER, and p->note says so. */
int csv_header_refuse(struct trace_parser *p, const struct trace_text *field,
		      int n);

#endif
