/*
 * digestctl info: what the header of a digest or delta says.
 */
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/bloom.h"
#include "codec/digest.h"
#include "digestd/ctl/arguments.h"
#include "digestd/ctl/command.h"
#include "digestd/ctl/digest_file.h"

const char command_info_help[] =
	"usage: digestctl info [--json] FILE\n"
	"Shows what a digest or delta (-: standard input) says of itself; its\n"
	"header is checked, its payload is not.\n"
	"  -j, --json  as JSON\n";

static const struct option options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ 0 },
};

static const char *kind_text(enum scd_digest_kind kind)
{
	switch (kind) {
	case SCD_FULL:
		return "full";
	case SCD_DELTA_XOR:
		return "delta";
	}
	return "unknown";
}

static const char *coding_text(enum scd_coding coding)
{
	switch (coding) {
	case SCD_CODING_EMPTY:
		return "empty";
	case SCD_CODING_STORED:
		return "stored";
	case SCD_CODING_RANGE:
		return "range";
	}
	return "unknown";
}

static double fill(const struct scd_digest_info *info)
{
	return (double)info->nones / (double)info->nbits;
}

static void print_text(const struct scd_digest_info *i, size_t len)
{
	printf("kind             %s, %s coding\n", kind_text(i->kind),
	       coding_text(i->coding));
	printf("size             %zu bytes\n", len);
	printf("array            %" PRIu64 " bits, %u hash functions\n",
	       i->nbits, i->nhash);
	printf("instance         %016" PRIx64 "\n", i->instance);
	printf("generation       %" PRIu64 "\n", i->generation);
	if (i->kind == SCD_DELTA_XOR)
		printf("base generation  %" PRIu64 ", %" PRIu64
		       " bits differ\n", i->base_generation, i->ncoded);
	printf("keys             %" PRIu64 ", estimated %.0f\n",
	       i->nkeys,
	       scd_bloom_estimate(i->nbits, i->nones, i->nhash));
	printf("fill             %.6f\n", fill(i));
	printf("false positives  %.6g\n", pow(fill(i), i->nhash));
}

static int print_json(const struct scd_digest_info *i, size_t len)
{
	char instance[17];
	json_t *o;
	int failed;

	snprintf(instance, sizeof(instance), "%016" PRIx64, i->instance);
	o = json_pack("{s:s, s:s, s:I, s:I, s:i, s:s, s:I, s:I, s:I, s:f,"
		      " s:f}",
		      "kind", kind_text(i->kind), "coding",
		      coding_text(i->coding), "bytes", (json_int_t)len, "nbits",
		      (json_int_t)i->nbits, "nhash", (int)i->nhash, "instance",
		      instance, "generation", (json_int_t)i->generation,
		      "base_generation", (json_int_t)i->base_generation,
		      "nkeys", (json_int_t)i->nkeys, "fill", fill(i), "fp",
		      pow(fill(i), i->nhash));
	failed = !o || json_dumpf(o, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(o);
	return failed ? CTL_NO : CTL_OK;
}

static int info(const char *path, bool json)
{
	const struct scd_limits any = { .max_bits = SCD_DIGEST_MAX_BITS,
					.max_hash = SCD_DIGEST_MAX_HASH,
					.max_fp_ppm = 1000000 };
	struct scd_digest_info i;
	uint8_t *bytes;
	size_t len;
	int error;

	if (!digest_file_read(path, &bytes, &len))
		return CTL_NO;
	error = scd_digest_parse(bytes, len, &any, &i);
	free(bytes);
	if (error) {
		fprintf(stderr, "digestctl: %s: %s\n", path,
			scd_strerror(error));
		return CTL_NO;
	}
	if (json)
		return print_json(&i, len);
	print_text(&i, len);
	return CTL_OK;
}

int command_info(int argc, char **argv)
{
	bool json = false;
	int c;

	while ((c = getopt_long(argc, argv, "j", options, NULL)) != -1) {
		if (c != 'j')
			return CTL_USAGE;
		json = true;
	}
	if (argc - optind != 1)
		return arguments_wrong("info", command_info_help);
	return info(argv[optind], json);
}
