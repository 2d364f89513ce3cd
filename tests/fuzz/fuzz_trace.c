/*
 * A line "FORMAT COLUMNS", then bytes as records of that format. Reading many
 * at once must give what reading one by one gives, and every text must lie
 * where it may.
 */
#include <stdbool.h>
#include <string.h>

#include "cachesim/trace/format.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_INPUT = 65536, ROWS = 7 };

/* The next record; its bytes with the end. 0: none is whole. */
static size_t next_record(const struct trace_parser *p, struct trace_text rest,
			  struct trace_text *out)
{
	const char *lf;

	if (p->block) {
		*out = (struct trace_text){ rest.at, p->block };
		return rest.len < p->block ? 0 : p->block;
	}
	lf = rest.len ? memchr(rest.at, '\n', rest.len) : NULL;
	if (!lf)
		return 0;
	*out = (struct trace_text){ rest.at, (size_t)(lf - rest.at) };
	if (out->len && lf[-1] == '\r')
		out->len--;
	return (size_t)(lf - rest.at) + 1;
}

static bool inside(struct trace_text t, struct trace_text area)
{
	return t.at >= area.at && t.at + t.len <= area.at + area.len;
}

/* A text is of the record, of the parser's room, or constant and short. */
static void check_text(const struct trace_parser *p, struct trace_text t,
		       struct trace_text record)
{
	struct trace_text room = { p->scratch, TRACE_SCRATCH_BYTES };

	fuzz_must(t.at != NULL);
	fuzz_must(t.len <= 16 || inside(t, record) || inside(t, room));
}

static void check_request(const struct trace_parser *p,
			  struct trace_text record,
			  const struct trace_request *q)
{
	check_text(p, q->name, record);
	check_text(p, q->url, record);
	check_text(p, q->method, record);
	fuzz_must(q->status == 0 || (q->status >= 100 && q->status <= 599));
	fuzz_must(q->has_size || q->size == 0);
}

static void same(const struct trace_request *q, const struct trace_row *row)
{
	fuzz_must(q->key == row->key && q->client == row->client);
	fuzz_must(q->size == row->size && q->has_size == row->has_size);
	fuzz_must(q->time_ms == row->time_ms && q->status == row->status);
	fuzz_must(q->name.len == row->name.len);
	fuzz_must(!memcmp(q->name.at, row->name.at, row->name.len));
}

/* Rows at once, if there is a way, each against its record alone. */
static int try_rows(struct trace_parser *one, struct trace_parser *many,
		    struct trace_text *rest)
{
	struct trace_text record, whole = *rest, after;
	struct trace_row rows[ROWS];
	struct trace_request q;
	size_t len;
	int n;

	/* rows() gets whole records only */
	whole.len = 0;
	for (after = *rest; (len = next_record(one, after, &record)) > 0;
	     after.at += len, after.len -= len)
		whole.len += len;
	after = whole;
	many->used = 0;
	n = one->format->rows && whole.len
		    ? one->format->rows(many, &after, rows, ROWS)
		    : 0;
	fuzz_must(n >= 0 && n <= ROWS);
	for (int i = 0; i < n; i++) {
		len = next_record(one, *rest, &record);
		fuzz_must(len > 0 && trace_parse(one, record, &q) == 0);
		same(&q, &rows[i]);
		rest->at += len;
		rest->len -= len;
	}
	fuzz_must(n == 0 || rest->at == after.at);
	return n;
}

static void try_records(struct trace_parser *one, struct trace_parser *many,
			struct trace_text rest)
{
	struct trace_request q, again;
	struct trace_text record;
	size_t len;

	while ((len = next_record(one, rest, &record)) > 0) {
		int got;

		if (try_rows(one, many, &rest))
			continue;
		got = trace_parse(one, record, &q);
		fuzz_must(got <= TRACE_SKIP);
		if (got == 0)
			check_request(one, record, &q);
		fuzz_must(trace_parse(many, record, &again) == got);
		rest.at += len;
		rest.len -= len;
	}
}

static void try_format(const struct trace_format *f, const char *columns,
		       struct trace_text records)
{
	struct trace_parser p[2];
	int err = 0;

	for (int i = 0; i < 2; i++) {
		fuzz_must(trace_parser_init(&p[i], f, NULL) == 0);
		if (*columns)
			err = trace_parser_columns(&p[i], columns);
	}
	if (!err && (p[0].block || !f->laid_out))
		try_records(&p[0], &p[1], records);
	trace_parser_free(&p[0]);
	trace_parser_free(&p[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static char text[MAX_INPUT + TRACE_SLACK];
	const struct trace_format *f;
	struct trace_text all = { text, len };
	char *end, *blank;

	if (len > MAX_INPUT)
		return 0;
	memcpy(text, data, len);
	memset(text + len, 0, TRACE_SLACK);
	trace_format_detect(all);
	end = memchr(text, '\n', len);
	if (!end)
		return 0;
	*end = '\0';
	blank = strchr(text, ' ');
	if (blank)
		*blank++ = '\0';
	f = trace_format_named(text);
	if (f)
		try_format(f, blank ? blank : "",
			   (struct trace_text){
				   end + 1,
				   len - (size_t)(end + 1 - text) });
	return 0;
}
