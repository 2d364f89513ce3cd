/*
 * A report as a table for people. A single row stands upright, a name and a
 * value a line. Of several rows, what is the same in all of them stands above,
 * a column without values not at all, and what is too wide for the terminal
 * goes on in another part below, which begins with the keys again.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/report/report.h"

enum {
	CELL_BYTES = 256, /* a longer text is cut */
	HEAD_LINES = 4,   /* that a column's name may have */
	HEAD_WIDTH = 8,   /* words of it that fit share a line */
	GAP = 2,          /* columns between two of the table */
};

/* Digits in groups of three. */
static void report_table_format_count(char *to, uint64_t count)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, count);

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
}

static void report_table_format_bytes(char *to, uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	double x = (double)bytes;
	int u = -1;

	for (; x >= 1024 && units[u + 1]; u++)
		x /= 1024;
	if (u < 0)
		snprintf(to, CELL_BYTES, "%" PRIu64 " B", bytes);
	else
		snprintf(to, CELL_BYTES, "%.*f %ciB", x < 10 ? 2 : 1, x,
			 units[u]);
}

/* A cell's text; unit: with the % that else stands above. */
static void report_table_format_cell(char to[CELL_BYTES], enum report_type type,
				     const struct report_value *v, bool unit)
{
	*to = '\0';
	if (!v->is_set)
		return;
	switch (type) {
	case REPORT_TEXT:
		snprintf(to, CELL_BYTES, "%s", v->text);
		break;
	case REPORT_COUNT:
		report_table_format_count(to, v->count);
		break;
	case REPORT_BYTES:
		report_table_format_bytes(to, v->count);
		break;
	case REPORT_REAL:
		snprintf(to, CELL_BYTES, "%.5g", v->real);
		break;
	case REPORT_SHARE:
		snprintf(to, CELL_BYTES, unit ? "%.3f %%" : "%.3f",
			 100 * v->real);
		break;
	case REPORT_SECONDS:
		snprintf(to, CELL_BYTES, v->real < 1000 ? "%.4g s" : "%.0f s",
			 v->real);
		break;
	}
}

/* A column's name as people write it. */
static void report_table_format_name(char to[CELL_BYTES], const char *name)
{
	snprintf(to, CELL_BYTES, "%s", name);
	for (; *to; to++) {
		if (*to == '_')
			*to = ' ';
	}
}

/* How a column is shown. */
struct column {
	size_t at;    /* in the report */
	size_t width; /* of the widest cell, and of the name's lines */
	char head[HEAD_LINES][CELL_BYTES];
	size_t nhead; /* lines of the name */
	bool is_key;
};

static size_t report_table_cell_width(const struct report *r, size_t at)
{
	char text[CELL_BYTES];
	size_t width = 0;

	for (size_t i = 0; i < r->nrows; i++) {
		report_table_format_cell(text, r->columns[at].type,
					 report_at(r, i, at), false);
		if (strlen(text) > width)
			width = strlen(text);
	}
	return width;
}

/* Breaks the name into lines that are hardly wider than the cells are. */
static void report_table_break_name(struct column *c, const char *name,
				    bool percent)
{
	char words[CELL_BYTES], *rest = words, *word;
	size_t room, most = c->width > HEAD_WIDTH ? c->width : HEAD_WIDTH;

	report_table_format_name(words, name);
	if (percent && strlen(words) + 3 < CELL_BYTES)
		strcat(words, " %");
	while ((word = strsep(&rest, " "))) {
		char *line = c->head[c->nhead ? c->nhead - 1 : 0];

		room = strlen(line) + 1 + strlen(word);
		if (!c->nhead || (room > most && c->nhead < HEAD_LINES)) {
			line = c->head[c->nhead++];
			snprintf(line, CELL_BYTES, "%s", word);
		} else if (room < CELL_BYTES) {
			strcat(strcat(line, " "), word);
		}
	}
	for (size_t i = 0; i < c->nhead; i++) {
		if (strlen(c->head[i]) > c->width)
			c->width = strlen(c->head[i]);
	}
}

static bool report_table_same_value(enum report_type type,
				    const struct report_value *a,
				    const struct report_value *b)
{
	if (a->is_set != b->is_set || !a->is_set)
		return a->is_set == b->is_set;
	if (type == REPORT_TEXT)
		return !strcmp(a->text, b->text);
	if (report_type_is_real(type))
		return !(a->real < b->real) && !(a->real > b->real);
	return a->count == b->count;
}

/* Whether all rows have the same there, or nothing. */
static bool report_table_is_constant(const struct report *r, size_t at)
{
	for (size_t i = 1; i < r->nrows; i++) {
		if (!report_table_same_value(r->columns[at].type,
					     report_at(r, 0, at),
					     report_at(r, i, at)))
			return false;
	}
	return true;
}

