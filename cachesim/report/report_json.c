/*
 * A report as JSON:
 *	{ "cachesim": 1, "kind": "run", "about": { "trace": "..." },
 *	  "columns": [ { "name": "hit_ratio", "type": "share" } ],
 *	  "rows": [ { "hit_ratio": 0.5 } ] }
 * A value that is not there is left out.
 */
#include <jansson.h>

#include "cachesim/report/report.h"

/* Digits of reals: enough for any ratio of counters, and no noise. */
enum { DIGITS = 12 };

static json_t *report_json_value_json(enum report_type type,
				      const struct report_value *v)
{
	if (type == REPORT_TEXT)
		return json_string(v->text);
	if (report_type_is_real(type))
		return json_real(v->real);
	return json_integer((json_int_t)v->count);
}

/* What was built; null, and it is gone, if a part of it failed. */
static json_t *report_json_whole(json_t *built, bool failed)
{
	if (!failed)
		return built;
	json_decref(built);
	return NULL;
}

static json_t *report_json_row_json(const struct report *r, size_t row)
{
	json_t *all = json_object();
	bool failed = false;

	for (size_t c = 0; c < r->ncolumns; c++) {
		const struct report_value *v = report_at(r, row, c);

		if (v->is_set && json_object_set_new(
				all, r->columns[c].name,
				report_json_value_json(r->columns[c].type, v)))
			failed = true;
	}
	return report_json_whole(all, failed);
}

static json_t *report_json_rows_json(const struct report *r)
{
	json_t *rows = json_array();
	bool failed = false;

	for (size_t i = 0; !failed && i < r->nrows; i++)
		failed = json_array_append_new(rows,
					       report_json_row_json(r, i));
	return report_json_whole(rows, failed);
}

static json_t *report_json_columns_json(const struct report *r)
{
	json_t *columns = json_array();
	bool failed = false;

	for (size_t i = 0; !failed && i < r->ncolumns; i++)
		failed = json_array_append_new(
			columns,
			json_pack("{s:s, s:s}", "name", r->columns[i].name,
				  "type",
				  report_type_name(r->columns[i].type)));
	return report_json_whole(columns, failed);
}

static json_t *report_json_notes_json(const struct report *r)
{
	json_t *notes = json_object();
	bool failed = false;

	for (size_t i = 0; !failed && i < r->nnotes; i++)
		failed = json_object_set_new(notes, r->notes[i].name,
					     json_string(r->notes[i].text));
	return report_json_whole(notes, failed);
}

bool report_write_json(const struct report *r, FILE *to)
{
	json_t *all = json_pack(
		"{s:i, s:s, s:o, s:o, s:o}", "cachesim", REPORT_VERSION, "kind",
		r->kind, "about", report_json_notes_json(r), "columns",
		report_json_columns_json(r), "rows", report_json_rows_json(r));
	bool ok = all && !json_dumpf(all, to,
				     JSON_INDENT(1) |
					     JSON_REAL_PRECISION(DIGITS));

	json_decref(all);
	return ok && putc('\n', to) != EOF;
}

static bool report_json_refuse(struct report_fault *fault, unsigned line,
			       const char *why)
{
	fault->line = line;
	snprintf(fault->text, sizeof(fault->text), "%s", why);
	return false;
}

/* Takes the columns over into a report that has none. */
static bool report_json_read_columns(struct report *out, const char *kind,
				     json_t *list, struct report_fault *fault)
{
	struct report_column columns[512] = { 0 };
	size_t n = json_array_size(list);

	if (!n || n > sizeof(columns) / sizeof(columns[0]))
		return report_json_refuse(fault, 0, "no columns, or too many");
	for (size_t i = 0; i < n; i++) {
		const char *type;

		if (json_unpack(json_array_get(list, i), "{s:s, s:s}", "name",
				&columns[i].name, "type", &type) ||
		    !report_type_named(type, &columns[i].type))
			return report_json_refuse(fault, 0,
						  "a column without a type");
	}
	report_init(out, kind, columns, n);
	return true;
}

static void report_json_read_value(struct report *out, const char *name,
				   json_t *value)
{
	int c = report_column_named(out, name);
	enum report_type type;

	if (c < 0)
		return;
	type = out->columns[c].type;
	if (type == REPORT_TEXT && json_is_string(value))
		report_text(out, name, json_string_value(value));
	else if (report_type_is_real(type) && json_is_number(value))
		report_real(out, name, json_number_value(value));
	else if (type != REPORT_TEXT && json_is_integer(value))
		report_count(out, name, (uint64_t)json_integer_value(value));
}

static void report_json_read_rows(struct report *out, json_t *notes,
				  json_t *rows)
{
	const char *name;
	json_t *value, *row;
	size_t i;

	json_object_foreach(notes, name, value) {
		if (json_is_string(value))
			report_note(out, name, json_string_value(value));
	}
	json_array_foreach(rows, i, row) {
		report_row(out);
		json_object_foreach(row, name, value)
			report_json_read_value(out, name, value);
	}
}

bool report_read_json(struct report *out, const char *text, size_t len,
		      struct report_fault *fault)
{
	json_error_t error;
	json_t *all = json_loadb(text, len, 0, &error);
	json_t *notes, *columns, *rows;
	const char *kind;
	int version;
	bool ok;

	*out = (struct report){ 0 };
	if (!all)
		return report_json_refuse(fault, (unsigned)error.line,
					  *error.text ? error.text :
							"out of memory");
	if (json_unpack(all, "{s:i, s:s, s:o, s:o, s:o}", "cachesim", &version,
			"kind", &kind, "about", &notes, "columns", &columns,
			"rows", &rows))
		ok = report_json_refuse(fault, 0, "not a result of cachesim");
	else if (version > REPORT_VERSION)
		ok = report_json_refuse(fault, 0,
					"a result of a newer cachesim");
	else
		ok = report_json_read_columns(out, kind, columns, fault);
	if (ok && !out->failed)
		report_json_read_rows(out, notes, rows);
	json_decref(all);
	if (out->failed) {
		report_free(out);
		return report_json_refuse(fault, 0, "out of memory");
	}
	return ok;
}
