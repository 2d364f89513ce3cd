/*
 * Values between delimiters: comma, tab, semicolon or bar, whichever the first
 * line has most of, or single blanks if it has none of these. Fields may be
 * quoted as in RFC 4180 (a doubled quote is a quote), but hold no line end. A
 * first line that names columns is a header; without header and without
 * --trace-type-params the number of fields decides:
 * 1: url; 2: time,url; 3: time,url,size; 4 and more: time,client,url,size.
 *
 * Times are seconds since the epoch, or milliseconds from 10^11 on (which as
 * seconds would be the year 5138).
 */
#include "cachesim/trace/csv.h"

#include <stdlib.h>
#include <string.h>

#include "cachesim/trace/csv_header.h"
#include "cachesim/trace/layout.h"
#include "cachesim/trace/scan.h"

static char csv_guess_delimiter(struct trace_text line)
{
	/* blanks last, and only where there is nothing else */
	static const char candidates[] = "\t,;| ";
	char best = ',';
	size_t most = 0;

	for (const char *c = candidates; *c; c++) {
		size_t n = 0;

		for (size_t i = 0; i < line.len; i++)
			n += line.at[i] == *c;
		if (*c == ' ' && most)
			break;
		if (n > most) {
			most = n;
			best = *c;
		}
	}
	return best;
}

/* Takes a quoted field off; its doubled quotes are made single. */
static bool csv_quoted_field(struct trace_parser *p, struct trace_text *rest,
			     struct trace_text *out)
{
	char *to = scan_room(p, rest->len);
	size_t n = 0, i;

	if (!to)
		return false;
	for (i = 1; i < rest->len; i++) {
		if (rest->at[i] == '"') {
			if (i + 1 >= rest->len || rest->at[i + 1] != '"')
				break;
			i++;
		}
		to[n++] = rest->at[i];
	}
	if (i >= rest->len)
		return false;
	*out = (struct trace_text){ to, n };
	rest->at += i + 1;
	rest->len -= i + 1;
	return true;
}

/* The next field; false: a quote that is never closed, or junk behind it. */
static bool csv_next_field(struct trace_parser *p, struct trace_text *rest,
			   struct trace_text *out)
{
	if (rest->len && *rest->at == '"') {
		if (!csv_quoted_field(p, rest, out))
			return false;
		if (rest->len == 0)
			return true;
		if (*rest->at != p->layout.delimiter)
			return false;
		rest->at++;
		rest->len--;
		return true;
	}
	if (!scan_until(rest, p->layout.delimiter, out)) {
		*out = *rest;
		rest->at += rest->len;
		rest->len = 0;
	}
	return true;
}

/* Splits a record. The number of fields; 0: malformed quotes or none. */
static int csv_split(struct trace_parser *p, struct trace_text rest,
		     struct trace_text field[TRACE_FIELDS_MAX])
{
	bool open_end =
		rest.len && rest.at[rest.len - 1] == p->layout.delimiter;
	int n = 0;

	while (rest.len && n < TRACE_FIELDS_MAX)
		if (!csv_next_field(p, &rest, &field[n++]))
			return 0;
	if (open_end && n < TRACE_FIELDS_MAX)
		field[n++] = (struct trace_text){ "", 0 };
	return n;
}

static bool csv_time(struct trace_text t, int64_t *out_ms)
{
	if (!scan_seconds(t, out_ms))
		return false;
	*out_ms = scan_which_unit(*out_ms);
	return true;
}

/* The field of a column; empty when the trace does not have it. */
static struct trace_text csv_field_of(const struct trace_parser *p,
				      const struct trace_text *field,
				      enum trace_column c)
{
	return p->layout.column[c] < 0 ? (struct trace_text){ "", 0 }
				: field[p->layout.column[c]];
}

static int csv_csv_request(struct trace_parser *p,
			   const struct trace_text *field,
			   struct trace_request *req)
{
	struct trace_text t = csv_field_of(p, field, TRACE_COL_TIME);