/* The names and values that are the same everywhere, one a line. */
static void report_table_write_constants(const struct report *r, FILE *to)
{
	char name[CELL_BYTES], value[CELL_BYTES];
	size_t width = 0;
	bool text;

	for (size_t c = 0; c < r->ncolumns; c++) {
		if (strlen(r->columns[c].name) > width &&
		    report_table_is_constant(r, c) &&
		    report_at(r, 0, c)->is_set)
			width = strlen(r->columns[c].name);
	}
	for (size_t c = 0; c < r->ncolumns; c++) {
		if (!report_table_is_constant(r, c) ||
		    !report_at(r, 0, c)->is_set)
			continue;
		text = r->columns[c].type == REPORT_TEXT;
		report_table_format_name(name, r->columns[c].name);
		report_table_format_cell(value, r->columns[c].type,
					 report_at(r, 0, c), true);
		fprintf(to, text ? "%-*s  %s\n" : "%-*s  %16s\n", (int)width,
			name, value);
	}
}

/* The columns that differ from row to row. */
static size_t report_table_list_columns(const struct report *r,
					struct column *list)
{
	size_t n = 0;

	for (size_t c = 0; c < r->ncolumns; c++) {
		struct column *column = &list[n];

		if (report_table_is_constant(r, c))
			continue;
		*column =
			(struct column){.at = c,
					.width = report_table_cell_width(r, c),
					.is_key = r->columns[c].is_key};
		report_table_break_name(column, r->columns[c].name,
					r->columns[c].type == REPORT_SHARE);
		n++;
	}
	return n;
}

/* A line that is written: blanks wait until something follows them. */
struct line {
	FILE *to;
	size_t blanks;
};

/* One text of a line, at its side of the column. */
static void report_table_write_field(struct line *l, const struct report *r,
				     const struct column *c, const char *text)
{
	bool left = r->columns[c->at].type == REPORT_TEXT;
	size_t len = strlen(text), pad = c->width > len ? c->width - len : 0;

	if (!left)
		l->blanks += pad;
	if (len) {
		fprintf(l->to, "%*s%s", (int)l->blanks, "", text);
		l->blanks = 0;
	}
	l->blanks += GAP + (left ? pad : 0);
}

/* One line of the heads of a part, the lowest of which is line 0. */
static void report_table_write_head(FILE *to, const struct report *r,
				    const struct column *const *part,
				    size_t line)
{
	struct line l = { .to = to };

	for (size_t i = 0; part[i]; i++) {
		size_t above = part[i]->nhead - line - 1;

		report_table_write_field(
			&l, r, part[i],
			line < part[i]->nhead ? part[i]->head[above] : "");
	}
	putc('\n', to);
}

static void report_table_write_part(FILE *to, const struct report *r,
				    const struct column *const *part)
{
	char text[CELL_BYTES];
	size_t lines = 0;

	for (size_t i = 0; part[i]; i++) {
		if (part[i]->nhead > lines)
			lines = part[i]->nhead;
	}
	putc('\n', to);
	while (lines)
		report_table_write_head(to, r, part, --lines);
	for (size_t row = 0; row < r->nrows; row++) {
		struct line l = { .to = to };

		for (size_t i = 0; part[i]; i++) {
			size_t at = part[i]->at;

			report_table_format_cell(text, r->columns[at].type,
						 report_at(r, row, at), false);
			report_table_write_field(&l, r, part[i], text);
		}
		putc('\n', to);
	}
}

/* The keys, and as many of the columns from *next as there is room for. */
static void report_table_fill_part(const struct column **part,
				   const struct column *list, size_t *next,
				   unsigned width)
{
	size_t used = 0, n = 0, fresh = 0;

	for (const struct column *c = list; c->nhead; c++) {
		bool again = c->is_key && c < list + *next;

		if (!again && c != list + *next)
			continue;
		if (!again && fresh && width && used + c->width > width)
			break;
		part[n++] = c;
		used += c->width + GAP;
		if (!again) {
			fresh++;
			++*next;
		}
	}
	part[n] = NULL;
}

bool report_write_table(const struct report *r, FILE *to, unsigned width)
{
	size_t n, next = 0;
	struct column *list = calloc(r->ncolumns + 1, sizeof(*list));
	const struct column **part = calloc(r->ncolumns + 1, sizeof(*part));
	bool ok = list && part;

	if (ok) {
		for (size_t i = 0; i < r->nnotes; i++)
			fprintf(to, "%s: %s\n", r->notes[i].name,
				r->notes[i].text);
		if (r->nrows)
			report_table_write_constants(r, to);
		n = report_table_list_columns(r, list);
		while (next < n) {
			report_table_fill_part(part, list, &next, width);
			report_table_write_part(to, r, part);
		}
	}
	free(part);
	free(list);
	return ok && !ferror(to);
}
