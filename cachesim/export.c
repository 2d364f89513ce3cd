/*
 * A trace written as a file of another format.
 */
#include "config.h"

#include "cachesim/export.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/sim/compact.h"
#include "cachesim/trace/cacheable.h"
#include "cachesim/workload.h"
#include "digestd/tool/command.h"
#include "digestd/tool/progress.h"

static int export_complain(const struct settings *s, int error)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name,
		s->output, strerror(error));
	return TOOL_IO;
}

static FILE *export_open_output(const struct settings *s)
{
	return strcmp(s->output, "-") ? fopen(s->output, "w") : stdout;
}

/* Ends the file; tells what went wrong with it. */
static int export_close_output(const struct settings *s, FILE *to, int code)
{
	bool bad = ferror(to);

	if (to == stdout ? fflush(to) : fclose(to))
		bad = true;
	return bad && !code ? export_complain(s, errno) : code;
}

static void export_write_text(FILE *to, struct trace_text text)
{
	bool quote = false;

	for (size_t i = 0; i < text.len; i++)
		quote |= text.at[i] == ',' || text.at[i] == '"';
	if (!quote) {
		fwrite(text.at, 1, text.len, to);
		return;
	}
	putc('"', to);
	for (size_t i = 0; i < text.len; i++) {
		if (text.at[i] == '"')
			putc('"', to);
		putc(text.at[i], to);
	}
	putc('"', to);
}

static void export_csv_head(FILE *to)
{
	fputs("time,client,method,url,status,size\n", to);
}

static void export_csv_request(FILE *to, const struct trace_request *req)
{
	fprintf(to, "%" PRId64 ".%03d,", req->time_ms / 1000,
		(int)(req->time_ms % 1000));
	export_write_text(to, req->name);
	putc(',', to);
	export_write_text(to, req->method);
	putc(',', to);
	export_write_text(to, req->url);
	fprintf(to, ",%u,", req->status ? req->status : 200);
	if (req->has_size)
		fprintf(to, "%" PRIu64, req->size);
	putc('\n', to);
}

static void export_no_head(FILE *to)
{
	(void)to;
}

static void export_keys_request(FILE *to, const struct trace_request *req)
{
	fwrite(req->url.at, 1, req->url.len, to);
	putc('\n', to);
}

/* How a text format begins, and writes a request. */
struct text_form {
	void (*head)(FILE *to);
	void (*request)(FILE *to, const struct trace_request *req);
	bool has_class; /* it keeps method and status */
};

static const struct text_form text_csv = {export_csv_head, export_csv_request,
					  true};
static const struct text_form text_keys = {export_no_head, export_keys_request,
					   false};

/* What the format cannot mark as uncacheable is left out. */
static bool export_keeps(const struct trace_request *req,
			 const struct settings *s, const struct text_form *form)
{
	return form->has_class || s->all_cacheable ||
	       trace_cacheable_class(req->method, req->status) ==
		       TRACE_CACHEABLE;
}

static void export_left_out(const struct settings *s, uint64_t n)
{
	if (n && !s->quiet)
		fprintf(stderr,
			"%s: %s: %" PRIu64 " uncacheable requests left out\n",
			program_invocation_short_name, s->trace, n);
}

/* Copies all requests, or as many as are wanted; their end, or an error. */
static int export_copy(struct trace_reader *from, FILE *to,
		       const struct settings *s, const struct text_form *form)
{
	struct trace_request req;
	struct progress p;
	uint64_t n = 0, left_out = 0;
	int got = 0;

	progress_start(&p, s->quiet ? PROGRESS_NEVER : PROGRESS_TERMINAL,
		       "writing", trace_expected(from));
	p.noun = "requests";
	form->head(to);
	while ((!s->num_req || n < s->num_req) &&
	       (got = trace_next(from, &req)) > 0) {
		if (export_keeps(&req, s, form))
			form->request(to, &req);
		else
			left_out++;
		if (!(++n & 0xfff))
			progress_tell(&p, n, n);
	}
	progress_clear(&p);
	export_left_out(s, left_out);
	return got < 0 ? got : 0;
}

