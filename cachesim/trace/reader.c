/*
 * A source is a file or the generator: two rows of one table. The reader adds
 * to a file's parser what belongs to reading: numbers, and what to do with a
 * bad record.
 */
#include "cachesim/trace/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/trace/cacheable.h"
#include "cachesim/trace/format.h"
#include "cachesim/trace/generator.h"
#include "cachesim/trace/layout.h"
#include "cachesim/trace/lines.h"
#include "cachesim/trace/scan.h"

enum {
	FORMAT_SURE = 90, /* a score that leaves no doubt */
	ROWS_MAX = 256,
	NAME_MAX_BYTES = 48, /* an address fits; longer names are none */
};

struct source {
	const char *prefix; /* of the name that the user gives */
	int (*open)(struct trace_reader *r, const char *name);
	int (*next)(struct trace_reader *r, struct trace_request *req);
	int (*rows)(struct trace_reader *r, struct trace_row *rows, int max);
	void (*close)(struct trace_reader *r);
};

struct trace_reader {
	const struct source *source;
	const struct trace_options *opt; /* only while opening */
	char *file;
	bool strict, all_cacheable;
	void (*complain)(void *arg, const struct trace_complaint *c);
	void *arg;
	uint64_t bad;
	uint64_t expected;
	uint64_t wanted, left; /* requests, in all and still */
	int ended; /* what trace_rows() will return once no row is left */
	char names[ROWS_MAX][NAME_MAX_BYTES]; /* of the rows' clients */
	/* a file */
	struct trace_input *input;
	struct trace_lines lines;
	struct trace_parser parser;
	/* the generator */
	struct trace_generator *generator;
};

/* Says what a file was taken for, where its content does not prove it. */
static void reader_note_format(const struct trace_reader *r,
			       const struct trace_format *f)
{
	char text[TRACE_WHY_MAX];
	struct trace_complaint c = { r->file, 0, 0, text };

	snprintf(text, sizeof(text), "taken for %s (%s); --trace-type names "
		 "another format", f->name, f->about);
	if (r->complain)
		r->complain(r->arg, &c);
}

/* The format that was asked for, or the one that the content shows. */
static int reader_pick_format(struct trace_reader *r,
			      const struct trace_format **out)
{
	struct trace_text sample;
	int err;

	if (r->opt->format) {
		*out = trace_format_named(r->opt->format);
		return *out ? 0 : TRACE_EUNKNOWN;
	}
	err = trace_lines_peek(&r->lines, &sample);
	if (err)
		return err;
	/* nothing at all is a trace without requests */
	*out = sample.len ? trace_format_detect(sample) : &trace_keys;
	if (!*out)
		return scan_is_text(sample) ? TRACE_EBLANKS : TRACE_EUNKNOWN;
	/* a CSV without a header says itself what it takes for granted */
	if (sample.len && *out != &trace_csv &&
	    (*out)->score(sample) < FORMAT_SURE)
		reader_note_format(r, *out);
	return 0;
}

/* Drops the mark of UTF-8 that some programs put before a text. */
static int reader_skip_mark(struct trace_reader *r)
{
	static const char mark[] = "\xef\xbb\xbf";
	const struct trace_format *f = NULL;
	struct trace_text sample;
	int err = trace_lines_peek(&r->lines, &sample);

	if (r->opt->format)
		f = trace_format_named(r->opt->format);
	if (!err && !(f && (f->block || f->laid_out)) &&
	    sample.len >= strlen(mark) &&
	    !memcmp(sample.at, mark, strlen(mark)))
		trace_lines_take(&r->lines, strlen(mark), 0);
	return err;
}

static int reader_file_open(struct trace_reader *r, const char *name)
{
	const struct trace_format *format;
	int err = trace_input_open(&r->input, name);

	if (!err)
		err = trace_lines_init(&r->lines, r->input);
	if (!err)
		err = reader_skip_mark(r);
	if (!err)
		err = reader_pick_format(r, &format);
	if (!err)
		err = trace_parser_init(&r->parser, format, r->opt->base);
	if (!err && r->opt->columns)
		err = trace_parser_columns(&r->parser, r->opt->columns);
	/* a record without a size would never end the trace */
	if (!err && format->laid_out && !r->parser.block)
		err = TRACE_EOPTION;
	return err;
}

