/*
 * See csv_header.h. Whatever is not sure is said in p->note.
 */
#include "cachesim/trace/csv_header.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cachesim/trace/layout.h"
#include "cachesim/trace/scan.h"

static const char how_to_name[] =
	"name them with --trace-type-params, as in url=3,size=5";

__attribute__((format(printf, 2, 3))) static void
csv_header_note(struct trace_parser *p, const char *format, ...)
{
	size_t len = strlen(p->note);
	va_list args;

	va_start(args, format);
	vsnprintf(p->note + len, sizeof(p->note) - len, format, args);
	va_end(args);
}

/* Lists the headings for which `unused` has a bit, or all. */
static void csv_header_list(struct trace_parser *p,
			    const struct trace_text *field, int n,
			    uint64_t which)
{
	const char *comma = "";

	for (int i = 0; i < n; i++) {
		if (!(which >> i & 1))
			continue;
		csv_header_note(p, "%s\"%.*s\"", comma,
				(int)(field[i].len < TRACE_HEADING_MAX
					      ? field[i].len
					      : TRACE_HEADING_MAX),
				field[i].at);
		comma = ", ";
	}
}

static int csv_header_fail(struct trace_parser *p, const char *what,
			   const struct trace_text *field, int n)
{
	p->note[0] = '\0';
	csv_header_note(p, "%s; the first line has ", what);
	csv_header_list(p, field, n, UINT64_MAX);
	csv_header_note(p, "; known names are ");
	trace_layout_names(p->note + strlen(p->note),
			   sizeof(p->note) - strlen(p->note));
	csv_header_note(p, "; %s", how_to_name);
	return TRACE_EHEADER;
}

int csv_header_refuse(struct trace_parser *p, const struct trace_text *field,
		      int n)
{
	return csv_header_fail(p, "no header, and not time,url,size either",
			       field, n);
}

/* The column that a heading was asked for as, or is known as. */
static enum trace_column csv_header_column(const struct trace_layout *l,
					   struct trace_text heading)
{
	for (int c = 0; c < TRACE_COLUMNS; c++)
		if (l->heading[c][0] && scan_is(heading, l->heading[c]))
			return (enum trace_column)c;
	return l->columns_set ? TRACE_COLUMNS : trace_column_named(heading);
}

/* Whether all columns are there that have to be. */
static int csv_header_check(struct trace_parser *p,
			    const struct trace_text *field, int n)
{
	const struct trace_layout *l = &p->layout;
	char what[TRACE_HEADING_MAX + 32];

	for (int c = 0; c < TRACE_COLUMNS; c++) {
		if (!l->heading[c][0] || l->column[c] >= 0)
			continue;
		snprintf(what, sizeof(what), "no column is named \"%s\"",
			 l->heading[c]);
		return csv_header_fail(p, what, field, n);
	}
	if (l->column[TRACE_COL_URL] < 0)
		return csv_header_fail(p, "no column is known as the URL",
				       field, n);
	return TRACE_SKIP;
}

int csv_header_read(struct trace_parser *p, const struct trace_text *field,
		    int n)
{
	struct trace_layout *l = &p->layout;
	uint64_t unused = 0;
	bool found = l->header == 1;
	int result;

	for (int i = 0; i < n; i++)
		found |= trace_column_named(field[i]) != TRACE_COLUMNS;
	if (!found)
		return 0;
	for (int i = 0; i < n; i++) {
		enum trace_column c = csv_header_column(l, field[i]);

		if (c != TRACE_COLUMNS && l->column[c] < 0)
			l->column[c] = i;
		else
			unused |= UINT64_C(1) << i;
	}
	result = csv_header_check(p, field, n);
	if (result == TRACE_SKIP && unused && !l->columns_set) {
		csv_header_note(p, "columns that are not used: ");
		csv_header_list(p, field, n, unused);
	}
	return result;
}

void csv_header_assume(struct trace_parser *p, int n)
{
	static const char *const columns[] = {
		"url", "time,url", "time,url,size", "time,client,url,size",
	};
	int *column = p->layout.column;

	if (n >= 2)
		column[TRACE_COL_TIME] = 0;
	if (n >= 4)
		column[TRACE_COL_CLIENT] = 1;
	column[TRACE_COL_URL] = n == 1 ? 0 : n >= 4 ? 2 : 1;
	if (n >= 3)
		column[TRACE_COL_SIZE] = n >= 4 ? 3 : 2;
	csv_header_note(p, "no header; the columns are taken to be %s",
			columns[(n > 4 ? 4 : n) - 1]);
	if (n > 4)
		csv_header_note(p, " and %d more, which are not used", n - 4);
}
