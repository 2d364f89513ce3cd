/*
 * digestctl build: a digest of a list of URLs.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "codec/bloom.h"
#include "codec/digest.h"
#include "digestd/ctl/arguments.h"
#include "digestd/ctl/command.h"
#include "digestd/ctl/digest_file.h"
#include "digestd/ctl/url_key.h"

const char command_build_help[] =
	"usage: digestctl build --key HEX --bits M --hashes K [OPTIONS] "
	"[FILE]\n"
	"       digestctl build --hashing squid --bits M [OPTIONS] [FILE]\n"
	"Makes a full digest of the URLs in FILE (- or none: standard input),\n"
	"one a line. Lines that are no http or https URL are named and left\n"
	"out; then the exit code is 1.\n"
	"  -k, --key HEX        the cluster key, 32 hexadecimal digits\n"
	"  -b, --bits M         size of the array, see digestctl tune\n"
	"  -H, --hashes K       hash functions\n"
	"      --hashing WAY    double, or squid: as Squid's digests have it,\n"
	"                       without a key, with 4 hash functions (double)\n"
	"  -o, --output FILE    where the digest goes (standard output)\n"
	"  -i, --instance N     instance in its header (1)\n"
	"  -g, --generation N   generation in its header (1)\n";

enum { OPTION_HASHING = 256 };

static const struct option options[] = {
	{ "key", required_argument, NULL, 'k' },
	{ "bits", required_argument, NULL, 'b' },
	{ "hashes", required_argument, NULL, 'H' },
	{ "hashing", required_argument, NULL, OPTION_HASHING },
	{ "output", required_argument, NULL, 'o' },
	{ "instance", required_argument, NULL, 'i' },
	{ "generation", required_argument, NULL, 'g' },
	{ 0 },
};

struct build {
	uint8_t secret[SCD_SECRET_BYTES];
	bool has_key;
	enum scd_hashing hashing;
	uint64_t nbits, nhash;
	struct scd_digest_info ids;
	const char *output;
	uint64_t bad; /* lines */
};

static bool take(struct build *b, int option, const char *text)
{
	switch (option) {
	case 'k':
		b->has_key = arguments_key(text, b->secret);
		return b->has_key;
	case 'b':
		return arguments_number("--bits", text, &b->nbits);
	case 'H':
		return arguments_number("--hashes", text, &b->nhash);
	case OPTION_HASHING:
		return arguments_hashing(text, &b->hashing);
	case 'i':
		return arguments_number("--instance", text, &b->ids.instance);
	case 'g':
		return arguments_number("--generation", text,
					&b->ids.generation);
	case 'o':
		b->output = text;
		return true;
	}
	return false;
}

/* Adds one URL. Returns an SCD_ error, SCD_EURI for what is none. */
static int add_url(struct build *b, struct scd_bloom *bloom, const char *url,
		   size_t len)
{
	const struct url_key how = { b->hashing, b->secret };
	struct scd_key key;
	int error = url_key(&how, url, len, &key);

	if (!error) {
		b->ids.nkeys += !scd_bloom_has(bloom, &key);
		scd_bloom_add(bloom, &key);
	}
	return error;
}

static int add_lines(struct build *b, struct scd_bloom *bloom, FILE *from,
		     const char *name)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;
	int error = SCD_OK;

	for (uint64_t n = 1;
	     error != SCD_ENOMEM && (len = getline(&line, &cap, from)) >= 0;
	     n++) {
		while (len && strchr("\r\n", line[len - 1]))
			len--;
		if (!len)
			continue;
		error = add_url(b, bloom, line, (size_t)len);
		if (error)
			fprintf(stderr, "digestctl: %s:%" PRIu64 ": %s\n", name,
				n, scd_strerror(error));
		b->bad += error == SCD_EURI;
	}
	free(line);
	return error == SCD_ENOMEM ? error : SCD_OK;
}

static int write_digest(struct build *b, const struct scd_bloom *bloom)
{
	uint8_t *bytes;
	size_t len;
	int error = scd_digest_encode(bloom, &b->ids, &bytes, &len);
	bool written;

	if (error) {
		fprintf(stderr, "digestctl: build: %s\n", scd_strerror(error));
		return CTL_NO;
	}
	written = digest_file_write(b->output, bytes, len);
	free(bytes);
	return written && !b->bad ? CTL_OK : CTL_NO;
}

static int build(struct build *b, const char *path)
{
	FILE *from = strcmp(path, "-") ? fopen(path, "r") : stdin;
	struct scd_bloom bloom;
	int error, code = CTL_NO;

	if (!from) {
		fprintf(stderr, "digestctl: %s: %s\n", path, strerror(errno));
		return CTL_NO;
	}
	error = scd_bloom_init(&bloom, b->nbits, (unsigned)b->nhash);
	if (error) {
		fprintf(stderr, "digestctl: --bits, --hashes: %s\n",
			scd_strerror(error));
		code = CTL_USAGE;
	} else {
		bloom.hashing = b->hashing;
		error = add_lines(b, &bloom, from, path);
		if (!error)
			code = write_digest(b, &bloom);
		scd_bloom_free(&bloom);
	}
	if (from != stdin)
		fclose(from);
	return code;
}

/* Is there all that the hashing wants, and is it possible? */
static bool shape_is_right(struct build *b)
{
	switch (b->hashing) {
	case SCD_HASHING_DOUBLE:
		return b->has_key && b->nbits && b->nhash &&
		       b->nhash <= SCD_MAX_HASH;
	case SCD_HASHING_SQUID:
		if (!b->nhash)
			b->nhash = SCD_SQUID_HASH;
		return b->nhash == SCD_SQUID_HASH && b->nbits &&
		       b->nbits % 8 == 0 && b->nbits <= SCD_SQUID_MAX_BITS;
	}
	return false;
}

int command_build(int argc, char **argv)
{
	struct build b = { .output = "-",
			   .ids = { .instance = 1, .generation = 1 } };
	int c;

	while ((c = getopt_long(argc, argv, "k:b:H:o:i:g:", options, NULL)) !=
	       -1) {
		if (c == '?' || !take(&b, c, optarg))
			return CTL_USAGE;
	}
	if (!shape_is_right(&b) || argc - optind > 1)
		return arguments_wrong("build", command_build_help);
	return build(&b, optind < argc ? argv[optind] : "-");
}