/* A bad record: counted and told. 0 to go on with the next one. */
static int reader_file_bad(struct trace_reader *r, int reason)
{
	struct trace_complaint c = { r->file, r->lines.number, reason,
				     *r->parser.note ? r->parser.note : NULL };

	r->bad++;
	if (r->complain)
		r->complain(r->arg, &c);
	return r->strict || reason == TRACE_EHEADER ? reason : 0;
}

/* Says once what the parser has assumed. */
static void reader_file_note(struct trace_reader *r)
{
	struct trace_complaint c = { r->file, r->lines.number, 0,
				     r->parser.note };

	if (r->complain)
		r->complain(r->arg, &c);
	r->parser.note[0] = '\0';
}

static int reader_file_next(struct trace_reader *r, struct trace_request *req)
{
	size_t block = r->parser.block;
	struct trace_text record;

	for (;;) {
		int err = block ? trace_lines_block(&r->lines, block, &record)
				: trace_lines_next(&r->lines, &record);

		if (err == 0 || err == TRACE_EIO || err == TRACE_ECODING)
			return err;
		if (err > 0)
			err = trace_parse(&r->parser, record, req);
		if (err >= 0 && *r->parser.note)
			reader_file_note(r);
		if (err == 0)
			return 1;
		if (err < 0)
			err = reader_file_bad(r, err);
		if (err < 0)
			return err;
	}
}

/* Plain records at once; 0: one has to be looked at by itself. */
static int reader_file_rows(struct trace_reader *r, struct trace_row *rows,
			    int max)
{
	const struct trace_format *format = r->parser.format;
	struct trace_text run, rest;
	int n;

	if (!format->rows)
		return 0;
	n = trace_lines_run(&r->lines, r->parser.block, &run);
	if (n <= 0)
		return n;
	rest = run;
	r->parser.used = 0;
	n = format->rows(&r->parser, &rest, rows, max);
	trace_lines_take(&r->lines, run.len - rest.len, (uint64_t)n);
	return n;
}

static void reader_file_close(struct trace_reader *r)
{
	trace_parser_free(&r->parser);
	trace_lines_free(&r->lines);
	trace_input_free(&r->input);
}

static int reader_gen_open(struct trace_reader *r, const char *name)
{
	struct trace_plan plan;
	int err = trace_plan_parse(&plan, name);

	if (err)
		return err;
	r->expected = plan.requests;
	return trace_generator_new(&r->generator, &plan);
}

static int reader_gen_next(struct trace_reader *r, struct trace_request *req)
{
	return trace_generator_next(r->generator, req);
}

static int reader_gen_rows(struct trace_reader *r, struct trace_row *rows,
			   int max)
{
	return trace_generator_rows(r->generator, rows, max);
}

static void reader_gen_close(struct trace_reader *r)
{
	trace_generator_free(&r->generator);
}

static const struct source sources[] = {
	{"gen:", reader_gen_open, reader_gen_next, reader_gen_rows,
	 reader_gen_close},
	{"", reader_file_open, reader_file_next, reader_file_rows,
	 reader_file_close},
};

int trace_open(struct trace_reader **out, const char *name,
	       const struct trace_options *opt)
{
	static const struct trace_options defaults;
	struct trace_reader *r = calloc(1, sizeof(*r));
	const struct source *s = sources;
	int err;

	*out = NULL;
	if (!r)
		return TRACE_ENOMEM;
	r->opt = opt ? opt : &defaults;
	r->strict = r->opt->strict;
	r->all_cacheable = r->opt->all_cacheable;
	r->complain = r->opt->complain;
	r->arg = r->opt->arg;
	r->ended = 1;
	r->left = r->opt->requests ? r->opt->requests : UINT64_MAX;
	r->wanted = r->left;
	r->file = strdup(name);
	while (strncmp(name, s->prefix, strlen(s->prefix)))
		s++;
	r->source = s;
	err = r->file ? s->open(r, name + strlen(s->prefix)) : TRACE_ENOMEM;
	r->opt = NULL;
	if (err)
		trace_close(&r);
	*out = r;
	return err;
}

