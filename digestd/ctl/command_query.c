/*
 * digestctl query: which URLs a digest has.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "codec/bloom.h"
#include "digestd/ctl/arguments.h"
#include "digestd/ctl/command.h"
#include "digestd/ctl/digest_open.h"
#include "digestd/ctl/url_key.h"

const char command_query_help[] =
	"usage: digestctl query [--key HEX] FILE URL...\n"
	"Tells for each URL whether a full digest (FILE, -: standard input)\n"
	"or one of Squid's has it: \"yes\" may be a false positive, \"no\" is\n"
	"certain. The exit code is 0 when it has all of them.\n"
	"  -k, --key HEX  the cluster key, 32 hexadecimal digits; not needed\n"
	"                 if the digest has Squid's hashing\n";

static const struct option options[] = {
	{ "key", required_argument, NULL, 'k' },
	{ 0 },
};

static int query(const struct scd_bloom *bloom, const uint8_t *secret,
		 char **urls)
{
	const struct url_key how = { bloom->hashing, secret };
	int code = CTL_OK;

	for (; *urls; urls++) {
		struct scd_key key;
		int error = url_key(&how, *urls, strlen(*urls), &key);
		bool has = !error && scd_bloom_has(bloom, &key);

		if (error)
			fprintf(stderr, "digestctl: %s: %s\n", *urls,
				scd_strerror(error));
		else
			printf("%s %s\n", has ? "yes" : "no ", *urls);
		if (!has)
			code = CTL_NO;
	}
	return code;
}

/* secret: null if none was given. */
static int query_file(const char *path, const uint8_t *secret, char **urls)
{
	struct digest_open d;
	int code = digest_open_full(path, &d);

	if (!code && !secret && d.bloom.hashing == SCD_HASHING_DOUBLE) {
		fprintf(stderr, "digestctl: %s: --key is needed to ask it\n",
			path);
		code = CTL_USAGE;
	}
	if (!code)
		code = query(&d.bloom, secret, urls);
	digest_close(&d);
	return code;
}

int command_query(int argc, char **argv)
{
	uint8_t secret[SCD_SECRET_BYTES];
	bool has_key = false;
	int c;

	while ((c = getopt_long(argc, argv, "k:", options, NULL)) != -1) {
		if (c != 'k' || !arguments_key(optarg, secret))
			return CTL_USAGE;
		has_key = true;
	}
	if (argc - optind < 2)
		return arguments_wrong("query", command_query_help);
	return query_file(argv[optind], has_key ? secret : NULL,
			  argv + optind + 1);
}
