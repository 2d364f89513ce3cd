/*
 * digestctl diff: the delta that leads from one full digest to a later one of
 * the same instance.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "codec/delta.h"
#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/digest_file.h"
#include "digestd/ctl/digest_list.h"
#include "digestd/ctl/digest_open.h"
#include "digestd/ctl/digest_output.h"
#include "digestd/ctl/json_report.h"
#include "digestd/tool/arguments.h"

const char ctl_diff_help[] =
	"usage: digestctl diff [OPTIONS] OLD NEW\n"
	"Makes the delta between two full digests (-: standard input) of the\n"
	"same shape and instance, or two lists of the same width, of which\n"
	"NEW is of a later generation.\n";

typedef int encode_delta(const struct scd_bloom *base,
			 const struct scd_bloom *next,
			 const struct scd_digest_info *ids, uint8_t **out,
			 size_t *out_len);

static int ctl_diff_encode_smallest(const struct scd_bloom *base,
				    const struct scd_bloom *next,
				    const struct scd_digest_info *ids,
				    uint8_t **out, size_t *out_len)
{
	uint8_t *xor, *conditional;
	size_t xor_len, len;
	int error = scd_delta_encode(base, next, ids, &xor, &xor_len);

	if (error)
		return error;
	error = scd_delta_encode_conditional(base, next, ids, &conditional,
					     &len);
	if (error) {
		free(xor);
		return error;
	}
	/* of equals XOR: it can be composed */
	*out = len < xor_len ? conditional : xor;
	*out_len = len < xor_len ? len : xor_len;
	free(len < xor_len ? xor : conditional);
	return SCD_OK;
}

static encode_delta *const encoders[] = {
	scd_delta_encode,
	scd_delta_encode_conditional,
	ctl_diff_encode_smallest,
};

/* In the order of the encoders. */
static const char *const form_names[] = { "xor", "conditional", "smallest",
					  NULL };

struct diff {
	struct digest_output out; /* first: see digest_output_options */
	unsigned form;            /* of form_names */
	struct digest_open old, new;
};

static const struct tool_option diff_form[] = {
	{ .name = "form", .letter = 'F', .kind = OPTION_WORD,
	  .at = offsetof(struct diff, form), .words = form_names,
	  .value = "FORM",
	  .help = "of the delta: xor, conditional, or smallest of\n"
		  "both (xor); of lists there is one" },
	{ .name = NULL },
};

const struct tool_option *const ctl_diff_options[] = {
	diff_form, digest_output_options, NULL
};

/* Whether the two are states of one cache; if not, tells why. */
static bool ctl_diff_are_successive(const struct diff *d)
{
	const struct scd_digest_info *a = &d->old.info, *b = &d->new.info;

	if (!digest_same_shape(&d->old, &d->new))
		return false;
	if (a->instance != b->instance)
		fprintf(stderr,
			"digestctl: %s: instance %016" PRIx64
			"; %s is of %016" PRIx64 "\n",
			d->new.path, b->instance, d->old.path, a->instance);
	else if (a->generation >= b->generation)
		fprintf(stderr,
			"digestctl: %s: generation %" PRIu64
			" is not later than %" PRIu64 " of %s\n",
			d->new.path, b->generation, a->generation, d->old.path);
	else
		return true;
	return false;
}

static const char *ctl_diff_form_of(enum scd_digest_kind kind)
{
	switch (kind) {
	case SCD_DELTA_XOR:
		return "xor";
	case SCD_DELTA_CONDITIONAL:
		return "conditional";
	case SCD_LIST_DELTA:
		return "list";
	case SCD_FULL:
	case SCD_COUNTING:
	case SCD_LIST:
		break;
	}
	return "none";
}

static int ctl_diff_report(const struct diff *d, const uint8_t *delta,
			   size_t len)
{
	struct scd_digest_info info;
	int error = scd_digest_parse(delta, len, &digest_any_limits, &info);

	if (error)
		return digest_wrong(d->out.path, error);
	return json_report_print(json_pack(
		"{s:s, s:s, s:o, s:I, s:I, s:I, s:I, s:I}", "output",
		d->out.path, "form", ctl_diff_form_of(info.kind),
		"instance", json_report_hex(info.instance), "base_generation",
		(json_int_t)info.base_generation, "generation",
		(json_int_t)info.generation,
		d->old.list ? "changed_entries" : "changed_bits",
		(json_int_t)info.ncoded, "bytes", (json_int_t)len, "full_bytes",
		(json_int_t)d->new.len));
}

static int ctl_diff_encode_list(const struct diff *d, uint8_t **bytes,
				size_t *len)
{
	struct scd_list_change change;
	int error = digest_list_change(d->old.list, d->new.list, &change);

	if (error)
		return error;
	error = scd_list_delta_encode(d->old.list, &change,
				      d->new.info.generation, bytes, len);
	scd_list_change_free(&change);
	return error;
}

static int ctl_diff_encode(const struct diff *d, uint8_t **bytes, size_t *len)
{
	struct scd_digest_info ids = d->new.info;

	if (d->old.list)
		return ctl_diff_encode_list(d, bytes, len);
	ids.base_generation = d->old.info.generation;
	return encoders[d->form](&d->old.bloom, &d->new.bloom, &ids, bytes,
				 len);
}

static int ctl_diff_write_delta(const struct diff *d)
{
	uint8_t *bytes;
	size_t len;
	int error, code = CTL_OK;

	error = ctl_diff_encode(d, &bytes, &len);
	if (error)
		return digest_wrong(d->new.path, error);
	if (!digest_file_write(d->out.path, bytes, len))
		code = CTL_IO;
	else if (d->out.json)
		code = ctl_diff_report(d, bytes, len);
	free(bytes);
	return code;
}

static int ctl_diff_diff(struct diff *d, char **paths)
{
	int code = digest_open_full(paths[0], &d->old);

	if (!code)
		code = digest_open_full(paths[1], &d->new);
	if (!code)
		code = ctl_diff_are_successive(d)
			       ? ctl_diff_write_delta(d)
			       : CTL_NO;
	digest_close(&d->old);
	digest_close(&d->new);
	return code;
}

int ctl_diff(int argc, char **argv)
{
	struct diff d = { .out = DIGEST_OUTPUT_DEFAULT };

	if (!options_read(ctl_diff_options, argc, argv, &d))
		return CTL_USAGE;
	if (argc - optind != 2)
		return arguments_wrong("diff", "needs two digests",
				       ctl_diff_help);
	if (!digest_one_stdin(NULL, argv + optind) ||
	    !digest_output_may(&d.out))
		return CTL_USAGE;
	return ctl_diff_diff(&d, argv + optind);
}
