/*
 * Values between delimiters: comma, tab, semicolon or bar, whichever the first
 * line has most of. Fields may be quoted as in RFC 4180 (a doubled quote is a
 * quote), but hold no line end. A first line that names columns is a header;
 * without header and without --columns the number of fields decides:
 * 1: url; 2: time,url; 3: time,url,size; 4 and more: time,client,url,size.
 *
 * Times are seconds since the epoch, or milliseconds from 10^11 on (which as
 * seconds would be the year 5138).
 */
#include "cachesim/trace/format.h"

#include <stdlib.h>
#include <string.h>

#include "cachesim/trace/scan.h"

enum {
	CSV_FIELDS_MAX = 64,
	CSV_SPEC_MAX = 512, /* --columns [bytes] */
};

static const struct {
	enum trace_column column;
	const char *name;
} names[] = {
	{ TRACE_COL_TIME, "time" },	{ TRACE_COL_TIME, "timestamp" },
	{ TRACE_COL_TIME, "ts" },	{ TRACE_COL_TIME, "time_ms" },
	{ TRACE_COL_CLIENT, "client" }, { TRACE_COL_CLIENT, "client_id" },
	{ TRACE_COL_CLIENT, "ip" },	{ TRACE_COL_CLIENT, "host" },
	{ TRACE_COL_METHOD, "method" }, { TRACE_COL_METHOD, "verb" },
	{ TRACE_COL_URL, "url" },	{ TRACE_COL_URL, "uri" },
	{ TRACE_COL_URL, "key" },	{ TRACE_COL_URL, "obj_id" },
	{ TRACE_COL_URL, "object" },	{ TRACE_COL_URL, "id" },
	{ TRACE_COL_STATUS, "status" }, { TRACE_COL_STATUS, "code" },
	{ TRACE_COL_SIZE, "size" },	{ TRACE_COL_SIZE, "bytes" },
	{ TRACE_COL_SIZE, "obj_size" }, { TRACE_COL_SIZE, "length" },
};

/* The column of that name; TRACE_COLUMNS: none. */
static enum trace_column column_named(struct trace_text t)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (scan_is(t, names[i].name))
			return names[i].column;
	return TRACE_COLUMNS;
}

static char guess_delimiter(struct trace_text line)
{
	static const char candidates[] = "\t,;|";
	char best = ',';
	size_t most = 0;

	for (const char *c = candidates; *c; c++) {
		size_t n = 0;

		for (size_t i = 0; i < line.len; i++)
			n += line.at[i] == *c;
		if (n > most) {
			most = n;
			best = *c;
		}
	}
	return best;
}

