/*
 * digestctl convert: from Squid's format to ours and back. The array and the
 * number of keys stay what they are; what only one of the formats has, options
 * tell.
 */
#include <stddef.h>
#include <unistd.h>

#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/digest_open.h"
#include "digestd/ctl/digest_output.h"
#include "digestd/ctl/digest_squid.h"
#include "digestd/ctl/json_report.h"
#include "digestd/tool/arguments.h"

const char ctl_convert_help[] =
	"usage: digestctl convert [OPTIONS] [FILE]\n"
	"Makes a full digest of one of Squid's (FILE; - or none: standard\n"
	"input), or the other way round if it has Squid's hashing.\n";

enum format { FORMAT_SCD, FORMAT_SQUID, FORMAT_OTHER };

static const char *const format_names[] = { "scd", "squid", NULL };

struct convert {
	struct digest_output out; /* first: see digest_output_options */
	unsigned to;              /* enum format */
	uint64_t capacity, entry_bits;
};

#define AT(member) .at = offsetof(struct convert, member)

static const struct tool_option convert_rows[] = {
	{ .name = "to", .letter = 't', .kind = OPTION_WORD, AT(to),
	  .words = format_names, .value = "FORMAT",
	  .help = "scd or squid (the one that FILE has not)" },
	{ .name = "instance", .letter = 'i', .kind = OPTION_COUNT,
	  AT(out.instance), .value = "N",
	  .help = "to scd: instance in its header (1)" },
	{ .name = "generation", .letter = 'g', .kind = OPTION_COUNT,
	  AT(out.generation), .value = "N",
	  .help = "to scd: generation in its header (1)" },
	{ .name = "capacity", .letter = 'c', .kind = OPTION_COUNT,
	  AT(capacity), .value = "N",
	  .help = "to squid: entries that it is sized for" },
	{ .name = "entry-bits", .letter = 'e', .kind = OPTION_COUNT,
	  AT(entry_bits), .value = "N",
	  .help = "to squid: bits an entry (5, or what capacity\n"
		  "gives)" },
	{ .name = NULL },
};

#undef AT

const struct tool_option *const ctl_convert_options[] = {
	convert_rows, digest_output_options, NULL
};

static int ctl_convert_to_squid(const struct convert *v, struct digest_open *d)
{
	if (v->capacity || v->entry_bits)
		d->squid = (struct scd_squid_info){
			.capacity = (uint32_t)v->capacity,
			.entry_bits = (unsigned)v->entry_bits,
		};
	return digest_squid_write(d, v->out.path);
}

static int ctl_convert_to_scd(const struct convert *v, struct digest_open *d)
{
	if (v->out.instance)
		d->info.instance = v->out.instance;
	if (v->out.generation)
		d->info.generation = v->out.generation;
	return digest_write_full(d, v->out.path);
}

static int ctl_convert_report(const struct convert *v,
			      const struct digest_open *d, unsigned to)
{
	bool squid = to == FORMAT_SQUID;
	uint64_t bytes =
		squid ? SCD_SQUID_HEADER_BYTES + d->bloom.nbits / 8 : d->len;

	return json_report_print(json_pack(
		"{s:s, s:s, s:I, s:i, s:I, s:I}", "output", v->out.path,
		"format", squid ? "squid" : "scd", "nbits",
		(json_int_t)d->bloom.nbits, "nhash", (int)d->bloom.nhash,
		"nkeys", (json_int_t)d->info.nkeys, "bytes",
		(json_int_t)bytes));
}

static int ctl_convert_convert(const struct convert *v, const char *path)
{
	unsigned to = v->to;
	struct digest_open d;
	int code = digest_open_array(path, &d);

	if (to == FORMAT_OTHER)
		to = d.is_squid ? FORMAT_SCD : FORMAT_SQUID;
	if (!code)
		code = to == FORMAT_SQUID ? ctl_convert_to_squid(v, &d)
					  : ctl_convert_to_scd(v, &d);
	if (!code && v->out.json)
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
	struct convert v = { .out.path = "-", .to = FORMAT_OTHER };
	const char *what;

	if (!options_read(ctl_convert_options, argc, argv, &v))
		return CTL_USAGE;
	what = ctl_convert_mistake(&v, argc - optind);
	if (what)
		return arguments_wrong("convert", what, ctl_convert_help);
	if (!digest_output_may(&v.out))
		return CTL_USAGE;
	return ctl_convert_convert(&v, optind < argc ? argv[optind] : "-");
}
