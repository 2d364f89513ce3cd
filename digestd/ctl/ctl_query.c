/*
 * digestctl query: which URLs a digest has. They come as arguments or, for
 * "-", as lines of standard input.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "codec/bloom.h"
#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/digest_open.h"
#include "digestd/ctl/key_arguments.h"
#include "digestd/ctl/line_reader.h"
#include "digestd/ctl/json_report.h"
#include "digestd/ctl/url_key.h"

const char ctl_query_help[] =
	"usage: digestctl query [--key HEX] [OPTIONS] FILE URL...\n"
	"Tells for each URL (-: the lines of standard input) whether a full\n"
	"digest, a list or one of Squid's digests (FILE, -: standard input)\n"
	"has it: \"yes\" may be a false positive, \"no\" is certain. The exit\n"
	"code is 0 when it has all of them.\n";

struct query {
	const struct digest_open *digest;
	uint8_t secret[SCD_SECRET_BYTES];
	bool has_key, quiet, json;
	json_t *report; /* null without --json */
	int code;       /* so far */
};

static bool ctl_query_take_key(const char *option, const char *text, void *to)
{
	struct query *q = to;

	(void)option;
	q->has_key = arguments_key(text, q->secret);
	return q->has_key;
}

static const struct tool_option query_rows[] = {
	{ .name = "key", .letter = 'k', .kind = OPTION_CALL,
	  .take = ctl_query_take_key, .value = "HEX",
	  .help = "the cluster key, 32 hexadecimal digits; not\n"
		  "needed if the digest has Squid's hashing" },
	{ .name = "quiet", .letter = 'q', .kind = OPTION_FLAG,
	  .at = offsetof(struct query, quiet),
	  .help = "only the exit code tells" },
	{ .name = "json", .letter = 'j', .kind = OPTION_FLAG,
	  .at = offsetof(struct query, json), .help = "as JSON" },
	{ .name = NULL },
};

const struct tool_option *const ctl_query_options[] = { query_rows, NULL };

static void ctl_query_tell(const struct query *q, const char *url, size_t len,
			   bool has)
{
	if (q->report)
		json_array_append_new(
			q->report,
			json_pack("{s:s%, s:b}", "url", url, len, "has", has));
	else if (!q->quiet)
		printf("%s %.*s\n", has ? "yes" : "no ", (int)len, url);
}

static bool ctl_query_has(const struct digest_open *d,
			  const struct scd_key *key)
{
	return d->list ? scd_list_has(d->list, key)
		       : scd_bloom_has(&d->bloom, key);
}

static void ctl_query_ask(struct query *q, const char *url, size_t len)
{
	const struct url_key how = { q->digest->info.hashing,
				     q->has_key ? q->secret : NULL };
	struct scd_key key;
	int error = url_key(&how, url, len, &key);
	bool has = !error && ctl_query_has(q->digest, &key);

	if (error)
		fprintf(stderr, "digestctl: %.*s: %s\n", (int)len, url,
			scd_strerror(error));
	else
		ctl_query_tell(q, url, len, has);
	if (!has && q->code == CTL_OK)
		q->code = CTL_NO;
}

static void ctl_query_ask_lines(struct query *q)
{
	struct line_reader r;
	struct line line;
	int code = line_reader_open(&r, "-");

	while (!code && line_reader_next(&r, &line)) {
		if (!line.at) {
			fputs("digestctl: -: line too long\n", stderr);
			q->code = CTL_NO;
		} else if (line.len) {
			ctl_query_ask(q, line.at, line.len);
		}
	}
	if (code || r.failed)
		q->code = CTL_IO;
	line_reader_close(&r);
}

static int ctl_query_ask_all(struct query *q, char **urls)
{
	for (; *urls; urls++) {
		if (strcmp(*urls, "-"))
			ctl_query_ask(q, *urls, strlen(*urls));
		else
			ctl_query_ask_lines(q);
	}
	if (q->report && json_report_print(json_incref(q->report)))
		q->code = CTL_IO;
	return q->code;
}

static int ctl_query_file(struct query *q, const char *path, char **urls)
{
	struct digest_open d;
	int code = digest_open_full(path, &d);

	if (!code && !q->has_key && d.info.hashing != SCD_HASHING_SQUID) {
		fprintf(stderr, "digestctl: %s: --key is needed to ask it\n",
			path);
		code = CTL_USAGE;
	}
	q->digest = &d;
	if (!code)
		code = ctl_query_ask_all(q, urls);
	digest_close(&d);
	return code;
}

int ctl_query(int argc, char **argv)
{
	struct query q = { .code = CTL_OK };
	int code;

	if (!options_read(ctl_query_options, argc, argv, &q))
		return CTL_USAGE;
	if (argc - optind < 2)
		return arguments_wrong("query", "needs a digest and URLs",
				       ctl_query_help);
	if (!digest_one_stdin(NULL, argv + optind))
		return CTL_USAGE;
	q.report = q.json ? json_array() : NULL;
	if (q.json && !q.report)
		return json_report_print(NULL);
	code = ctl_query_file(&q, argv[optind], argv + optind + 1);
	json_decref(q.report);
	return code;
}
