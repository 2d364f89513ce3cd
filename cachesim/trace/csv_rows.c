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

#include "cachesim/trace/cacheable.h"
#include "cachesim/trace/lines.h"
#include "cachesim/trace/scan.h"
#include "cachesim/trace/swar.h"

/* What is the same for all lines. */
struct plain {
	uint64_t delimiters; /* the delimiter eight times */
	char delimiter;
	bool number_keys;
	int last; /* of the columns that are wanted, from 0 */
	uint8_t column[TRACE_FIELDS_MAX]; /* by place; TRACE_COLUMNS: none */
};

/* False: the columns are not known yet, or one place has two of them. */
static bool csv_rows_prepare(struct plain *f, const struct trace_parser *p)
{
	const struct trace_layout *l = &p->layout;

	if (!p->begun || !l->delimiter || l->column[TRACE_COL_URL] < 0)
		return false;
	f->number_keys = l->number_keys;
	f->delimiter = l->delimiter;
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

/* The first delimiter, control byte or, if asked for, DEL: a line's end. */
static inline const char *csv_rows_field_end(const struct plain *f,
					     const char *at, bool del)
{
	for (;; at += 8) {
		uint64_t x = swar_load(at);
		uint64_t marks = swar_controls(x) |
				 swar_zeros(x ^ f->delimiters);

		if (del)
			marks |= swar_zeros(x ^ swar_every(0x7f));
		if (marks)
			return at + swar_first(marks);
	}
}

/* Whether a field ends here. */
static inline bool csv_rows_is_end(const struct plain *f, const char *at)
{
	return *at == f->delimiter || *at == '\n' || *at == '\r';
}

/*
 * A field of each kind: the place behind it, or null if it is not plain.
 */
static inline const char *
csv_rows_take_time(const struct plain *f, const char *at, struct trace_row *row)
{
	uint64_t s, ms;
	unsigned n = swar_digits(at, &s);
	const char *end = at + n;

	if (n - 1 < 15 && csv_rows_is_end(f, end)) {
		row->time_ms = scan_which_unit((int64_t)(s * 1000));
		return end;
	}
	if (n - 1 < 15 && *end == '.' && swar_eight(end + 1, &ms) == 3 &&
	    csv_rows_is_end(f, end + 4)) {
		row->time_ms = scan_which_unit((int64_t)(s * 1000 + ms));
		return end + 4;
	}
	end = csv_rows_field_end(f, at, false);
	if (!scan_seconds((struct trace_text){ at, (size_t)(end - at) },
			  &row->time_ms))
		return NULL;
	row->time_ms = scan_which_unit(row->time_ms);
	return end;
}

static inline const char *csv_rows_take_client(const struct plain *f,
					       const char *at,
					       struct trace_row *row)
{
	const char *end = csv_rows_field_end(f, at, false);
	size_t len = (size_t)(end - at);

	if (len == 0 || (len == 1 && *at == '-'))
		return end;
	row->name = (struct trace_text){ at, len };
	row->client = XXH3_64bits(at, len);
	return end;
}

static inline const char *
csv_rows_take_url(const struct plain *f, const char *at, struct trace_row *row)
{
	const char *end;

	if (f->number_keys) {
		unsigned n = swar_digits(at, &row->key);

		return n - 1 < 16 && csv_rows_is_end(f, at + n) ? at + n : NULL;
	}
	end = csv_rows_field_end(f, at, true);
	if (end == at || *at == '/')
		return NULL;
	row->key = XXH3_64bits(at, (size_t)(end - at));
	return end;
}

static inline const char *csv_rows_take_status(const struct plain *f,
					       const char *at,
					       struct trace_row *row)
{
	uint64_t status;

	if (csv_rows_is_end(f, at))
		return at;
	if (swar_eight(at, &status) != 3 || status < 100 || status > 599)
		return NULL;
	row->status = (uint16_t)status;
	return at + 3;
}

static inline const char *
csv_rows_take_size(const struct plain *f, const char *at, struct trace_row *row)
{
	unsigned n;

	if (csv_rows_is_end(f, at))
		return at;
	if (*at == '-')
		return at + 1;
	n = swar_digits(at, &row->size);
	row->has_size = true;
	return n - 1 < 16 ? at + n : NULL;
}

/* The class by the method alone; csv_rows_line_class() adds the status. */
static inline const char *csv_rows_take_method(const struct plain *f,
					       const char *at,
					       struct trace_row *row)
{
	const char *end = csv_rows_field_end(f, at, false);
	struct trace_text method = { at, (size_t)(end - at) };

	if (method.len == 3 && !memcmp(at, "GET", 3))
		return end; /* cacheable, as a row begins */
	if (!scan_is_token(method))
		return NULL;
	row->class = (uint8_t)trace_cacheable_class(method, 0);
	return end;
}

static inline const char *csv_rows_take_version(const struct plain *f,
						const char *at,
						struct trace_row *row)
{
	const char *end = csv_rows_field_end(f, at, false);

	row->version = trace_version(
		(struct trace_text){ at, (size_t)(end - at) });
	return end;
}

static inline const char *csv_rows_take(const struct plain *f, int place,
					const char *at, struct trace_row *row)
{
	if (*at == '"')
		return NULL;
	switch ((enum trace_column)f->column[place]) {
	case TRACE_COL_TIME:
		return csv_rows_take_time(f, at, row);
	case TRACE_COL_CLIENT:
		return csv_rows_take_client(f, at, row);
	case TRACE_COL_METHOD:
		return csv_rows_take_method(f, at, row);
	case TRACE_COL_URL:
		return csv_rows_take_url(f, at, row);
	case TRACE_COL_STATUS:
		return csv_rows_take_status(f, at, row);
	case TRACE_COL_SIZE:
		return csv_rows_take_size(f, at, row);
	case TRACE_COL_VERSION:
		return csv_rows_take_version(f, at, row);
	case TRACE_COLUMNS:
		break;
	}
	return csv_rows_field_end(f, at, false);
}

/* Where the line ends that has its end at `at`; null: it does not end there. */
static inline const char *csv_rows_line_end(const char *at)
{
	if (*at == '\r')
		at++;
	return *at == '\n' ? at + 1 : NULL;
}

/* The class by the status, too: the same as trace_cacheable_class() of both. */
static inline void csv_rows_line_class(struct trace_row *row)
{
	static const struct trace_text get = { "GET", 3 }, post = { "POST", 4 };

	if (row->status == 0 || row->status == 200)
		return;
	if (row->class == TRACE_CACHEABLE)
		row->class = (uint8_t)trace_cacheable_class(get, row->status);
	else if (row->class == TRACE_UNSAFE)
		row->class = (uint8_t)trace_cacheable_class(post, row->status);
}

/* The begin of the next line; null: this one is not plain. */
static inline const char *
csv_rows_take_line(const struct plain *f, const char *at, struct trace_row *row)
{
	*row = (struct trace_row){ .name = { "", 0 } };
	if (*at == '#' || *at == '\n' || *at == '\r')
		return NULL;
	for (int place = 0; place < TRACE_FIELDS_MAX; place++) {
		at = csv_rows_take(f, place, at, row);
		if (!at)
			return NULL;
		if (*at != f->delimiter) {
			csv_rows_line_class(row);
			return place < f->last ? NULL : csv_rows_line_end(at);
		}
		at++;
	}
	return NULL;
}

int csv_rows(struct trace_parser *p, struct trace_text *rest,
	     struct trace_row *rows, int max)
{
	const char *at = rest->at, *end = rest->at + rest->len;
	struct plain f;
	int n = 0;

	if (!csv_rows_prepare(&f, p))
		return 0;
	while (n < max && at < end) {
		const char *next = csv_rows_take_line(&f, at, &rows[n]);

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
