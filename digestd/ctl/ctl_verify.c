/*
 * digestctl verify: whether digests and deltas are good, as a node that
 * receives them judges.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codec/counting.h"
#include "codec/delta.h"
#include "codec/list.h"
#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/digest_file.h"
#include "digestd/ctl/digest_open.h"
#include "digestd/ctl/digest_squid.h"
#include "digestd/ctl/json_report.h"
#include "digestd/tool/arguments.h"

const char ctl_verify_help[] =
	"usage: digestctl verify [OPTIONS] FILE...\n"
	"Checks digests, deltas and Squid's digests (-: standard input) as a\n"
	"node does that receives them: the header, the payload, and the array\n"
	"that comes of it. The exit code is 0 when all are good.\n";

struct verify {
	struct scd_limits limits;
	uint64_t max_hashes; /* for the limits */
	double max_fp;
	const char *base_path; /* null without --base */
	struct digest_open base;
	bool quiet, json;
	json_t *report; /* null without --json */
};

#define AT(member) .at = offsetof(struct verify, member)

static const struct tool_option verify_rows[] = {
	{ .name = "base", .letter = 'B', .kind = OPTION_TEXT, AT(base_path),
	  .value = "FILE",
	  .help = "the full digest that the deltas are to be\n"
		  "applied to, each by itself" },
	{ .name = "max-bits", .letter = 'b', .kind = OPTION_COUNT,
	  AT(limits.max_bits), .value = "M",
	  .help = "largest array to accept (4G)" },
	{ .name = "max-hashes", .letter = 'H', .kind = OPTION_COUNT,
	  AT(max_hashes), .value = "K",
	  .help = "most hash functions to accept (32)" },
	{ .name = "max-fp", .letter = 'f', .kind = OPTION_REAL, AT(max_fp),
	  .max = 1, .value = "F",
	  .help = "highest false-positive rate to accept (0.05)" },
	{ .name = "quiet", .letter = 'q', .kind = OPTION_FLAG, AT(quiet),
	  .help = "print what is bad only" },
	{ .name = "json", .letter = 'j', .kind = OPTION_FLAG, AT(json),
	  .help = "as JSON" },
	{ .name = NULL },
};

#undef AT

const struct tool_option *const ctl_verify_options[] = { verify_rows, NULL };

static int ctl_verify_judge_counters(const struct verify *v,
				     const struct digest_open *d)
{
	struct scd_counting *counting = NULL;
	int error = scd_counting_decode(d->bytes, d->len, &v->limits, NULL,
					&counting);

	scd_counting_free(&counting);
	return error;
}

static int ctl_verify_judge_list(const struct verify *v,
				 const struct digest_open *d)
{
	struct scd_list *list = NULL;
	int error =
		scd_list_decode(d->bytes, d->len, &v->limits, NULL, &list);

	scd_list_free(&list);
	return error;
}

static int ctl_verify_judge_list_delta(const struct verify *v,
				       const struct digest_open *d)
{
	struct scd_list_change change;
	int error = SCD_EBASE;

	if (v->base.list)
		error = scd_list_delta_decode(d->bytes, d->len, &v->limits,
					      v->base.list, NULL, &change);
	if (!error)
		scd_list_change_free(&change);
	return error;
}

/* An SCD_ error of a digest's or delta's bytes. */
static int ctl_verify_judge_ours(const struct verify *v,
				 const struct digest_open *d)
{
	const struct scd_base base = { .bloom = &v->base.bloom,
				       .instance = v->base.info.instance,
				       .generation = v->base.info.generation };
	struct scd_digest_info info;
	struct scd_bloom bloom;
	int error = scd_digest_parse(d->bytes, d->len, &v->limits, &info);

	if (error)
		return error;
	if (info.kind == SCD_COUNTING)
		return ctl_verify_judge_counters(v, d);
	if (info.kind == SCD_LIST)
		return ctl_verify_judge_list(v, d);
	if (info.kind == SCD_LIST_DELTA)
		return ctl_verify_judge_list_delta(v, d);
	if (!scd_digest_is_delta(&info))
		error = scd_digest_decode(d->bytes, d->len, &v->limits, NULL,
					  &bloom);
	else if (v->base_path && !v->base.list)
		error = scd_delta_apply(d->bytes, d->len, &v->limits, &base,
					NULL, &bloom);
	else
		return SCD_EBASE;
	if (!error)
		scd_bloom_free(&bloom);
	return error;
}

