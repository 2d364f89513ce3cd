/*
 * digestctl query: which URLs a digest has.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/bloom.h"
#include "codec/uri.h"
#include "digestd/ctl/arguments.h"
#include "digestd/ctl/command.h"
#include "digestd/ctl/digest_open.h"

const char command_query_help[] =
	"usage: digestctl query --key HEX FILE URL...\n"
	"Tells for each URL whether a full digest (FILE, -: standard input)\n"
	"has it: \"yes\" may be a false positive, \"no\" is certain. The exit\n"
	"code is 0 when it has all of them.\n"
	"  -k, --key HEX  the cluster key, 32 hexadecimal digits\n";

static const struct option options[] = {
	{ "key", required_argument, NULL, 'k' },
	{ 0 },
};

/* 1: has it, 0: has it not, negative: an SCD_ error. */
static int has_url(const struct scd_bloom *bloom, const uint8_t *secret,
		   const char *url)
{
	size_t len = strlen(url);
	char *canonical = malloc(len + 2);
	struct scd_key key;
	int result = SCD_ENOMEM;

	if (canonical)
		result = scd_uri_canonical(url, len, canonical, len + 2, &len);
	if (!result) {
		scd_key_make(secret, "GET", canonical, len, &key);
		result = scd_bloom_has(bloom, &key);
	}
	free(canonical);
	return result;
}

static int query(const struct scd_bloom *bloom, const uint8_t *secret,
		 char **urls)
{
	int code = CTL_OK;

	for (; *urls; urls++) {
		int has = has_url(bloom, secret, *urls);

		if (has < 0)
			fprintf(stderr, "digestctl: %s: %s\n", *urls,
				scd_strerror(has));
		else
			printf("%s %s\n", has ? "yes" : "no ", *urls);
		if (has != 1)
			code = CTL_NO;
	}
	return code;
}

static int query_file(const char *path, const uint8_t *secret, char **urls)
{
	struct digest_open d;
	int code = digest_open_full(path, &d);

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
	if (!has_key || argc - optind < 2)
		return arguments_wrong("query", command_query_help);
	return query_file(argv[optind], secret, argv + optind + 1);
}
