/*
 * digestctl info: what the header of a digest or delta says.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "codec/bloom.h"
#include "codec/digest.h"
#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/digest_open.h"
#include "digestd/ctl/json_report.h"
#include "digestd/tool/arguments.h"

const char ctl_info_help[] =
	"usage: digestctl info [--json] FILE\n"
	"Shows what a digest or delta, or a digest of Squid's (-: standard\n"
	"input), says of itself; its header is checked, its payload is not.\n";

const struct tool_option *const ctl_info_options[] = {
	json_report_options, NULL
};

static const char *ctl_info_kind_text(enum scd_digest_kind kind)
{
	switch (kind) {
	case SCD_FULL:
		return "full";
	case SCD_DELTA_XOR:
		return "delta";
	case SCD_DELTA_CONDITIONAL:
		return "conditional delta";
	case SCD_COUNTING:
		return "counting";
	case SCD_LIST:
		return "list";
	case SCD_LIST_DELTA:
		return "list delta";
	}
	return "unknown";
}

static const char *ctl_info_coding_text(enum scd_coding coding)
{
	switch (coding) {
	case SCD_CODING_EMPTY:
		return "empty";
	case SCD_CODING_STORED:
		return "stored";
	case SCD_CODING_RANGE:
		return "range";
	case SCD_CODING_DENSE:
		return "dense";
	case SCD_CODING_GAPS:
		return "gaps";
	case SCD_CODING_SPARSE:
		return "sparse";
	case SCD_CODING_LIST:
		return "list";
	case SCD_CODING_MIRRORED_DENSE:
		return "mirrored dense";
	case SCD_CODING_MIRRORED_GAPS:
		return "mirrored gaps";
	case SCD_CODING_MIRRORED_SPARSE:
		return "mirrored sparse";
	case SCD_CODING_PARTS:
		return "parts";
	}
	return "unknown";
}

static const char *ctl_info_hashing_name(enum scd_hashing hashing)
{
	switch (hashing) {
	case SCD_HASHING_DOUBLE:
		return "double";
	case SCD_HASHING_SQUID:
		return "squid";
	case SCD_HASHING_PREFIX:
		return "prefix";
	}
	return "unknown";
}

static double ctl_info_fill(const struct scd_digest_info *info)
{
	return (double)info->nones / (double)info->nbits;
}

static void ctl_info_print_origin(const struct digest_open *d)
{
	const struct scd_digest_info *i = &d->info;

	printf("instance         %016" PRIx64 "\n", i->instance);
	printf("generation       %" PRIu64 "\n", i->generation);
	if (scd_digest_is_delta(i))
		printf("base generation  %" PRIu64 ", %" PRIu64 " %s differ\n",
		       i->base_generation, i->ncoded,
		       i->kind == SCD_LIST_DELTA ? "entries" : "bits");
}

static void ctl_info_print_text(const struct digest_open *d)
{
	const struct scd_digest_info *i = &d->info;

	if (d->is_squid)
		printf("kind             Squid's, version %u, for %u and up\n",
		       d->squid.version, d->squid.required);
	else
		printf("kind             %s, %s coding\n",
		       ctl_info_kind_text(i->kind),
		       ctl_info_coding_text(i->coding));
	printf("size             %zu bytes\n", d->len);
	if (i->hashing == SCD_HASHING_PREFIX)
		printf("fingerprints     %.0f bits\n", log2((double)i->nbits));
	else
		printf("array            %" PRIu64
		       " bits, %u hash functions%s\n",
		       i->nbits, i->nhash, digest_hashing_text(i->hashing));
	if (d->is_squid)
		printf("capacity         %" PRIu32 " entries of %u bits\n",
		       d->squid.capacity, d->squid.entry_bits);
	else
		ctl_info_print_origin(d);
	printf("keys             %" PRIu64 ", estimated %.0f\n", i->nkeys,
	       scd_bloom_estimate(i->nbits, i->nones, i->nhash));
	printf("fill             %.6f\n", ctl_info_fill(i));
	printf("false positives  %.6g\n", pow(ctl_info_fill(i), i->nhash));
}

/* What only one of the formats has. */
static json_t *ctl_info_json_origin(const struct digest_open *d)
{
	const struct scd_digest_info *i = &d->info;

	if (d->is_squid)
		return json_pack("{s:s, s:s, s:i, s:i, s:I, s:i, s:I}",
				 "format", "squid", "hashing", "squid",
				 "version", (int)d->squid.version, "required",
				 (int)d->squid.required, "capacity",
				 (json_int_t)d->squid.capacity, "entry_bits",
				 (int)d->squid.entry_bits, "count",
				 (json_int_t)d->squid.count);
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:I, s:I}", "format", "scd",
			 "hashing", ctl_info_hashing_name(i->hashing), "kind",
			 ctl_info_kind_text(i->kind), "coding",
			 ctl_info_coding_text(i->coding), "instance",
			 json_report_hex(i->instance), "generation",
			 (json_int_t)i->generation, "base_generation",
			 (json_int_t)i->base_generation);
}

static int ctl_info_print_json(const struct digest_open *d)
{
	const struct scd_digest_info *i = &d->info;
	json_t *o = ctl_info_json_origin(d);
	json_t *more = json_pack(
		"{s:I, s:I, s:i, s:I, s:f, s:f}", "bytes", (json_int_t)d->len,
		"nbits", (json_int_t)i->nbits, "nhash", (int)i->nhash, "nkeys",
		(json_int_t)i->nkeys, "fill", ctl_info_fill(i), "fp",
		pow(ctl_info_fill(i), i->nhash));

	if (json_object_update(o, more)) {
		json_decref(o);
		o = NULL;
	}
	json_decref(more);
	return json_report_print(o);
}

static int ctl_info_info(const char *path, bool json)
{
	struct digest_open d;
	int code = digest_open_header(path, &d);

	if (code)
		return code;
	if (json)
		code = ctl_info_print_json(&d);
	else
		ctl_info_print_text(&d);
	digest_close(&d);
	return code;
}

int ctl_info(int argc, char **argv)
{
	bool json = false;

	if (!options_read(ctl_info_options, argc, argv, &json))
		return CTL_USAGE;
	if (argc - optind != 1)
		return arguments_wrong("info", "needs one file", ctl_info_help);
	return ctl_info_info(argv[optind], json);
}
