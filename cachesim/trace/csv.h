/*
 * The two ways through a CSV: csv.c knows every rule, csv_rows.c is fast.
 */
#ifndef TRACE_CSV_H
#define TRACE_CSV_H

#include "cachesim/trace/format.h"

/* The rows() of the format, see format.h. */
int csv_rows(struct trace_parser *p, struct trace_text *rest,
	     struct trace_row *rows, int max);

#endif
