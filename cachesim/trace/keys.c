/*
 * One key or URL a line, nothing else. Empty lines and lines that begin with
 * a # are skipped.
 */
#include "cachesim/trace/format.h"

#include <string.h>

#include "cachesim/trace/lines.h"
#include "cachesim/trace/scan.h"
#include "cachesim/trace/swar.h"

static int keys_parse(struct trace_parser *p, struct trace_text record,
		      struct trace_request *req)
{
	if (record.len == 0 || *record.at == '#')
		return TRACE_SKIP;
	return scan_url(p, record, req);
}

/* The first byte that is a control or DEL: a line's end, at the latest. */
static const char *keys_key_end(const char *at)
{
	for (;; at += 8) {
		uint64_t x = swar_load(at);
		uint64_t marks = swar_controls(x) |
				 swar_zeros(x ^ swar_every(0x7f));

		if (marks)
			return at + swar_first(marks);
	}
}

/* Lines that are a key as it is; the others are for keys_parse(). */
static int keys_rows(struct trace_parser *p, struct trace_text *rest,
		     struct trace_row *rows, int max)
{
	int n = 0;

	(void)p;
	for (; n < max && rest->len; n++) {
		const char *end = keys_key_end(rest->at);
		size_t len = (size_t)(end - rest->at);

		if (*end != '\n' || len == 0 || len > TRACE_LINE_MAX ||
		    *rest->at == '#' || *rest->at == '/')
			break;
		rows[n] = (struct trace_row){
			.key = trace_hash(rest->at, len),
			.name = { "", 0 },
		};
		rest->at = end + 1;
		rest->len -= len + 1;
	}
	return n;
}

/* Any text may be a list of keys; everything else is a better guess. */
static unsigned keys_score(struct trace_text sample)
{
	struct trace_text line = scan_first_line(sample);

	/* blanks separate something, but not keys */
	return sample.len && scan_is_text(sample) &&
			       !memchr(line.at, ' ', line.len) &&
			       !memchr(line.at, '\t', line.len)
		       ? 1
		       : 0;
}

const struct trace_format trace_keys = {
	.name = "keys",
	.alias = "txt",
	.about = "one key or URL a line",
	.score = keys_score,
	.parse = keys_parse,
	.rows = keys_rows,
};
