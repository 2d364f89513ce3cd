/*
 * digestctl query: which URLs a digest has. They come as arguments or, for
 * "-", as lines of standard input.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

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
	"digest or one of Squid's (FILE, -: standard input) has it: \"yes\"\n"
	"may be a false positive, \"no\" is certain. The exit code is 0 when\n"
	"it has all of them.\n"
	"  -k, --key HEX  the cluster key, 32 hexadecimal digits; not needed\n"
	"                 if the digest has Squid's hashing\n"
	"  -q, --quiet    only the exit code tells\n"
	"  -j, --json     as JSON\n";

static const struct option options[] = {
	{ "key", required_argument, NULL, 'k' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "json", no_argument, NULL, 'j' },
	{ 0 },
};

struct query {
	const struct scd_bloom *bloom;
	const uint8_t *secret; /* null if none was given */
	bool quiet;
	json_t *report; /* null without --json */
	int code;       /* so far */
};

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

static void ctl_query_ask(struct query *q, const char *url, size_t len)
{
	const struct url_key how = { q->bloom->hashing, q->secret };
	struct scd_key key;
	int error = url_key(&how, url, len, &key);
	bool has = !error && scd_bloom_has(q->bloom, &key);

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

	if (!code && !q->secret && d.bloom.hashing == SCD_HASHING_DOUBLE) {
		fprintf(stderr, "digestctl: %s: --key is needed to ask it\n",
			path);
		code = CTL_USAGE;
	}
	q->bloom = &d.bloom;
	if (!code)
		code = ctl_query_ask_all(q, urls);
	digest_close(&d);
	return code;
}

static bool ctl_query_take(struct query *q, int option, uint8_t *secret)
{
	switch (option) {
	case 'k':
		q->secret = secret;
		return arguments_key(optarg, secret);
	case 'q':
		q->quiet = true;
		return true;
	case 'j':
		if (!q->report)
			q->report = json_array();
		return q->report;
	}
	return false;
}

int ctl_query(int argc, char **argv)
{
	uint8_t secret[SCD_SECRET_BYTES];
	struct query q = { .code = CTL_OK };
	int c, code = CTL_USAGE;

	while ((c = getopt_long(argc, argv, "k:qj", options, NULL)) != -1) {
		if (!ctl_query_take(&q, c, secret))
			goto done;
	}
	if (argc - optind < 2)
		arguments_wrong("query", "needs a digest and URLs",
				ctl_query_help);
	else if (digest_one_stdin(NULL, argv + optind))
		code = ctl_query_file(&q, argv[optind], argv + optind + 1);
done:
	json_decref(q.report);
	return code;
}
