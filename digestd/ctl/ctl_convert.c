/*
 * digestctl convert: from Squid's format to ours and back. The array and the
 * number of keys stay what they are; what only one of the formats has, options
 * tell.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/digest_file.h"
#include "digestd/ctl/digest_open.h"
#include "digestd/ctl/digest_squid.h"
#include "digestd/ctl/json_report.h"
#include "digestd/tool/arguments.h"

const char ctl_convert_help[] =
	"usage: digestctl convert [OPTIONS] [FILE]\n"
	"Makes a full digest of one of Squid's (FILE; - or none: standard\n"
	"input), or the other way round if it has Squid's hashing.\n"
	"  -t, --to FORMAT      scd or squid (the one that FILE has not)\n"
	"  -o, --output FILE    where it goes (standard output)\n"
	"  -i, --instance N     to scd: instance in its header (1)\n"
	"  -g, --generation N   to scd: generation in its header (1)\n"
	"  -c, --capacity N     to squid: entries that it is sized for\n"
	"  -e, --entry-bits N   to squid: bits an entry (5, or what capacity\n"
	"                       gives)\n"
	"  -j, --json           tell as JSON what it is; needs --output\n";

static const struct option options[] = {
	{ "to", required_argument, NULL, 't' },
	{ "output", required_argument, NULL, 'o' },
	{ "instance", required_argument, NULL, 'i' },
	{ "generation", required_argument, NULL, 'g' },
	{ "capacity", required_argument, NULL, 'c' },
	{ "entry-bits", required_argument, NULL, 'e' },
	{ "json", no_argument, NULL, 'j' },
	{ 0 },
};

enum format { FORMAT_OTHER, FORMAT_SCD, FORMAT_SQUID };

struct convert {
	enum format to;
	const char *output;
	uint64_t instance, generation;
	uint64_t capacity, entry_bits;
	bool json;
};

static bool ctl_convert_take_format(const char *text, enum format *out)
{
	if (!strcmp(text, "scd"))
		*out = FORMAT_SCD;
	else if (!strcmp(text, "squid"))
		*out = FORMAT_SQUID;
	else
		fprintf(stderr, "digestctl: --to: \"%s\" is not scd or squid\n",
			text);
	return *out != FORMAT_OTHER;
}

static bool ctl_convert_take(struct convert *v, int option, const char *text)
{
	switch (option) {
	case 't':
		return ctl_convert_take_format(text, &v->to);
	case 'o':
		v->output = text;
		return true;
	case 'i':
		return arguments_number("--instance", text, &v->instance);
	case 'g':
		return arguments_number("--generation", text, &v->generation);
	case 'c':
		return arguments_number("--capacity", text, &v->capacity);
	case 'e':
		return arguments_number("--entry-bits", text, &v->entry_bits);
	case 'j':
		v->json = true;
		return true;
	}
	return false;
}

static int ctl_convert_to_squid(const struct convert *v, struct digest_open *d)
{
	if (v->capacity || v->entry_bits)
		d->squid = (struct scd_squid_info){
			.capacity = (uint32_t)v->capacity,
			.entry_bits = (unsigned)v->entry_bits,
		};
	return digest_squid_write(d, v->output);
}

static int ctl_convert_to_scd(const struct convert *v, struct digest_open *d)
{
	if (v->instance)
		d->info.instance = v->instance;
	if (v->generation)
		d->info.generation = v->generation;
	return digest_write_full(d, v->output);
}

static int ctl_convert_report(const struct convert *v,
			      const struct digest_open *d, enum format to)
{
	bool squid = to == FORMAT_SQUID;
	uint64_t bytes =
		squid ? SCD_SQUID_HEADER_BYTES + d->bloom.nbits / 8 : d->len;

	return json_report_print(json_pack(
		"{s:s, s:s, s:I, s:i, s:I, s:I}", "output", v->output, "format",
		squid ? "squid" : "scd", "nbits", (json_int_t)d->bloom.nbits,
		"nhash", (int)d->bloom.nhash, "nkeys",
		(json_int_t)d->info.nkeys, "bytes", (json_int_t)bytes));
}

static int ctl_convert_convert(const struct convert *v, const char *path)
{
	enum format to = v->to;
	struct digest_open d;
	int code = digest_open_full(path, &d);

	if (to == FORMAT_OTHER)
		to = d.is_squid ? FORMAT_SCD : FORMAT_SQUID;
	if (!code)
		code = to == FORMAT_SQUID ? ctl_convert_to_squid(v, &d)
					  : ctl_convert_to_scd(v, &d);
	if (!code && v->json)
		code = ctl_convert_report(v, &d, to);
	digest_close(&d);
	return code;
}

/* What cannot be done; null: nothing. */
static const char *ctl_convert_mistake(const struct convert *v, int operands)
{
	if (operands > 1)
		return "converts one file";
	if (v->capacity > INT32_MAX)
		return "--capacity: more than Squid counts";
	return v->entry_bits > SCD_SQUID_MAX_ENTRY_BITS
		       ? "--entry-bits: not 1 to 127"
		       : NULL;
}

int ctl_convert(int argc, char **argv)
{
	struct convert v = { .output = "-" };
	const char *what;
	int c;

	while ((c = getopt_long(argc, argv, "t:o:i:g:c:e:j", options, NULL)) !=
	       -1) {
		if (c == '?' || !ctl_convert_take(&v, c, optarg))
			return CTL_USAGE;
	}
	what = ctl_convert_mistake(&v, argc - optind);
	if (what)
		return arguments_wrong("convert", what, ctl_convert_help);
	if (!json_report_has_output(v.json, v.output) ||
	    !digest_file_may_write(v.output))
		return CTL_USAGE;
	return ctl_convert_convert(&v, optind < argc ? argv[optind] : "-");
}
