/*
 * A report as CSV (RFC 4180, lines end in LF). Before the line of names stand
 * lines that begin with "# ": the version and the kind, the notes, and the
 * types of the columns:
 *	# cachesim 1 run
 *	# trace: gen:dec
 *	# types: text,count,share
 *	eviction,requests,hit_ratio
 *	lru,1000,0.5
 * A value that is not there is empty.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/report/report.h"

enum { MAX_COLUMNS = 512 };

static void report_csv_write_text(FILE *to, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")] && *text) {
		fputs(text, to);
		return;
	}
	putc('"', to);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', to);
		putc(*text, to);
	}
	putc('"', to);
}

static void report_csv_write_value(FILE *to, enum report_type type,
				   const struct report_value *v)
{
	if (!v->is_set)
		return;
	if (type == REPORT_TEXT)
		report_csv_write_text(to, v->text);
	else if (report_type_is_real(type))
		fprintf(to, "%.12g", v->real);
	else
		fprintf(to, "%" PRIu64, v->count);
}

/* A note is one line, whatever its text. */
static void report_csv_write_note(FILE *to, const struct report_note *note)
{
	fprintf(to, "# %s: ", note->name);
	for (const char *at = note->text; *at; at++)
		putc(*at == '\n' || *at == '\r' ? ' ' : *at, to);
	putc('\n', to);
}

static char report_csv_separator(const struct report *r, size_t column)
{
	return column + 1 < r->ncolumns ? ',' : '\n';
}

bool report_write_csv(const struct report *r, FILE *to)
{
	fprintf(to, "# cachesim %d %s\n", REPORT_VERSION, r->kind);
	for (size_t i = 0; i < r->nnotes; i++)
		report_csv_write_note(to, &r->notes[i]);
	fputs("# types: ", to);
	for (size_t c = 0; c < r->ncolumns; c++)
		fprintf(to, "%s%c", report_type_name(r->columns[c].type),
			report_csv_separator(r, c));
	for (size_t c = 0; c < r->ncolumns; c++)
		fprintf(to, "%s%c", r->columns[c].name,
			report_csv_separator(r, c));
	for (size_t i = 0; i < r->nrows; i++) {
		for (size_t c = 0; c < r->ncolumns; c++) {
			report_csv_write_value(to, r->columns[c].type,
					       report_at(r, i, c));
			putc(report_csv_separator(r, c), to);
		}
	}
	return !ferror(to);
}

/* What is left to read of a file, and where that is. */
struct csv {
	char *at; /* null: the end */
	unsigned line;
	struct report_fault *fault;
};

static bool report_csv_refuse(const struct csv *csv, const char *why)
{
	csv->fault->line = csv->line;
	snprintf(csv->fault->text, sizeof(csv->fault->text), "%s", why);
	return false;
}

/* Cuts a quoted field out, in place; what follows it is returned. */
static char *report_csv_unquoted(struct csv *csv, char *at)
{
	char *to = at++;

	while (*at && (*at != '"' || at[1] == '"')) {
		if (*at == '"')
			at++;
		if (*at == '\n')
			csv->line++;
		*to++ = *at++;
	}
	if (*at)
		at++;
	*to = '\0';
	return at;
}

/* The next record's fields, in place; their number, 0 at the end. */
static size_t report_csv_next_record(struct csv *csv, char *fields[MAX_COLUMNS])
{
	size_t n = 0;
	char *at = csv->at, end;

	if (!at || !*at)
		return 0;
	csv->line++;
	do {
		fields[n++] = at;
		if (*at == '"')
			at = report_csv_unquoted(csv, at);
		else
			at += strcspn(at, ",\r\n");
		if (*at == '\r' && at[1] == '\n')
			*at++ = '\0';
		end = *at;
		*at = '\0';
		at += end ? 1 : 0;
	} while (end == ',' && n < MAX_COLUMNS);
	csv->at = at;
	return n;
}

/* The next line that begins with "# ", without that; null: there is none. */
static char *report_csv_next_comment(struct csv *csv)
{
	char *line = csv->at;

	if (!line || strncmp(line, "# ", 2))
		return NULL;
	csv->line++;
	csv->at = strchr(line, '\n');
	if (csv->at)
		*csv->at++ = '\0';
	line[strcspn(line, "\r")] = '\0';
	return line + 2;
}

/* The notes are kept until the columns are known. */
struct head {
	char kind[32];
	char *notes[256], *types;
	size_t nnotes;
};

static bool report_csv_read_head(struct csv *csv, struct head *head)
{
	char *line = report_csv_next_comment(csv);
	int version;

	if (!line || sscanf(line, "cachesim %d %31s", &version, head->kind) < 2)
		return report_csv_refuse(csv, "not a result of cachesim");
	if (version > REPORT_VERSION)
		return report_csv_refuse(csv, "a result of a newer cachesim");
	while ((line = report_csv_next_comment(csv))) {
		if (!strncmp(line, "types: ", 7))
			head->types = line + 7;
		else if (head->nnotes < 256 && strstr(line, ": "))
			head->notes[head->nnotes++] = line;
	}
	return head->types ||
	       report_csv_refuse(csv, "the types of the columns are "
				      "missing");
}

static bool report_csv_read_columns(struct report *out, struct csv *csv,
				    const struct head *head)
{
	struct report_column columns[MAX_COLUMNS] = { 0 };
	char *fields[MAX_COLUMNS], *types = head->types, *type;
	size_t n = report_csv_next_record(csv, fields);

	for (size_t i = 0; i < n; i++) {
		type = strsep(&types, ",");
		columns[i].name = fields[i];
		if (!type || !report_type_named(type, &columns[i].type))
			return report_csv_refuse(csv,
						 "a column without a type");
	}
	if (!n || types)
		return report_csv_refuse(csv, "a type without a column");
	report_init(out, head->kind, columns, n);
	for (size_t i = 0; i < head->nnotes; i++) {
		char *text = strstr(head->notes[i], ": ");

		*text = '\0';
		report_note(out, head->notes[i], text + 2);
	}
	return true;
}

/* A field's value; false: it is none of that type. */
static bool report_csv_read_value(struct report *out, size_t column,
				  const char *field)
{
	const struct report_column *c = &out->columns[column];
	char *end;

	if (!*field)
		return true;
	if (c->type == REPORT_TEXT) {
		report_text(out, c->name, field);
		return true;
	}
	errno = 0;
	if (report_type_is_real(c->type))
		report_real(out, c->name, strtod(field, &end));
	else
		report_count(out, c->name, strtoull(field, &end, 10));
	return !*end && !errno;
}

static bool report_csv_read_rows(struct report *out, struct csv *csv)
{
	char *fields[MAX_COLUMNS];
	size_t n;

	while ((n = report_csv_next_record(csv, fields))) {
		if (n != out->ncolumns)
			return report_csv_refuse(
				csv, "fields are missing, or too many");
		report_row(out);
		for (size_t i = 0; i < n; i++) {
			if (!report_csv_read_value(out, i, fields[i]))
				return report_csv_refuse(
					csv, "a field is no number");
		}
	}
	return !out->failed || report_csv_refuse(csv, "out of memory");
}

bool report_read_csv(struct report *out, char *text, struct report_fault *f)
{
	struct csv csv = { .at = text, .fault = f };
	struct head head = { 0 };
	bool ok;

	*out = (struct report){ 0 };
	ok = report_csv_read_head(&csv, &head) &&
	     report_csv_read_columns(out, &csv, &head) &&
	     report_csv_read_rows(out, &csv);
	if (!ok)
		report_free(out);
	return ok;
}
