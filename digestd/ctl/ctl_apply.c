/*
 * digestctl apply: a full digest, brought up to date by deltas.
 */
#include <unistd.h>

#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/digest_open.h"
#include "digestd/ctl/digest_output.h"
#include "digestd/ctl/json_report.h"
#include "digestd/tool/arguments.h"

const char ctl_apply_help[] =
	"usage: digestctl apply [OPTIONS] BASE DELTA...\n"
	"Applies deltas, in the order given, to a full digest (-: standard\n"
	"input) and writes what comes of it as a full digest. Frames, as\n"
	"nodes send them, are applied to a list, too, and ages before them.\n";

const struct tool_option *const ctl_apply_options[] = {
	digest_output_options, NULL
};

static int ctl_apply_apply(struct digest_open *d, char **paths)
{
	int code = digest_open_full(*paths++, d);

	for (; !code && *paths; paths++)
		code = digest_step(d, *paths);
	return code;
}

static int ctl_apply_report(const struct digest_open *d, const char *output,
			    int ndeltas)
{
	return json_report_print(
		json_pack("{s:s, s:o, s:I, s:I, s:i, s:I}", "output", output,
			  "instance", json_report_hex(d->info.instance),
			  "generation", (json_int_t)d->info.generation, "nkeys",
			  (json_int_t)d->info.nkeys, "deltas", ndeltas, "bytes",
			  (json_int_t)d->len));
}

int ctl_apply(int argc, char **argv)
{
	struct digest_output o = DIGEST_OUTPUT_DEFAULT;
	struct digest_open d;
	int code;

	if (!options_read(ctl_apply_options, argc, argv, &o))
		return CTL_USAGE;
	if (argc - optind < 2)
		return arguments_wrong("apply", "needs a digest and deltas",
				       ctl_apply_help);
	if (!digest_one_stdin(NULL, argv + optind) || !digest_output_may(&o))
		return CTL_USAGE;
	code = ctl_apply_apply(&d, argv + optind);
	if (!code)
		code = digest_write_full(&d, o.path);
	if (!code && o.json)
		code = ctl_apply_report(&d, o.path, argc - optind - 1);
	digest_close(&d);
	return code;
}
