/*
 * One key or URL a line, nothing else. Empty lines and lines that begin with
 * a # are skipped.
 */
#include "cachesim/trace/format.h"

#include <string.h>

#include "cachesim/trace/scan.h"

static int keys_parse(struct trace_parser *p, struct trace_text record,
		      struct trace_request *req)
{
	if (record.len == 0 || *record.at == '#')
		return TRACE_SKIP;
	return scan_url(p, record, req);
}

/* Any text may be a list of keys; everything else is a better guess. */
static unsigned keys_score(struct trace_text sample)
{
	for (size_t i = 0; i < sample.len; i++) {
		unsigned char c = (unsigned char)sample.at[i];

		if (c < 0x20 && c != '\n' && c != '\r' && c != '\t')
			return 0;
	}
	return sample.len ? 1 : 0;
}

const struct trace_format trace_keys = {
	.name = "keys",
	.alias = "txt",
	.about = "one key or URL a line",
	.score = keys_score,
	.parse = keys_parse,
};