	if (p->layout.column[TRACE_COL_TIME] >= 0 &&
	    !csv_time(t, &req->time_ms))
		return TRACE_ETIME;
	trace_request_client(req, csv_field_of(p, field, TRACE_COL_CLIENT));
	if (p->layout.column[TRACE_COL_METHOD] >= 0) {
		req->method = csv_field_of(p, field, TRACE_COL_METHOD);
		if (!scan_is_token(req->method))
			return TRACE_EMETHOD;
	}
	t = csv_field_of(p, field, TRACE_COL_STATUS);
	if (t.len && !scan_status(t, &req->status))
		return TRACE_ESTATUS;
	t = csv_field_of(p, field, TRACE_COL_SIZE);
	if (t.len && !scan_size(t, req))
		return TRACE_ESIZE;
	req->version = trace_version(csv_field_of(p, field, TRACE_COL_VERSION));
	t = csv_field_of(p, field, TRACE_COL_URL);
	return p->layout.number_keys ? scan_key(p, t, req)
				     : scan_url(p, t, req);
}

static int csv_parse(struct trace_parser *p, struct trace_text record,
		     struct trace_request *req)
{
	struct trace_text field[TRACE_FIELDS_MAX];
	struct trace_layout *l = &p->layout;
	bool first = !p->begun, assumed = false;
	int n, err;

	if (record.len == 0 || *record.at == '#')
		return TRACE_SKIP;
	p->begun = true;
	if (!l->delimiter)
		l->delimiter = csv_guess_delimiter(record);
	n = csv_split(p, record, field);
	if (n == 0)
		return TRACE_EFIELDS;
	err = first && l->header != 0 ? csv_header_read(p, field, n) : 0;
	if (err)
		return err;
	if (l->column[TRACE_COL_URL] < 0) {
		/* the heading that was asked for is not there */
		if (l->columns_set)
			return TRACE_EFIELDS;
		csv_header_assume(p, n);
		assumed = true;
	}
	for (int c = 0; c < TRACE_COLUMNS; c++)
		if (p->layout.column[c] >= n)
			return TRACE_EFIELDS;
	err = csv_csv_request(p, field, req);
	return err && assumed ? csv_header_refuse(p, field, n) : err;
}

/*
 * Whether blanks separate values: as many in each whole line, one at a time.
 * Otherwise they may belong to keys, or to a layout that is unknown.
 */
static bool csv_blanks_separate(struct trace_text sample)
{
	struct trace_text line;
	size_t blanks = 0;

	while (scan_until(&sample, '\n', &line)) {
		size_t n = 0;

		if (!line.len || *line.at == '#' || *line.at == '\r')
			continue;
		for (size_t i = 0; i < line.len; i++) {
			if (line.at[i] != ' ')
				continue;
			if (!i || line.at[i - 1] == ' ')
				return false;
			n++;
		}
		if (blanks && n != blanks)
			return false;
		blanks = n;
	}
	return blanks > 0;
}

static unsigned csv_score(struct trace_text sample)
{
	struct trace_text line = scan_first_line(sample), field;
	char delimiter = csv_guess_delimiter(line);
	unsigned known = 0, fields = 1;

	while (scan_until(&line, delimiter, &field)) {
		known += trace_column_named(field) != TRACE_COLUMNS;
		fields++;
	}
	known += trace_column_named(line) != TRACE_COLUMNS;
	if (memchr(sample.at, '\0', sample.len))
		return 0;
	if (delimiter == ' ' && !csv_blanks_separate(sample))
		return 0;
	return known ? 90 : fields > 1 ? 30 : 0;
}

const struct trace_format trace_csv = {
	.name = "csv",
	.about = "values between commas, tabs, semicolons, bars or blanks",
	.score = csv_score,
	.parse = csv_parse,
	.rows = csv_rows,
};
