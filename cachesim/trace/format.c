/*
 * The list of formats and what they share.
 */
#include "cachesim/trace/format.h"

#include <stdlib.h>
#include <string.h>

#include "cachesim/trace/layout.h"

const struct trace_format *const trace_formats[] = {
	&trace_clf,   &trace_squid, &trace_csv,	     &trace_oracle,
	&trace_keys,  &trace_i32le, &trace_i32be,    &trace_i64le,
	&trace_i64be, &trace_binary, &trace_worldcup, NULL,
};

const struct trace_format *trace_format_named(const char *name)
{
	for (size_t i = 0; trace_formats[i]; i++) {
		const struct trace_format *f = trace_formats[i];

		if (!strcmp(f->name, name) ||
		    (f->alias && !strcmp(f->alias, name)))
			return f;
	}
	return NULL;
}

const struct trace_format *trace_format_detect(struct trace_text sample)
{
	const struct trace_format *best = NULL;
	unsigned best_score = 0;

	for (size_t i = 0; trace_formats[i]; i++) {
		const struct trace_format *f = trace_formats[i];
		unsigned score = f->score ? f->score(sample) : 0;

		if (score > best_score) {
			best = f;
			best_score = score;
		}
	}
	return best;
}

int trace_parser_init(struct trace_parser *p, const struct trace_format *f,
		      const char *base)
{
	memset(p, 0, sizeof(*p));
	p->format = f;
	p->base.at = base ? base : "http://localhost";
	p->base.len = strlen(p->base.at);
	while (p->base.len && p->base.at[p->base.len - 1] == '/')
		p->base.len--;
	p->block = f->block;
	trace_layout_init(&p->layout);
	p->scratch = malloc(TRACE_SCRATCH_BYTES);
	return p->scratch ? 0 : TRACE_ENOMEM;
}

int trace_parser_columns(struct trace_parser *p, const char *spec)
{
	int err = trace_layout_parse(&p->layout, spec);

	if (!err && p->format->laid_out) {
		p->block = p->layout.block;
		for (int c = 0; c < TRACE_COLUMNS; c++)
			if (p->layout.column[c] >= (int)p->layout.fields)
				err = TRACE_EOPTION;
	}
	return err;
}

void trace_parser_free(struct trace_parser *p)
{
	free(p->scratch);
	p->scratch = NULL;
}

int trace_parse(struct trace_parser *p, struct trace_text record,
		struct trace_request *req)
{
	p->used = 0;
	trace_request_clear(req);
	return p->format->parse(p, record, req);
}