static int export_write_lines(struct settings *s, const struct text_form *form)
{
	struct workload_complaints state;
	struct trace_options opt = workload_options(s, &state);
	struct trace_reader *from;
	FILE *to;
	int error = trace_open(&from, s->trace, &opt), code = TOOL_OK;

	if (error)
		return workload_failed(s, error);
	to = export_open_output(s);
	if (!to) {
		trace_close(&from);
		return export_complain(s, errno);
	}
	error = export_copy(from, to, s, form);
	if (error)
		code = workload_failed(s, error);
	else
		workload_left_out(s->trace, trace_bad(from), &state);
	trace_close(&from);
	return export_close_output(s, to, code);
}

static int export_write_csv(struct settings *s)
{
	return export_write_lines(s, &text_csv);
}

static int export_write_keys(struct settings *s)
{
	return export_write_lines(s, &text_keys);
}

static int export_write_compact(struct settings *s)
{
	struct sim_trace t;
	int code = workload_load(&t, s), error;

	if (code)
		return code;
	error = sim_compact_write(&t, s->output);
	sim_trace_free(&t);
	if (error == TRACE_EIO)
		return export_complain(s, errno);
	return error ? workload_failed(s, error) : TOOL_OK;
}

/* A record of libCacheSim's oracleGeneral, little endian, 24 bytes. */
static void export_put_oracle(FILE *to, const struct sim_trace *t, uint64_t i,
			      int64_t next)
{
	uint32_t time = htole32(t->time ? t->time[i] : (uint32_t)i);
	uint64_t object = htole64((uint64_t)t->object[i] + 1);
	uint32_t size = htole32(t->size[t->object[i]]);
	uint64_t when = htole64((uint64_t)next);

	fwrite(&time, sizeof(time), 1, to);
	fwrite(&object, sizeof(object), 1, to);
	fwrite(&size, sizeof(size), 1, to);
	fwrite(&when, sizeof(when), 1, to);
}

/* For each request the number of the next one for its object; -1: none. */
static bool export_list_next(const struct sim_trace *t, int64_t *next)
{
	int64_t *seen = malloc((t->nobjects + (size_t)1) * sizeof(*seen));

	if (!seen)
		return false;
	for (uint32_t o = 0; o < t->nobjects; o++)
		seen[o] = -1;
	for (uint64_t i = t->nrequests; i--;) {
		next[i] = seen[t->object[i]];
		seen[t->object[i]] = (int64_t)i;
	}
	free(seen);
	return true;
}

static int export_write_oracle_of(const struct sim_trace *t,
				  const struct settings *s)
{
	int64_t *next = malloc(t->nrequests * sizeof(*next));
	int code = TOOL_IO;
	FILE *to;

	if (!next || !export_list_next(t, next)) {
		free(next);
		return export_complain(s, ENOMEM);
	}
	to = export_open_output(s);
	if (to) {
		for (uint64_t i = 0; i < t->nrequests; i++)
			export_put_oracle(to, t, i, next[i]);
		code = export_close_output(s, to, TOOL_OK);
	} else {
		export_complain(s, errno);
	}
	free(next);
	return code;
}

static int export_write_oracle(struct settings *s)
{
	struct sim_trace t;
	int code = workload_load(&t, s);

	if (code)
		return code;
	code = export_write_oracle_of(&t, s);
	if (!code)
		export_left_out(s, t.npasses);
	sim_trace_free(&t);
	return code;
}

const char *const export_forms[] = { "compact", "csv", "keys",
				     "oracleGeneral", NULL };

/* In the order of export_forms. */
static int (*const writers[])(struct settings *s) = {
	export_write_compact, export_write_csv, export_write_keys,
	export_write_oracle};

int export_trace(struct settings *s)
{
	if (!s->output)
		s->output = "-";
	return writers[s->form](s);
}
