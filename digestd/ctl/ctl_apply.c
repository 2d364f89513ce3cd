/*
 * digestctl apply: a full digest, brought up to date by deltas.
 */
#include <getopt.h>
#include <stdio.h>

#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/digest_file.h"
#include "digestd/ctl/digest_open.h"
#include "digestd/ctl/json_report.h"
#include "digestd/tool/arguments.h"

const char ctl_apply_help[] =
	"usage: digestctl apply [OPTIONS] BASE DELTA...\n"
	"Applies deltas, in the order given, to a full digest (-: standard\n"
	"input) and writes what comes of it as a full digest.\n"
	"  -o, --output FILE  where the digest goes (standard output)\n"
	"  -j, --json         tell as JSON what it is; needs --output\n";

static const struct option options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "json", no_argument, NULL, 'j' },
	{ 0 },
};

static int ctl_apply_one(struct digest_open *d, const char *path)
{
	struct digest_open delta;
	int code = digest_open_header(path, &delta);

	if (code)
		return code;
	code = digest_step(d, &delta);
	digest_close(&delta);
	return code;
}

static int ctl_apply_apply(struct digest_open *d, char **paths)
{
	int code = digest_open_full(*paths++, d);

	for (; !code && *paths; paths++)
		code = ctl_apply_one(d, *paths);
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
	struct digest_open d;
	const char *output = "-";
	bool json = false;
	int c, code;

	while ((c = getopt_long(argc, argv, "o:j", options, NULL)) != -1) {
		if (c == 'o')
			output = optarg;
		else if (c == 'j')
			json = true;
		else
			return CTL_USAGE;
	}
	if (argc - optind < 2)
		return arguments_wrong("apply", "needs a digest and deltas",
				       ctl_apply_help);
	if (!digest_one_stdin(NULL, argv + optind) ||
	    !json_report_has_output(json, output) ||
	    !digest_file_may_write(output))
		return CTL_USAGE;
	code = ctl_apply_apply(&d, argv + optind);
	if (!code)
		code = digest_write_full(&d, output);
	if (!code && json)
		code = ctl_apply_report(&d, output, argc - optind - 1);
	digest_close(&d);
	return code;
}
