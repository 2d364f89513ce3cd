/*
 * A report in memory.
 */
#include "cachesim/report/report.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const struct {
	const char *name;
	enum report_type type;
} types[] = {
	{ "text",    REPORT_TEXT },
	{ "count",   REPORT_COUNT },
	{ "bytes",   REPORT_BYTES },
	{ "real",    REPORT_REAL },
	{ "share",   REPORT_SHARE },
	{ "seconds", REPORT_SECONDS },
};
/* clang-format on */

enum { NTYPES = sizeof(types) / sizeof(types[0]) };

const char *report_type_name(enum report_type type)
{
	return types[type].name;
}

bool report_type_named(const char *name, enum report_type *out)
{
	for (size_t i = 0; i < NTYPES; i++) {
		if (!strcmp(types[i].name, name)) {
			*out = types[i].type;
			return true;
		}
	}
	return false;
}

bool report_type_is_real(enum report_type type)
{
	return type == REPORT_REAL || type == REPORT_SHARE ||
	       type == REPORT_SECONDS;
}

static char *report_copied(struct report *r, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		r->failed = true;
	return copy;
}

/* One more element of an array that doubles; null: no memory. */
static void *report_grown(struct report *r, void *array, size_t n, size_t size)
{
	void *more = array;

	/* room for 0, 1, 2, 4, ... */
	if (!(n & (n - 1)))
		more = realloc(array, (n ? 2 * n : 1) * size);
	if (!more)
		r->failed = true;
	return more;
}

void report_init(struct report *r, const char *kind,
		 const struct report_column *columns, size_t ncolumns)
{
	*r = (struct report){ 0 };
	r->kind = report_copied(r, kind);
	r->columns = calloc(ncolumns + 1, sizeof(*r->columns));
	if (!r->columns) {
		r->failed = true;
		return;
	}
	for (size_t i = 0; i < ncolumns; i++) {
		r->columns[i].name = report_copied(r, columns[i].name);
		r->columns[i].type = columns[i].type;
		r->columns[i].is_key = columns[i].is_key;
	}
	r->ncolumns = ncolumns;
}

void report_free(struct report *r)
{
	for (size_t i = 0; i < r->nrows * r->ncolumns; i++) {
		if (r->columns[i % r->ncolumns].type == REPORT_TEXT)
			free(r->values[i].text);
	}
	for (size_t i = 0; i < r->ncolumns; i++)
		free((char *)(uintptr_t)r->columns[i].name);
	for (size_t i = 0; i < r->nnotes; i++) {
		free(r->notes[i].name);
		free(r->notes[i].text);
	}
	free(r->notes);
	free(r->values);
	free(r->columns);
	free(r->kind);
	*r = (struct report){ 0 };
}

void report_note(struct report *r, const char *name, const char *text)
{
	struct report_note *notes =
		report_grown(r, r->notes, r->nnotes, sizeof(*notes));

	if (!notes)
		return;
	r->notes = notes;
	notes[r->nnotes] = (struct report_note){.name = report_copied(r, name),
						.text = report_copied(r, text)};
	r->nnotes++;
}

void report_row(struct report *r)
{
	struct report_value *values;

	if (r->failed)
		return;
	values = report_grown(r, r->values, r->nrows,
			      sizeof(*values) * r->ncolumns);
	if (!values)
		return;
	r->values = values;
	memset(values + r->nrows * r->ncolumns, 0,
	       sizeof(*values) * r->ncolumns);
	r->nrows++;
}

int report_column_named(const struct report *r, const char *name)
{
	for (size_t i = 0; i < r->ncolumns; i++) {
		if (!strcmp(r->columns[i].name, name))
			return (int)i;
	}
	return -1;
}

const struct report_value *report_at(const struct report *r, size_t row,
				     size_t column)
{
	assert(row < r->nrows && column < r->ncolumns);
	return &r->values[row * r->ncolumns + column];
}

double report_number(const struct report *r, size_t row, size_t column)
{
	const struct report_value *v = report_at(r, row, column);
	enum report_type type = r->columns[column].type;

	if (!v->is_set || type == REPORT_TEXT)
		return 0;
	return report_type_is_real(type) ? v->real : (double)v->count;
}

/* The cell of the last row; null when the report failed. */
static struct report_value *report_cell(struct report *r, const char *column,
					enum report_type *type)
{
	int at;

	if (r->failed)
		return NULL;
	at = report_column_named(r, column);
	assert(at >= 0 && r->nrows);
	*type = r->columns[at].type;
	return &r->values[(r->nrows - 1) * r->ncolumns + (size_t)at];
}

void report_text(struct report *r, const char *column, const char *text)
{
	enum report_type type;
	struct report_value *v = report_cell(r, column, &type);

	if (!v)
		return;
	assert(type == REPORT_TEXT);
	free(v->text);
	v->text = *text ? report_copied(r, text) : NULL;
	v->is_set = v->text;
}

void report_count(struct report *r, const char *column, uint64_t count)
{
	enum report_type type;
	struct report_value *v = report_cell(r, column, &type);

	if (!v)
		return;
	assert(type != REPORT_TEXT);
	if (report_type_is_real(type))
		v->real = (double)count;
	else
		v->count = count;
	v->is_set = true;
}

void report_real(struct report *r, const char *column, double real)
{
	enum report_type type;
	struct report_value *v = report_cell(r, column, &type);

	if (!v)
		return;
	assert(report_type_is_real(type));
	v->real = real;
	v->is_set = isfinite(real);
}

bool report_write(const struct report *r, enum report_form form, FILE *to,
		  unsigned width)
{
	if (r->failed)
		return false;
	switch (form) {
	case REPORT_TABLE:
		return report_write_table(r, to, width);
	case REPORT_JSON:
		return report_write_json(r, to);
	case REPORT_CSV:
		return report_write_csv(r, to);
	}
	return false;
}
