/*
 * The fast way through a CSV: plain lines, many at once. A line is plain if
 * it has all columns, no quotes, and values of the usual form; all others are
 * left to csv.c, which knows the rules, and the same comes out (a test holds
 * both against each other).
 */
#include "cachesim/trace/csv.h"

/* a call costs as much as hashing a short key */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cachesim/trace/lines.h"
#include "cachesim/trace/scan.h"
#include "cachesim/trace/swar.h"

/* What is the same for all lines. */
struct plain {
	struct trace_parser *parser;
	uint64_t delimiters; /* the delimiter eight times */
	int last;            /* of the columns that are wanted, from 0 */
	uint8_t column[TRACE_FIELDS_MAX]; /* by place; TRACE_COLUMNS: none */
};

/* False: the columns are not known yet, or one place has two of them. */
static bool prepare(struct plain *f, struct trace_parser *p)
{
	const struct trace_layout *l = &p->layout;

	if (!p->begun || !l->delimiter || l->column[TRACE_COL_URL] < 0)
		return false;
	f->parser = p;
	f->delimiters = swar_every((uint8_t)l->delimiter);
	f->last = 0;
	memset(f->column, TRACE_COLUMNS, sizeof(f->column));
	for (int c = 0; c < TRACE_COLUMNS; c++) {
		int at = l->column[c];

		if (at < 0)
			continue;
		if (f->column[at] != TRACE_COLUMNS)
			return false;
		f->column[at] = (uint8_t)c;
		if (at > f->last)
			f->last = at;
	}
	return true;
}

/* The first delimiter, quote, control byte or DEL: a line end at the latest. */
static inline const char *field_end(const struct plain *f, const char *at)
{
	for (;; at += 8) {
		uint64_t x = swar_load(at);
		uint64_t marks = swar_controls(x) |
				 swar_zeros(x ^ f->delimiters) |
				 swar_zeros(x ^ swar_every('"')) |
				 swar_zeros(x ^ swar_every(0x7f));

		if (marks)
			return at + swar_first(marks);
	}
}

/* Whole seconds, seconds with three decimals, others. */
static inline bool take_time(struct trace_text t, struct trace_row *row)
{
	static const uint64_t most = 1000000000000000; /* as scan_seconds() */
	uint64_t s, ms = 0;
	bool three = t.len > 4 && t.at[t.len - 4] == '.';

	if (swar_number(t.at, three ? t.len - 4 : t.len, &s) && s <= most &&
	    (!three || swar_eight(t.at + t.len - 3, 3, &ms)))
		row->time_ms = (int64_t)(s * 1000 + ms);
	else if (!scan_seconds(t, &row->time_ms))
		return false;
	row->time_ms = scan_which_unit(row->time_ms);
	return true;
}

static inline bool take_client(struct trace_text t, struct trace_row *row)
{
	if (t.len == 0 || (t.len == 1 && *t.at == '-'))
		return true;
	row->name = t;
	row->client = XXH3_64bits(t.at, t.len);
	return true;
}

static inline bool take_url(struct trace_parser *p, struct trace_text t,
			    struct trace_row *row)
{
	if (t.len == 0 || *t.at == '/')
		return false;
	if (p->layout.number_keys)
		return swar_number(t.at, t.len, &row->key);
	row->key = XXH3_64bits(t.at, t.len);
	return true;
}

static inline bool take_status(struct trace_text t, struct trace_row *row)
{
	uint64_t status;

	if (t.len == 0)
		return true;
	if (t.len != 3 || !swar_eight(t.at, 3, &status) || status < 100 ||
	    status > 599)
		return false;
	row->status = (uint16_t)status;
	return true;
}

static inline bool take_size(struct trace_text t, struct trace_row *row)
{
	if (t.len == 0 || (t.len == 1 && *t.at == '-'))
		return true;
	row->has_size = swar_number(t.at, t.len, &row->size);
	return row->has_size;
}

static inline bool take(const struct plain *f, int place, struct trace_text t,
			struct trace_row *row)
{
	switch ((enum trace_column)f->column[place]) {
	case TRACE_COL_TIME:
		return take_time(t, row);
	case TRACE_COL_CLIENT:
		return take_client(t, row);
	case TRACE_COL_METHOD:
		return scan_is_token(t);
	case TRACE_COL_URL:
		return take_url(f->parser, t, row);
	case TRACE_COL_STATUS:
		return take_status(t, row);
	case TRACE_COL_SIZE:
		return take_size(t, row);
	case TRACE_COLUMNS:
		break;
	}
	return true;
}

/* Where the line ends that has its end at `at`; null: it does not end there. */
static inline const char *line_end(const char *at)
{
	if (*at == '\r')
		at++;
	return *at == '\n' ? at + 1 : NULL;
}

/* The begin of the next line; null: this one is not plain. */
static inline const char *take_line(const struct plain *f, const char *at,
				    struct trace_row *row)
{
	const char delimiter = f->parser->layout.delimiter;

	*row = (struct trace_row){ .name = { "", 0 } };
	if (*at == '#' || *at == '\n' || *at == '\r')
		return NULL;
	for (int place = 0; place < TRACE_FIELDS_MAX; place++) {
		const char *end = field_end(f, at);
		struct trace_text field = { at, (size_t)(end - at) };

		if (place <= f->last && !take(f, place, field, row))
			return NULL;
		if (*end != delimiter)
			return place < f->last ? NULL : line_end(end);
		at = end + 1;
	}
	return NULL;
}

int csv_rows(struct trace_parser *p, struct trace_text *rest,
	     struct trace_row *rows, int max)
{
	const char *at = rest->at, *end = rest->at + rest->len;
	struct plain f;
	int n = 0;

	if (!prepare(&f, p))
		return 0;
	while (n < max && at < end) {
		const char *next = take_line(&f, at, &rows[n]);

		/* an overlong line is a complaint */
		if (!next || next - at > TRACE_LINE_MAX)
			break;
		at = next;
		n++;
	}
	rest->len = (size_t)(end - at);
	rest->at = at;
	return n;
}