/* Takes a quoted field off; its doubled quotes are made single. */
static bool quoted_field(struct trace_parser *p, struct trace_text *rest,
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
static bool next_field(struct trace_parser *p, struct trace_text *rest,
		       struct trace_text *out)
{
	if (rest->len && *rest->at == '"') {
		if (!quoted_field(p, rest, out))
			return false;
		if (rest->len == 0)
			return true;
		if (*rest->at != p->delimiter)
			return false;
		rest->at++;
		rest->len--;
		return true;
	}
	if (!scan_until(rest, p->delimiter, out)) {
		*out = *rest;
		rest->at += rest->len;
		rest->len = 0;
	}
	return true;
}

/* Splits a record. The number of fields; 0: malformed quotes or none. */
static int split(struct trace_parser *p, struct trace_text rest,
		 struct trace_text field[CSV_FIELDS_MAX])
{
	bool open_end = rest.len && rest.at[rest.len - 1] == p->delimiter;
	int n = 0;

	while (rest.len && n < CSV_FIELDS_MAX)
		if (!next_field(p, &rest, &field[n++]))
			return 0;
	if (open_end && n < CSV_FIELDS_MAX)
		field[n++] = (struct trace_text){ "", 0 };
	return n;
}

/* Whether the fields are names of columns; if so they are remembered. */
static bool take_header(struct trace_parser *p, const struct trace_text *field,
			int n)
{
	bool found = false;

	for (int i = 0; i < n; i++) {
		enum trace_column c = column_named(field[i]);

		if (c == TRACE_COLUMNS)
			continue;
		found = true;
		if (!p->columns_set && p->column[c] < 0)
			p->column[c] = i;
	}
	return found;
}

static void default_columns(struct trace_parser *p, int n)
{
	if (n >= 2)
		p->column[TRACE_COL_TIME] = 0;
	if (n >= 4)
		p->column[TRACE_COL_CLIENT] = 1;
	p->column[TRACE_COL_URL] = n == 1 ? 0 : n >= 4 ? 2 : 1;
	if (n >= 3)
		p->column[TRACE_COL_SIZE] = n >= 4 ? 3 : 2;
}

static bool csv_time(struct trace_text t, int64_t *out_ms)
{
	static const int64_t ms_from = 100000000000000; /* as seconds, in ms */

	if (!scan_seconds(t, out_ms))
		return false;
	if (*out_ms >= ms_from)
		*out_ms /= 1000;
	return true;
}

/* The field of a column; empty when the trace does not have it. */
static struct trace_text field_of(const struct trace_parser *p,
				  const struct trace_text *field,
				  enum trace_column c)
{
	return p->column[c] < 0 ? (struct trace_text){ "", 0 }
				: field[p->column[c]];
}

static int csv_request(struct trace_parser *p, const struct trace_text *field,
		       struct trace_request *req)
{
	struct trace_text t = field_of(p, field, TRACE_COL_TIME);

	if (p->column[TRACE_COL_TIME] >= 0 && !csv_time(t, &req->time_ms))
		return TRACE_ETIME;
	trace_request_client(req, field_of(p, field, TRACE_COL_CLIENT));
	if (p->column[TRACE_COL_METHOD] >= 0) {
		req->method = field_of(p, field, TRACE_COL_METHOD);
		if (!scan_is_token(req->method))
			return TRACE_EMETHOD;
	}
	t = field_of(p, field, TRACE_COL_STATUS);
	if (t.len && !scan_status(t, &req->status))
		return TRACE_ESTATUS;
	t = field_of(p, field, TRACE_COL_SIZE);
	if (t.len && !scan_size(t, req))
		return TRACE_ESIZE;
	return scan_url(p, field_of(p, field, TRACE_COL_URL), req);
}

static int csv_parse(struct trace_parser *p, struct trace_text record,
		     struct trace_request *req)
{
	struct trace_text field[CSV_FIELDS_MAX];
	bool first = !p->delimiter;
	int n;

	if (record.len == 0 || *record.at == '#')
		return TRACE_SKIP;
	if (first)
		p->delimiter = guess_delimiter(record);
	n = split(p, record, field);
	if (n == 0)
		return TRACE_EFIELDS;
	if (first && take_header(p, field, n))
		return TRACE_SKIP;
	if (!p->columns_set && p->column[TRACE_COL_URL] < 0)
		default_columns(p, n);
	for (int c = 0; c < TRACE_COLUMNS; c++)
		if (p->column[c] >= n)
			return TRACE_EFIELDS;
	return csv_request(p, field, req);
}

static unsigned csv_score(struct trace_text sample)
{
	struct trace_text line = scan_first_line(sample), field;
	char delimiter = guess_delimiter(line);
	unsigned known = 0, fields = 1;

	while (scan_until(&line, delimiter, &field)) {
		known += column_named(field) != TRACE_COLUMNS;
		fields++;
	}
	known += column_named(line) != TRACE_COLUMNS;
	if (memchr(sample.at, '\0', sample.len))
		return 0;
	return known ? 90 : fields > 1 ? 30 : 0;
}

const struct trace_format trace_csv = {
	.name = "csv",
	.about = "comma, tab, semicolon or bar separated values",
	.score = csv_score,
	.parse = csv_parse,
};

/* One word of --columns; pos: its place in the list. */
static int columns_word(struct trace_parser *p, struct trace_text word,
			int pos)
{
	struct trace_text name;
	uint64_t number = (uint64_t)pos + 1;
	enum trace_column c;

	if (scan_is(word, "-"))
		return 0;
	if (scan_until(&word, '=', &name)) {
		if (!scan_u64(word, &number))
			return TRACE_EOPTION;
		word = name;
	}
	c = column_named(word);
	if (c == TRACE_COLUMNS || number < 1 || number > CSV_FIELDS_MAX)
		return TRACE_EOPTION;
	p->column[c] = (int)number - 1;
	return 0;
}

int trace_parser_columns(struct trace_parser *p, const char *spec)
{
	struct trace_text rest = { spec, strlen(spec) }, word;
	int pos = 0, err = 0;
	bool more = true;

	if (rest.len > CSV_SPEC_MAX)
		return TRACE_EOPTION;
	while (more && !err) {
		more = scan_until(&rest, ',', &word);
		err = columns_word(p, more ? word : rest, pos++);
	}
	p->columns_set = true;
	if (!err && p->column[TRACE_COL_URL] < 0)
		err = TRACE_EOPTION;
	return err;
}