/* The part of a name, or of the columns, that is wrong; empty: not one. */
static struct trace_text reader_refused_part(const char *name,
					     const char *columns)
{
	static const char gen[] = "gen:";
	struct trace_layout layout;
	struct trace_plan plan;

	if (!strncmp(name, gen, strlen(gen))) {
		trace_plan_parse(&plan, name + strlen(gen));
		return plan.refused;
	}
	trace_layout_init(&layout);
	if (columns)
		trace_layout_parse(&layout, columns);
	return layout.refused;
}

const char *trace_explain(const char *name, const char *columns, int code,
			  char *buf, size_t size)
{
	struct trace_text part = { "", 0 };
	const char *why = code == TRACE_EIO ? strerror(errno)
					    : trace_strerror(code);

	if (code == TRACE_EOPTION) {
		part = reader_refused_part(name, columns);
		if (!part.len)
			why = "options that do not go together, or too few";
	}
	snprintf(buf, size, "%.*s%s%s", (int)part.len, part.at,
		 part.len ? ": " : "", why);
	return buf;
}

int trace_next(struct trace_reader *r, struct trace_request *req)
{
	int got = r->left ? r->source->next(r, req) : 0;

	if (got > 0)
		r->left--;
	return got;
}

/* Keeps a client's name for as long as rows live; no longer than needed. */
static struct trace_text reader_keep_name(struct trace_reader *r, int row,
					  struct trace_text name)
{
	char *at = r->names[row];

	if (name.len > NAME_MAX_BYTES)
		return (struct trace_text){ "", 0 };
	memcpy(at, name.at, name.len);
	return (struct trace_text){at, name.len};
}

/* Up to max requests one by one; what stops them is noted. */
static int reader_slow_rows(struct trace_reader *r, struct trace_row *rows,
			    int max)
{
	struct trace_request q;
	int n = 0;

	while (n < max && r->ended > 0) {
		r->ended = trace_next(r, &q);
		if (r->ended <= 0)
			break;
		rows[n] = (struct trace_row){
			.key = q.key,
			.client = q.client,
			.size = q.size,
			.version = q.version,
			.time_ms = q.time_ms,
			.name = reader_keep_name(r, n, q.name),
			.status = (uint16_t)q.status,
			.class = (uint8_t)trace_cacheable_class(q.method,
								q.status),
			.has_size = q.has_size,
		};
		n++;
	}
	return n;
}

int trace_rows(struct trace_reader *r, struct trace_row *rows, int max)
{
	bool fast = r->generator || r->parser.format->rows;
	int n = 0;

	if (max > ROWS_MAX)
		max = ROWS_MAX;
	if ((uint64_t)max > r->left)
		max = (int)r->left;
	if (r->left == 0 && r->ended > 0)
		r->ended = 0;
	if (r->ended > 0)
		n = r->source->rows(r, rows, max);
	if (n < 0)
		r->ended = n;
	else
		r->left -= (uint64_t)n;
	/* one that is not plain, and then again many at once */
	if (n == 0)
		n = reader_slow_rows(r, rows, fast ? 1 : max);
	for (int i = 0; i < n && r->all_cacheable; i++)
		rows[i].class = TRACE_CACHEABLE;
	return n > 0 ? n : r->ended;
}

uint64_t trace_bad(const struct trace_reader *r)
{
	return r->bad;
}

uint64_t trace_expected(const struct trace_reader *r)
{
	uint64_t n = r->expected;
	double share;

	if (!r->generator) {
		share = trace_input_share(r->input);
		n = share > 0 ? (uint64_t)((double)r->lines.number / share) : 0;
	}
	return n < r->wanted ? n : r->wanted;
}

const char *trace_format_of(const struct trace_reader *r)
{
	return r->generator ? "gen" : r->parser.format->name;
}

void trace_close(struct trace_reader **r)
{
	if (!*r)
		return;
	(*r)->source->close(*r);
	free((*r)->file);
	free(*r);
	*r = NULL;
}