/* The same of one of Squid's; its format has limits of its own. */
static int ctl_verify_judge_squid(const struct verify *v,
				  const struct digest_open *d)
{
	struct scd_bloom bloom;
	int error = scd_squid_decode(d->bytes, d->len, NULL, &bloom);

	if (error)
		return error;
	if (bloom.nbits > v->limits.max_bits ||
	    v->limits.max_hash < bloom.nhash)
		error = SCD_ELIMIT;
	scd_bloom_free(&bloom);
	return error;
}

/* An exit code; *reason is null for what is good. */
static int ctl_verify_judge(const struct verify *v, const struct digest_open *d,
			    const char **reason)
{
	bool squid = digest_squid_maybe(d);
	int error = squid ? ctl_verify_judge_squid(v, d)
			  : ctl_verify_judge_ours(v, d);

	*reason = NULL;
	if (!error)
		return CTL_OK;
	if (squid)
		*reason = scd_squid_fault(d->bytes, d->len);
	else if (error == SCD_EBASE && !v->base_path)
		*reason = "a delta; --base is needed to check it";
	if (!*reason)
		*reason = scd_strerror(error);
	return error == SCD_ENOMEM ? CTL_IO : CTL_NO;
}

/* Tells the verdict on a file: a reason, null for a good one. */
static int ctl_verify_tell(struct verify *v, const char *path,
			   const char *reason)
{
	if (!v->report && (reason || !v->quiet))
		printf("%s: %s\n", path, reason ? reason : "OK");
	if (v->report &&
	    json_array_append_new(v->report,
				  json_pack("{s:s, s:b, s:s?}", "file", path,
					    "ok", !reason, "reason", reason))) {
		fputs("digestctl: --json: out of memory\n", stderr);
		return CTL_IO;
	}
	return CTL_OK;
}

static int ctl_verify_file(struct verify *v, const char *path)
{
	struct digest_open d = { .path = path };
	const char *reason;
	int code;

	if (!digest_file_read(path, &d.bytes, &d.len)) {
		if (v->report)
			ctl_verify_tell(v, path, strerror(errno));
		return CTL_IO;
	}
	code = ctl_verify_judge(v, &d, &reason);
	digest_close(&d);
	return ctl_verify_tell(v, path, reason) ? CTL_IO : code;
}

static int ctl_verify_verify(struct verify *v, char **paths)
{
	int worst = CTL_OK;

	if (v->base_path)
		worst = digest_open_full(v->base_path, &v->base);
	if (worst)
		return worst;
	for (; *paths; paths++) {
		int code = ctl_verify_file(v, *paths);

		if (code > worst)
			worst = code;
	}
	return worst;
}

static bool ctl_verify_read(struct verify *v, int argc, char **argv)
{
	scd_limits_init(&v->limits);
	v->max_hashes = v->limits.max_hash;
	v->max_fp = v->limits.max_fp_ppm / 1e6;
	if (!options_read(ctl_verify_options, argc, argv, v))
		return false;
	v->limits.max_hash = v->max_hashes < SCD_MAX_HASH ?
				     (unsigned)v->max_hashes : SCD_MAX_HASH;
	v->limits.max_fp_ppm = (unsigned)(v->max_fp * 1e6 + .5);
	return true;
}

int ctl_verify(int argc, char **argv)
{
	struct verify v = { 0 };
	int code;

	if (!ctl_verify_read(&v, argc, argv))
		return CTL_USAGE;
	if (argc == optind)
		return arguments_wrong("verify", "needs files",
				       ctl_verify_help);
	if (!digest_one_stdin(v.base_path, argv + optind))
		return CTL_USAGE;
	v.report = v.json ? json_array() : NULL;
	if (v.json && !v.report)
		return json_report_print(NULL);
	code = ctl_verify_verify(&v, argv + optind);
	if (v.report && json_report_print(json_incref(v.report)))
		code = CTL_IO;
	digest_close(&v.base);
	json_decref(v.report);
	return code;
}
